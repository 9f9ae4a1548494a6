"""Results of trials show and draw themselves."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from matplotlib.figure import Figure

from keras_perf.records.run.tried.advice_trials import AdviceTrials, NotTried, TriedChange
from keras_perf.trials.batch_sizes.swept import BatchSizeSweep, TriedSize
from keras_perf.trials.learning_rate.learning_rate_curve import curve_of
from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.rewriting.tuned_input import TunedInput, as_measured
from keras_perf.trials.training.tried_advice import TriedAdvice

NASTY = "<b>where</b>"


def change(name, gain, **more):
    figures = {"gain": gain, "low": gain - 0.1, "high": gain + 0.1}
    return TriedChange(id=name, where=NASTY, before_ms=4.0, after_ms=4.0 / gain, **figures, **more)


def advice():
    kept = change("prefetch", 1.5, code="data.prefetch(2)", costs="memory")
    trials = AdviceTrials(
        step_ms=4.0,
        changes=(change("tune-gc", 1.0), kept, change("mixed-precision", 2.0, alters="rounding")),
        together=(kept,),
        total=kept,
        not_tried=(NotTried(id="cache", where="map", why="its elements differ"),),
    )
    return TriedAdvice(trials, None)


def tuned():
    prefetched = Change("prefetch", NASTY, "data.prefetch(2)", "memory")
    cached = Change("cache", "map", "data.cache()", "memory")
    kept = as_measured(prefetched, Pair(3.0, 2.0, 1.5, 1.4, 1.6), kept=True)
    left = as_measured(cached, Pair(2.0, 2.0, 1.0, 0.9, 1.1), kept=False)
    return TunedInput(None, (kept, left), (), 3.0, 2.0)


def test_of_a_step_that_was_not_measured_no_time_is_told():
    trials = AdviceTrials(step_ms=0.0, changes=(change("tune-gc", 1.0),))
    found = TriedAdvice(trials, None)
    assert str(found).startswith("No step was measured as it is.\n")
    assert "0.0" not in found.plot().axes[0].get_title()


def swept():
    sizes = (TriedSize.of(32, [1, 2, 2, 3], 100.0), TriedSize(64, reason=NASTY))
    return BatchSizeSweep(sizes, 32, 1000.0, None, None)


def curve():
    losses = [*np.linspace(2, 1, 80), *np.linspace(1, 9, 20)]
    return curve_of(np.geomspace(1e-5, 1, 100), losses, 0.8)


@pytest.mark.parametrize("make", [advice, tuned, swept, curve])
def test_it_is_well_formed_and_has_the_words_of_its_text(make):
    root = fromstring(make()._repr_html_())
    assert "b" not in {each.tag for each in root.iter()}
    assert str(make()).splitlines()[0] in " ".join(root.itertext())


def test_the_curve_is_drawn():
    [image] = fromstring(curve()._repr_html_()).iter("img")
    assert image.get("src").startswith("data:image/png;base64,iVBOR")


def test_advice_is_shown_best_first_with_what_came_of_it():
    rows = [list(each.itertext()) for each in fromstring(advice()._repr_html_()).iter("tr")]
    assert [row[0].partition(",")[0] for row in rows[1:]] == [
        "mixed-precision",
        "prefetch",
        "tune-gc",
    ]
    assert [row[3:] for row in rows[1:]] == [["alters training"], ["kept"], []]
    assert "its elements differ" in advice()._repr_html_()


KEPT = "the training stays as it is"
COMPILING = "Compiling for lengths is in no gain"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ((), f"No change was measured: {KEPT}."),
        ((change("tune-gc", 1.0),), f"No change is worth it: {KEPT}."),
        (
            (change("tune-gc", 1.0), change("mixed-precision", 2.0, alters="rounding")),
            f"No change that keeps what is learned is worth it: {KEPT}.",
        ),
        (
            (change("cache", 1.5),),
            f"No change is worth it: {KEPT}; measured again, cache gained nothing, as where what "
            "is slow happens once.",
        ),
    ],
)
@pytest.mark.parametrize("compilations", [0, 7])
def test_where_nothing_is_put_together_the_result_says_so(changes, said, compilations):
    trials = AdviceTrials(
        step_ms=4.0, changes=changes, compilations=compilations, compiling_s=2.0 * compilations
    )
    found = TriedAdvice(trials, None)
    assert said in str(found).splitlines()
    assert said in " ".join(fromstring(found._repr_html_()).itertext())
    assert (COMPILING in str(found)) == bool(compilations and changes)
    assert (COMPILING in found._repr_html_()) == bool(compilations and changes)


@pytest.mark.parametrize("make", [advice, tuned])
def test_a_figure_has_a_bar_for_each(make):
    figure = make().plot()
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")
