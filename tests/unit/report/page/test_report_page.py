"""The page: all there, nothing from elsewhere, nothing that a name could smuggle in."""

from __future__ import annotations

import base64
import hashlib
import re
import tempfile
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from any_text import ANY_TEXT
from hand_built import facts_of, stage, write_fit
from hypothesis import given, settings

from keras_perf.records.interval import PARTS
from keras_perf.records.metrics.all_metrics import METRICS
from keras_perf.records.run.json_form import plain
from keras_perf.records.run.times.outlier import CAUSES, Cause, Outlier
from keras_perf.records.text.visible import visible
from keras_perf.report.compared.differing_settings import NOTHING_DIFFERS
from keras_perf.report.page.page import POLICY, page_html
from keras_perf.report.page.plots.timeline import CAUSE_MARKS
from keras_perf.report.page.script import script_text
from keras_perf.report.page.style import STYLE
from keras_perf.report.run_report import run_reports
from keras_perf.write.run_writer import RunWriter

SHAPES = files("keras_perf") / "report" / "page" / "static" / "timeline_marks.js"
NASTY = '<script>alert("&amp;")</script>'

CONTEXT = {
    "first_step": 0,
    "cpu_count": 8,
    "examples_per_step": 32.0,
    "versions": {"tensorflow": "2.21.0"},
    "gpus": {"gpu/0": "H200 GPU-1"},
    "jit_compile": False,
    "stages": [stage("TensorSlice", 0.5), stage("Map", 3.0), stage("Shuffle", 0.5)],
    "events": [
        plain(Outlier(40, Cause.CALLBACK, f"{NASTY}.on_train_batch_end", 900.0, 4.0)),
        plain(Outlier(60, Cause.GARBAGE, "", 30.0, 4.0)),
    ],
}


class Page(HTMLParser):
    """What a browser would see: the tags, their attributes, and the text by its tag."""

    def __init__(self, text):
        super().__init__()
        self.tags = Counter()
        self.attributes = []
        self.said = []
        self._open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, *attribute) for attribute in attrs]
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open.pop() != tag:
            pass

    def handle_data(self, data):
        self.said.append((self._open[-1] if self._open else "", data.strip()))

    def of(self, attribute):
        return [value for _, name, value in self.attributes if name == attribute]

    def texts(self, tag):
        return [text for where, text in self.said if where == tag and text]


@pytest.fixture
def page(tmp_path):
    def make(*names, context=CONTEXT):
        for name in names:
            write_fit(tmp_path / name, step_ms=4.0, context=context)
        return page_html(run_reports([tmp_path / name for name in names]))

    return make


# -- nothing from elsewhere --------------------------------------------------------------


def test_the_page_refers_to_nothing_outside_itself(page):
    text = page("a", "b")
    seen = Page(text)
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert not {"link", "img", "iframe", "object"} & seen.tags.keys()
    assert not seen.of("src")
    assert "@import" not in text
    assert not re.search(r"url\((?!#)|\bfetch\(|\bimport ?\(", text)
    assert all(target.startswith("#") for target in seen.of("href"))


def test_the_browser_is_told_to_load_nothing_and_to_run_one_script_of_ours(page):
    text = page("a")
    assert POLICY in Page(text).of("content")
    assert "script-src 'sha256-" in POLICY
    [script] = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    assert script == script_text()
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{known}'" in POLICY


def test_every_reference_within_the_page_leads_somewhere_and_no_id_is_there_twice(page):
    text = page("a", "b")
    seen = Page(text)
    ids = seen.of("id")
    assert len(ids) == len(set(ids))
    assert {target[1:] for target in seen.of("href")} <= set(ids)
    assert seen.of("popovertarget")
    assert set(seen.of("popovertarget")) <= set(ids)


# -- names -------------------------------------------------------------------------------


def test_a_name_with_markup_in_it_is_shown_as_it_is(page):
    text = page(NASTY)
    seen = Page(text)
    assert scripts_of(seen) == ["application/json", "module"]
    assert f"{NASTY}.on_train_batch_end" in seen.texts("td")
    assert any("<script>" in heading for heading in seen.texts("h1"))


