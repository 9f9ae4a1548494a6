"""Installs what was built into empty environments outside the repository, and uses it there.

    python tests/use_release.py [dist] [--with-dependencies]

Looked at: both archives hold every file of the package and its licences. Then the wheel, and in an
environment of its own what pip makes of the source archive: every file, licence and entry point is
installed; the demo runs, and its report and comparison are printed; every command answers; a
training is observed, by callbacks and as an unmodified program, and reported as text and as a page;
the loop of `keras-perf template` trains; TensorBoard finds the Performance tab, which answers with
the run. Last, if this Python has JAX, the training where TensorFlow is not installed.

The environment borrows TensorFlow and the rest from the Python that runs this, which takes half a
minute; --with-dependencies installs them there, as a user's pip does, which takes minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "keras_perf"
IN_BOTH = ["LICENSE", "keras_perf/cli/data/SOURCE.md"]

PLAIN = """
import keras, numpy as np
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=False)
x = np.zeros((3200, 4), "float32")
callbacks = []
model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=callbacks)
"""

OURS = """import keras_perf as kp
callbacks = kp.perf_callbacks("logs/run", profiler=False, steps_per_execution=False)
"""

TRAINING = PLAIN.replace("callbacks = []\n", OURS)

INSTALLED = """
from importlib import metadata

package = metadata.distribution("keras-perf")
print(*(file for file in package.files if file.locate().is_file()), sep="\\n")
print(*(f"{each.group}: {each.name}" for each in package.entry_points), sep="\\n")
"""

ENTRY_POINTS = {"console_scripts: keras-perf", "tensorboard_plugins: keras_perf"}

TAB = """
import pathlib, types
import keras_perf
from tensorboard import default
from werkzeug.test import Client

print(keras_perf.__version__, pathlib.Path(keras_perf.__file__).parent)
[loader] = [each for each in default.get_dynamic_plugins() if each.__name__ == "PerformanceLoader"]
tab = loader().load(types.SimpleNamespace(logdir="logs", flags=None))
routes = {route: Client(answer) for route, answer in tab.get_plugin_apps().items()}
for route in ("/index.js", "/tab.css"):
    assert routes[route].get(route).text, route
[run] = routes["/runs"].get("/runs").json["runs"]
assert run["name"] == "run"
for route in ("/page", "/steps"):
    answer = routes[route].get(route, query_string={"run": "run"})
    assert answer.status_code == 200, (route, answer.text)
