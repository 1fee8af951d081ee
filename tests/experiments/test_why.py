"""Symbols seen m times: the loss against sums written out, endless occurrences, kernel, rates of growth."""

import json
import math
import pathlib
import re
import types

import numpy as np
import pytest
import torch
from browser import alone, barriers
from stepping import advance

from clbook.experiments import why
from clbook.experiments.why import Config, features, groups, growth, infonce, joint, run
from clbook.losses import symbol_context
from clbook.metrics import nccc
from clbook.training.loop import one_thread
from clbook_book import records
from clbook_book.course.why import figures

PAGE = pathlib.Path(__file__).parents[2] / "book" / "why.ipynb"
SMALL = Config(groups=3, symbols=4, contexts=5, d=4, m=3, steps=20, std=0.3)
KINDS = [{}, dict(alike=0.0, m=1), dict(looks="crossed", symbols=6)]
KINDS += [dict(sampled=False), dict(alike=1.0, noise=1.0)]
EVERY_KIND = pytest.mark.parametrize("config", [SMALL.replace(**kind) for kind in KINDS])


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def written_out(z, c, share):
    """The loss as sums over symbols and contexts, in plain numbers."""
    z, c, share, total = z.tolist(), c.tolist(), share.tolist(), 0.0
    seen = [sum(row[s] for row in share) for s in range(len(c))]
    for u, row in enumerate(share):
        product = [sum(a * b for a, b in zip(z[u], c[s], strict=True)) for s in range(len(c))]
        total += sum(row) * math.log(
            sum(p * math.exp(value) for p, value in zip(seen, product, strict=True))
        )
        total -= sum(p * value for p, value in zip(row, product, strict=True))
    return total


def endless_distance(config):
    """Distance of two groups' vectors at the optimum for endless occurrences, without hidden layer, d >= groups - 1.

    There all of a group have one vector. By symmetry the logits are a (1[fits] - 1/G), with penalty decay (G-1) a
    / (G sqrt(kappa)), kappa = 1 + alike (symbols - 1) being the kernel's sum over a group; 0 where that is too high.
    """
    count, kappa = config.groups, 1 + config.alike * (config.symbols - 1)
    fits = 1 - config.noise * (count - 1) / count  # how often a context fits its symbol's meaning
    share = fits - config.decay * (count - 1) / count / math.sqrt(kappa)  # the softmax that it gets
    if share * count <= 1:
        return 0.0
    odds = (count - 1) * share / (1 - share)
    return math.sqrt(2 * math.sqrt(kappa) * math.log(odds))


@EVERY_KIND
def test_each_symbol_is_seen_equally_often_and_in_the_contexts_that_fit(config):
    share, chances = joint(config), why.probabilities(config)
    assert share.dtype == chances.dtype == torch.float64 and share.shape == chances.shape
    np.testing.assert_allclose(share.sum(1), 1 / len(share), atol=1e-15)
    np.testing.assert_allclose(chances.sum(1), 1, atol=1e-14)
    if config.sampled:
        seen = share * len(share) * config.m
        np.testing.assert_allclose(seen, seen.round(), atol=1e-9)
    own = groups(config)[0][:, None] == torch.arange(chances.shape[1]) // config.contexts
    np.testing.assert_allclose(
        (chances * own).sum(1), 1 - config.noise * (1 - 1 / config.groups), atol=1e-14
    )


def test_more_occurrences_come_as_near_to_the_probabilities_as_chance_allows():
    for m in (10, 1000, 10_000):
        config = Config(m=m)
        chances = why.probabilities(config)
        off = joint(config) * len(chances) - chances
        expected = (chances * (1 - chances) / m).sum().sqrt()  # of |off|: the draws are multinomial
        assert off.norm().item() == pytest.approx(expected.item(), rel=0.1)


