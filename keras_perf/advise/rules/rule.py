"""A rule: where all that is known of one recommendation stands together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Concatenate, Literal, ParamSpec

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.situation import Situation
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.run_facts import RunFacts

Look = Callable[[Situation], Recommendation | None]
Followed = Callable[[RunFacts, Recommendation], bool | None]
TakesLess = Callable[[Summary, Recommendation], bool | None]
Reworded = Callable[[Recommendation, Summary], Recommendation | None]
Part = Literal["", "input", "callbacks", "dispatch", "compiling", "validation"]


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a recommendation, whatever made a rule look for it.

    Attributes:
        followed: whether the settings and the pipeline of a later run show that it was followed;
            None where they do not show that.
        takes_less: whether the times of a later run show it, where nothing else does.
        else_gone: where `followed` shows nothing, that it is no longer given shows it.
        in_a_loop: the advice as it reads in a custom loop, where nobody calls Keras's `fit` and
            `compile`; None where it is the same.
        on: the part of the time that it shortens, where it is on one.
        leaves: what of that part it leaves, and why.
        keeps: it keeps what the first pass makes; tried, it has been made.
        loses: it loses information, so that it stands behind advice on its part that does not.
        tried_title: its title where it was tried; "" where that is its id.
        gives_up: what there is now, and being without it paid.
    """

    followed: Followed | None = None
    takes_less: TakesLess | None = None
    else_gone: bool = False
    in_a_loop: Reworded | None = None
    on: Part = ""
    leaves: str = ""
    keeps: bool = False
    loses: bool = False
    tried_title: str = ""
    gives_up: str = ""


@dataclass(frozen=True)
class Rule:
    """What to look at, and what is known of the advice that comes of it.

    Attributes:
        id: of the recommendation.
        known: what is known of it.
        look: the condition, with what the change would buy, which is None where there is no
            reason to; none for advice that only a trial gives.
    """

    id: str
    known: Known = Known()
    look: Look | None = None

    def __call__(self, situation: Situation) -> Recommendation | None:
        """The recommendation for a measured situation, or None."""
        found = None if self.look is None else self.look(situation)
        if found is None:
            return None
        found = replace(found, id=self.id)
        if self.known.in_a_loop is None or not situation.facts.settings.in_a_loop:
            return found
        return self.known.in_a_loop(found, situation.summary)

    def also(self, look: Look) -> Rule:
        """Another reason for the same advice, in place of this one's."""
        return replace(self, look=look)


Options = ParamSpec("Options")


def _making(
    known: Callable[Options, Known],
) -> Callable[Concatenate[str, Options], Callable[[Look], Rule]]:
    def rule(id: str, /, *args: Options.args, **kwargs: Options.kwargs) -> Callable[[Look], Rule]:
        return lambda look: Rule(id, known(*args, **kwargs), look)

    return rule


rule = _making(Known)
"""Makes a rule of a function that looks at a situation: its id, and what `Known` has."""
