"""What TensorBoard loads when it starts. An error here would stop it, so little is imported."""

from __future__ import annotations

import logging

from tensorboard.plugins import base_plugin

LOGGER = logging.getLogger("keras_perf")


class PerformanceLoader(base_plugin.TBLoader):  # type: ignore[misc]
    """Makes the tab, or leaves it out and says why."""

    def load(self, context: base_plugin.TBContext) -> base_plugin.TBPlugin | None:
        """The tab; None where something that it needs cannot be imported."""
        try:
            from keras_perf.tab.plugin import PerformancePlugin

            return PerformancePlugin(context)
        except Exception as error:  # noqa: BLE001  TensorBoard would not start
            LOGGER.warning("There is no Performance tab: %s: %s", type(error).__name__, error)
            return None
