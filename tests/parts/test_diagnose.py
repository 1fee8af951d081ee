"""The report against independent code, the numbers of known threads, bad input, and modules that stay as they were."""

import json
import math
import pathlib
import random
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from encoders import D, N, Timm, Transformer, Trap, clouds, noisy
from sklearn import linear_model, neighbors, pipeline, preprocessing
from torch import nn

from clbook import diagnose, kernels
from clbook.diagnose import lines, loss_scale
from clbook.models import MLP


@pytest.fixture(scope="module")
def found():
    given = clouds()
    more = {"twin": given["start"] ** 2, "factors": {"first": given["z"][:, 0]}}
    return diagnose.report(**given, **more, tau=0.2, batch=10)


# The numbers of known threads (SupContrast#3 and #83, positional_cl#5, simclr#132).


@pytest.mark.parametrize(
    ("printed", "n", "tau", "says"),
    [
        (8.909, 256, 0.1, "SupContrast"),
        (5.5597, 25, 0.1, "SupContrast"),
        (11.1, 128, 0.5, "sum of two directions (google"),
        (6.9, 512, 0.5, "nt_xent, mean over the views"),
    ],
)
def test_a_printed_loss_that_is_chance_is_called_by_its_convention(printed, n, tau, says):
    named = diagnose.which_chance(printed, n, tau)
    assert says in named[0]
    assert diagnose.which_chance(0.63 * printed, n, tau) == []


@pytest.mark.parametrize(
    ("n", "tau", "scale", "digits"),
    [(256, 0.1, "supcontrast", 8.9091), (25, 0.1, "supcontrast", 5.55974), (128, 0.5, "sum", 11.0825)],
)  # fmt: skip
def test_a_collapsed_network_has_the_threads_loss_to_the_digit(n, tau, scale, digits):
    same = np.ones((n, 8)) + 1e-9 * np.random.default_rng(0).standard_normal((n, 8))
    line = diagnose.report(same, same, tau=tau, scale=scale)["loss"]
    assert line.value == pytest.approx(digits, abs=6e-5)
    assert line.reference["chance"] == pytest.approx(digits, abs=6e-5)
    assert line.alarm and "chance" in line.says


def test_conventions_are_the_losses_of_equal_outputs():
    n, tau = 40, 0.3
    listed = diagnose.conventions(n, tau)
    for name, start in (("nt_xent", "nt_xent, mean"), ("dcl", "dcl"), ("infonce", "infonce, mean")):
        (value,) = [value for key, value in listed.items() if key.startswith(start)]
        assert value == pytest.approx(loss_scale.chance(name, n, tau), abs=1e-12)


@pytest.mark.parametrize("name", loss_scale.UNLABELLED)
@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_no_arrangement_is_below_the_floor(name, tau):
    """Descent from random points, in enough dimensions and in few, ends above the floor; in enough, near it."""
    n, floor = 6, loss_scale.floor(name, 6, tau)
    for d, reached in ((5, True), (1, False)):
        z = torch.randn(2, n, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        z.requires_grad_()
        optimizer = torch.optim.Adam([z], lr=0.05)
        for _ in range(400):
            optimizer.zero_grad()
            loss = loss_scale.UNLABELLED[name](z[0], z[1], tau)
            loss.backward()
            optimizer.step()
        assert loss.item() >= floor - 1e-9
        assert (loss.item() < floor + 0.02) == reached


def test_floor_of_nt_xent_is_its_formula():
    n, tau = 30, 0.2
    formula = math.log1p(2 * (n - 1) * math.exp(-n / (n - 1) / tau))
    assert loss_scale.floor("nt_xent", n, tau) == pytest.approx(formula, abs=1e-12)


# Lines against other code.


def rows(z):
    return [[x / math.sqrt(sum(y * y for y in row)) for x in row] for row in z.tolist()]


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b))


@pytest.fixture
def given():
    return clouds()


def test_loss_and_partner_accuracy_are_those_of_a_slow_loop(found, given):
    views = rows(given["z1"]) + rows(given["z2"])
    total, right = 0.0, 0
    for a in range(2 * N):
        mate = (a + N) % (2 * N)
        others = [b for b in range(2 * N) if b != a]
        terms = {b: cosine(views[a], views[b]) for b in others}
        total += math.log(sum(math.exp(s / 0.2) for s in terms.values())) - terms[mate] / 0.2
        right += max(terms, key=terms.get) == mate
    assert found["loss"].value == pytest.approx(total / (2 * N), abs=1e-9)
    assert found["partner accuracy"].value == pytest.approx(right / (2 * N), abs=1e-12)


