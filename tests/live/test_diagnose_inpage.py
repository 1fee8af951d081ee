"""A reader's file in the page: its numbers and words are those of Python, and a bad file is a sentence. In Chromium."""

import io
import re
import zipfile

import numpy as np
import pytest
import torch
from browser import alone, barriers
from encoders import Trap, clouds

from clbook import diagnose, metrics
from clbook.diagnose import measures, wording
from clbook_book.live import diagnosis as inpage
from clbook_book.live import sizes

WAIT = "['shown', 'refused'].includes(document.querySelector('figure').dataset.state)"


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    given = clouds()
    sick = given | {"z1": given["z1"] + 50, "z2": given["z2"] + 50}
    reports = {"well": diagnose.report(**given), "flat": diagnose.report(**sick)}
    return alone(inpage.in_page(reports), tmp_path_factory.mktemp("page"))


@pytest.fixture
def page(visit, block):
    return visit(block)


def chosen(page, *paths):
    """Choose files by the button; the status then."""
    page.evaluate("document.querySelector('figure').dataset.state = ''")
    page.set_input_files("input[type=file]", [str(path) for path in paths])
    page.wait_for_function(WAIT)
    return page.inner_text(".clbook-status")


def numbers(page, paths):
    """The numbers that the page computes for files."""
    chosen(page, *paths)
    again = """async () => (await window.clbook.diagnoses.own.diagnose(
        document.querySelector('input[type=file]').files)).numbers"""
    return page.evaluate(again)


def three(folder):
    """{kind: files} of three kinds, a deflated .npz of single precision with more points than are looked at, an .npy of
    half precision in the order of Fortran with more dimensions than points, and a CSV."""
    folder.mkdir(exist_ok=True)
    big = clouds(1300, 24, seed=3)
    wide = np.stack([clouds(40, 90, seed=1)[name] for name in ("z1", "z2")]).astype(np.float16)
    table = clouds(75, 5, seed=2, apart=0.5)
    views = {name: big[name].astype(np.float32) for name in ("z1", "z2")}
    np.savez_compressed(folder / "big.npz", **views, labels=big["labels"])
    np.save(folder / "wide.npy", np.asfortranarray(wide))
    both = np.hstack([table["z1"], table["z2"]])
    names = [f"{view}_{k}" for view in ("z1", "z2") for k in range(5)]
    np.savetxt(folder / "table.csv", both, delimiter=",", header=",".join(names), comments="")
    np.save(folder / "one.npy", table["z1"].astype(">f8"))
    np.savetxt(folder / "two.csv", table["z2"], delimiter=",")
    return {
        "npz": [folder / "big.npz"],
        "npy": [folder / "wide.npy"],
        "csv": [folder / "table.csv"],
        "two": [folder / "one.npy", folder / "two.csv"],
    }


def test_a_button_looks_at_its_example_and_a_file_is_not_read_with_its_fields(visit, tmp_path):
    near, far = clouds(40, 6, seed=1), clouds(40, 6, seed=2, apart=3.0)
    fields = {"tau": 0.02, "batch": 4}
    examples = {
        "patient A": (near["z1"], near["z2"], fields),
        "patient B": (far["z1"], far["z2"], {"tau": 0.5, "batch": 32}),
    }
    page = visit(alone(inpage.in_page({"well": diagnose.report(**near)}, examples), tmp_path))
    for name, (z1, z2, said) in examples.items():
        page.evaluate("document.querySelector('figure').dataset.state = ''")
        page.click(f"text={name}")
        page.wait_for_function(WAIT)
        half = (z1.astype(np.float16), z2.astype(np.float16))
        report = diagnose.report(*half, **said)
        assert f"{len(report.alarms)} alarm" in page.inner_text(".clbook-status").replace("no", "0")
        for line in report.alarms:
            assert line.says in page.inner_text(".clbook-diagnose ul")
    np.savez(tmp_path / "own.npz", **{view: far[view] for view in ("z1", "z2")})
    chosen(page, tmp_path / "own.npz")
    assert page.input_value("[data-of=tau]") == "0.5" and not page.input_value("[data-of=batch]")


