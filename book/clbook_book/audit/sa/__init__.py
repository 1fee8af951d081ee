"""The page of SA, the paper on supervised alignment: its tables of similarities, its theorems, its long trainings.

`lemmas` tries them one by one, `weights` is descent on weights of encoders with the losses of the chapter's
`surrogate`. `copies` adds settings to the chapter's training. `measures` judges SA's claims, on what `runs` gives.
"""
