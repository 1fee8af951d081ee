"""What many pages have alike is a file beside them."""

from clbook_files import file_name, link_files


class App:
    def __init__(self, outdir):
        self.outdir = outdir


def linked(folder, body):
    """A page's HTML as it is built."""
    context = {"body": body, "pathto": lambda address, resource: f"../{address}"}
    link_files(App(folder), "book/page", "page.html", context, None)
    return context["body"]


def test_named_scripts_and_style_sheets_become_files_and_others_stay(tmp_path):
    style, script = "p { color: red }", 'const a = "</p>" < 1;\nconst μ = 0;'
    body = (
        f'<p>1</p><style data-file="toy">{style}</style><script>own()</script>'
        f'<script data-file="toy">{script}</script><script type="text/plain">data</script>'
    )
    names = file_name("style", "toy", style), file_name("script", "toy", script)
    assert linked(tmp_path, body) == (
        f'<p>1</p><link rel="stylesheet" href="../_static/{names[0]}"><script>own()</script>'
        f'<script src="../_static/{names[1]}"></script><script type="text/plain">data</script>'
    )
    texts = [(tmp_path / "_static" / name).read_text(encoding="utf-8") for name in names]
    assert texts == [style, script]


def test_a_page_has_each_file_once_and_other_contents_another(tmp_path):
    block = '<style data-file="toy">p {}</style><script data-file="toy">a()</script><p>block</p>'
    page = linked(tmp_path, block + block + '<script data-file="toy">b()</script>')
    assert page.count("<link") == 1 and page.count("<script") == 2 and page.count("block") == 2
    assert linked(tmp_path, block).count("<script") == 1, "another page has it too"
    assert len(list((tmp_path / "_static").iterdir())) == 3
