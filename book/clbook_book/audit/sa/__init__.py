"""The page of SA, the paper on supervised alignment: its tables of similarities, its theorems, its long trainings.

`definitions` writes out what SA define, `checks` holds the lemmas one by one, `weights` descent on weights of encoders
with the losses of the chapter's `surrogate`; `figures` draws. `recipes` are the long trainings, with the settings that
`variants` adds, and `record_figures` draws them. `measures` judges SA's claims, on what `evidence` gives.
"""
