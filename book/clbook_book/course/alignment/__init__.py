"""Is self-supervision secretly supervised? `play` is the toy at the beginning, `forces` says who pulls whom."""