@EVERY_KIND
def test_features_say_who_looks_alike_and_nothing_else(config):
    (meaning, looks), x = groups(config), features(config)
    alike = torch.where(looks[:, None] == looks, config.alike, 0.0).fill_diagonal_(1.0)
    np.testing.assert_allclose(x @ x.T, alike, atol=1e-14)
    assert torch.equal(meaning, looks) == (config.looks == "same")
    both = torch.bincount(meaning * config.groups + looks)
    if config.looks == "crossed":
        assert set(both.tolist()) == {config.symbols // config.groups}


def test_looks_that_cannot_cross_are_refused():
    with pytest.raises(ValueError, match="symbols = 4 .* must be a multiple of groups = 3"):
        SMALL.replace(looks="crossed")


@EVERY_KIND
def test_loss_is_the_sum_over_symbols_and_contexts_written_out(config):
    share = joint(config)
    z, c = normal(2, len(share), 3), normal(2, share.shape[1], 3, seed=1)
    values = [written_out(a, b, share) for a, b in zip(z, c, strict=True)]
    np.testing.assert_allclose(infonce(z, c, share), values, rtol=0, atol=1e-12)


def test_loss_is_that_of_semantic_learners_over_a_batch_of_all_occurrences():
    share = joint(SMALL)
    count = len(share) * SMALL.m
    seen = (share * count).round().long()
    u, s = seen.nonzero().repeat_interleave(seen[seen > 0], 0).T
    assert len(u) == count
    z, c = normal(len(share), 3), normal(share.shape[1], 3, seed=1)
    expected = symbol_context(z[u], c[s]).item() - math.log(count)
    assert infonce(z, c, share).item() == pytest.approx(expected, abs=1e-12)


def flow(config):
    """The program of one run, on the CPU."""
    return why.Symbols([config]).to("cpu")


@EVERY_KIND
def test_a_step_moves_symbols_by_the_kernel_of_their_features(config):
    """VA and LS Proposition 4.1, exact for a layer: dz = -lr (S K dL/dz + decay z)."""
    with one_thread():
        program = flow(config)
        s = program.start()
        z, c, share = program.embed(s)[0].detach(), s.weights[-1][0].detach(), joint(config)
        free = z.clone().requires_grad_()
        (slope,) = torch.autograd.grad(infonce(free, c, share), free)
        x = features(config)
        expected = z - config.lr * (len(z) * x @ x.T @ slope + config.decay * z)
        moved = program.embed(advance(program, s, 0))[0].detach()
        np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-13)


def test_without_likeness_the_layer_is_a_look_up_table():
    config = SMALL.replace(alike=0.0)
    with one_thread():
        program, share = flow(config), joint(config)
        s = program.start()
        z, c = program.embed(s)[0].detach().clone(), s.weights[-1][0].detach().clone()
        for _ in range(config.steps):
            z.requires_grad_(), c.requires_grad_()
            of_z, of_c = torch.autograd.grad(infonce(z, c, share), (z, c))
            z, c = (
                (w - config.lr * (len(w) * g + config.decay * w)).detach()
                for w, g in ((z, of_z), (c, of_c))
            )
    result = run(config)
    np.testing.assert_allclose(result.z[-1], z, rtol=0, atol=1e-12)
    assert result.loss[-1] == pytest.approx(infonce(z, c, share).item(), abs=1e-12)
    crossed = [run(config.replace(symbols=6, looks=looks)).z for looks in ("same", "crossed")]
    np.testing.assert_array_equal(*crossed)


@EVERY_KIND
def test_from_a_small_start_directions_grow_at_their_rates(config):
    """Each pair of singular vectors of X' A by the factor 1 + lr (rate - decay) a step."""
    config = config.replace(std=1e-7, steps=40)
    share, x = joint(config).numpy(), features(config).numpy()
    centred = np.sqrt(share.size) * (share - share.sum(1, keepdims=True) * share.sum(0))
    left, rates, right = np.linalg.svd(x.T @ centred, full_matrices=False)
    found, shares = growth(share, x, *(label.numpy() for label in groups(config)))
    assert shares.shape == (len(found), 2) and (shares >= 0).all() and (shares <= 1 + 1e-12).all()
    np.testing.assert_allclose(found, rates[: len(found)], atol=1e-12)
    with one_thread():
        program = flow(config)
        s = program.start()

        def amplitude(k):
            w, c = (part[0].detach().numpy() for part in s.weights)
            return left[:, k] @ w + right[k] @ c / np.sqrt(share.shape[1] / share.shape[0])

        before = [amplitude(k) for k in range(3)]
        for t in range(config.steps):
            s = advance(program, s, t)
        for k in range(3):
            factor = (1 + config.lr * (rates[k] - config.decay)) ** config.steps
            np.testing.assert_allclose(
                amplitude(k), factor * before[k], rtol=1e-5, atol=1e-5 * config.std
            )


def test_rates_of_endless_occurrences_are_those_of_the_closed_form():
    for alike, noise in ((0.0, 0.1), (0.5, 0.1), (0.8, 0.4)):
        config = Config(sampled=False, alike=alike, noise=noise)
        rates, shares = growth(
            joint(config).numpy(), features(config).numpy(), groups(config)[0].numpy()
        )
        expected = (1 - noise) * math.sqrt(1 + alike * (config.symbols - 1))
        np.testing.assert_allclose(rates, [expected] * (config.groups - 1), rtol=1e-10)
        np.testing.assert_allclose(shares, 1, atol=1e-10)