def scripts_of(seen):
    """Their types; the first has a run's steps, and runs nothing."""
    return [value for tag, name, value in seen.attributes if (tag, name) == ("script", "type")]


TRIAL = {"recommended": 1, "predicted_speedup": 1.0, "low": 1.0, "high": 1.0, "applied": False}


def nasty(name):
    """A run in which every name is this one."""
    return CONTEXT | {
        "gpus": {"gpu/0": name},
        "optimizer": name,
        "versions": {"tensorflow": name},
        "stages": [stage(name, 3.0)],
        "events": [plain(Outlier(40, Cause.CALLBACK, name, 900.0, 4.0))],
        "event_totals": [{"cause": "callback", "owner": name, "count": 1, "total_ms": 9.0}],
        "steps_per_execution_trial": TRIAL | {"not_tried": name},
        "trace_agreement": [{"part": name, "trace_ms": 3.0, "split_ms": 4.0, "why": "profiler"}],
    }


@given(ANY_TEXT)
@settings(max_examples=10, deadline=None)
def test_whatever_the_names_the_page_is_xml_of_what_can_be_seen(name):
    with tempfile.TemporaryDirectory() as log_dir:
        write_fit(Path(log_dir), step_ms=4.0, context=nasty(name))
        [report] = run_reports([log_dir])
    text = page_html([replace(report, name=name), report])
    assert text.replace("\n", "").isprintable()
    body = text.split("</style></head>")[1].removesuffix("</html>\n").replace(script_text(), "")
    assert fromstring(body).find("main") is not None
    seen = Page(text)
    assert scripts_of(seen) == ["application/json"] * 2 + ["module"]
    assert not seen.tags["img"]
    assert " ".join(visible(name).split()) in " ".join(" ".join(seen.texts("td")).split())


def test_a_name_that_could_steer_the_page_is_written_out(page):
    text = page("a", context=nasty("\u202egnp\x1b\x00\ud800\nend"))
    assert r"\u202egnp\x1b\x00\ud800\nend" in Page(text).texts("td")


def test_a_tag_that_is_no_gpus_is_not_plotted(tmp_path):
    writer = RunWriter(str(tmp_path))
    for step in (10, 20):
        writer.scalars(step, {"gpu/$\\frac$/utilization_pct": 50.0}, wall_time=float(step))
    writer.close()
    assert "utilization, %" not in page_html(run_reports([tmp_path]))


# -- colours -----------------------------------------------------------------------------


