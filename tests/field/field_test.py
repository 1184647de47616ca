#!/usr/bin/env python3
"""Runs the commands of one case of cases.yaml on its captured inputs.

    field_test.py CASE DIRECTORY_OF_PINFOLD

The inputs are read from $PINFOLD_SHARED/field; without it the test is skipped (exit status 77).
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

SKIPPED = 77


def copy_inputs(folder, to):
    """Copies the case and those that its commands name; captured files may be read-only."""
    for source in folder.parent.iterdir():
        if source.is_dir() and not source.name.startswith("node-guest"):
            shutil.copytree(source, to / source.name)
    for path in to.rglob("*"):
        path.chmod(path.stat().st_mode | 0o200)


def problems_of(step, work, environment):
    ran = subprocess.run(["sh", "-c", step["do"]], cwd=work, env=environment, text=True, timeout=120,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [re.sub(r"\s+", " ", line).strip() for line in ran.stdout.splitlines()]
    status = step.get("status", 0)
    problems = []
    if status != "any" and ran.returncode != status:
        problems.append(f"exit status {ran.returncode}, expected {status}")
    for text in step.get("says", []):
        if not any(text in line for line in lines):
            problems.append(f"does not say: {text}")
    for text in step.get("never", []):
        if any(text in line for line in lines):
            problems.append(f"says: {text}")
    return [f"{step['do']}: {problem}" for problem in problems] + (lines if problems else [])


def main():
    case, tools = sys.argv[1], pathlib.Path(sys.argv[2])
    shared = os.environ.get("PINFOLD_SHARED", "")
    folder = pathlib.Path(shared) / "field" / case
    if not shared or not folder.is_dir():
        print(f"skipped: the captured inputs of '{case}' are not here ($PINFOLD_SHARED/field)")
        return SKIPPED
    steps = yaml.safe_load((pathlib.Path(__file__).parent / "cases.yaml").read_text())[case]
    environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", COLUMNS="1000")
    with tempfile.TemporaryDirectory() as scratch:
        copy_inputs(folder, pathlib.Path(scratch))
        problems = []
        for step in steps:
            problems += problems_of(step, pathlib.Path(scratch) / case, environment)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