def test_alignment_spread_and_uniformity_are_those_of_a_slow_loop(found, given):
    u1, u2 = rows(given["z1"]), rows(given["z2"])
    apart = sum(2 - 2 * cosine(a, b) for a, b in zip(u1, u2)) / N
    assert found["alignment"].value == pytest.approx(apart, abs=1e-9)
    mean = np.mean(u1, 0)
    assert found["spread"].value == pytest.approx(1 - mean @ mean, abs=1e-9)
    pairs = [math.exp(-2 * (2 - 2 * cosine(u1[i], u1[j]))) for i in range(N) for j in range(i)]
    assert found["uniformity"].value == pytest.approx(math.log(sum(pairs) / len(pairs)), abs=1e-9)


def test_partners_in_a_batch_are_those_of_its_rows(found, given):
    order = lines.random_order(N, 0)
    u1, u2 = (np.array(rows(given[name])) for name in ("z1", "z2"))
    shares = []
    for start in range(0, N, 10):
        some = order[start : start + 10]
        views = np.vstack([u1[some], u2[some]])
        search = neighbors.NearestNeighbors(n_neighbors=1).fit(views)
        nearest = search.kneighbors(return_distance=False)[:, 0]
        shares.append((nearest == (np.arange(20) + 10) % 20).mean())
    assert found["partner accuracy in a batch of 10"].value == pytest.approx(np.mean(shares))


def test_ranks_are_those_of_the_eigenvalues_of_the_covariance(found, given):
    for z, where in ((np.array(rows(given["z1"])), "what the loss"), (given["before"], "before")):
        size = np.sqrt(np.linalg.eigvalsh(np.cov(z.T, bias=True)).clip(0))
        share = size / size.sum()
        rank = math.exp(-(share * np.log(share)).sum())
        line = found[f"effective rank, {where}"]
        assert line.value == pytest.approx(rank, abs=1e-6)
        assert line.reference["most, min(n - 1, d)"] == min(N - 1, z.shape[1])


def test_readouts_are_those_of_scikit_learn(found, given):
    z, y = given["z"], given["labels"]
    order = lines.random_order(N, 0)
    known, asked = order[:30], order[30:]
    probe = pipeline.make_pipeline(
        preprocessing.StandardScaler(), linear_model.LogisticRegression(max_iter=1000)
    )
    line = found["linear probe"]
    for rows_of, value in ((z, line.value), (given["raw"], line.reference["raw input"])):
        score = probe.fit(rows_of[known], y[known]).score(rows_of[asked], y[asked])
        assert value == pytest.approx(score, abs=1e-6)
    unit = preprocessing.normalize(z)
    right = 0
    for i in range(N):
        others = np.delete(np.arange(N), i)
        model = neighbors.KNeighborsClassifier(10).fit(unit[others], y[others])
        right += model.predict(unit[i : i + 1])[0] == y[i]
    assert found["k-NN"].value == pytest.approx(right / N, abs=1e-6)


def adjusted_r2(features, target):
    fit = linear_model.LinearRegression().fit(features, target).score(features, target)
    return 1 - (1 - fit) * (N - 1) / (N - features.shape[1] - 1)


def test_r2_is_the_adjusted_one_of_scikit_learn(found, given):
    adjusted = adjusted_r2(given["start"], given["z"][:, 0])
    line = found["R2 of first"]
    assert line.value == pytest.approx(1, abs=1e-9)
    assert line.reference["untrained start"] == pytest.approx(adjusted, abs=1e-6)
    assert abs(line.reference["rows shuffled"]) < 0.3


def test_cka_and_rsa_are_those_of_whole_tables(found, given):
    a, b = np.array(rows(given["z"])), np.array(rows(given["start"]))
    H = np.eye(N) - 1 / N
    K, L = H @ a @ a.T @ H, H @ b @ b.T @ H
    cka = (K * L).sum() / np.linalg.norm(K) / np.linalg.norm(L)
    upper = np.triu_indices(N, 1)
    rsa = np.corrcoef((a @ a.T)[upper], (b @ b.T)[upper])[0, 1]
    assert found["CKA with the start"].value == pytest.approx(cka, abs=1e-6)
    assert found["RSA with the start"].value == pytest.approx(rsa, abs=1e-6)
    assert found["CKA with the start"].reference["rows shuffled"] < cka