def luminance(colour):
    """WCAG 2's relative luminance of `#rrggbb`."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(w * s for w, s in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def colours_of(theme):
    """Name → colour, as the page has them in light or dark."""
    light, dark = (
        dict(re.findall(r"--([a-z_-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root(?:\[data-theme=\"dark\"\])? \{(.*?)\}", STYLE, re.DOTALL)
    )
    return light if theme == "light" else light | dark


def contrast(one, other):
    dark, light = sorted(luminance(colour) + 0.05 for colour in (one, other))
    return light / dark


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_can_be_read_light_or_dark(theme):
    colours = colours_of(theme)
    for ink, grounds in {
        "ink": ("ground", "card", "code"),
        "quiet": ("ground", "card", "code"),
        "good": ("good-ground",),
    }.items():
        for ground in grounds:
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("part", [*PARTS, "communication"])
def test_what_is_drawn_stands_out_from_its_card_and_what_has_the_focus_too(theme, part):
    colours = colours_of(theme)
    assert contrast(colours[part], colours["card"]) >= 3
    assert ":focus-visible { outline: 2px solid var(--compute)" in STYLE
    assert contrast(colours["compute"], colours["ground"]) >= 3


def test_every_button_and_link_has_a_name_and_only_what_is_read_elsewhere_is_hidden(page):
    seen = Page(page("a", "b"))
    named = [tag for tag, name, value in seen.attributes if name == "aria-label" and value]
    assert named.count("button") == seen.tags["button"]
    assert seen.tags["h1"] == 1
    hidden = {tag for tag, name, _ in seen.attributes if name == "aria-hidden"}
    assert hidden <= {"div", "span", "svg"}


def test_no_two_causes_have_the_same_shape_whatever_their_colours():
    shapes = [shape for _, shape in CAUSE_MARKS.values()]
    assert len(set(shapes)) == len(shapes) == len(Cause)
    drawn = re.findall(r'"(M[^"]+)"', SHAPES.read_text(encoding="utf-8"))
    assert len(set(drawn)) == len(drawn) >= len(shapes)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("cause", Cause)
def test_marks_of_outliers_stand_out_from_their_card(theme, cause):
    colour, _ = CAUSE_MARKS[cause]
    assert contrast(colour, colours_of(theme)["card"]) >= 3


def test_each_rule_for_bars_says_of_which_bars():
    # A table of bars and the bars in a cell have the same class.
    assert not re.search(r"(?m)^ *\.bars\b", STYLE)


# -- all there ---------------------------------------------------------------------------


def test_a_run_is_told_from_verdict_to_versions(page):
    seen = Page(page("a"))
    assert "input-bound" in seen.texts("p")
    assert seen.texts("h3") == [
        "Over the training",
        "What to change, best first",
        "Where a step goes",
        "Input pipeline",
        "Longest steps and pauses",
        "Notes",
        "The run",
    ]
    assert "dataset = dataset.prefetch(tf.data.AUTOTUNE)  # last in the pipeline" in seen.texts(
        "code"
    )
    assert {"input wait 50%", "compute 50%"} <= set(seen.texts("span"))
    # Beside the verdict, and where all is said of the advice.
    first, second = [each for each in seen.texts("span") if "step 1.82× (1.42–2.34)" in each]
    assert first == "step 1.82× (1.42–2.34), predicted"
    assert second == "a step 1.82× (1.42–2.34) as fast, predicted"
    assert CAUSES[Cause.CALLBACK] in seen.texts("td")
    assert {"2.21.0", "no", "32", "H200 GPU-1"} <= set(seen.texts("dd"))


def test_figures_of_the_longest_steps_stand_before_the_words_that_a_narrow_screen_cuts(page):
    heads = Page(page("a")).texts("th")
    columns = ["step", "cause", "longer by, ms", "usual, ms", "owner", "what happened"]
    assert columns in [heads[at : at + len(columns)] for at in range(len(heads))]


def test_no_strategy_is_named_where_none_was_chosen(page):
    for strategy, named in (("_DefaultDistributionStrategy", False), ("MirroredStrategy", True)):
        seen = Page(page(strategy, context=CONTEXT | {"strategy": strategy}))
        assert ("strategy" in seen.texts("dt")) is named


def test_every_plot_says_what_it_shows_to_those_who_cannot_see_it(page):
    seen = Page(page("a"))
    assert seen.texts("title")[1:] == [
        "The input pipeline: TensorSlice (1), Map (2) (sets the pace), Shuffle (3), training",
        "TensorSlice (1): 0.5 ms a batch; 0.5 ms work, 1 thread",
        "Map (2): 3 ms a batch; ▶ sets the pace; 3 ms work, 1 thread",
        "Shuffle (3): 0.5 ms a batch; 0.5 ms work, 1 thread",
    ]
    assert seen.of("role").count("img") == 1
    assert seen.tags["caption"] == seen.tags["table"]


def test_every_metric_is_explained(page):
    assert {metric.tag for metric in METRICS} <= set(Page(page("a")).texts("code"))


def test_the_stage_that_takes_longest_is_marked(page):
    seen = Page(page("a"))
    told = [text for text in seen.texts("span") if text.startswith(("Map", "sets"))]
    assert told == ["Map (2)", "sets the pace"]
    assert "▶ sets the pace; 3 ms work, 1 thread" in seen.texts("text")


def test_stages_that_took_no_time_set_no_pace(page):
    seen = Page(page("a", context={"stages": [stage("Map", 0.0)]}))
    assert "Map (1)" in seen.texts("span")
    assert "sets the pace" not in seen.texts("span")


def test_what_was_tried_is_a_row_each_the_best_first_and_what_was_put_together_is_marked(page):
    def tried(id, gain):
        known = {"low": gain - 0.1, "high": gain + 0.1, "before_ms": 9.0, "after_ms": 9.0 / gain}
        return {"id": id, "where": NASTY, "gain": gain, **known}

    slow, quick = tried("enable-xla", 0.5), tried("cache", 3.0)
    trials = {"step_ms": 9.0, "changes": [slow, quick], "together": [quick]}
    seen = Page(page("a", context={**CONTEXT, "advice_trials": trials}))
    names = [text for text in seen.texts("span") if text.endswith(f"({NASTY})")]
    assert names == [f"cache ({NASTY})", f"enable-xla ({NASTY})"]
    assert seen.texts("span").count("together") == 1
    assert "3.00× (2.90–3.10)" in seen.texts("td")
    assert "Tried on this training" not in page("b")


def test_a_run_that_ended_within_its_warmup_has_a_page_without_plots(tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.context(3, {"epochs": 1})
    writer.close()
    seen = Page(page_html(run_reports([tmp_path])))
    assert "inconclusive" in seen.texts("p")
    assert seen.texts("h3") == ["The run"]
    assert not seen.tags["svg"]


def test_start_up_has_a_card(page):
    first = {"before_first_step_s": 0.0, "first_steps": 1, "first_execution_s": 3.0}
    outside = {"warmup_steps": 1, "warmup_s": 3.0}
    context = facts_of({"start_up": {**first, "tracing_s": 2.0}, "outside": outside}).to_json()
    seen = Page(page("a", context=context))
    assert "Start-up, until steps were steady" in seen.texts("h3")
    assert {"tracing the train function", "2.00", "first execution, otherwise"} <= {
        *seen.texts("td"),
        *seen.texts("th"),
    }


def test_several_runs_are_compared_first_and_then_told_one_by_one(page):
    seen = Page(page("a", "b"))
    assert seen.texts("h1") == ["2 runs compared"]
    assert seen.texts("h3")[0].startswith("From "), "what the change did is first"
    assert seen.texts("h3")[1] == "Side by side"
    assert seen.texts("h3").count("Where a step goes") == 2
    links = [target for target in seen.of("href") if "-" not in target]
    assert links == ["#run1", "#run2"], "the table leads to them"
    assert "1.00×" in seen.texts("td")


def test_the_same_run_gives_the_same_page(page, tmp_path):
    assert page("a") == page_html(run_reports([tmp_path / "a"]))


# -- what changed ------------------------------------------------------------------------


def test_each_later_run_says_part_by_part_what_changed_since_the_first(page, tmp_path):
    write_fit(tmp_path / "c", step_ms=2.0, context=CONTEXT)
    page("a", "b")
    seen = Page(page_html(run_reports([tmp_path / name for name in "abc"])))
    changed = [f"From {tmp_path / 'a'} to {tmp_path / name}" for name in "bc"]
    assert [title for title in seen.texts("h3") if title.startswith("From ")] == changed
    assert (
        "A step is 2.00× as fast (2.00–2.00): input-bound before, input-bound after"
        in seen.texts("p")
    )
    assert "2.000 to 2.000" in seen.texts("td")
    assert "still recommended" in seen.texts("td")


def test_settings_in_which_two_runs_differ_stand_beside_what_changed(page, tmp_path):
    faster = CONTEXT | {"jit_compile": True, "versions": {"tensorflow": "2.22.0"}}
    write_fit(tmp_path / "c", step_ms=2.0, context=faster)
    page("a", "b")
    told = Page(page_html(run_reports([tmp_path / name for name in "ac"])))
    assert "settings that differ" in told.texts("th")
    assert {"XLA", "TensorFlow"} <= {*told.texts("th")}
    assert {"no", "yes", "2.21.0", "2.22.0"} <= {*told.texts("td")}
    same = Page(page_html(run_reports([tmp_path / name for name in "ab"])))
    assert NOTHING_DIFFERS in same.texts("p")
    assert "settings that differ" not in same.texts("th")


def test_one_run_alone_has_not_changed(page):
    assert not [title for title in Page(page("a")).texts("h3") if title.startswith("From ")]


def test_a_run_without_steps_is_compared_with_nothing(page, tmp_path):
    RunWriter(str(tmp_path / "empty")).close()
    page("a")
    for names in (("a", "empty"), ("empty", "a")):
        seen = Page(page_html(run_reports([tmp_path / name for name in names])))
        assert not [title for title in seen.texts("h3") if title.startswith("From ")]
