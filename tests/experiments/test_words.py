"""Words: the text readers, the artificial twins, and the order of SL Fig. 9 over three seeds on books."""

import gzip
import sys
import types

import numpy as np
import pytest
import sklearn
import torch

from clbook.experiments import words
from clbook.experiments.words import Config, Embedding, corpus, experiment, run, text
from clbook.results.store import path_of
from clbook.results.sweep import sweep
from clbook_book.course.words import atlas, halves, neighbours

SEEDS = range(3)
TOPICS = (
    "the {} sleeps on the warm {} all day",
    "a {} was eaten with some {} for lunch",
    "we drove the {} down to a {} again",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one file of 3,000 short sentences over 60 made-up words, and a cache of its own."""
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    generator = np.random.default_rng(0)
    lines = [
        TOPICS[k].format(*(f"{'abc'[k]}{chr(97 + n)}x" for n in generator.integers(0, 20, 2)))
        for k in generator.integers(0, 3, 3000)
    ]
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text(". ".join(lines) + ".")
    return tmp_path / "texts"


def tiny(folder, **settings):
    base = Config(corpus=str(folder), injected=5, common=20, steps=24, batch=32, d=8)
    return base.replace(**settings)


def test_documentation_is_read_as_prose_without_code_and_markup():
    found = corpus.prose("""Return the sum of `a` and :func:`numpy.b`, as in [1]_.

        The result is **exact** for integers::

            code = never_seen(1)

        >>> hidden(2)
        .. math:: x = y

        Parameters
        ----------
        axis : int
            Axis along which the sum is taken. See https://example.org/page for more.
        """)
    seen = corpus.corpus([found])
    said = " ".join(seen.words[t] for t in seen.tokens)
    first, second = "return the sum of and as in", "the result is exact for integers"
    assert said == f"{first} {second} axis along which the sum is taken"
    assert np.diff(seen.starts).tolist() == [7, 6, 7]
    assert not {"hidden", "never", "math", "https", "parameters"} & set(seen.words)


def test_a_sentence_counts_once_and_words_are_ordered_by_frequency():
    twice = "One cat sat on the mat. One cat sat on the mat! Too short here."
    found = corpus.corpus([twice, "The dog saw one other dog run."])
    assert found.words[:3] == ["dog", "one", "the"] and len(found.starts) == 3
    assert len(found.tokens) == 13
    assert [found.words[t] for t in found.tokens[:6]] == ["one", "cat", "sat", "on", "the", "mat"]


def test_source_files_are_read_and_never_imported(tmp_path):
    long = (
        "This module explains at some length what it would do to you, were you to import it. " * 3
    )
    (tmp_path / "a.py").write_text(f'"""{long}"""\nraise SystemExit("imported")\n')
    (tmp_path / "b.py").write_text(f'"""{long}"""\nthis is no python\n')
    assert "explains at some length" in corpus.strings(tmp_path / "a.py")[0]
    assert corpus.strings(tmp_path / "b.py") == []


def test_reading_again_gives_the_same_corpus(monkeypatch):
    monkeypatch.setattr(corpus, "LIBRARIES", {"matplotlib": "matplotlib"})
    first, again = corpus._documentation(), corpus._documentation()
    assert first.words == again.words and np.array_equal(first.tokens, again.tokens)
    assert len(first.words) > 1000


def test_the_embedded_corpus_is_large_and_knows_its_versions():
    found = corpus.load()
    assert len(found.tokens) > 500_000 and len(found.starts) > 30_000
    assert f"scikit-learn {sklearn.__version__}" in corpus.files("documentation") == Config().files
    counts = np.bincount(found.tokens)
    assert (np.diff(counts) <= 0).all() and found.starts[-1] == len(found.tokens)


@pytest.mark.parametrize(
    "name, content, says",
    [
        ("a.txt", b"  \n", "a.txt is not allowed: it is empty"),
        ("a.txt", b"PK\x03\x04\0\0words of a file", "it is a binary file"),
        ("a.txt", b"caf\xe9 is where we are", "a.txt is not allowed: it must be text in UTF-8"),
        ("a.txt", b"too short", "no sentence of 5 words"),
        ("a.md", b"a text of some five words", r"holds no \*.txt file"),
    ],
)
def test_bad_files_are_named_and_leave_nothing_behind(tmp_path, monkeypatch, name, content, says):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / name).write_bytes(content)
    with pytest.raises(ValueError, match=says):
        corpus.load(str(texts))
    assert list((tmp_path / "cache").rglob("output.pkl")) == []
    (texts / name).unlink()
    (texts / "a.txt").write_text("now it is a proper text")
    assert corpus.load(str(texts)).words == ["a", "is", "it", "now", "proper", "text"]


def test_more_twins_than_words_are_refused():
    with pytest.raises(ValueError, match="injected = 100 .* vocabulary = 50"):
        Config(vocabulary=50)


def test_absent_texts_are_named_by_the_run_and_not_by_the_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_DATA", str(tmp_path))
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    assert corpus.missing("documentation") is None
    assert Config(corpus="gutenberg", natural="wordnet").files == ()
    for settings, says in (
        ({"corpus": "/no/such/place"}, "there is no folder /no/such/place"),
        ({"corpus": "gutenberg"}, "corpus = 'gutenberg' .* no folder .* books in CLBOOK_DATA"),
    ):
        with pytest.raises(ValueError, match=says):
            run(Config(**settings))
    with pytest.raises(ValueError, match="natural = 'wordnet' .* set CLBOOK_DATA"):
        text(Config(natural="wordnet"))
    monkeypatch.setattr(corpus.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install datasets"):
        run(Config(corpus="bookcorpus"))


def test_texts_that_are_too_short_are_refused_and_say_why(folder):
    def refused(says, **settings):
        with pytest.raises(ValueError, match=says):
            run(tiny(folder, **settings))

    refused("injected = 100 .* injected must be at most [0-9]+ here", injected=100)
    longer = "corpus = .* a longer text: of the 5 sentences read, none is held out"
    refused(longer, sentences=5, injected=0)
    few = "one two one two three. " * 3 + "create make create make create."
    (folder / "one.txt").write_text(few)
    refused("corpus = .* a text of 10 different words or more: it has 5", injected=0)


def test_an_edited_folder_is_another_run(folder):
    config = tiny(folder)
    before = path_of(run, config)
    assert path_of(run, tiny(folder)) == before
    (folder / "two.txt").write_text("one more file with one more sentence.")
    assert path_of(run, config) != before, "the sweep would serve the run of the old text"


def test_reading_a_text_can_be_stopped_and_leaves_nothing_behind(folder, monkeypatch):
    monkeypatch.setattr(corpus, "REPORT_EVERY", -1.0)
    seen = []
    with pytest.raises(ValueError, match="stopped while its text was read"):
        run(tiny(folder), progress=lambda *partial: seen.append(partial))  # None: go on
        (folder / "two.txt").write_text("one more file with one more sentence.")
        run(tiny(folder), progress=lambda fraction, partial: partial is not None)
    assert seen[0] == (0.0, None)
    assert not run(tiny(folder)).stopped


def test_bookcorpus_comes_through_datasets(tmp_path, monkeypatch):
    """With a stand-in for the library: what is asked of it, and what becomes of its rows."""

    def load_dataset(name, **how):
        assert name == "bookcorpus/bookcorpus" and how["split"] == corpus.BOOKCORPUS
        return [{"text": "the usual hair style was best for a party ."}]

    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.setattr(corpus, "missing", lambda name: None)
    monkeypatch.setattr(corpus, "files", lambda name: ("stand-in",))
    assert corpus.load("bookcorpus").words[0] == "a"


def test_natural_pairs_share_at_least_half_of_both_words_meanings(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_DATA", str(tmp_path))
    path = tmp_path / corpus.WORDNET
    path.parent.mkdir()
    rows = ["id\tpos\tlexfile\tmembers\thypernyms_or_similar\tdefinition"]
    groups = ["car|auto|motor_car", "auto|bank", "car", "bank|shore", "bank"]
    for members in [*groups, "big|large", "grey|gray"]:
        rows.append(f'{len(rows)}\tn\tx\t{members}\t\t"a definition')
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    seen = ["car", "auto", "bank", "shore", "big", "gray", "grey"]
    assert corpus.synonyms(seen, "wordnet") == [("auto", "car"), ("gray", "grey")]
    assert corpus.synonyms(["compute", "calculate", "large"]) == [("calculate", "compute")]
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match="is damaged"):
        corpus.synonyms(seen, "wordnet")


def test_a_coin_splits_each_chosen_word_and_nothing_else_changes():
    found, plain = text(Config()), text(Config(injected=0))
    first, second = found.pairs["injected"].T
    assert len(first) == 100 and len(found.words) == len(plain.words) + 100
    assert (found.counts > 0).all()
    assert (found.counts[first] + found.counts[second] == plain.counts[first]).all()
    n = plain.counts[first]
    assert (np.abs(found.counts[first] - n / 2) < 5 * np.sqrt(n) / 2).all()
    merged = found.tokens.copy()
    for u, v in found.pairs["injected"]:
        merged[merged == v] = u
    assert np.array_equal(merged, plain.tokens)
    assert [found.words[k] for k in found.pairs["injected"][0]] == [
        plain.words[first[0]] + n for n in "₁₂"
    ]
    assert not set(found.pairs["natural"].ravel()) & {*first, *second}


def test_random_pairs_are_as_frequent_as_those_they_are_compared_with():
    found = text(Config())
    rank = np.argsort(np.argsort(-found.counts, kind="stable"), kind="stable")
    for kind in ("injected", "natural"):
        pairs, other = found.pairs[kind], found.pairs[f"random, {kind}"]
        assert np.abs(rank[pairs] - rank[other]).max() <= words.REACH
        assert (other[:, 0] != other[:, 1]).all()
        assert not {frozenset(p) for p in pairs.tolist()} & {frozenset(p) for p in other.tolist()}


def test_contexts_are_the_neighbours_in_the_sentence_without_the_word_itself(folder):
    made = Embedding([tiny(folder, window=3, subsample=1.0, seed=seed) for seed in range(2)])
    found = made.batch(made.state, experiment.TRAINED, made.draw().places)
    for run_text, symbols, ids, there in zip(
        made.texts, *(part.tolist() for part in found), strict=True
    ):
        allowed = set()
        for number in np.unique(run_text.sentence):
            sentence = run_text.tokens[run_text.sentence == number].tolist()
            allowed |= {
                (tuple(sentence[max(0, i - 3) : i]), word, tuple(sentence[i + 1 : i + 4]))
                for i, word in enumerate(sentence)
            }
        for word, around, here in zip(symbols, ids, there, strict=True):
            assert not here[3] and around[3] == len(run_text.words)
            left, right = (
                tuple(k for k, is_here in zip(around[part], here[part], strict=True) if is_here)
                for part in (slice(0, 3), slice(4, 7))
            )
            assert (left, word, right) in allowed


def test_the_mean_encoder_is_the_mean_and_an_empty_window_is_zero():
    table = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(0))
    ids = torch.tensor([[1, 2, 5], [3, 3, 0]]).expand(2, 2, 3)
    there = torch.tensor([[True, True, False], [False, False, False]]).expand(2, 2, 3)
    mean = (table[:, 1] + table[:, 2]) / 2
    assert torch.allclose(
        experiment.mean_of_window(table, ids, there), torch.stack([mean, 0 * mean], 1)
    )


def test_held_out_sentences_are_never_trained_on(folder):
    made = Embedding([tiny(folder)])
    weight = [np.diff(part[0].numpy(), prepend=0) > 0 for part in made.state.sums]
    held = made.texts[0].held
    assert (weight[0] == ~held).all() and (weight[1] == held).all() and weight[1].any()


@pytest.mark.parametrize(
    "settings", [{}, {"encoder": "transformer", "window": 2}, {"over": "symbols", "masked": False}]
)
def test_runs_beside_others_are_the_runs_alone_though_their_texts_differ_in_length(
    folder, settings
):
    """Each draws its own sentences; runs with other starts and other decay keep their own."""
    base = tiny(folder, sentences=1000, vocabulary=40, **settings)
    changes = {}, {"seed": 1}, {"seed": 2, "std": 0.1, "decay": 1e-3}, {"seed": 1, "subsample": 0.1}
    configs = [base.replace(**change) for change in changes]
    beside = Embedding.train(configs, record="all")
    assert len({len(text(c).tokens) for c in configs}) > 1

    def same(here, there):
        np.testing.assert_allclose(here, there, rtol=1e-3, atol=1e-5)

    for config, there in zip(configs, beside, strict=True):
        here = run(config, record="all")
        assert here.words == there.words
        same(here.table.astype(float), there.table.astype(float))
        same(here.loss, there.loss)
        same(here.held, there.held)
        for kind in here.pairs:
            same(here.distances[kind], there.distances[kind])


def test_a_texts_reading_comes_before_the_runs(folder, monkeypatch):
    """Two runs of one text read it once."""
    read = []
    monkeypatch.setattr(corpus, "load", lambda *name, report: read.append(name))
    Embedding.prepare([tiny(folder), tiny(folder, seed=1)])
    assert read == [(str(folder),)]


def test_the_same_order_on_books_with_wordnets_synonyms():
    if fault := corpus.missing("gutenberg") or corpus.missing("wordnet"):
        pytest.skip(fault)
    base = Config(corpus="gutenberg", natural="wordnet", steps=4000)
    configs = [base.replace(seed=seed) for seed in SEEDS]
    for r in sweep(run, configs, record=("twin_nearest",)):
        assert r.ratio("injected") < 0.5 and 0.65 <= r.ratio("natural") <= 0.85
        assert r.twin_nearest[-1] > 0.7


def test_a_map_is_of_the_run_and_keeps_no_table(folder):
    config = tiny(folder)
    seen = atlas.look(config)
    (result,) = sweep(run, [config], record=("table",))
    assert "table" not in vars(seen) and seen.ratio("injected") == result.ratio("injected")
    table = result.table.astype(float)
    symbol = result.words[seen.ringed]
    near, _ = neighbours.closest(table[-1], seen.ringed)
    assert symbol.endswith("₁") and list(seen.near[-1]) == list(near)
    assert seen.first[-1] == atlas.twins_first(table[-1], result.pairs["injected"])
    # The plane is the best one for the most frequent words: no other keeps more of how they vary.
    often = atlas.frequent(result)
    cloud = table[-1, often] - table[-1, often].mean(0)
    kept = np.square(seen.plane[-1, often].astype(float)).sum()
    assert kept == pytest.approx(np.square(np.linalg.svd(cloud)[1][:2]).sum(), rel=1e-2)


def test_the_nearest_of_all_words_are_those_of_each(folder):
    (result,) = sweep(run, [tiny(folder)], record=("table",))
    near, away = neighbours.lists(result.table[-1])
    for k in (0, len(near) - 1):
        those, far = neighbours.closest(result.table[-1].astype(float), k)
        assert list(near[k]) == list(those[: neighbours.LISTED])
        assert away[k] == pytest.approx(100 * far[: neighbours.LISTED], rel=1e-3)


def test_halves_of_a_long_text_find_each_other_and_those_of_a_short_one_do_not(tmp_path):
    rng = np.random.default_rng(0)
    # A language: fifteen long words, each with contexts of its own among sixty short ones.
    likely = rng.dirichlet(np.full(60, 0.1), 15)
    letters = "abcdefghijklmnopqrstuvwxyz"
    short = [one + other for one in letters[:3] for other in letters[:20]]
    tokens = []
    for k in rng.integers(15, size=9000):
        tokens += [5 * letters[k], *rng.choice(short, 2, p=likely[k])]
    met = []
    for many in (len(tokens), 600):
        path = tmp_path / f"{many}.txt"
        path.write_text(" ".join(tokens[:many]))
        met.append(halves.run(halves.Config(text=str(path), d=8, steps=150)).found())
    assert met[0] >= 8 > met[1]


def test_a_text_is_counted_as_it_is_said():
    words, split, joint = halves.counted("Apple, pie. apple tart", 0)
    assert words == ["apple", "pie", "tart"] and split == [0]
    counts = joint * 12  # four words, each near the three others
    apples = counts[0] + counts[halves.WORDS]
    assert apples[:3] == pytest.approx([2, 2, 2]) and counts[1, :3] == pytest.approx([2, 0, 1])
