"""When do interchangeable symbols get the same vector? `play` trains in the page."""
