"""Who averages, the counts or the network? `parts` makes a picture whose parts are links."""