def test_factors_are_read_layer_by_layer_and_networks_are_compared_with_a_null(given):
    g = np.random.default_rng(4)
    first = given["z"][:, 0]
    layers = {"conv": g.standard_normal((N, 9)), "pool": np.c_[first, g.standard_normal((N, 3))]}
    checkpoint = given["z"] + 0.3 * g.standard_normal((N, D))
    more = {"layers": layers, "checkpoint": checkpoint, "factors": {"first": first}}
    report = diagnose.report(**given, **more, tau=0.2)
    line = report["R2 of first"]
    for name, features in layers.items():
        adjusted = adjusted_r2(features, first)
        assert line.reference[f"layer {name}"] == pytest.approx(adjusted, abs=1e-6)
    assert line.says.endswith("Of the layers, most is in pool, 100 %.")
    for measure in ("CKA", "RSA"):
        line = report[f"{measure} with the checkpoint"]
        assert line.value > 0.5 > line.reference["rows shuffled"] and not line.alarm
    assert "checkpoint" in report["k-NN"].reference
    lost = diagnose.report(**(given | {"z": g.standard_normal((N, D))}), checkpoint=checkpoint)
    assert "k-NN" in {line.name for line in lost.alarms}


def test_a_sample_of_the_rows_keeps_them_together():
    given = clouds(400)
    some = np.sort(lines.random_order(400, 0)[:100])
    part = {name: values[some] for name, values in given.items()}
    big, small = diagnose.report(**given, most=100), diagnose.report(**part)
    assert (big.n, big.looked, small.n) == (400, 100, 100)
    assert "100 of 400" in big.summary
    for a, b in zip(big.lines, small.lines):
        assert (a.name, a.value) == (b.name, b.value)


# Alarms.


def alarms(given, **changes):
    """The names of the lines that alarm, of points with some changes."""
    return {line.name for line in diagnose.report(**(given | changes), tau=0.2).alarms}


def test_alarms_are_silent_on_a_healthy_embedding_and_loud_on_broken_ones(found):
    assert found.alarms == ()
    given, g = clouds(200), np.random.default_rng(1)
    one, two = noise = g.standard_normal((2, 200, D))
    same = 1 + 1e-3 * noise
    assert {"spread", "alignment"} <= alarms(given, z1=same[0], z2=same[1])
    loud = alarms(given, z1=one, z2=two)
    assert {"alignment", "loss (nt_xent, scale mean, tau 0.2)"} <= loud and "spread" not in loud
    assert {"k-NN", "linear probe", "linear probe of what is used"} <= alarms(given, z=one)
    assert "CKA with the start" in alarms(given, start=given["z"] + 1e-3)
    flat = np.hstack([given["z1"][:, :1] - 5, np.full((200, 39), 0.01)])
    assert any("dead dimensions" in name for name in alarms(given, z1=flat, z2=flat))


