"""The book's own directives are kinds of a `div`, since JupyterLab shows that as it is, and any other name as an error.

    :::{div} predict walk-eps
    ...
    :::

Here a prediction comes of it; JupyterLab shows what stands in it.
"""

from __future__ import annotations

from docutils.parsers.rst import Directive


class Div(Directive):
    """`{div} kind`, with a name where its kind has one: what is made of it, its kind says.

    Attributes:
        kinds: {kind: its directive}.
    """

    required_arguments = 1
    optional_arguments = 2
    has_content = True
    kinds: dict[str, type[Directive]] = {}

    def run(self):
        kind, *name = self.arguments
        if kind not in self.kinds:
            raise self.error(f"kind = {kind!r}: allowed are {', '.join(self.kinds)}")
        directive = self.kinds[kind]
        least = directive.required_arguments
        counts = range(least, least + directive.optional_arguments + 1)
        if len(name) not in counts:
            few = " or ".join(map(str, counts))
            raise self.error(f"names = {name} are not allowed: {{div}} {kind} has {few}")
        made = directive(
            kind, name, self.options, self.content, self.lineno, self.content_offset,
            self.block_text, self.state, self.state_machine,
        )  # fmt: skip
        return made.run()


def add_kind(app, kind: str, directive: type[Directive]):
    """Let `directive` say what comes of `{div} kind`."""
    Div.kinds[kind] = directive
    app.add_directive("div", Div, override=True)  # sphinx_design has one