@pytest.mark.parametrize("kind", ["npz", "npy", "csv", "two"])
def test_the_page_has_the_numbers_and_words_of_python(page, tmp_path, kind):
    paths = three(tmp_path)[kind]
    page.fill("[data-of=tau]", "0.2")
    page.fill("[data-of=batch]", "10")
    page.select_option("[data-of=scale]", "supcontrast")
    found = numbers(page, paths)
    report = diagnose.report(*paths, tau=0.2, batch=10, scale="supcontrast")
    assert set(found) == {*report.numbers, "zero", "one"}
    for name, value in report.numbers.items():
        assert found[name] == pytest.approx(value, rel=1e-5, abs=1e-5), name
    for key in wording.TWO_VIEWS:
        item = page.locator(f"[data-line={key}]")
        line = report["loss (" if key == "loss" else item.locator("strong").inner_text()]
        says = item.locator(".clbook-says").inner_text().removeprefix("Alarm. ")
        assert says == line.says
        assert line.alarm == ("clbook-alarm" in (item.get_attribute("class") or ""))
    assert f"{report.looked} of {report.n}" in page.inner_text(".clbook-status") or kind != "npz"


def test_a_file_may_be_dropped(page, tmp_path):
    text = three(tmp_path)["csv"][0].read_text()
    page.evaluate(
        """text => {
          const data = new DataTransfer();
          data.items.add(new File([text], "table.csv"));
          const drop = document.querySelector(".clbook-drop");
          drop.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        text,
    )
    page.wait_for_function(WAIT)
    assert "table.csv: 75 points in 5 dimensions" in page.inner_text(".clbook-status")


def bad(folder):
    """{name: (files, what the sentence has)}."""
    folder.mkdir(exist_ok=True)
    z = clouds()["z1"]
    hole, dead = z.copy(), z.copy()
    hole[3, 2] = np.nan
    dead[5] = 0

    def npz(name, **arrays):
        np.savez(folder / name, **arrays)
        return [folder / name]

    def text(name, written):
        (folder / name).write_text(written)
        return [folder / name]

    np.save(folder / "p.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    np.savez(folder / "p.npz", z1=np.array([Trap()], dtype=object), z2=z)
    np.save(folder / "c.npy", z.astype(complex))
    np.save(folder / "one.npy", z)
    whole = (folder / "one.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:500])
    (folder / "cut.npz").write_bytes(npz("whole.npz", z1=z, z2=z)[0].read_bytes()[:900])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("z1.npy", whole)
        archive.writestr("z2.npy", whole)
    broken = bytearray(packed.getvalue())
    broken[300:340] = bytes(40)
    (folder / "broken.npz").write_bytes(broken)
    return {
        "NaN": (npz("h.npz", z1=hole, z2=z), "z1 of h.npz has 1 of 360 entries that are NaN"),
        "zero row": (npz("d.npz", z1=z, z2=dead), "z2 of d.npz has 1 rows of zeros"),
        "one view": (npz("o.npz", z1=z), "o.npz has the arrays z1. .*one view has no partner"),
        "one array": ([folder / "one.npy"], "has one view, which has no partner"),
        "rows": (npz("r.npz", z1=z, z2=z[:-1]), "60 rows and z2 of r.npz has 59"),
        "columns": (npz("k.npz", z1=z, z2=z[:, :-1]), "6 columns and z2 of k.npz has 5"),
        "few": (npz("f.npz", z1=z[:3], z2=z[:3]), "3 rows, and 4 are the fewest"),
        "pickled": ([folder / "p.npy"], "objects, which could run code"),
        "pickled inside": ([folder / "p.npz"], "z1 of p.npz holds .*objects"),
        "complex": ([folder / "c.npy"], "no|not an array of real numbers"),
        "words": (text("w.csv", "z1,z2\n1,2\n3,four\n"), 'w.csv has the entry "four" in row 2'),
        "ragged": (text("g.csv", "1,2\n3\n"), "rows of several lengths"),
        "empty": (text("e.csv", ""), "no rows of numbers"),
        "gap": (text("b.csv", "1,2\n3,\n"), 'entry "" in row 2'),
        "no zip": (text("t.npz", "no zip"), "t.npz is damaged"),
        "no array": (text("t.npy", "no array at all"), "t.npy is damaged"),
        "cut": ([folder / "cut.npy"], "cut.npy ends before its numbers do"),
        "cut zip": ([folder / "cut.npz"], "cut.npz is damaged"),
        "broken zip": ([folder / "broken.npz"], "damaged|could not be read"),
        "pickle": (text("x.pkl", "cos\nsystem\n"), "x.pkl is none of .npz, .npy and .csv"),
        "three": ([folder / "one.npy", folder / "c.npy", folder / "w.csv"], "two files"),
    }


def test_a_bad_file_is_a_sentence(page, tmp_path):
    for name, (paths, message) in bad(tmp_path).items():
        said = chosen(page, *paths)
        assert page.get_attribute("figure", "data-state") == "refused", name
        assert re.search(message, said), (name, said)
        assert said.endswith("."), name
    page.fill("[data-of=tau]", "hot")
    assert "above 0" in chosen(page, *three(tmp_path)["csv"])
    assert page.get_attribute("[data-of=tau]", "aria-invalid") == "true"


def test_a_file_of_two_gigabytes_is_refused_before_it_is_read(page):
    said = page.evaluate(
        """async () => {
          const setup = JSON.parse(document.querySelector(".clbook-setup").textContent);
          const code = document.querySelector(".clbook-worker").textContent + `
            ;(() => { const size = 3e9, name = "z.npy";
              read([{ name, size, arrayBuffer() { throw new Error("read") } }], { largest: ${setup.largest} })
                .catch((error) => postMessage(error.message)); })();`;
          const worker = new Worker(URL.createObjectURL(new Blob([code])));
          return new Promise((resolve) => { worker.onmessage = ({ data }) => resolve(data); });
        }"""
    )
    assert said == "z.npy has 3.0 GB, and at most 2 are read: take fewer rows."


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_block_has_no_barriers_and_works_by_keyboard(visit, block, tmp_path, theme):
    page = visit(block, width=390, height=844, color_scheme=theme)
    if theme == "dark":
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        page.add_style_tag(content="html { background: #14181e; color: #ced6dd }")
    chosen(page, *three(tmp_path)["csv"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.focus("input[type=file]")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.1")
    page.evaluate("document.querySelector('figure').dataset.state = ''")
    page.keyboard.press("Tab")
    page.wait_for_function(WAIT)
    assert barriers(page) == []


def test_without_javascript_the_runs_stand_there(visit, block):
    page = visit(block, java_script_enabled=False)
    assert page.is_disabled("input[type=file]") and "takes JavaScript" in page.inner_text("figure")
    label = page.get_attribute("[data-line=alignment] .clbook-strip", "aria-label")
    assert label.startswith("well ") and "flat " in label


def test_without_style_sheet_and_script_the_runs_are_drawn(visit, block, tmp_path):
    """So JupyterLab shows a notebook that somebody else has run."""
    bare, seen = tmp_path / "bare.html", []
    bare.write_text(re.sub(r"<(style|script).*?</\1>", "", block.read_text(), flags=re.DOTALL))
    for path in (block, bare):
        strip = visit(path).locator("[data-line=alignment] .clbook-strip")
        whole, *dots = (each.bounding_box() for each in (strip, *strip.locator("i").all()))
        places = [(dot["x"] + 4 - whole["x"]) / whole["width"] for dot in dots]
        seen += [[whole["height"], *places, *(dot["y"] - whole["y"] for dot in dots)]]
    assert seen[0] == pytest.approx(seen[1], abs=1e-3) and len(set(seen[0])) == 5


# What is traced.


def test_the_measures_are_those_of_the_metrics():
    given = {k: torch.from_numpy(v) for k, v in clouds(50, 7).items() if k in ("z1", "z2")}
    u1, u2 = (measures.unit(z) for z in given.values())
    order = torch.randperm(50)
    apart = measures.apart(u1, u2, order)
    assert float(apart["alignment"]) == pytest.approx(metrics.alignment(u1, u2), abs=1e-12)
    assert float(measures.uniformity(u1)) == pytest.approx(metrics.uniformity(u1), abs=1e-9)
    rank = measures.dimensions(u1, torch.randn(50, 7, dtype=torch.float64))["rank"]
    assert float(rank) == pytest.approx(metrics.effective_rank(u1), abs=1e-6)


def test_a_number_that_is_no_polynomial_of_the_sizes_is_refused():
    chosen = inpage.TALL
    texts = [f"function(){{a({n}*{d},{2 * n * n - n},0.5)}}" for n, d in chosen]
    merged = sizes.merged(texts, chosen, "f")
    assert merged.startswith("function f(n,d){const ") and merged.endswith("0.5)}")
    with pytest.raises(ValueError, match="polynomial"):
        sizes.merged([f"function(){{a({2**d})}}" for n, d in chosen], chosen, "f")
    with pytest.raises(ValueError, match="same at all sizes"):
        texts[3] = texts[3].replace("a(", "b(")
        sizes.merged(texts, chosen, "f")