def test_the_mistakes_of_a_practitioner_raise_an_alarm():
    given = clouds(200)
    assert alarms(given) == set()
    assert alarms(given, z2=given["z1"]) == {"equal views"}
    order = np.random.default_rng(0).permutation(200)
    assert alarms(given, labels=given["labels"][order]) >= {"k-NN", "linear probe"}
    thrice = {name: rows[: len(rows) // 3].repeat(3, axis=0) for name, rows in given.items()}
    assert "repeated points" in alarms(thrice)
    dead = given["z1"].copy()
    dead[:, 4:] = 0
    line = diagnose.report(dead, dead + 1e-3)["dead dimensions, what the loss"]
    assert not line.alarm and "2 of 6 axes" in line.says and "hold nothing" in line.says


def test_collapsed_points_are_not_blamed_on_the_views():
    same = np.ones((60, 8))
    report = diagnose.report(same, same)
    assert "equal views" not in {line.name for line in report.lines}
    assert "collapsed to one place" in report["alignment"].says


def test_a_temperature_that_was_not_given_is_said():
    z1, z2 = clouds(60)["z1"], clouds(60)["z2"]
    assert "The temperature was not given, so 0.5 was taken" in diagnose.report(z1, z2)["loss"].says
    assert "not given" not in diagnose.report(z1, z2, tau=0.5)["loss"].says


def test_labels_that_no_readout_can_learn_are_said_to_be_that():
    given = clouds(60)
    with pytest.raises(ValueError, match="labels = .* all different is not allowed: labels must"):
        diagnose.report(**given | {"labels": np.arange(60)})
    alone = np.zeros(8, int)
    few = {name: rows[:8] for name, rows in given.items()}
    for k in range(8):  # one point of the other class: it is in one half alone
        alone[:] = np.arange(8) == k
        report = diagnose.report(**few | {"labels": alone}, tau=0.2)
        assert "too few points" in report["linear probe"].says or report["linear probe"].value >= 0


def test_what_a_module_cannot_take_or_gives_as_a_map_is_said():
    pictures = torch.zeros(10, 1, 4, 4, dtype=torch.uint8)
    network = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
    with pytest.raises(ValueError, match="data = batches of torch.uint8 .* floating point"):
        diagnose.collect(network, pictures, lambda x: x)
    with pytest.raises(ValueError, match="encoder = a module that returned a map"):
        diagnose.collect(nn.Conv2d(1, 2, 2), pictures / 255, lambda x: x)


def test_outputs_that_are_all_equal_get_a_report():
    given = clouds(90)
    same = np.ones((90, 5))
    more = {"start": same, "factors": {"first": given["z"][:, 0]}}
    report = diagnose.report(same, same, same, given["labels"], **more, batch=10)
    assert {"loss", "alignment", "spread"} <= {line.name.split(" ")[0] for line in report.alarms}
    assert report["effective rank"].value == 0 and json.loads(report.to_json())


def test_effective_rank_is_beside_the_most_that_so_few_points_can_have():
    z = np.random.default_rng(0).standard_normal((20, 100))
    line = diagnose.report(z, z)["effective rank, what"]
    assert line.reference["most, min(n - 1, d)"] == 19 and line.value < 19 and not line.alarm


# What it is given, and how it is shown.


def test_tensors_and_files_give_the_report_of_the_arrays(tmp_path, given):
    plain = diagnose.report(**given)
    half = {name: torch.tensor(values) for name, values in given.items()}
    assert diagnose.report(**half) == plain
    path = tmp_path / "embeddings.npz"
    first = given["z"][:, 0]
    np.savez(path, **given, **{"factors.first": first})
    assert diagnose.report(path) == diagnose.report(**given, factors={"first": first})
    np.save(tmp_path / "z1.npy", given["z1"])
    np.savetxt(tmp_path / "z2.csv", given["z2"], delimiter=",", header="a,b,c,d,e,f", comments="")
    np.savetxt(tmp_path / "y.csv", given["labels"])
    both = given["z1"], given["z2"]
    np.save(tmp_path / "both.npy", np.stack(both))
    header = ",".join([f"z{view} {k}" for view in (1, 2) for k in range(D)])
    np.savetxt(tmp_path / "both.csv", np.hstack(both), delimiter=",", header=header, comments="")
    views = diagnose.report(given["z1"], given["z2"])
    for name in ("both.npy", "both.csv"):
        assert diagnose.report(tmp_path / name) == views
    views = tmp_path / "z1.npy", tmp_path / "z2.csv"
    from_files = diagnose.report(*views, labels=tmp_path / "y.csv")
    assert from_files["loss"].value == pytest.approx(plain["loss"].value, abs=1e-12)
    assert from_files["k-NN"].value > 0.9
    rounded = diagnose.report(half["z1"].bfloat16(), half["z2"].half())
    assert rounded["loss"].value == pytest.approx(plain["loss"].value, abs=0.05)


def bad(tmp_path):
    """{name: (changes of the arguments, what the message has)}."""
    z = clouds()["z1"]
    hole, dead = z.copy(), z.copy()
    hole[3, 2], dead[5] = np.nan, 0
    names = "p.npy", "w.csv", "r.csv", "e.csv", "t.npz", "one.npz", "cut.npy"
    pickled, words, ragged, empty, text, one, cut = (tmp_path / name for name in names)
    np.save(pickled, np.array([Trap()], dtype=object), allow_pickle=True)
    words.write_text("1,2\n3,four\n")
    ragged.write_text("1,2\n3\n")
    empty.write_text("a,b\n")
    text.write_text("no zip")
    np.savez(one, z1=z)
    np.save(cut, z)
    cut.write_bytes(cut.read_bytes()[:-8])
    return {
        "NaN": ({"z1": hole}, "z1 = .* 1 of 360 entries NaN"),
        "one view": ({"z2": None}, "z2 = None .*one view has no partner"),
        "other rows": ({"z2": z[:-1]}, r"z2 = .*\(59, 6\).* 60 rows"),
        "other columns": ({"z2": z[:, :-1]}, "z2 = .* columns as z1, 6"),
        "other rows of z": ({"z": z[:50]}, "z = .* 60 rows"),
        "labels": ({"labels": np.arange(59)}, r"labels = .*\(59,\).* \(60,\)"),
        "one class": ({"labels": np.zeros(60)}, "labels = .* two classes"),
        "a dead row": ({"z1": dead}, "z1 = .* 1 rows of zeros .*no direction"),
        "words": ({"z1": np.full((60, 6), "a")}, "z1 = .* real numbers"),
        "few": ({"z1": z[:2], "z2": z[:2], "z": None, "labels": None}, "z1 = .* at least 4 rows"),
        "tau": ({"tau": 0}, "tau = 0 .* > 0"),
        "loss": ({"loss": "triplet"}, "loss = 'triplet' .* nt_xent"),
        "loss with labels": ({"loss": "supcon", "labels": None}, "loss = 'supcon' .* labels"),
        "scale": ({"scale": "total"}, "scale = 'total' .* supcontrast"),
        "batch": ({"batch": 1}, "batch = 1 .* >= 2"),
        "factor": ({"factors": {"hue": np.ones(60)}}, r"factors\['hue'\] = constant"),
        "pickled": ({"z1": pickled}, "z1 = .*p.npy.* not of pickled objects"),
        "cut": ({"z1": cut}, "z1 = .*cut.npy.* must be a whole file"),
        "words in a CSV": ({"z1": words}, "z1 = .* 'four' in row 2"),
        "ragged CSV": ({"z1": ragged}, r"z1 = .* rows of \[1, 2\]"),
        "names alone in a CSV": ({"z1": empty}, "z1 = .* a CSV of one row or more"),
        "no zip": ({"z1": text, "z2": None}, "z1 = .*t.npz"),
        "an npz of one view": ({"z1": one, "z2": None}, "z1 = .*one view has no partner"),
        "no file": ({"z1": tmp_path / "none.npy"}, "z1 = .* file that exists"),
        "another file": ({"z1": "z1.pkl"}, "z1 = .* ends in .npz"),
    }


def test_bad_input_is_a_sentence_that_names_it(tmp_path, given):
    some = {name: given[name] for name in ("z1", "z2", "z", "labels")}
    for name, (changes, message) in bad(tmp_path).items():
        with pytest.raises(ValueError) as caught:
            diagnose.report(**(some | changes))
        assert re.search(message, str(caught.value)), (name, str(caught.value))
        assert "not allowed" in str(caught.value), name


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch, given):
    path = tmp_path / "z1.npy"
    np.save(path, given["z1"])
    monkeypatch.setattr("clbook.diagnose.arrays.LARGEST", 100)
    with pytest.raises(ValueError, match="z1 = .* take fewer rows"):
        diagnose.report(path, given["z2"])


def test_a_report_is_shown_as_text_table_json_and_html(found, given, tmp_path):
    text = repr(found)
    assert found.summary in text and "alignment" in text
    assert len(found.table.rows) == len(found.lines) > 15
    numbers = json.loads(found.to_json())
    assert [line["name"] for line in numbers["lines"]] == [line.name for line in found.lines]
    page = found.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert "<script" not in page and "http" not in page and "R2 of first" in page
    factors = {"<script>": given["z"][:, 0]}
    hostile = diagnose.report(given["z1"], given["z2"], factors=factors)
    assert "<script" not in hostile.to_html() + hostile._repr_html_()
    with pytest.raises(KeyError, match="the report has"):
        found["nothing"]


def test_without_matplotlib_a_notebook_shows_a_report_and_its_table_names_the_extra():
    code = """
import sys; sys.modules["matplotlib"] = None
import torch
from clbook import diagnose
found = diagnose.report(*torch.randn(2, 40, 6))
assert found.alarms and found._repr_html_().count('<tr class="alarm">') == len(found.alarms)
try:
    found.table
except ModuleNotFoundError as missing:
    print(missing)
"""
    ran = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False)
    said = "clbook.style needs matplotlib: pip install 'clbook[book]'\n"
    assert ran.stdout == said, ran.stderr


