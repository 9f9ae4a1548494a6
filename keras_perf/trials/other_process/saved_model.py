"""A model that another process reads."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import keras

from keras_perf.records.text.error_line import error_line
from keras_perf.trials.methods_of_object import method_of_object
from keras_perf.trials.other_process.custom_objects import (
    custom_objects,
    modules_of_custom_objects,
)

REMEDY = (
    "keras.saving.load_model must read it in another process: keep its classes and functions in a "
    "module that can be imported (a file beside the script or notebook), under "
    "@keras.saving.register_keras_serializable(), let __init__ take **kwargs, and get_config "
    "return its other arguments."
)


@dataclass(frozen=True)
class SavedModel:
    """A file, and the settings of Keras that it is read with.

    Attributes:
        file: `….keras`.
        policy, floatx, image_data_format: settings of Keras.
        modules: to import before the model is read.
    """

    file: str
    policy: str
    floatx: str
    image_data_format: str
    modules: list[str]

    @classmethod
    def of(cls, model: keras.Model, folder: Path) -> SavedModel:
        """Written into the folder.

        Raises:
            ValueError: it cannot be written.
        """
        if method := method_of_object(model):
            raise ValueError(
                f"model must be one that model.save can write, got {method} set on the object, "
                "which another process would not have. Define it in the model's class."
            )
        file = folder / "model.keras"
        try:
            model.save(file)
        except Exception as error:
            raise ValueError(
                f"model must be one that model.save can write, got {error_line(error)}. {REMEDY}"
            ) from error
        return cls(
            str(file),
            keras.config.dtype_policy().name,
            keras.config.floatx(),
            keras.config.image_data_format(),
            modules_of_custom_objects(),
        )

    def read(self) -> keras.Model:
        """The model, compiled if it was. Raises what Keras and the user's classes raise."""
        keras.config.set_floatx(self.floatx)
        keras.config.set_dtype_policy(self.policy)
        keras.config.set_image_data_format(self.image_data_format)
        objects = custom_objects(Path(self.file), self.modules)
        # Not safe mode: the file was written by the program that started this one.
        return keras.saving.load_model(self.file, custom_objects=objects, safe_mode=False)


def environment(**settings: str) -> dict[str, str]:
    """As here, with these; and what can be imported here can be there."""
    # Python itself passes over what is no text.
    path = os.pathsep.join(each or os.getcwd() for each in sys.path if isinstance(each, str))
    return {**os.environ, "PYTHONPATH": path, **settings}
