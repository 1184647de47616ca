"""What the tests of programs with a fake API server wait for."""

import time

SECONDS = 60  # for anything to happen; nothing waits so long unless it fails


def until(condition, what):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"did not happen: {what}")