def test_every_line_has_a_reference_a_sentence_and_a_page_of_the_book(found):
    root = pathlib.Path(__file__).parents[2] / "book"
    for line in found.lines:
        assert line.reference and line.says.endswith(".")
        assert (root / f"{line.page}.ipynb").exists()
        assert line.rule or not line.alarm


def test_a_shell_writes_one_page(tmp_path):
    np.savez(tmp_path / "e.npz", **clouds())

    def ran(file):
        command = [sys.executable, "-m", "clbook.diagnose", file, "--tau", ".1", "--html", "r.html"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    well, lost = ran("e.npz"), ran("none.npz")
    assert well.returncode == 0, well.stderr
    assert "no alarm" in well.stdout and (tmp_path / "r.html").stat().st_size > 2000
    assert lost.returncode == 2 and "file that exists" in lost.stderr


# The trace kernel.


def models():
    """Layers of other kinds, which the kernels of the pieces take: test_kernels."""
    g = torch.Generator().manual_seed(0)
    flat = torch.randn(9, 5, generator=g, dtype=torch.float64)
    layers = nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)
    return {
        "mlp": (MLP((5, 12, 7), "relu", g), flat),
        "batch norm in training mode": (nn.Sequential(*layers), flat),
    }


@pytest.mark.parametrize("name", models())
@pytest.mark.parametrize("pieces", [{}, {"outputs": 2, "samples": 4}, {"outputs": 3, "samples": 7}])
def test_trace_kernel_is_the_trace_of_the_empirical_one(name, pieces):
    model, x = models()[name]
    model.double()
    modes = [part.training for part in model.modules()]
    K = diagnose.trace_kernel(model, x, **pieces)
    assert [part.training for part in model.modules()] == modes
    assert all(p.grad is None for p in model.parameters())
    model.eval()
    whole = kernels.empirical(model, x)
    trace = whole.diagonal(dim1=-2, dim2=-1).sum(-1)
    assert (K - trace).abs().max() <= 1e-10 * trace.abs().max()


