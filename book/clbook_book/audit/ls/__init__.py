"""Linear separability (LS), item by item: what the chapters do not run.

`variants` trains other maps and losses, `repair` holds Theorem 4.3 and its proof, `exact` what needs no training,
`computed` what takes over a second and is kept as records, `recipes` how these and the long runs are made.
"""
