"""The forms: our words with foreign names in them are shown as they are, and do nothing."""

from __future__ import annotations

import ast
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from any_text import ANY_TEXT
from hypothesis import given
from hypothesis import strategies as st
from markdown import markdown
from markdown_it import MarkdownIt

import keras_perf
from keras_perf.records.text.visible import visible
from keras_perf.report.text.forms import Form, Markdown, Terminal, escaped

NASTY = [
    "<img src=x onerror=alert(1)>",
    "a | b",
    "a \\| b",
    "[x](javascript:alert(1))",
    "`rm -rf` ``` ~~~",
    "# heading",
    "1. item",
    "- item",
    "---",
    "> quotation",
    "&lt;b&gt; &amp; *bold* _i_ __init__ ~~gone~~",
    "    indented",
    "two\n\nparagraphs",
    "\x1b]0;title\x07\u202e",
]

READERS = {
    "TensorBoard's": lambda text: markdown(text, extensions=["tables", "fenced_code"]),
    "CommonMark with tables": MarkdownIt("commonmark", {"html": True}).enable("table").render,
}
READERS["GitHub's"] = MarkdownIt("gfm-like", {"linkify": False}).render

OURS = {"h2", "h3", "p", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}


class Rendered(HTMLParser):
    """The tags, and the text of the elements named."""

    def __init__(self, html):
        super().__init__()
        self.tags = []
        self.text = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def composed(form: Form, name: str) -> str:
    form.verdict("input-bound", f"of {name} steps.")
    form.title(name)
    form.paragraph(name)
    form.table(["owner", "ms"], [[name, "1.0"], ["Map", name]], name)
    form.advice(f"1. Do {name}", "cache", "2.00×", name, f"# {visible(name)}\nx = 1")
    form.notes([name, f"{name} again"])
    return str(form)


# -- Markdown ----------------------------------------------------------------------------


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", NASTY)
def test_a_name_is_shown_as_it_is_and_makes_no_markup(name, reader):
    seen = Rendered(READERS[reader](composed(Markdown(), name)))
    plain = Rendered(READERS[reader](composed(Markdown(), "name")))
    assert seen.tags == plain.tags
    assert set(seen.tags) <= OURS
    words = " ".join("".join(seen.text).split())
    assert words.count(" ".join(visible(name).split())) == 11


@pytest.mark.fault(2, "names with tags, links, columns or headings in Markdown")
@pytest.mark.parametrize("reader", READERS)
@given(name=ANY_TEXT)
def test_whatever_the_name_the_markup_is_ours(reader, name):
    seen = Rendered(READERS[reader](composed(Markdown(), f"x{name}y")))
    plain = Rendered(READERS[reader](composed(Markdown(), "name")))
    assert seen.tags == plain.tags


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1), st.tuples(ANY_TEXT, ANY_TEXT))
def test_a_table_keeps_its_lines_and_columns(rows, header):
    form = Markdown()
    form.table(header, rows)
    lines = str(form).removesuffix("\n").split("\n")
    assert len(lines) == len(rows) + 2
    bare = [re.sub(r"\\.", "", line) for line in lines]
    assert {line.count("|") for line in bare} == {3}
    assert not re.search(r"<", "".join(lines))


@given(ANY_TEXT)
def test_markdown_holds_no_tag_and_only_ends_of_lines_beside_what_can_be_seen(name):
    text = composed(Markdown(), name)
    outside = re.sub(r"(`{3,})python\n.*?\n\1\n", "", text, flags=re.DOTALL)
    assert "<" not in outside
    assert text.replace("\n", "").isprintable()


@pytest.mark.fault(2, "a name that would end a block of code")
def test_a_block_of_code_cannot_be_ended_by_what_is_in_it():
    form = Markdown()
    form.advice("title", "cache", "2×", "reason", "x = 1\n````\n# <script>")
    assert str(form).splitlines()[-5:] == ["`````python", "x = 1", "````", "# <script>", "`````"]


def test_usual_words_stay_readable():
    words = "Mine.on_train_batch_end takes 4 ms (1.60–2.38): steps_per_execution=8, map() is 50%."
    assert escaped(words) == words
    form = Markdown()
    form.paragraph("1.89× of 3 steps")
    assert str(form) == "1.89× of 3 steps\n"


# -- terminal ----------------------------------------------------------------------------


@pytest.mark.fault(2, "names with control characters or marks of direction in a terminal")
@given(ANY_TEXT)
def test_a_terminal_is_given_only_ends_of_lines_beside_what_can_be_seen(name):
    text = composed(Terminal(), f"x{name}")
    assert text.replace("\n", "").isprintable()
    assert text.count("\n") == composed(Terminal(), "name").count("\n")


def test_columns_are_as_wide_as_what_is_shown():
    form = Terminal()
    form.table(["owner", "ms"], [["a\x1b", "1.0"]])
    assert str(form).splitlines() == ["owner   ms", "-----  ---", r"a\x1b  1.0"]


# -- nothing goes around them ------------------------------------------------------------


OWN_MARKDOWN = {
    "report/text/forms.py",
    # The README's table of metrics: our words only, with code among them.
    "records/metrics/all_metrics.py",
}


def test_no_other_module_puts_markdown_together():
    package = Path(keras_perf.__file__).parent
    for path in package.rglob("*.py"):
        if path.relative_to(package).as_posix() in OWN_MARKDOWN:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                begins = node.value.startswith(("| ", "## ", "### ", "```", "- "))
                assert not begins, f"{path.relative_to(package)}:{node.lineno}: {node.value!r}"
