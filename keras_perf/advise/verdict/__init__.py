"""Which part of a step is the bottleneck, and the sentences that say why."""
