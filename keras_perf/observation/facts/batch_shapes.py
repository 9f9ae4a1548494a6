"""In what the shapes of batches may differ, as the iterator tells."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_perf.observation.input_model import InputModel


def differ_in_more_than_rows(pipeline: InputModel) -> bool:
    """Batches may: XLA compiles for each shape. A last, smaller batch is known by its place."""
    shapes = _shapes(_element_spec(pipeline))
    return any(shape is None or None in shape[1:] for shape in shapes)


def rows_may_differ(pipeline: InputModel | None) -> bool:
    """A batch may have fewer rows than others, as the last one has without `drop_remainder`."""
    shapes = _shapes(_element_spec(pipeline))
    return not shapes or any(shape is None or None in shape[:1] for shape in shapes)


def bytes_tell_shapes(iterator: Any) -> bool:
    """Batches of as many bytes have one shape: what may differ are rows alone, or one other axis.

    Of two axes one may be longer by what another is shorter. A ragged or sparse part does not say
    how many bytes it has.
    """
    specs = tf.nest.flatten(getattr(iterator, "element_spec", None), expand_composites=False)
    dense = all(
        isinstance(spec, tf.TensorSpec) and spec.dtype != tf.variant and spec.shape.rank is not None
        for spec in specs
    )
    if not dense:
        return False
    shapes = [spec.shape.as_list() for spec in specs]
    rows = any(shape[:1] == [None] for shape in shapes)
    others = sum(each is None for shape in shapes for each in shape[1:])
    return others < (1 if rows else 2)


def _element_spec(pipeline: InputModel | None) -> Any:
    return getattr(getattr(pipeline, "iterator", None), "element_spec", ())


def _shapes(element_spec: Any) -> list[list[int | None] | None]:
    """Of each part of a batch; None where not even the number of axes is known."""
    # What is None in each batch, as the weights in (x, y, None), has no shape.
    specs = [spec for spec in tf.nest.flatten(element_spec) if hasattr(spec, "shape")]
    shapes = [spec.shape for spec in specs]
    return [None if s is None or s.rank is None else s.as_list() for s in shapes]
