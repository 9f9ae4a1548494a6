"""Reading, diagnosing and writing go without TensorFlow; each in a Python of its own."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from own_python import BLOCKED, run

LOADED = """
import sys
frameworks = {"tensorflow", "keras", "jax", "torch"}
def loaded():
    return sorted(frameworks & sys.modules.keys())
"""


def test_importing_the_package_imports_no_framework():
    assert run(LOADED + "import keras_perf; print(loaded())") == "[]"


def test_listing_the_public_names_imports_nothing():
    script = "import keras_perf; print('diagnose' in dir(keras_perf), 'pandas' in sys.modules)"
    assert run(script) == "True False"


def test_reading_and_diagnosing_import_no_framework():
    script = """
import keras_perf
keras_perf.diagnose, keras_perf.load_scalars, keras_perf.compare
print(loaded())
"""
    assert run(LOADED + script) == "[]"


def test_reading_a_log_directory_imports_no_framework(tmp_path):
    # TensorBoard's writer does import TensorFlow where it is installed; its protos do not.
    run(BLOCKED + WRITE, str(tmp_path))
    script = """
import keras_perf
keras_perf.load_scalars(sys.argv[1])
print(keras_perf.diagnose(sys.argv[1]).verdict, loaded())
"""
    assert run(LOADED + script, str(tmp_path)) == "input-bound []"


WRITE = """
from pathlib import Path
from hand_built import write_fit
write_fit(Path(sys.argv[1]), step_ms=4.0, context={"cpu_count": 8})
"""


def test_a_log_directory_is_written_and_diagnosed_where_tensorflow_is_not_installed(tmp_path):
    script = """
import keras_perf
found = keras_perf.diagnose(sys.argv[1])
print(found.verdict, found.breakdown["step"], len(keras_perf.load_scalars(sys.argv[1])))
"""
    assert run(BLOCKED + WRITE + script, str(tmp_path)) == "input-bound 4.0 70"


def test_a_trace_is_read_where_tensorflow_is_not_installed(tmp_path):
    script = """
from pathlib import Path
from built_trace import BuiltPlane, marker, write
steps = [marker(step, 10 * step, 10 * step + 8) for step in range(3)]
write(Path(sys.argv[1]), BuiltPlane("/host:CPU").line("python", *steps))
import keras_perf
print(keras_perf.read_trace(sys.argv[1]).means["step_ms"])
"""
    assert run(BLOCKED + script, str(tmp_path)) == "10.0"


def test_a_name_that_is_not_there_is_no_import_error():
    script = """
import keras_perf
try:
    keras_perf.nonsense
except AttributeError as error:
    print(error)
"""
    assert run(script) == "module 'keras_perf' has no attribute 'nonsense'"


@pytest.mark.skipif(find_spec("jax") is None, reason="Keras computes with JAX here")
def test_a_name_that_needs_tensorflow_says_so_in_one_line_where_it_is_not_installed():
    script = """
import os, sys, warnings
os.environ["KERAS_BACKEND"] = "jax"
warnings.simplefilter("ignore")
sys.modules["tensorflow"] = None
import keras_perf
for name in keras_perf.__all__:
    try:
        getattr(keras_perf, name)
    except ImportError as error:
        print(error)
"""
    told = run(script).splitlines()
    needed = "needs TensorFlow, which is not installed: pip install tensorflow."
    names = [line.split()[1] for line in told]
    assert told == [f"keras_perf: {name} {needed}" for name in names]
    functions = {name for name in names if name.islower()}
    page = (Path(__file__).parents[2] / "docs/jax.md").read_text(encoding="utf-8")
    words = " ".join(page.split())
    [named] = re.findall(r"Without it (.*?) say in one line that they need it", words)
    assert functions == set(re.findall(r"`(\w+)`", named))
    assert not {"perf_callbacks", "try_advice", "sample_gpus", "diagnose"}.intersection(names)


@pytest.mark.skipif(find_spec("jax") is None, reason="Keras computes with JAX here")
def test_so_does_the_demo(tmp_path):
    script = f"""
import os, sys
os.environ["KERAS_BACKEND"] = "jax"
sys.modules["tensorflow"] = None
from keras_perf.cli.main import main
sys.stderr = sys.stdout
print(main(["demo", {str(tmp_path / "demo")!r}]))
"""
    needed = "needs TensorFlow, which is not installed: pip install tensorflow."
    assert run(script).splitlines() == [f"keras-perf demo {needed}", "1"]
