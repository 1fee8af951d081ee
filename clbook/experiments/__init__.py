"""One folder a chapter; its `__init__` hands on `Config`, `Result`, `run`, and says what its modules hold.

landscape: What does the loss alone decide? overlap: What does it know when views overlap? separability: When do
clusters separate? kernel: What does the network add? sphere: Where do embeddings on the sphere end? alignment: Is
self-supervision secretly supervised? modadd: When do interchangeable symbols get the same vector? words: Does training
find out that two words are one? content_style: Why does the loss keep content and flatten style?
"""
