"""Waiting in the tests of programs with a fake API server."""

import time

SECONDS = 60  # the limit of every wait; only failures take so long


def until(condition, what):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"did not happen: {what}")
