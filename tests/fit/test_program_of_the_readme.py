"""The README's program runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_it_trains_and_prints_a_diagnosis(tmp_path, monkeypatch, capsys):
    text = README.read_text(encoding="utf-8")
    [program] = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, str(README), "exec"), {})
    assert "part of a step" in capsys.readouterr().out
    assert (tmp_path / "logs" / "run1" / "perf").is_dir()
