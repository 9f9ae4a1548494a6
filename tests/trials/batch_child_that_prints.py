"""The process that measures a batch size, with a module of the user's that prints at its end."""

import atexit
import sys

from keras_perf.trials.batch_sizes.child import main

if __name__ == "__main__":
    print("hello")
    atexit.register(print, "goodbye", flush=True)
    main(sys.argv[1])
