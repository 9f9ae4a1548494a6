"""Names in code to paste: none becomes code, and the owner in quotes is the owner."""

from __future__ import annotations

import ast

import pytest
from any_text import ANY_TEXT
from hand_built import between_epochs, situation, summary
from hypothesis import assume, given

from keras_perf.advise.rules.between_epochs.epoch_hooks import amortize_epoch_callback
from keras_perf.advise.rules.host import amortize_callback
from keras_perf.advise.rules.in_a_loop import rarer_work
from keras_perf.records.owners import COLLECTOR, owner_of
from keras_perf.records.text.visible import visible

EVIL = 'Mine(object): pass\nimport os; os.system("x")  # ``` \x1b'


def busy(owner):
    return situation(compute=5.0, callbacks=5.0, owners={owner: 5.0})


@pytest.mark.fault(2, "a class whose name is no identifier, in code to paste")
@pytest.mark.parametrize(
    "owner",
    [EVIL, f"Mine.{EVIL}", f"LambdaCallback.{EVIL}", f"ModelCheckpoint.{EVIL}", "class.def"],
)
def test_a_callbacks_name_that_is_no_identifier_is_not_in_the_code(owner):
    advice = amortize_callback(busy(owner))
    between = between_epochs(callbacks={owner: 5.0})
    outside = amortize_epoch_callback(situation(compute=5.0, context=between))
    for each in (advice, outside):
        assert each is not None
        assert "os.system" not in each.action
        ast.parse(each.action)


@given(ANY_TEXT)
def test_a_loops_owner_is_quoted_whatever_is_in_it(name):
    owner = visible(name)
    assume(owner != COLLECTOR)
    advice = rarer_work(amortize_callback(busy(owner)), summary())
    assert advice.title == f"Do the work of {owner} every 20 steps"
    [call] = [node for node in ast.walk(ast.parse(advice.action)) if isinstance(node, ast.withitem)]
    assert ast.literal_eval(call.context_expr.args[0]) == owner


def test_the_owner_of_a_callbacks_time_is_one_visible_line():
    odd = type("My\nCallback\x1b\u202e", (), {})()
    assert owner_of(odd, "on_epoch_end") == r"My\nCallback\x1b\u202e.on_epoch_end"
