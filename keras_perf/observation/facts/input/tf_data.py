"""Whether data is tf.data's, asked without importing TensorFlow: who has some has imported it."""

from __future__ import annotations

import sys
from typing import Any


def tensorflow_of(x: Any) -> Any | None:
    """TensorFlow, if `x` is one of its datasets; else None."""
    tensorflow = imported_tensorflow()
    return tensorflow if tensorflow and isinstance(x, tensorflow.data.Dataset) else None


def is_of_tensorflow(x: Any) -> bool:
    """It is one of its datasets, or one that a strategy shares out."""
    tensorflow = imported_tensorflow()
    if tensorflow is None:
        return False
    return isinstance(x, tensorflow.data.Dataset | tensorflow.distribute.DistributedDataset)


def imported_tensorflow() -> Any | None:
    """TensorFlow, where it has been imported; None while it is only being imported, too."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow if hasattr(tensorflow, "data") else None
