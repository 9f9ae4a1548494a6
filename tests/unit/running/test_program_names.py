"""What a program is called, by which its log directory is."""

import pytest

from keras_perf.running.program import script


@pytest.mark.parametrize("path", [".", "../mine", "{folder}"])
def test_a_folder_is_called_by_its_own_name_wherever_it_is_named_from(path, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "__main__.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(folder)
    assert script(path.format(folder=folder)).name == "mine"
