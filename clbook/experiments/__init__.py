"""What is trained, and what is checked of it: a folder for each experiment.

Each hands on `Config`, `Result` and `run`, and its docstring says what its modules hold. Those of the chapters:

    landscape      What does the loss alone decide?
    overlap        What does it know when views overlap?
    separability   When do clusters separate?
    kernel         What does the network add?
    sphere         Where do embeddings on the sphere end?
    content_style  Why does the loss keep content and flatten style?
    modadd         When do interchangeable symbols get the same vector?
    words          Does training find out that two words are one?
    alignment      Is self-supervision secretly supervised?
    why            Who averages, the counts or the network?
    images         Do the effects show on real images?
    digits         What counts as the same picture?
    practice       Which of five runs is healthy?
    diagnose       One healthy run and five sick ones, to be told apart.
"""
