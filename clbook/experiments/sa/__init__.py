"""The page of SA, the paper on supervised alignment: its tables of similarities, its theorems, its long trainings.

`surrogate` holds descent on similarities, `weights` descent on weights of encoders with the same losses, `checks` the
lemmas one by one; `figures` draws. The long trainings and their figures are in the room `alignment`: `variants`,
`recipes`, `record_figures`.
"""
