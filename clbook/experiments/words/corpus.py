"""Text: readers that turn documentation, folders of text and books into sentences of words, and synonyms to look for.

Every reader gives a `Corpus`: lower-case words as numbers, most frequent first, cut into sentences, no sentence twice.
"""

from __future__ import annotations

import ast
import collections
import csv
import dataclasses
import functools
import gc
import gzip
import hashlib
import importlib.metadata
import importlib.util
import inspect
import itertools
import os
import pathlib
import re
import time
import zlib
from collections.abc import Iterable

import joblib
import numpy as np

from clbook.environment import cache_folder, data_folder

LIBRARIES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "matplotlib": "matplotlib",
    "torch": "torch",
}
LONG = 80  # characters from which a string in a source file counts as documentation
DOCUMENTED = 0.2  # share of triple-quoted text from which a source file is read: the rest costs half the time for 15 %
FEWEST = 5  # words a sentence must have
REPORT_EVERY = 0.1  # seconds between two looks at whether to go on reading
BOOKCORPUS = "train[:1%]"  # SL Fig. 9 counts its steps in such shares
GUTENBERG, WORDNET = "nltk_data/corpora/gutenberg", "wordnet/oewn_synsets.tsv.gz"  # in CLBOOK_DATA
NAMES = ("documentation", "gutenberg", "bookcorpus")

# Pairs of words that a technical writer may exchange, written down before any run; those a corpus lacks are left out.
SYNONYMS = """
    allow permit, allows permits, also additionally, appropriate suitable, approximately roughly, argument parameter,
    arguments parameters, automatically implicitly, avoid prevent, begin start, begins starts, bigger larger, big
    large, bug error, calculate compute, calculated computed, calculates computes, calculation computation, change
    modify, changed modified, choose select, chosen selected, combine merge, construct build, contain include,
    contains includes, convert transform, correct right, create make, created made, decrease reduce, delete remove,
    deleted removed, denote represent, denotes represents, desired wanted, determine decide, display show, displayed
    shown, efficient fast, element entry, elements entries, ensure guarantee, entire whole, equal identical, error
    exception, estimate approximation, exact precise, fail crash, faster quicker, final last, find locate, folder
    directory, function routine, generate produce, generated produced, get obtain, give provide, given provided,
    handle manage, help aid, however nevertheless, identical same, improve enhance, indicate denote, indicates
    denotes, initial starting, keep retain, kind type, kinds types, length size, manually explicitly, mean average,
    method approach, need require, needed required, needs requires, only solely, optional voluntary, part portion,
    perform execute, performed executed, permitted allowed, pick choose, probability likelihood, procedure algorithm,
    quickly rapidly, raise throw, replace substitute, result outcome, results outcomes, return yield, returns yields,
    sample draw, shown illustrated, simple easy, smaller lower, sometimes occasionally, specific particular, specify
    define, specified defined, start beginning, stop halt, supply provide, though although, tiny small, total overall,
    true correct, usually typically, utilize use, value quantity, vanish disappear, verify check, whether if, zero
    null
"""


@dataclasses.dataclass
class Corpus:
    """A text.

    Attributes:
        words: (W,) distinct words, most frequent first. tokens: (N,) numbers of the text's words, in order.
        starts: (S + 1,) where in `tokens` each sentence begins, and the end of the last one.
    """

    words: list
    tokens: np.ndarray
    starts: np.ndarray


