"""A rule: where all that is known of one recommendation stands together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.situation import Situation
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.run_facts import RunFacts

Look = Callable[[Situation], Recommendation | None]
Followed = Callable[[RunFacts, Recommendation], bool | None]
Reworded = Callable[[Recommendation, Summary], Recommendation | None]


@dataclass(frozen=True)
class Rule:
    """What to look at, and what is known of the advice that comes of it.

    Attributes:
        id: of the recommendation.
        look: the condition, with what the change would buy; None where there is no reason to.
        followed: whether the settings and the pipeline of a later run show that it was followed;
            None where they do not show that.
        in_a_loop: the advice as it reads in a custom loop, where nobody calls Keras's `fit` and
            `compile`; None where it is the same.
    """

    id: str
    look: Look
    followed: Followed | None = None
    in_a_loop: Reworded | None = None

    def __call__(self, situation: Situation) -> Recommendation | None:
        """The recommendation for a measured situation, or None."""
        found = self.look(situation)
        if found is None:
            return None
        found = replace(found, id=self.id)
        if self.in_a_loop is None or not situation.facts.settings.in_a_loop:
            return found
        return self.in_a_loop(found, situation.summary)


def rule(
    id: str, *, followed: Followed | None = None, in_a_loop: Reworded | None = None
) -> Callable[[Look], Rule]:
    """Makes a rule of a function that looks at a situation."""
    return lambda look: Rule(id, look, followed, in_a_loop)
