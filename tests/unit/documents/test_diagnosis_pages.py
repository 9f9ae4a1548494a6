"""Each verdict and each recommendation has its entry, which says all that an entry says."""

from __future__ import annotations

import re
from pathlib import Path

from pages import DOCS

import keras_perf
from keras_perf.advise.rules.all_rules import RULES
from keras_perf.advise.rules.as_tried import MORE_OF_INPUT, TITLES

PACKAGE = Path(keras_perf.__file__).parent
ENTRY = ("- **How measured.** ", "- **When it is wrong.** ", "- **What to do.** ")


def entries(page):
    """Id → what is written of it."""
    text = (DOCS / page).read_text(encoding="utf-8")
    parts = re.split(r"^#{2,3} (.+)\n", text, flags=re.MULTILINE)
    titles = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {title.strip("`"): body for title, body in titles.items() if title.startswith("`")}


def of_trials():
    """The ids that changes on trial are made with: the first argument of the call."""
    id = r"([a-z0-9]+(?:-[a-z0-9]+)+)"
    kinds = rf"(?:Change|NotDone|TrainingChange|EnvironmentSetting)\(\s*\"{id}\""
    for path in sorted((PACKAGE / "trials").rglob("*.py")):
        yield from re.findall(kinds, path.read_text(encoding="utf-8"))


def test_every_recommendation_has_its_entry():
    ids = {rule.id for rule in RULES} | set(TITLES) | set(MORE_OF_INPUT) | set(of_trials())
    assert set(entries("recommendations.md")) == ids


def test_every_verdict_has_its_entry():
    advise = "".join(
        path.read_text(encoding="utf-8") for path in (PACKAGE / "advise").rglob("*.py")
    )
    verdicts = set(re.findall(r'"([a-z]+-bound|inconclusive)"', advise))
    assert len(verdicts) == 8
    assert set(entries("verdicts.md")) == verdicts


def test_every_entry_says_how_it_is_measured_when_it_is_wrong_and_what_to_do():
    for page in ("recommendations.md", "verdicts.md"):
        for title, body in entries(page).items():
            assert [part for part in ENTRY if part not in body] == [], title
