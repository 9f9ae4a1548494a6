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


def test_the_documents_ask_for_the_keras_that_the_extra_for_jax_asks_for():
    [least] = re.findall(r"keras>=([0-9.]+)", " ".join(listed("jax")))
    for page in ("README.md", "docs/quickstart.md", "docs/jax.md"):
        asked = re.findall(r"Keras ≥ ([0-9.]+[0-9])", (ROOT / page).read_text(encoding="utf-8"))
        assert asked[-1] == least, page


def pythons_that_were_run(table: str) -> set[int]:
    """Their minor versions: of the one that most was run on, and of a row each."""
    return {int(each) for each in re.findall(r"(?:^\| |on Python )3\.(\d+)", table, re.M)}


def test_the_readme_names_the_versions_that_the_table_says_were_run():
    table = (ROOT / "docs/tested_with.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (2\.\d+)\.[^|]*\| (3\.\d+)\.", table, re.M)
    *first, last = list(dict.fromkeys(tensorflow for tensorflow, _ in rows))
    keras = [each for _, each in rows]
    pythons = pythons_that_were_run(table)
    said = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    tested = f"TensorFlow {', '.join(first)} and {last}, Keras {keras[0]} to {keras[-1]}"
    assert f"{tested}, and Python 3.{min(pythons)} to 3.{max(pythons)}." in said


def test_every_python_that_the_package_names_was_run():
    named = re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', PROJECT)
    table = (ROOT / "docs/tested_with.md").read_text(encoding="utf-8")
    assert sorted(map(int, named)) == sorted(pythons_that_were_run(table))


def test_the_readme_names_the_gpus_that_were_seen():
    kept = (ROOT / "benchmarks/results").glob("nvidia-*.json")
    seen = {re.sub(r"-\d{4}-\d\d-\d\d$", "", each.stem) for each in kept}
    assert seen == {"nvidia-h200"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "One GPU was seen, an H200, once with TensorFlow and once with JAX" in readme
    assert "several GPUs were never seen" in " ".join(readme.split())


def test_the_extras_bring_what_their_names_say_and_tensorflow_comes_without_any():
    brought = {
        "cuda": ["tensorflow[and-cuda]"],
        "tensorflow": ["tensorflow"],
        "jax": ["jax", "keras"],
        "jax-cuda": ["keras-perf[jax]", "jax[cuda12]"],
    }
    for extra, packages in brought.items():
        asked = [re.split(r"[><=;]", each)[0] for each in listed(extra)]
        assert asked == packages, extra
    [always] = re.findall(r"^dependencies = \[\n(.*?)^\]", PROJECT, re.M | re.S)
    assert '"tensorflow>=' in always
    assert "jax" not in always


def test_every_extra_that_a_document_names_is_there():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "Makefile"]
    named = {
        extra
        for page in pages
        for group in re.findall(r"\.\[([a-z,-]+)\]", page.read_text(encoding="utf-8"))
        for extra in group.split(",")
    }
    assert {"cuda", "jax", "jax-cuda"} <= named
    assert [extra for extra in named if not re.search(rf"^{extra} = \[", PROJECT, re.M)] == []
