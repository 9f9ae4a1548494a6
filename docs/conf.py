"""How Sphinx builds the documentation; `make docs` calls it."""

import re
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx

project = "keras_perf"
author = "The keras_perf authors"
version = release = version_of("keras-perf")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

html_theme = "furo"
html_title = f"keras_perf {version}"
html_show_copyright = False

# Commands and outputs say what they are; nothing is guessed.
highlight_language = "none"
myst_heading_anchors = 3

# Docstrings are written in Markdown's manner: `name`.
default_role = "code"
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"


def list_the_rest(_app: Sphinx, page: str, source: list[str]) -> None:
    """Names in the index every page of this folder that it does not name itself."""
    if page == "index":
        named = {*re.findall(r"^\w+$", source[0], re.MULTILINE), "index"}
        pages = sorted(path.stem for path in Path(__file__).parent.glob("*.md"))
        rest = "".join(f"{each}\n" for each in pages if each not in named)
        source[0] = source[0].replace("% the rest\n", rest)


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("source-read", list_the_rest)
