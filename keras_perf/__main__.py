"""python -m keras_perf: the command, where it is not on the PATH."""

import sys

from keras_perf.cli.main import main

sys.exit(main())
