"""Which advice is on the part that a verdict names."""

from keras_perf.advise.rules.all_rules import RULES
from keras_perf.advise.what_is_left import ON as PARTS

ON = {
    verdict: tuple(rule.id for rule in RULES if rule.known.on == part)
    for verdict, part in PARTS.items()
}
"""Verdict → ids."""
