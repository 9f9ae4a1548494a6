"""A training that another process reads."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, dataclass
from pathlib import Path

from tensorflow.core.framework.graph_pb2 import GraphDef

from keras_perf.trials.other_process.program_settings import ProgramSettings
from keras_perf.trials.other_process.saved_model import SavedModel
from keras_perf.trials.rewriting.array_batches import ArrayBatches
from keras_perf.trials.rewriting.changes.stages import named
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.training.setup import Setup

TRAINING, GRAPH, SPEC = "training.json", "dataset.pb", "elements.pickle"


@dataclass(frozen=True)
class HandedTraining:
    """Files in a folder.

    Attributes:
        folder: with all of them.
        model: the model's.
        settings: of the program's.
        jit_compile, run_eagerly: as `compile` takes them.
    """

    folder: Path
    model: SavedModel
    settings: ProgramSettings
    jit_compile: bool
    run_eagerly: bool

    @classmethod
    def of(cls, setup: Setup, folder: Path) -> HandedTraining:
        """A training without its callbacks, written into the folder.

        Raises:
            ValueError: the model cannot be written, or the batches are not to be made elsewhere.
        """
        if isinstance(setup.graph, ArrayBatches):
            raise ValueError("arrays are in the memory of this process only")
        python = [each for each in setup.graph.stages if setup.graph.runs_python(each)]
        if python:
            raise ValueError(f"{named(python[0])} calls Python, which is in this process only")
        written = cls(
            folder,
            SavedModel.of(setup.model, folder),
            ProgramSettings.of_this_process(),
            setup.jit_compile,
            setup.run_eagerly,
        )
        told = {name: value for name, value in asdict(written).items() if name != "folder"}
        (folder / TRAINING).write_text(json.dumps(told))
        (folder / GRAPH).write_bytes(setup.graph.definition.SerializeToString())
        (folder / SPEC).write_bytes(pickle.dumps(setup.graph.element_spec))
        return written

    @classmethod
    def written_in(cls, folder: Path) -> HandedTraining:
        """What `of` wrote."""
        told = json.loads((folder / TRAINING).read_text())
        model, settings = SavedModel(**told["model"]), ProgramSettings(**told["settings"])
        return cls(folder, model, settings, told["jit_compile"], told["run_eagerly"])

    def read(self) -> Setup:
        """The training, in this process. Raises what Keras and the user's classes raise."""
        self.settings.apply()
        definition = GraphDef.FromString((self.folder / GRAPH).read_bytes())
        # Written by the program that started this one.
        spec = pickle.loads((self.folder / SPEC).read_bytes())
        graph = PipelineGraph(definition, spec)
        return Setup(self.model.read(), graph, self.jit_compile, self.run_eagerly)
