"""The page of SL, item by item: what its claims need beside the runs of the chapters "modadd" and "words".

`tables`: exact optima for other distributions than the chapter's, and with contexts that are given; `updates`: the
steps of a batch (A.5); `training`: samples without the answer, or without a shared context; `classifier`: starts that
nobody learned; `coin`: words split afresh at every draw. `recipes` makes the records, `figures` draws.
"""
