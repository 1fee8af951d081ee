"""The page of SL, item by item: what its claims need beside the runs of the chapters "modadd" and "words".

`tables` has exact optima for other distributions than the chapter's; `theorems` compares the statements with them.
`plain` trains with PyTorch's own encoder. `figures` draws. `measures` measures the claims of items.yaml on what `runs`
gives.
"""
