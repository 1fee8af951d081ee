"""When do clusters separate? `play` is the toy of the front page."""