@pytest.mark.parametrize(
    ("alike", "decay", "noise"),
    [(0.0, 0.3, 0.1), (0.5, 0.3, 0.1), (0.3, 0.1, 0.3), (1.0, 0.5, 0.2)],
)
def test_endless_occurrences_give_each_group_one_vector_at_the_distance_of_the_closed_form(
    alike, decay, noise
):
    for small in (Config(), Config(groups=2, symbols=3, contexts=2, d=2)):
        result = run(
            small.replace(sampled=False, alike=alike, decay=decay, noise=noise, steps=2000)
        )
        z, meaning = result.z[-1], result.meaning
        distance = np.linalg.norm(z[:, None] - z, axis=-1)
        same = meaning[:, None] == meaning
        assert distance[same].max() < 1e-6 and result.ratio()[-1] < 1e-6
        np.testing.assert_allclose(distance[~same], endless_distance(result.config), rtol=1e-6)


def test_too_much_decay_leaves_nothing_and_the_closed_form_says_so():
    for alike, enough in ((0.0, 0.9), (0.5, 0.9 * math.sqrt(6.5))):
        config = Config(sampled=False, alike=alike, steps=3000)
        assert (
            endless_distance(config.replace(decay=1.01 * enough))
            == 0
            < endless_distance(config.replace(decay=0.99 * enough))
        )
        assert np.abs(run(config.replace(decay=1.2 * enough)).z[-1]).max() < 1e-6


def test_many_occurrences_tend_to_endless_ones():
    """Vectors at the end, up to a rotation: their scalar products, from one start."""

    def products(**change):
        z = run(Config(alike=0.0, **change)).z[-1]
        return z @ z.T

    limit = products(sampled=False)
    off = [np.linalg.norm(products(m=m) - limit) / np.linalg.norm(limit) for m in (100, 10_000)]
    assert off[1] < 0.05 and off[1] < 0.2 * off[0]  # the counts are off by m^(-1/2)


def test_ratio_is_the_mean_over_pairs_written_out():
    result = run(SMALL.replace(looks="crossed", symbols=6))
    for by, label in (("meaning", result.meaning), ("looks", result.looks)):
        within, between = [], []
        for u in range(len(label)):
            for v in range(u):
                (within if label[u] == label[v] else between).append(
                    math.dist(result.z[-1, u], result.z[-1, v])
                )
        assert result.ratio(by)[-1] == pytest.approx(np.mean(within) / np.mean(between), rel=1e-12)
    assert result.ratio(vectors=result.features[None])[0] == pytest.approx(1.0, abs=0.2)
    same = run(SMALL)
    expected = math.sqrt(1 - SMALL.alike)
    assert same.ratio(vectors=same.features[None])[0] == pytest.approx(expected, rel=1e-12)


def test_readout_is_the_nearest_centre_over_the_other_symbols():
    for config in (SMALL, SMALL.replace(looks="crossed", symbols=6)):
        result = run(config)
        for by, y in (("meaning", result.meaning), ("looks", result.looks)):
            for frame in (0, -1):
                z = result.z[frame]
                hits = [
                    nccc(np.delete(z, i, 0), np.delete(y, i), z[i : i + 1], y[i : i + 1])
                    for i in range(len(z))
                ]
                assert result.readout(by, frame) == pytest.approx(np.mean(hits))


def test_figures_have_numbers_and_names():
    def several(**how):
        return [run(SMALL.replace(symbols=6, seed=s, m=m, **how)) for s in (0, 1) for m in (1, 4)]

    crossed = several(looks="crossed")
    of_m = figures.against_m(several(alike=0.0), several(), several(hidden=3), crossed)
    over_time = figures.over_time(records.load("why-over-time").ratio)
    assert "at m = 1," in of_m.alt and "endless" in over_time.alt
    pictures = figures.answer(), figures.one(run(SMALL)), figures.one(crossed[0])
    for picture in (*pictures, of_m, over_time):
        assert picture.png(dpi=40).startswith(b"\x89PNG") and picture.alt
        for ax in picture.fig.axes:
            gids = [artist.get_gid() for artist in ax.get_children() if artist.get_gid()]
            assert gids and len(gids) == len(set(gids))


