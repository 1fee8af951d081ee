"""Records: how they are made and kept; the beginning of each one in the book, made again."""

import json

import numpy as np
import pytest
import toy_program
from toy_program import Config, run

from clbook import records
from clbook.records import Recipe

MADE = sorted(path.stem for path in records.FOLDER.glob("*.npz"))
