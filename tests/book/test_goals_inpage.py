"""The goals of the blocks in the built pages: the same runs reach them there as in Python."""

import pytest
from browser import SKIPPED
from pages import HTML, built  # noqa: F401
from reaching import SETTINGS, settings_of

from clbook_book.course.separability import play

RUN = """([name, settings]) => window.clbook.explorers[name].run(settings).then(({ goals }) => goals)"""


def asked(name, changes):
    """What a block is asked to run; in the front page's toy the points stand where Python's run has them."""
    if name != "play":
        return changes
    state = play.MovedPoints([play.Config(**changes)]).state
    points = {part: getattr(state, part)[0].flatten().tolist() for part in ("x", "label", "there")}
    return {field: value for field, value in changes.items() if field != "spread"} | {
        "points": points
    }


@pytest.mark.parametrize(("page", "name"), SETTINGS)
def test_a_page_says_which_goals_its_runs_reach(visit, page, name):
    opened = visit(HTML / "book" / f"{page}.html", SKIPPED)
    opened.set_default_timeout(600_000)
    goals = opened.eval_on_selector_all(
        f"[data-name={name}] .clbook-goals li", "all => all.map(e => e.firstChild.data.trim())"
    )
    assert len(goals) == len(SETTINGS[page, name])
    for goal, (reach, miss) in zip(goals, SETTINGS[page, name], strict=True):
        for wanted, several in ((True, reach), (False, miss)):
            for text in several.split():
                found = opened.evaluate(RUN, [name, asked(name, settings_of(text))])
                assert (goal in found) == wanted, (goal, text, found)
                if text in ("decay=0.02", "m=1&alike=0.0&decay=10.0"):
                    assert "collapsed" in opened.inner_text(f"[data-name={name}] .clbook-status")
