"""The toy at the beginning of the chapter on the sphere: a network, and free points from its start."""

import pytest

from clbook.experiments import sphere
from clbook_book.course.sphere import play

SMALL = {"n": 40, "steps": 30, "seed": 3}


@pytest.mark.parametrize("d", [2, 3])
def test_both_are_the_chapters_two_flows_and_their_accuracy_is_that_of_metrics(d):
    run = play.run(play.Config(d=d, **SMALL))
    config = sphere.Config(d=d, **SMALL)
    network = sphere.run(config, record=("accuracy",))
    free = sphere.run(config.replace(**sphere.PAIR["vanilla"]), record=("accuracy", "loss"))
    assert run.z == pytest.approx(network.z, abs=1e-6)
    assert run.free == pytest.approx(free.z, abs=1e-6)
    assert run.free_loss == pytest.approx(free.loss, abs=1e-6)
    assert run.accuracy == pytest.approx(network.accuracy)
    assert run.free_accuracy == pytest.approx(free.accuracy)
    assert run.accuracy[-1] > 0.9 > 0.5 > run.free_accuracy[-1]


@pytest.mark.parametrize("refused", [{"network": False}, {"start": "ordinary"}])
def test_what_free_points_cannot_share_is_not_allowed(refused):
    with pytest.raises(ValueError, match=f"{next(iter(refused))} = .* is not allowed"):
        play.Config(**refused)
