"""The code of each page: one folder a page, with the page's name.

`figures` draws; `play`, `pull`, `descent`, `quiz`, `wall` are what a reader moves; `recipes` and `series` say what was
run. What is trained stands in `clbook.experiments`. `exercises` checks what readers write, `drawing` is what several
pages draw alike.
"""
