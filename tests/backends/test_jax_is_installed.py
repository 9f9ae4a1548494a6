"""Where everything has to be tested, nothing is left out because JAX is missing."""

import os
import sys
from importlib.util import find_spec


def test_in_ci_jax_is_there():
    """Elsewhere, and on a Python that it does not support, what needs it is skipped."""
    may_be_missing = "CI" not in os.environ or sys.version_info < (3, 11)
    assert may_be_missing or find_spec("jax") is not None
