"""How runs are kept and found again.

fingerprint   what a result depends on: the code that it uses
store         one file for each finished run
sweep         many runs: from the store where possible, the rest in parallel
labelled      results as xarray Datasets, axes by name
records       a run that was kept as a file: reading it
"""