def corpus(texts: Iterable[str], report=None) -> Corpus:
    """A `Corpus` of texts, a paragraph or more each: sentences of five words or more, each once; report: see `load`."""
    seen, counts, sentences, told = set(), collections.Counter(), [], time.monotonic()
    for text in texts:
        if report is not None and time.monotonic() - told > REPORT_EVERY:
            told = time.monotonic()
            if report() is False:
                raise ValueError(
                    "corpus: the run was stopped while its text was read, so there is nothing to show yet"
                )
        for sentence in re.split(r"[.!?:;]+(?=\s|$)|\n\s*\n", text.lower()):
            words = tuple(re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", sentence))
            if len(words) >= FEWEST and words not in seen:
                seen.add(words)
                sentences.append(words)
                counts.update(words)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    number = {word: k for k, word in enumerate(words)}
    tokens = np.fromiter((number[word] for sentence in sentences for word in sentence), np.int32)
    return Corpus(words, tokens, np.cumsum([0, *map(len, sentences)]))


def prose(text: str) -> str:
    """The running text of a documentation string: no code, no tables, no markup."""
    text = inspect.cleandoc(text)
    text = re.sub(r"(?ms)^```.*?^```", "\n\n", text)
    text = re.sub(
        r"(?m)^( *)\.\. (?!note|warning|versionadded)[^\n]*::[^\n]*\n(?:\s*\n|\1 +[^\n]*\n?)*",
        "\n\n",
        text,
    )
    text = re.sub(r"(?m)::$(?:\n\s*\n(?: +[^\n]*\n|\s*\n)+)?", ".\n\n", text)  # literal blocks
    text = re.sub(
        r"(?m)^\s*(?:>>>|\.\.\.|\$|#|\||\+[-=+]).*$|^.*(?:[-=~^*\"]{3,}|[{}\\]|\w\(.*\).*=).*$",
        "\n",
        text,
    )
    text = re.sub(r":[a-z:]+:`([^`<]*)(?:<[^`]*>)?`", r"\1", text)
    text = re.sub(
        r"`[^`]*`|\*\*|\[[^\]]*\]_?|https?:\S+|\S*[_()=<>/\\@\[\]]\S*|\w+\.\w\S*", " , ", text
    )
    return re.sub(r"(?m)^\s*[\w*, ]+ :(?= ).*$|^\s*\.\. .*$|^\s*[-*] ", "\n\n", text)


def strings(path: pathlib.Path) -> list[str]:
    """The prose of the strings of a Python file; none where little of it is documentation or it cannot be parsed."""
    source = path.read_bytes()
    if sum(map(len, re.findall(rb'(?s)"""(.*?)"""', source))) < DOCUMENTED * len(source):
        return []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    return [
        prose(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and len(node.value) >= LONG
    ]


def _documentation(report=None) -> Corpus:
    """The prose in the sources of the libraries that the book needs anyway, tests left out; nothing is imported."""

    def texts():
        for library in LIBRARIES:
            for folder in importlib.util.find_spec(library).submodule_search_locations:
                for path in sorted(pathlib.Path(folder).rglob("*.py")):
                    if not {"tests", "testing", "test", "_vendor"} & set(path.parts):
                        yield from strings(path)

    collecting = gc.isenabled()
    gc.disable()  # syntax trees hold no cycles; looking for them costs a third of the time
    try:
        return corpus(texts(), report)
    finally:
        if collecting:
            gc.enable()


def _folder(folder: pathlib.Path, encoding: str, report=None) -> Corpus:
    """All *.txt files below `folder`."""

    def texts():
        for path in _files(folder):
            raw = path.read_bytes()
            if b"\0" in raw:
                raise ValueError(
                    f"corpus: {path} is not allowed: it is a binary file, it must be plain text"
                )
            try:
                text = raw.decode(encoding)
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"corpus: {path} is not allowed: it must be text in UTF-8 ({error})"
                ) from None
            if not text.strip():
                raise ValueError(f"corpus: {path} is not allowed: it is empty, it must hold text")
            yield text

    found = corpus(texts(), report)
    if not len(found.tokens):
        raise ValueError(
            f"corpus: {folder} is not allowed: its files hold no sentence of {FEWEST} words or more"
        )
    return found


def _bookcorpus(report=None) -> Corpus:
    """One per cent of BookCorpus, from the Parquet copy: newer versions of `datasets` refuse the set's own script."""
    import datasets

    rows = datasets.load_dataset(
        "bookcorpus/bookcorpus", revision="refs/convert/parquet", split=BOOKCORPUS
    )
    return corpus((row["text"] for row in rows), report)


def _files(folder):
    return sorted(path for path in folder.rglob("*.txt") if path.is_file())


def _folder_of(name):
    return (
        data_folder() / GUTENBERG if name == "gutenberg" else pathlib.Path(os.path.expanduser(name))
    )


def files(name: str) -> tuple:
    """What corpus `name` was made from: paths of its files, or versions of libraries; "wordnet" is WordNet's table.

    Returns:
        Paths and strings; none where nothing is there (`missing` says what to do).
    """
    if name == "documentation":
        return _versions(*LIBRARIES.values())
    if name == "bookcorpus":
        return BOOKCORPUS, *(_versions("datasets") if importlib.util.find_spec("datasets") else ())
    if name == "wordnet":
        return tuple(path for path in (data_folder() / WORDNET,) if path.is_file())
    return tuple(_files(_folder_of(name)))


def missing(name: str) -> str | None:
    """Why corpus `name`, or "wordnet", cannot be read here, and what to set; None where it can be."""
    if name == "documentation" or (name == "bookcorpus" and importlib.util.find_spec("datasets")):
        return None
    if name == "bookcorpus":
        return f"corpus = {name!r} is not allowed: it needs Hugging Face's library, pip install datasets"
    if name == "wordnet":
        return (
            None
            if files(name)
            else (
                f"natural = 'wordnet' is not allowed: there is no file "
                f"{data_folder() / WORDNET}; set CLBOOK_DATA to the folder that holds it"
            )
        )
    if not (folder := _folder_of(name)).is_dir():
        return (
            f"corpus = {name!r} is not allowed: there is no folder {folder}; corpus must be one of "
            f"{', '.join(NAMES)} (gutenberg: the books in CLBOOK_DATA) or a folder of text files"
        )
    return (
        None if files(name) else f"corpus = {name!r} is not allowed: {folder} holds no *.txt file"
    )


def require(*names: str) -> None:
    """Raise a ValueError that says what to set where one of the corpora `names` is `missing`."""
    for fault in filter(None, map(missing, names)):
        raise ValueError(fault)


@functools.cache
def _versions(*packages):
    return tuple(f"{package} {importlib.metadata.version(package)}" for package in packages)


def _state(item):
    """What stands for one of `files` in the key of a reading: name, size and time of a file, or the item itself."""
    return (
        (str(item), item.stat().st_size, item.stat().st_mtime_ns)
        if isinstance(item, pathlib.Path)
        else item
    )


def _read(name, key, report):
    """One corpus; `key` is there only to be part of the cache's key."""
    if name == "bookcorpus":
        return _bookcorpus(report)
    return (
        _documentation(report)
        if name == "documentation"
        else _folder(_folder_of(name), "latin-1" if name == "gutenberg" else "utf-8", report)
    )


def load(name: str = "documentation", report=None) -> Corpus:
    """The corpus `name`, from the cache where it was read before; nothing is kept of a reading that failed.

    Args:
        name: "documentation", the prose in the source files of numpy, scipy, scikit-learn, matplotlib and torch as they
            are installed, read with `ast`; "gutenberg", the books in CLBOOK_DATA; "bookcorpus", one per cent of
            BookCorpus through the library `datasets`; or a folder, whose *.txt files are read, in UTF-8.
        report: `report()`, called about ten times a second while the text is read; returning False ends the reading.

    Returns:
        A Corpus.

    Raises:
        ValueError: a name that is no corpus and no folder, a folder without text, books, a table or a library that is
            absent; an empty or binary file, one in another encoding, files without a sentence; `report` returned False.
    """
    require(name)
    key = (
        [_state(item) for item in files(name)],
        hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest(),
    )
    return joblib.Memory(cache_folder(), verbose=0).cache(_read, ignore=["report"])(
        name, key, report
    )


def synonyms(words: Iterable[str], source: str = "hand") -> list[tuple[str, str]]:
    """Pairs of `words` that mean the same.

    Args:
        source: "hand", a list of pairs that technical writers exchange; "wordnet", pairs of the Open English WordNet
            table in CLBOOK_DATA that share at least half of the meanings (synsets) of each of the two words.

    Returns:
        The pairs in the order of the list or table.

    Raises:
        ValueError: the table is absent or damaged.
    """
    words = set(words)
    if source == "hand":
        pairs = [tuple(pair.split()) for pair in SYNONYMS.split(",")]
    else:
        require("wordnet")
        path, meanings, shared = (
            data_folder() / WORDNET,
            collections.Counter(),
            collections.Counter(),
        )
        try:
            with gzip.open(path, "rt", encoding="utf-8") as file:
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                    members = sorted(words.intersection(row["members"].split("|")))
                    meanings.update(members)
                    shared.update(itertools.combinations(members, 2))
        except (OSError, EOFError, zlib.error, KeyError, AttributeError, ValueError) as error:
            raise ValueError(
                f"natural = 'wordnet' is not allowed: {path} is damaged ({error})"
            ) from error
        pairs = [
            pair for pair, n in shared.items() if 2 * n >= max(meanings[pair[0]], meanings[pair[1]])
        ]
    return [pair for pair in pairs if words.issuperset(pair)]
