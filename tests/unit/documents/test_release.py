"""What a release is made of agrees; `make test-release` builds and uses one."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PACKAGE = ROOT / "keras_perf"


def listed(key: str) -> list[str]:
    """The words of a list in pyproject.toml, which Python 3.10 has no reader of."""
    [words] = re.findall(rf"^{key} = \[(.*)\]$", PROJECT, re.M)
    return re.findall(r'"([^"]+)"', words)


def test_the_citation_names_the_version_and_licence_of_the_package():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    of = dict(re.findall(r"^(\w[\w-]*): (.+)$", cited, re.M))
    assert f'\nversion = "{of["version"]}"\n' in PROJECT
    assert f'\nlicense = "{of["license"]}' in PROJECT


def test_every_file_of_the_package_is_packed():
    packed = {file for pattern in listed("keras_perf") for file in PACKAGE.glob(pattern)}
    other = {file for file in PACKAGE.rglob("*") if file.is_file() and file.suffix != ".py"}
    assert {file for file in other if "__pycache__" not in file.parts} == packed
    assert PACKAGE / "py.typed" in packed


def test_the_licences_are_there():
    files = listed("license-files")
    assert "LICENSE" in files
    assert [file for file in files if not (ROOT / file).is_file()] == []