def test_trace_kernel_refuses_what_it_cannot_do():
    model, x = models()["mlp"]
    for name, value in {"model": 3, "x": x.float()[:, :2], "outputs": 0, "samples": 1}.items():
        said = "" if name == "x" else value
        with pytest.raises(ValueError, match=f"{name} = {said}"):
            diagnose.trace_kernel(**({"model": model, "x": x.float()} | {name: value}))


def test_kernel_lines_come_with_a_model():
    given = clouds(120)
    model = MLP((D, 20, 4), "relu", torch.Generator().manual_seed(0)).double()
    x = torch.from_numpy(given["z"])
    report = diagnose.report(**given, model=model, x=x)
    K = kernels.empirical(model, x)
    line = report["kernel block score"]
    assert line.value == pytest.approx(kernels.alignment(K, given["labels"]), abs=1e-9)
    assert report["Theta"].value == pytest.approx(kernels.fisher(K, given["labels"]), rel=1e-9)
    assert line.value > 2 * abs(line.reference["labels shuffled"])
    # Of more points some are taken, whatever the order of the classes.
    given = clouds(450)
    order = np.argsort(given["labels"], kind="stable")
    ordered = {name: values[order] for name, values in given.items()}
    x = torch.from_numpy(ordered["z"])
    some = lines.few(450, 0)
    K = kernels.empirical_trace(model, x[some])
    line = diagnose.report(**ordered, model=model, x=x)["kernel block score"]
    assert len(some) == lines.INPUTS
    assert line.value == pytest.approx(kernels.alignment(K, ordered["labels"][some]), abs=1e-9)
    with pytest.raises(ValueError, match="x = .* 450 inputs"):
        diagnose.report(**given, model=model, x=x[:5])


# Collecting from a module.


