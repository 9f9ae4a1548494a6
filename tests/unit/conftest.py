"""What every unit test stands on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tensorboard.compat import tensorflow_stub
from tensorboard.summary.writer import event_file_writer


@pytest.fixture(autouse=True, scope="module")
def tensorboard_without_tensorflow() -> Iterator[None]:
    """Event files are written through TensorBoard's own file system, as without TensorFlow.

    TensorBoard imports TensorFlow, seconds of it, for no more than to open a file.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_file_writer, "tf", tensorflow_stub)
        yield
