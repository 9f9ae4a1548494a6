"""Callbacks that work behind every so many batches or epochs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
from bottlenecks import Chatter, EpochHook, Hook, Litter, Pause, Unfreezes

from followed_programs.input_pieces import FILES
from followed_programs.program import Work


def checkpoint(every: int) -> keras.callbacks.Callback:
    """Keras's own."""
    path = str(Path(FILES, "{batch}.weights.h5"))
    return keras.callbacks.ModelCheckpoint(path, save_weights_only=True, save_freq=every)


def hook(ms: float, every: int = 1) -> Work:
    """A batch hook."""
    return Work("RareHook", lambda n: RareHook(n, ms), every)


def pause(ms: float) -> Work:
    """A batch hook that leaves the CPUs free."""
    return Work("RarePause", lambda n: RarePause(n, ms))


def epoch_hook(ms: float) -> Work:
    """An epoch's hook."""
    return Work("RareEpochHook", lambda n: RareEpochHook(n, ms))


def predicts() -> Work:
    """An epoch's hook that calls `predict` for one example after the other."""
    return Work("Shows", Shows, directly=lambda n: Shows(n, directly=True))


def unfreezes(every: int) -> Work:
    """Makes the train function anew."""
    return Work("Unfreezes", lambda n: Unfreezes(every * n), rebuilds=True)


class Rarely(keras.callbacks.Callback):
    """Before a callback's class: what it does behind batches, behind every so many."""

    def __init__(self, every: int, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.every = every

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Works, or does not."""
        if batch % self.every == 0:
            super().on_train_batch_end(batch, logs)


class RareHook(Rarely, Hook):
    """Works every so many batches."""


class RarePause(Rarely, Pause):
    """Waits every so many batches."""


class RareLitter(Rarely, Litter):
    """Makes objects every so many batches."""


class RareChatter(Rarely, Chatter):
    """Formats lines every so many batches."""


class InEpochs(keras.callbacks.Callback):
    """Does its work behind every so many epochs."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Works, or does not."""
        if epoch % self.every == 0:
            self.do_its_work(epoch)

    def do_its_work(self, epoch: int) -> None:
        """After such an epoch."""


class RareEpochHook(InEpochs):
    """Works for so long."""

    def __init__(self, every: int, ms: float) -> None:
        super().__init__(every)
        self.inner = EpochHook(ms)

    def do_its_work(self, epoch: int) -> None:
        """As the scenario's hook."""
        self.inner.on_epoch_end(epoch)


class Shows(InEpochs):
    """Looks at one example after the other; directly, as is advised, without a pipeline each."""

    def __init__(self, every: int, *, directly: bool = False) -> None:
        super().__init__(every)
        self.directly = directly

    def do_its_work(self, epoch: int) -> None:
        """Ten of them."""
        for _ in range(10):
            if self.directly:
                self.model.predict_on_batch(np.zeros((1, 8), "float32"))
            else:
                self.model.predict(np.zeros((1, 8), "float32"), verbose=0)


class Confusion(InEpochs):
    """Looks at a batch of predictions after each epoch, as examples with plots do."""

    def do_its_work(self, epoch: int) -> None:
        """Predicts, and takes the time of a plot."""
        self.model.predict(np.zeros((256, 28, 28, 1), "float32"), verbose=0)
        time.sleep(0.05)


class Upscaled(InEpochs):
    """keras.io/examples/vision/super_resolution_sub_pixel: looks at an image after each epoch."""

    def do_its_work(self, epoch: int) -> None:
        """Predicts, and takes the time of a plot."""
        self.model.predict(np.zeros((1, 32, 32, 1), "float32"), verbose=0)
        time.sleep(0.02)
