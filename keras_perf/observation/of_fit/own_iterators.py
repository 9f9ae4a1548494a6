"""Which calls of a model's train function are steps of the training that is observed."""

from __future__ import annotations

import logging

from keras_perf.records.run.settings import TRAIN_ON_BATCH

logger = logging.getLogger("keras_perf")


class OwnIterators:
    """An epoch of a `fit` has one iterator; with another one, another training calls.

    So it is where a `fit` was interrupted before it called the train function. A loop of
    `train_on_batch` has one for each step: nothing tells what such steps wait for, and none of
    them counts.

    Arguments:
        in_fit: a `fit` calls, and not somebody's own loop with a callback list.

    Attributes:
        driver: as in `Settings`.
    """

    def __init__(self, *, in_fit: bool) -> None:
        self._in_fit, self.driver = in_fit, "fit"

    def is_of_another(self, within_epoch: bool) -> bool:
        """Whether an iterator that was not seen before is another training's.

        Arguments:
            within_epoch: one was seen in this epoch.
        """
        if within_epoch and not self._in_fit and self.driver == "fit":
            self.driver = TRAIN_ON_BATCH
            logger.warning(
                "keras_perf: each step has an iterator of its own, as in a loop of train_on_batch: "
                "steps are not observed there, for nothing tells what they wait for. model.fit "
                "is, and with TensorFlow a loop of your own with LoopMonitor."
            )
        return within_epoch or self.driver == TRAIN_ON_BATCH
