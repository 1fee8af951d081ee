"""A training that runs in a page: its own step and start, traced, and written as plain JavaScript; and what shows it.

    graph           the training as two graphs of tensor operations: how a run begins, and a step of it
    decompositions  what larger operations are made of
    values, loops   what the writer computes with; one loop nest
    javascript      a graph as JavaScript
    page            both graphs, the random numbers and what runs them, as one text, the same for all settings
    kept            what was written before on this machine, found again in the store
    panels          what a page draws of a run while it trains
    ranges          what a block offers of settings that are numbers
    inpage          the block in which a reader trains: `train_here`
    moved           a block whose points the reader moves; playground, pulling: those there are
    diagnosis       a block that diagnoses a reader's file; sizes: its functions for arrays of any size
    photograph      the views of one photograph
    pictures        a panel of many small pictures at their places; its script draws a map of neighbours

`runtime.js`, `random.js` and `program.js` are what every program uses: products, functions that browsers lack, torch's
generator of random numbers, and a run that begins from a seed; `tile.wat` is the part of a large product that
WebAssembly does. No formula of an experiment stands in them. Every block begins by `block.js`, draws by `drawing.js`,
and asks of its reader by `tasks.js`.
"""
