"""Linear separability (LS), item by item: what the chapters do not run.

`items.yaml` lists what the paper says, `measures` judges each claim on what `evidence` gives. Theorem 4.3: `noisy` has
a start on which it fails, `repair` its repair. `variants`, `batches` and `drift` train other maps and losses, `exact`
and `checks` need no training, `variation` is the loss's second variation, `computed` what takes over a second and is
kept as records, `recipes` how these and the long runs are made.
"""
