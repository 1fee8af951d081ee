"""The blocks of the words' chapter: any word's nearest from the record, and a text of a reader's own that trains."""

import numpy as np
import pytest
from browser import alone, barriers

from clbook_book import records
from clbook_book.course.words import halves, typed

TEXT = """The apple tree stood in the garden, and under the apple tree the child counted apples. An apple's a day,
the child said; don't count pears, for pears aren't apples. Garden, child, apple: naïve words, und Äpfel für jeden.
"""


@pytest.fixture(scope="module")
def nearest():
    """The block of the record, with numbered words."""
    record = records.load("words-nearest").isel(run=0)
    words = [f"word{k}" for k in range(record.sizes["word"])]
    words[5:7] = ["split₁", "split₂"]
    return typed.Nearest(record, words, "word7", "Nearest", ".")


def test_a_word_is_looked_up_as_it_stands_in_the_record(visit, tmp_path, nearest):
    page = visit(alone(nearest, tmp_path))
    page.wait_for_function("window.clbook?.explorers?.neighbours")
    look = "word => window.clbook.explorers.neighbours.look(word)"
    for k in (0, 300, len(nearest.words) - 1):
        found = page.evaluate(look, nearest.words[k])
        assert found["nearest"] == [nearest.words[j] for j in nearest.record.near.values[-1, k]]
    assert page.evaluate(look, "Split")["symbol"] == "split₁"
    assert page.evaluate(look, "nowhere") is None
    assert "none of the run's 4100 symbols" in page.inner_text(".clbook-status")
    page.fill("input", "word300")
    page.wait_for_function("location.hash == '#neighbours:word=word300'")
    assert barriers(page) == []


def test_a_text_is_counted_and_trained_as_in_python(visit, tmp_path):
    page = visit(alone(typed.Own("a cat", "a short text", "Own", "."), tmp_path))
    page.wait_for_function("window.clbook?.explorers?.own")
    path, text = tmp_path / "text.txt", 12 * TEXT
    path.write_text(text, "utf-8")
    ended = page.evaluate("text => window.clbook.explorers.own.run({ text, seed: 3 })", text)
    told = "({ tokens, words, split, joint }) => [tokens, words, split, [...joint]]"
    tokens, words, split, joint = page.evaluate(f"({told})(window.clbook.explorers.own.counted())")
    truth = halves.counted(text, 3)
    assert (
        (words, split) == truth[:2] and ended["split"] == len(split) and ended["tokens"] == tokens
    )
    assert np.reshape(joint, truth[2].shape) == pytest.approx(truth[2], abs=1e-7)
    run = halves.run(halves.Config(text=str(path), seed=3))
    assert ended["loss"] == pytest.approx(run.loss[-1], abs=0.02)
    assert abs(ended["met"] - run.found()) <= 1  # two cosines may be alike
    assert f"{ended['met']} of {len(split)} pairs" in page.inner_text(".clbook-status")
    assert barriers(page) == []
    page.fill("[name=word]", "garden")
    trained = page.inner_text(".clbook-asked")
    page.evaluate("() => { window.clbook.explorers.own.run({ seed: 4 }) }")
    page.fill("[name=word]", "Garden")
    assert page.inner_text(".clbook-asked") != trained  # of the vectors that train
    page.fill("textarea", "a cat is a cat")
    page.click("[data-do=train]")
    assert page.inner_text(".clbook-status").startswith("This text has too few long words")
