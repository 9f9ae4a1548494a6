"""Trials of a model that trains on several replicas of one process."""

from pathlib import Path

import pytest


@pytest.mark.whole
def test_trials_build_and_copy_models_on_their_replicas(processes, tmp_path):
    script = Path(__file__).with_name("on_two_replicas.py")
    code, told = processes.script(script, tmp_path)
    assert code == 0, told[-2000:]
    assert "equal" in told
