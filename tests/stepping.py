"""One step of a training by itself, for tests and benchmarks."""

from clbook.training.loop import State, Training, learning


def advance(training: Training, s: State, t: int) -> State:
    """The state after the step from t to t + 1, as `loop.follow` takes it where nothing is recorded."""
    s, drawn = learning(s), training.draw()
    z, losses = training.forward(s, drawn, t)
    s = s.changed("watch", training.watch(s, z, t))
    return s.changed("step", training.step(s, drawn, losses, t))