def test_the_answer_draws_the_mean_of_its_arrows():
    panels = {ax.get_title(): ax for ax in figures.answer().fig.axes}

    def arrows(title):
        found = [one for one in panels[title].collections if "arrows" in (one.get_gid() or "")]
        return [np.stack([one.U, one.V], -1) for one in found]

    (own,), (again, mean) = arrows("1  pushes as they come"), arrows("2  averaged")
    (together,) = arrows("3  moving together")
    np.testing.assert_array_equal(own, again)
    np.testing.assert_allclose(mean, own.mean(0, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(together, mean.repeat(len(own), 0), atol=1e-12)
    for name, (over, kept, lost) in figures.AVERAGERS.items():
        words = [text.get_text() for text in panels[f"{name}:\n{over}"].texts]
        assert words == [f"kept: {kept}", f"lost: {lost}"]


def headings(page):
    """{name: title} of the sections of a notebook of the book."""
    notebook = json.loads((PAGE.parent / f"{page}.ipynb").read_text())
    text = "\n\n".join("".join(cell["source"]) for cell in notebook["cells"])
    return dict(re.findall(r"^\(([\w-]+)\)=\n#+ (.+)$", text, re.M))


def test_each_part_of_the_answer_is_a_link_to_its_section(monkeypatch):
    """In the built page to the section's name; in JupyterLab, which finds sections by their titles, to that."""
    links = {}
    for static in ("1", "0"):
        monkeypatch.setenv("CLBOOK_STATIC", static)
        page = figures.answer()._repr_mimebundle_()["text/html"]
        links[static] = re.findall(r'<li><a href="([^"]+)"', page)
    assert len({*links["1"]}) == len(links["1"]) == 5
    for address, notebook in zip(links["1"], links["0"], strict=True):
        page, _, name = address.partition("#")
        file, _, title = notebook.partition("#")
        assert file == page.replace(".html", ".ipynb")
        assert headings(page.removesuffix(".html") or "why")[name].replace(" ", "-") == title


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """The file of a page with the answer alone, as the built book has it."""
    monkeypatch.setenv("CLBOOK_STATIC", "1")
    page = figures.answer()._repr_mimebundle_()["text/html"]
    return alone(types.SimpleNamespace(name="answer", _repr_html_=lambda: page), tmp_path)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_keyboard_reaches_each_part_of_the_answer_and_nothing_is_a_barrier(
    visit, answer, width
):
    page = visit(answer, width=width)
    links = page.locator(".clbook-parts a")
    for k in range(links.count()):
        page.keyboard.press("Tab")
        focused = "e => e === document.activeElement && getComputedStyle(e).outlineStyle"
        assert links.nth(k).evaluate(focused) == "solid", links.nth(k).inner_text()
        box = links.nth(k).bounding_box()
        assert box["height"] >= 24 and box["x"] >= 0 and box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = links.evaluate_all("all => all.map((e) => parseFloat(getComputedStyle(e).fontSize))")
    over = links.evaluate_all("all => all.map((e) => e.scrollHeight - e.clientHeight)")
    assert min(sizes) >= 12 and max(over) <= 0, "the words of each link fit its place"
    assert barriers(page) == []


def test_a_click_on_a_part_of_the_answer_follows_its_link(tabs, answer):
    opened = tabs(java_script_enabled=False)
    opened.page.goto(answer.as_uri())
    picture = opened.page.locator(".clbook-parts img").bounding_box()
    opened.page.mouse.click(picture["x"] + 20, picture["y"] + 20)
    opened.page.wait_for_url("**/answer.html#why-averaging")
    opened.page.context.close()


def test_directions_are_named_by_what_they_are_about():
    assert figures.kinds(run(Config(m=300, steps=1)))[:3].tolist() == ["meaning"] * 3
    assert figures.kinds(run(Config(m=1, looks="crossed", steps=1)))[:3].tolist() == ["looks"] * 3
    assert figures.kinds(run(Config(m=1, alike=0.0, steps=1)))[0] == "chance"


def test_the_solution_that_couples_the_other_side_says_what_comes_out(capsys):
    text = "\n".join("".join(cell["source"]) for cell in json.loads(PAGE.read_text())["cells"])
    solution = re.search(r"```\{solution\} ex-why-side\n(.*?)\n```", text, re.S)[1]
    code = "\n".join(
        line[4:] for line in solution.splitlines() if line.startswith("    ") or not line
    )
    names = {}
    with one_thread():
        exec(code, names)
    assert capsys.readouterr().out.strip() in " ".join(solution.split())
    for seed in range(3):
        with one_thread():
            symbols, contexts = names["train"](Config(seed=seed, alike=0.0), 0.5)
        assert symbols[-1] > 0.8 and min(symbols) < 0.5 and contexts[-1] < 0.5
