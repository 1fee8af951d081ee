"""The code of each page: one folder a page, with the page's name (`images`: what several pages show).

`figures` draws; `play`, `pull`, `descent`, `quiz`, `wall` are what a reader moves; `runs` says what was run, a record's
name once. What is trained stands in `clbook.experiments`, but for what readers move. `exercises` checks what readers
write, `drawing` is what several pages draw alike, `points` what toys with labelled points share.
"""
