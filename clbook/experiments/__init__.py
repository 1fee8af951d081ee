"""One module an experiment: a frozen `Config`, `run(config) -> Result`."""