def test_collect_fills_the_arrays_and_leaves_everything_as_it_was():
    x = torch.randn(50, 5, generator=torch.Generator().manual_seed(0))
    y = torch.arange(50) % 2
    torch.manual_seed(0)  # of the weights
    encoder = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5))
    encoder[1].eval()
    projector = nn.Linear(8, 3)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 16)
    found = diagnose.collect(encoder, loader, noisy, projector, start=encoder)
    assert [part.training for part in encoder] == [True, False, True, True]
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert torch.equal(torch.get_rng_state(), states[0]) and random.getstate() == states[1]
    assert (np.random.get_state()[1] == states[2]).all()

    encoder.eval()
    with torch.no_grad():
        features = encoder(x).numpy()
    assert np.allclose(found["z"], features, atol=1e-6) and found["start"].shape == (50, 8)
    assert (found["z"] == found["before"]).all() and (found["labels"] == y.numpy()).all()
    assert np.allclose(found["raw"], x.numpy()) and found["z1"].shape == (50, 3)
    assert not np.array_equal(found["z1"], found["z2"])
    seen = diagnose.collect(encoder, x, noisy, layers=["0", "2"], checkpoint=encoder, batch=16)
    with torch.no_grad():
        assert np.allclose(seen["layers"]["0"], encoder[0](x).numpy(), atol=1e-6)
    assert seen["layers"]["2"].shape == (50, 8) and (seen["checkpoint"] == seen["z"]).all()
    assert not encoder[0]._forward_hooks
    factors = {"first": x[:, 0].numpy()}
    assert "layer 2" in diagnose.report(**seen, factors=factors)["R2 of first"].reference
    with pytest.raises(ValueError, match="layers = 'head' .* names of the encoder's modules"):
        diagnose.collect(encoder, x, noisy, layers=["head"])
    again = diagnose.collect(encoder, x, noisy, projector, batch=16, labels=y)
    unlabelled = diagnose.collect(encoder, x, noisy, projector, batch=16)
    assert np.allclose(again["z1"], unlabelled["z1"], atol=1e-6)
    assert diagnose.report(**again, tau=0.2).looked == 50


def test_models_of_other_libraries_take_three_lines():
    x = torch.randn(20, 8, generator=torch.Generator().manual_seed(0))
    model = Transformer().to(torch.bfloat16)
    with pytest.raises(ValueError, match="encoder = .*Output.* read="):
        diagnose.collect(model, x, noisy)
    found = diagnose.collect(model, x, noisy, read=lambda out: out.last_hidden_state[:, 0])
    assert found["z"].shape == (20, 6) and found["z"].dtype == np.float32
    images = torch.randn(20, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    found = diagnose.collect(Timm(), images, noisy)
    assert found["z"].shape == (20, 6) and found["raw"].shape == (20, 36)
    assert diagnose.report(**found).n == 20


def test_a_module_that_changes_the_batch_is_refused():
    class Doubles(nn.Module):
        def forward(self, x):
            return torch.cat([x, x])

    x = torch.randn(10, 3)
    for changes, message in (
        ({"encoder": Doubles()}, r"encoder = .*\(20, 3\) for 10 points"),
        ({"projector": Doubles()}, r"projector = .*\(20, 3\) for 10 points"),
        ({"views": lambda x: x[:5]}, r"views = .*\(5, 3\) for 10 points"),
        ({"encoder": lambda x: x}, "encoder = .* torch.nn.Module"),
        ({"data": torch.zeros(0, 3)}, "data = "),
        ({"data": 3}, "data = 3"),
    ):
        given = {"encoder": nn.Linear(3, 3), "data": x, "views": noisy}
        with pytest.raises(ValueError, match=message):
            diagnose.collect(**(given | changes))


def test_inputs_that_are_too_many_are_not_kept(monkeypatch):
    monkeypatch.setattr("clbook.diagnose.collecting.RAW", 30)
    found = diagnose.collect(nn.Linear(3, 3), torch.randn(20, 3), noisy, batch=8)
    assert "raw" not in found and found["z"].shape == (20, 3)


def test_behind_is_a_matter_of_standard_errors():
    assert not lines.behind(0.9, 0.92, 500) and lines.behind(0.8, 0.92, 500)
    assert not lines.behind(0.8, 0.92, 20) and not lines.behind(0.95, 0.9, 500)
