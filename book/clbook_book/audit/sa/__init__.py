"""The page of SA, the paper on supervised alignment: its tables of similarities, its theorems, its long trainings.

`checks` holds the lemmas one by one, `weights` descent on weights of encoders with the losses of the chapter's
`surrogate`. `recipes` are the long trainings, with the settings that `variants` adds. `measures` judges SA's claims, on
what `evidence` gives.
"""
