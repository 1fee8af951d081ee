"""How an experiment is said and trained.

settings   Settings, the base of every Config; Outcome, the base of every Result
loop       Training, the base of every experiment's training, and the one loop that runs it
streams    random numbers: one stream for each seed and purpose
optim      the optimisers, as pure functions
anchored   f(w, x) = R + g(w, x) - g(w0, x), the map that LS and VA are about
"""
