"""One module a chapter: `Result` -> `Picture` (a matplotlib figure with its alt text)."""