assert "perf" in routes["/page"].get("/page", query_string={"run": "run"}).text
"""

WITHOUT = "from importlib.util import find_spec; print(find_spec('tensorflow'))"


def wanted() -> set[str]:
    """The files of the package, as an archive names them."""
    files = (each for each in PACKAGE.rglob("*") if each.is_file())
    names = (each.relative_to(PACKAGE.parent).as_posix() for each in files)
    return {name for name in names if "__pycache__" not in name}


def check_archives(wheel: Path, source: Path) -> None:
    """Ends the program where something is missing."""
    with zipfile.ZipFile(wheel) as file:
        in_wheel = set(file.namelist())
        licences = {name.partition("/licenses/")[2] for name in in_wheel}
    with tarfile.open(source) as file:
        in_source = {name.partition("/")[2] for name in file.getnames()}
    missing = {
        wheel.name: (wanted() - in_wheel) | (set(IN_BOTH) - licences),
        source.name: (wanted() | {*IN_BOTH, "README.md", "pyproject.toml"}) - in_source,
    }
    for name, files in missing.items():
        if files:
            sys.exit(f"{name} lacks {', '.join(sorted(files))}")


class Room:
    """An environment that has what was built, and a folder to work in.

    Arguments:
        folder: an empty one outside the repository.
        archive: the wheel or the source archive, installed there.
        with_dependencies: whether the rest is installed, too, or lent by this Python.
        lacks: what is not lent, with all whose names begin so.
    """

    def __init__(
        self, folder: Path, archive: Path, *, with_dependencies: bool = False, lacks: str = ""
    ) -> None:
        self._bin = folder / "venv" / "bin"
        self._work = folder / "work"
        self._work.mkdir()
        # pip of this Python serves the other one too, and setting up another takes seconds.
        venv.create(folder / "venv", with_pip=False)
        options = ["--quiet", "--disable-pip-version-check"]
        if not with_dependencies:
            options.append("--no-deps")
            [site] = (folder / "venv" / "lib").glob("python*/site-packages")
            lent = folder / "lent"
            lent.mkdir()
            for each in Path(sysconfig.get_path("purelib")).iterdir():
                ours = each.name.lower().startswith(("keras_perf", "__editable__"))
                if not ours and not (lacks and each.name.startswith(lacks)):
                    (lent / each.name).symlink_to(each)
            (site / "lent.pth").write_text(f"{lent}\n")
        pip = [sys.executable, "-m", "pip", "--python", str(self._bin / "python"), "install"]
        subprocess.run([*pip, *options, str(archive)], check=True)

    def run(self, program: str, *arguments: str, **environment: str) -> str:
        """What a program of the environment prints; ends this one where it fails."""
        print("$", program, *(each for each in arguments if "\n" not in each), flush=True)
        environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        done = subprocess.run(
            [str(self._bin / program), *arguments],
            cwd=self._work,
            env=environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            sys.exit(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def use(self, version: str) -> None:
        """As a user does."""
        self.is_whole()
        assert "See it: tensorboard --logdir demo" in self.run("keras-perf", "demo", "demo")
        slow, mended = "demo/before", "demo/after"
        assert "input wait" in self.run("keras-perf", "report", slow)
        assert "input wait" in self.run("keras-perf", "compare", slow, mended)
        for command in ("run", "demo", "report", "compare", "history", "template", "launch"):
            assert "usage:" in self.run("keras-perf", command, "--help")
        self.observe(version)
        self.run("keras-perf", "template", "train.py")
        self.run("python", "train.py", "--steps", "40", "--evaluate-every", "20")

    def is_whole(self) -> None:
        """Every file of the package, the licences and the entry points are installed."""
        installed = set(self.run("python", "-c", INSTALLED).splitlines())
        licences = {name.partition("/licenses/")[2] for name in installed}
        missing = (wanted() | ENTRY_POINTS) - installed | set(IN_BOTH) - licences
        if missing:
            sys.exit(f"not installed: {', '.join(sorted(missing))}")

    def observe(self, version: str, backend: str = "tensorflow") -> None:
        """A training and all that shows it."""
        self.run("python", "-c", TRAINING, KERAS_BACKEND=backend)
        (self._work / "plain.py").write_text(PLAIN, encoding="utf-8")
        self.run("keras-perf", "run", "--log-dir", "plain", "plain.py", KERAS_BACKEND=backend)
        for run in ("logs/run", "plain/fit_1"):
            assert "input wait" in self.run("keras-perf", "report", run)
        self.run("keras-perf", "report", "logs/run", "--html", "report.html")
        assert "</html>" in (self._work / "report.html").read_text(encoding="utf-8")
        told, place = self.run("python", "-c", TAB).strip().splitlines()[-1].split(maxsplit=1)
        assert told == version, f"{told} instead of {version}"
        assert place.startswith(str(self._bin.parent)), place


def main() -> None:
    """Looks at the archives, and uses the wheel."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dist", nargs="?", type=Path, default=Path("dist"))
    parser.add_argument("--with-dependencies", action="store_true", help="from the index")
    arguments = parser.parse_args()
    wheels, sources = (sorted(arguments.dist.glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        sys.exit(f"{arguments.dist} must hold one wheel and one source archive; make build")
    check_archives(wheels[0], sources[0])
    version = wheels[0].name.split("-")[1]
    for archive in (wheels[0], sources[0]):
        with tempfile.TemporaryDirectory(prefix="keras_perf_release_") as folder:
            room = Room(Path(folder), archive, with_dependencies=arguments.with_dependencies)
            room.use(version)
        print(f"{archive.name} works where it was installed", flush=True)
    if find_spec("jax") is None:
        print("Without TensorFlow nothing was tried: JAX is not installed here")
        return
    with tempfile.TemporaryDirectory(prefix="keras_perf_release_") as folder:
        room = Room(Path(folder), wheels[0], lacks="tensorflow")
        assert "None" in room.run("python", "-c", WITHOUT)
        room.observe(version, backend="jax")
    print(f"{wheels[0].name} works where TensorFlow is not installed")


if __name__ == "__main__":
    main()
