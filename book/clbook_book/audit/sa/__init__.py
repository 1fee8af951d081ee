"""The page of SA, the paper on supervised alignment: its tables of similarities, its theorems, its long trainings.

`surrogate` is descent on the similarities themselves, `weights` descent on the weights of encoders beside it, and
`lemmas` tries the lemmas one by one. `copies` adds settings to the chapter's training. `measures` judges SA's claims,
on what `runs` gives.
"""
