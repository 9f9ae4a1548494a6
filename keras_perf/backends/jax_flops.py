"""Counts the multiplications of a training step, from what JAX has traced.

What is counted is what is counted of TensorFlow's graph, see `observation.facts.flops.operations`:
products and convolutions, each multiplication with its addition as two, also where one factor is
padding. `jax.stages.Lowered.cost_analysis` counts every addition of a step, and the optimizer's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from keras_perf.observation.facts.flops.counted import Counted, NotCountedError, one_of
from keras_perf.records.run.step_work import NotCounted

MAY_MULTIPLY = (
    "cholesky",
    "custom_call",
    "dot_product_attention",
    "eig",
    "fft",
    "ffi_call",
    "householder_product",
    "io_callback",
    "lu",
    "pallas_call",
    "pure_callback",
    "qr",
    "ragged_dot",
    "scaled_",
    "schur",
    "svd",
    "triangular_solve",
    "tridiagonal",
)
"""Operations whose names begin so compute more than a pass over their elements, or may do so."""


def counted(jaxpr: Any) -> Counted:
    """What a traced function multiplies each time that it is called.

    Arguments:
        jaxpr: of JAX, with or without its constants.

    Raises:
        NotCountedError: something decides on the number that is not known before the run.
    """
    total = Counted()
    for equation in _used(getattr(jaxpr, "jaxpr", jaxpr)):
        name = equation.primitive.name
        if name in _FORMULAS:
            _add_product(equation, total)
        elif name == "while":
            _add_loop(equation.params, total)
        elif name == "cond":
            total.add(one_of([counted(each) for each in equation.params["branches"]]))
        else:
            if name.startswith(MAY_MULTIPLY):
                total.passed_over.add(name)
            times = equation.params["length"] if name == "scan" else 1
            for inner in _inside(equation.params):
                total.add(counted(inner), times)
    return total


def _used(jaxpr: Any) -> Iterator[Any]:
    """What gives something that is asked for; XLA leaves the rest out."""
    wanted = {id(each) for each in jaxpr.outvars}
    for equation in reversed(jaxpr.eqns):
        if equation.effects or any(id(each) in wanted for each in equation.outvars):
            wanted |= {id(each) for each in equation.invars}
            yield equation


def _inside(params: dict[str, Any]) -> Iterator[Any]:
    """What is traced of the functions that an operation calls, once each."""
    for value in params.values():
        if hasattr(getattr(value, "jaxpr", value), "eqns"):
            yield value


def _add_loop(params: dict[str, Any], total: Counted) -> None:
    """Nothing tells how many rounds it takes."""
    once = counted(params["body_jaxpr"])
    if any(once.flops.values()):
        raise NotCountedError(NotCounted.LOOP)
    total.passed_over |= once.passed_over


def _add_product(equation: Any, total: Counted) -> None:
    first, second = (each.aval for each in equation.invars)
    [result] = (each.aval for each in equation.outvars)
    shapes = first.shape, second.shape, result.shape
    # Of several possible shapes JAX traces one by names of their axes.
    if not all(isinstance(axis, int) for shape in shapes for axis in shape):
        raise NotCountedError(NotCounted.SHAPE)
    flops = _FORMULAS[equation.primitive.name](*shapes, equation.params)
    total.flops[first.dtype.name] += flops
    total.bytes += sum(
        math.prod(each.shape) * each.dtype.itemsize for each in (first, second, result)
    )


_Shape = tuple[int, ...]


def _of_product(first: _Shape, _: _Shape, result: _Shape, params: dict[str, Any]) -> float:
    (summed, _second), _batches = params["dimension_numbers"]
    factors: int = math.prod(first[axis] for axis in summed)
    return 2.0 * math.prod(result) * factors


def _of_convolution(first: _Shape, kernel: _Shape, result: _Shape, params: dict[str, Any]) -> float:
    """The kernel for each element of what the layer gives.

    Its gradients are convolutions, too. That with regard to the layer's input gives what the layer
    was given; that with regard to the kernel has what the layer gave for a kernel, and sums over
    the examples: its first axis is not theirs. What a layer gave is no larger than its input, or,
    where it is transposed, the other way round.
    """
    numbers = params["dimension_numbers"]
    rows, columns, *places = numbers.out_spec
    given = [first[axis] for axis in numbers.lhs_spec[2:]]
    slid = [kernel[axis] for axis in numbers.rhs_spec[2:]]
    found = [result[axis] for axis in places]
    smaller = slid if numbers.lhs_spec[0] else found
    smaller[:] = map(min, smaller, given)
    channels: int = result[columns] * kernel[numbers.rhs_spec[1]]
    examples: int = result[rows]
    pairs: int = math.prod(found) * math.prod(slid)
    return 2.0 * examples * channels * pairs


_FORMULAS = {"dot_general": _of_product, "conv_general_dilated": _of_convolution}
