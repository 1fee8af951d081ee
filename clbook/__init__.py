"""The theory of contrastive learning, as code that can be run and checked.

Data flows one way: data -> augment -> models -> losses -> dynamics -> (kernels, metrics) -> experiments -> sweep ->
figures -> explore. `theory` holds what the papers predict; only experiments and tests read it.
"""

__version__ = "0.1.0"
