"""The page of SL, item by item: what its claims need beside the runs of the chapters "modadd" and "words".

`definitions` writes out what SL define. `tables` has exact optima for other distributions than the chapter's, and with
contexts that are given; `checks` compares the statements with them. `updates` has the steps of a batch (A.5).
`training` trains on samples without the answer, or without a shared context, and classifiers from tables that nobody
trained; `plain` with PyTorch's own encoder; `shared` where the two sides share parameters; `coin` on words that are
split afresh at every draw. `recipes` makes the records, `figures` draws. `measures` measures the claims of items.yaml
on what `evidence` gives.
"""
