"""Words: the text readers, the artificial twins, and the order of SL Fig. 9 over three seeds, on two texts."""

import dataclasses
import gzip
import sys
import types

import joblib
import numpy as np
import pytest
import sklearn
import torch

from clbook import corpus
from clbook.experiments import words
from clbook.experiments.words import Config, Result, neighbours, run, text
from clbook.experiments.words.neighbours import View, run_view
from clbook.sweep import sweep

SEEDS = range(3)
TOPICS = ("the {} sleeps on the warm {} all day", "a {} was eaten with some {} for lunch",
          "we drove the {} down to a {} again")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one file of 3,000 short sentences over 60 made-up words, and a cache of its own."""
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    generator = np.random.default_rng(0)
    lines = [TOPICS[k].format(*(f"{'abc'[k]}{chr(97 + n)}x" for n in generator.integers(0, 20, 2)))
             for k in generator.integers(0, 3, 3000)]
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text(". ".join(lines) + ".")
    return tmp_path / "texts"


def tiny(folder, **settings):
    return Config(**{"corpus": str(folder), "injected": 5, "common": 20, "steps": 24, "batch": 32, "d": 8} | settings)


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
    sentences = [" ".join(seen.words[t] for t in seen.tokens[a:b]) for a, b in zip(seen.starts, seen.starts[1:])]
    assert sentences == ["return the sum of and as in", "the result is exact for integers",
                         "axis along which the sum is taken"]
    assert not {"hidden", "never", "math", "https", "parameters"} & set(seen.words)


def test_a_sentence_counts_once_and_words_are_ordered_by_frequency():
    found = corpus.corpus(["One cat sat on the mat. One cat sat on the mat! Too short here.",
                           "The dog saw one other dog run."])
    assert found.words[:3] == ["dog", "one", "the"] and len(found.starts) == 3 and len(found.tokens) == 13
    assert [found.words[t] for t in found.tokens[:6]] == ["one", "cat", "sat", "on", "the", "mat"]


def test_source_files_are_read_and_never_imported(tmp_path):
    long = "This module explains at some length what it would do to you if you were to import it. " * 3
    (tmp_path / "a.py").write_text(f'"""{long}"""\nraise SystemExit("imported")\n')
    (tmp_path / "b.py").write_text(f'"""{long}"""\nthis is no python\n')
    assert "explains at some length" in corpus.strings(tmp_path / "a.py")[0]
    assert corpus.strings(tmp_path / "b.py") == []


def test_reading_again_gives_the_same_corpus(monkeypatch):
    monkeypatch.setattr(corpus, "LIBRARIES", {"matplotlib": "matplotlib"})
    first, again = corpus._documentation(), corpus._documentation()
    assert first.words == again.words and np.array_equal(first.tokens, again.tokens) and len(first.words) > 1000


def test_the_embedded_corpus_is_large_and_knows_its_versions():
    found = corpus.load()
    assert len(found.tokens) > 500_000 and len(found.starts) > 30_000
    assert f"scikit-learn {sklearn.__version__}" in corpus.version("documentation")
    counts = np.bincount(found.tokens)
    assert (np.diff(counts) <= 0).all() and found.starts[-1] == len(found.tokens)


@pytest.mark.parametrize("name, content, says", [
    ("a.txt", b"  \n", "a.txt is not allowed: it is empty"),
    ("a.txt", b"PK\x03\x04\0\0words of a file", "it is a binary file"),
    ("a.txt", "caf\xe9 is where the others are".encode("latin-1"), "encoding = 'utf-8' is not allowed for .*a.txt"),
    ("a.txt", b"too short", "no sentence of 5 words"), ("a.md", b"a text of some five words", r"holds no \*.txt file")])
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


def test_other_encodings_are_read_when_they_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_bytes("le caf\xe9 est l\xe0 aujourd'hui".encode("latin-1"))
    assert "caf\xe9" in corpus.load(str(tmp_path), "latin-1").words
    with pytest.raises(ValueError, match="encoding = 'klingon' is not allowed"):
        corpus.load(str(tmp_path), "klingon")


@pytest.mark.parametrize("settings, says", [
    ({"corpus": "/no/such/place"}, "there is no folder /no/such/place"),
    ({"vocabulary": 50}, "injected = 100 .* vocabulary = 50"),
    ({"encoder": "lstm"}, "encoder = 'lstm'"), ({"std": 0.0}, "std = 0.0"), ({"window": 0}, "window = 0")])
def test_bad_settings_name_the_field(settings, says):
    with pytest.raises(ValueError, match=says):
        Config(**settings)


def test_absent_books_wordnet_and_datasets_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ValueError, match="corpus = 'gutenberg' .* there is no folder .* books in CLBOOK_DATA"):
        Config(corpus="gutenberg")
    with pytest.raises(ValueError, match="natural = 'wordnet' .* set CLBOOK_DATA"):
        Config(natural="wordnet")
    monkeypatch.setattr(corpus.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install datasets"):
        Config(corpus="bookcorpus")


def test_a_small_text_says_how_many_words_can_be_split(folder):
    with pytest.raises(ValueError, match="injected = 100 is not allowed: injected must be at most [0-9]+ here"):
        run(tiny(folder, injected=100))


def test_a_text_without_sentences_to_hold_out_is_refused(folder):
    with pytest.raises(ValueError, match="corpus = .* a longer text: of the 5 sentences read, none is held out"):
        run(tiny(folder, sentences=5, injected=0))


def test_a_text_of_few_words_is_refused_before_pairs_are_drawn(folder):
    (folder / "one.txt").write_text("one two one two three. " * 3 + "create make create make create.")
    with pytest.raises(ValueError, match="corpus = .* a text of 10 different words or more: it has 5"):
        run(tiny(folder, injected=0))


def test_an_edited_folder_is_another_run(folder):
    before = tiny(folder)
    assert joblib.hash(tiny(folder)) == joblib.hash(before)
    (folder / "two.txt").write_text("one more file with one more sentence.")
    assert joblib.hash(tiny(folder)) != joblib.hash(before), "the sweep would serve the run of the old text"


def test_bookcorpus_comes_through_datasets(tmp_path, monkeypatch):
    """With a stand-in for the library: what is asked of it, and what becomes of its rows."""
    def load_dataset(name, **how):
        assert name == "bookcorpus/bookcorpus" and how["split"] == corpus.BOOKCORPUS
        return [{"text": "the usual hair style was best for a party ."}]

    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.setattr(corpus, "version", lambda name: "stand-in")
    assert corpus.load("bookcorpus").words[0] == "a"


def test_natural_pairs_share_at_least_half_of_both_words_meanings(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_DATA", str(tmp_path))
    path = tmp_path / corpus.WORDNET
    path.parent.mkdir()
    rows = ["id\tpos\tlexfile\tmembers\thypernyms_or_similar\tdefinition",
            *(f"{k}\tn\tx\t{members}\t\t\"a definition" for k, members in enumerate(
                ("car|auto|motor_car", "auto|bank", "car", "bank|shore", "bank", "big|large", "grey|gray")))]
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
    assert len(first) == 100 and len(found.words) == len(plain.words) + 100 and (found.counts > 0).all()
    assert (found.counts[first] + found.counts[second] == plain.counts[first]).all()
    n = plain.counts[first]
    assert (np.abs(found.counts[first] - n / 2) < 5 * np.sqrt(n) / 2).all()
    merged = found.tokens.copy()
    for u, v in found.pairs["injected"]:
        merged[merged == v] = u
    assert np.array_equal(merged, plain.tokens)
    assert [found.words[k] for k in found.pairs["injected"][0]] == [plain.words[first[0]] + n for n in "₁₂"]
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
    training = words.Training(tiny(folder, window=3, subsample=1.0), torch.device("cpu"))
    found, seen = training.text, {}
    training.encoder = lambda ids, there: (seen.update(ids=ids.clone(), there=there.clone())
                                           or training.table[ids[:, 0] * 0])
    training.loss()
    allowed = set()
    for s in np.unique(found.sentence):
        sentence = found.tokens[found.sentence == s].tolist()
        allowed |= {(tuple(sentence[max(0, i - 3):i]), tuple(sentence[i + 1:i + 4])) for i in range(len(sentence))}
    for ids, there in zip(seen["ids"].tolist(), seen["there"].tolist()):
        assert not there[3] and ids[3] == len(found.words)
        left, right = ([k for k, here in zip(ids[part], there[part]) if here] for part in (slice(0, 3), slice(4, 7)))
        assert (tuple(left), tuple(right)) in allowed


def test_the_mean_encoder_is_the_mean_and_an_empty_window_is_zero():
    table = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    ids, there = torch.tensor([[1, 2, 5], [3, 3, 0]]), torch.tensor([[True, True, False], [False, False, False]])
    assert torch.allclose(words._mean(table, ids, there), torch.stack([(table[1] + table[2]) / 2, torch.zeros(3)]))


def test_held_out_sentences_are_never_trained_on(folder):
    training = words.Training(tiny(folder), torch.device("cpu"))
    weight = [np.diff(part.numpy(), prepend=0) > 0 for part in training.places]
    assert (weight[0] == ~training.text.held).all() and (weight[1] == training.text.held).all() and weight[1].any()


def test_twins_are_nearest_and_natural_synonyms_in_between_on_the_embedded_corpus():
    for r in sweep(run, [Config(seed=seed) for seed in SEEDS]):
        injected, natural = r.ratio("injected"), r.ratio("natural")
        assert injected < 0.45 and injected + 0.1 < natural < 0.9, (injected, natural)
        assert r.twin_nearest[-1] > 0.9 and abs(r.ratio("injected", 0) - 1) < 0.1 and r.twin_nearest[0] == 0
        assert r.distances["injected"][-1].mean() > 2 * r.distances["injected"][0].mean(), "they do not converge"


def test_the_same_order_on_books_with_wordnets_synonyms():
    try:
        configs = [Config(corpus="gutenberg", natural="wordnet", steps=4000, seed=seed) for seed in SEEDS]
    except ValueError as error:
        pytest.skip(str(error))
    for r in sweep(run, configs):
        assert r.ratio("injected") < 0.5 and 0.65 <= r.ratio("natural") <= 0.85 and r.twin_nearest[-1] > 0.7


def test_a_transformer_shows_it_and_a_large_start_hides_it_unless_the_steps_are_large_too():
    transformer, large, fast = sweep(run, [Config(encoder="transformer", batch=256, steps=1500), Config(std=1.0),
                                           Config(std=1.0, lr=2e-2)])
    injected, natural = transformer.ratio("injected"), transformer.ratio("natural")
    assert injected < 0.5 and injected + 0.1 < natural < 0.9
    assert large.ratio("injected") > 0.8 and large.twin_nearest[-1] < 0.1
    assert fast.ratio("injected") + 0.1 < fast.ratio("natural") < 0.9 and fast.twin_nearest[-1] > 0.6
    means = [fast.distances[kind].mean(1) for kind in ("injected", "random, injected")]
    assert means[0][-1] < 0.5 * means[0][0] and means[1][-1] > 0.4 * means[1][0], "twins converge, others less"


def test_another_word_needs_no_training_and_a_stopped_run_is_not_kept(folder, monkeypatch):
    calls = []
    monkeypatch.setattr(neighbours, "run", lambda *a, **k: calls.append(a) or run(*a, **k))
    monkeypatch.setattr(neighbours, "fingerprint", lambda run: "stand-in")
    config = View(word="the", **dataclasses.asdict(tiny(folder, steps=2000)))
    assert run_view(config, progress=lambda *_: False).stopped and len(calls) == 1
    first = run_view(config, progress=lambda *_: True)
    again = run_view(config.replace(word="sleeps"), progress=lambda *_: True)
    assert len(calls) == 3 and not first.stopped and not again.stopped and again.config.word == "sleeps"


@pytest.mark.parametrize("encoder", ["mean", "transformer"])
def test_same_config_same_bits(folder, encoder):
    first, again = (run(tiny(folder, encoder=encoder)) for _ in range(2))
    assert first.table.shape == (13, len(first.words), 8) and first.steps.tolist() == list(range(0, 25, 2))
    for field in dataclasses.fields(Result):
        if isinstance(a := getattr(first, field.name), np.ndarray):
            assert np.array_equal(a, getattr(again, field.name), equal_nan=a.dtype.kind == "f"), field.name
    other = run(tiny(folder, encoder=encoder, seed=1))
    assert not np.array_equal(first.table[0], other.table[0])


def test_stop_returns_what_there_is(folder):
    fractions = []
    result = run(tiny(folder, steps=100_000),
                 progress=lambda fraction, partial: fractions.append(fraction) or len(fractions) < 2)
    assert result.stopped and len(fractions) == 2 and len(result.steps) >= 1
    view = run_view(View(word="the", **dataclasses.asdict(tiny(folder, steps=100_000))), progress=lambda *_: False)
    assert view.stopped and len(view.steps) >= 1


def test_a_diverged_run_names_lr_and_the_step(folder, monkeypatch):
    """Adam's steps are bounded, so a run has to be made to diverge."""
    monkeypatch.setattr(words, "symbol_context", lambda symbols, contexts, ids: (symbols * torch.inf).sum())
    monkeypatch.setattr(words.Training, "record", lambda self, table, t: None)
    with pytest.raises(ValueError, match="lr = 0.002 is not allowed.*diverged at iteration 1"):
        run(tiny(folder))


def test_neighbours_are_sorted_and_know_the_twin(folder):
    config = View(word="the", **dataclasses.asdict(tiny(folder)))
    result = sweep(run, [tiny(folder)])[0]
    split = result.words[result.pairs["injected"][0, 0]].rstrip("₁")
    view = run_view(config.replace(word=split))
    assert view.twin == split + "₂" and split + "₁" not in view.names[0]
    assert not any("₂" in name for name in view.names[1].ravel())
    assert (np.diff(view.distances[0], axis=1) >= 0).all() and view.names[0].shape == (13, neighbours.SHOWN)
    k, table = result.words.index(split + "₁"), result.table[-1].astype(float)
    away = np.delete(np.linalg.norm(table - table[k], axis=1), k)
    assert np.delete(np.array(result.words), k)[away.argmin()] == view.names[0][-1, 0]
    with pytest.raises(ValueError, match="word = 'zebra' is not allowed"):
        run_view(config.replace(word="zebra"))
