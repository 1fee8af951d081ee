"""The page of SL, item by item: what its claims need beside the runs of the chapters "modadd" and "words".

`tables` has exact optima for other distributions than the chapter's; `theorems` compares the statements with them.
`training` trains on samples without the answer, or without a shared context, and classifiers from tables that nobody
trained; `plain` with PyTorch's own encoder; `coin` on words that are split afresh at every draw.
`figures` draws. `measures` measures the claims of items.yaml on what `runs` gives.
"""
