"""Linear separability (LS), item by item: what the chapters do not run.

`items.yaml` lists what the paper says, `measures` judges each claim on what `runs` gives. Theorem 4.3: `noisy` has
a start on which it fails, `repair` its repair. `variants` and `batches` train other maps and losses, `exact` needs
no training, `variation` is the loss's second variation.
"""
