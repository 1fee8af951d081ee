"""Puts the long runs that the book keeps, `book/records`, into the package. All else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithRecords(build_py):
    """An installed package has the records in `clbook/kept`; a checkout reads them where the book has them."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "clbook/kept"
        target.mkdir(parents=True, exist_ok=True)
        for pattern in ("*.nc", "checked.json"):
            for record in Path("book/records").glob(pattern):
                shutil.copyfile(record, target / record.name)


setup(cmdclass={"build_py": BuildWithRecords})
