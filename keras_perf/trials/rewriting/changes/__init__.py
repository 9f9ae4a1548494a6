"""What can be changed in a pipeline so that it still gives the same elements: a module a kind."""

from keras_perf.trials.rewriting.changes.all_changes import possible_changes
from keras_perf.trials.rewriting.changes.change import Change, NoLongerPossibleError, NotDone

__all__ = ["Change", "NoLongerPossibleError", "NotDone", "possible_changes"]
