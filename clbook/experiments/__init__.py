"""One folder for each chapter of the book, and one for each paper.

A chapter's folder hands on `Config`, `Result` and `run`, and its docstring says what its modules hold. The chapters:

    landscape      What does the loss alone decide?
    overlap        What does it know when views overlap?
    separability   When do clusters separate?
    kernel         What does the network add?
    sphere         Where do embeddings on the sphere end?
    content_style  Why does the loss keep content and flatten style?
    modadd         When do interchangeable symbols get the same vector?
    words          Does training find out that two words are one?
    alignment      Is self-supervision secretly supervised?
    images         Do the effects show on real images?
    photographs    Labels against none, and the norm before the loss, on photographs.

Trainings of other pages:

    counts         Who averages, the counts or the network? The page "why".
    shared         May the symbols and the encoder share parameters? The page of SL.

A paper's folder has what its statements need beside the chapters' runs: `ls`, `va`, `sa`, `sl` and `cs`.
"""
