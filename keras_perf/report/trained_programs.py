"""Which runs are versions of one program, and which are different ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from keras_perf.analyse.training import Training


@dataclass(frozen=True)
class TrainedProgram:
    """What was trained, as far as the record tells; None and () are not known.

    What it cannot see: another dataset behind the same model, or another program of the same name
    with a model of the same size.
    """

    script: str | None = None
    parameters: int | None = None
    layer_widths: tuple[int, ...] = ()

    @classmethod
    def of(cls, training: Training) -> TrainedProgram:
        """That of one `fit`, or of one run of a custom loop."""
        settings = training.fit.facts.settings
        script = training.fit.identity.program or None
        return cls(script, settings.parameters, settings.layer_widths)

    def may_be(self, other: TrainedProgram) -> bool:
        """Nothing that is known of both differs."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return all(own == its for own, its in pairs if own and its)

    def with_known(self, other: TrainedProgram) -> TrainedProgram:
        """What is known of either."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return TrainedProgram(*(own or its for own, its in pairs))

    def __str__(self) -> str:
        script = self.script or "unknown program"
        return f"{script}, {self.parameters:,} parameters" if self.parameters else script


def program_names(trainings: Iterable[Training]) -> list[str]:
    """A name for each; versions of one program have the same."""
    programs: list[TrainedProgram] = []
    places = []
    for training in trainings:
        found = TrainedProgram.of(training)
        place = next((k for k, each in enumerate(programs) if each.may_be(found)), len(programs))
        if place == len(programs):
            programs.append(found)
        programs[place] = programs[place].with_known(found)
        places.append(place)
    names = [str(each) for each in programs]
    numbered = [
        f"{name} ({names[:k].count(name) + 1})" if names.count(name) > 1 else name
        for k, name in enumerate(names)
    ]
    return [numbered[place] for place in places]
