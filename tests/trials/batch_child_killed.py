"""In place of the process that measures a batch size: it is killed, as where memory runs out."""

import os
import signal

if __name__ == "__main__":
    os.kill(os.getpid(), signal.SIGKILL)
