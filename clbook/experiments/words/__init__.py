"""Words and their twins (SL App. A.11, Fig. 9): the chapter's training.

`twins` makes the text: words split by a coin, and pairs to compare; `experiment` trains on it.
"""

from clbook.experiments.words.experiment import Config, Embedding, Result, run
from clbook.experiments.words.splitting import HELD, REACH, TWIN, Text, text

__all__ = ["HELD", "REACH", "TWIN", "Config", "Embedding", "Result", "Text", "run", "text"]
