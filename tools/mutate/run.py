"""Runs tests against mutants, one process per mutant."""

import concurrent.futures
import json
import os
import resource
import signal
import subprocess
import tempfile
import time

MEMORY_LIMIT = 4 << 30


def end_group(process):
    """Kills a test and the processes that it started, because a mutant may loop in one of them."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Runner:
    def __init__(self, library, jobs):
        self.library, self.jobs = library, jobs
        self.seconds = {}  # of each program, without a mutant
        self.reached = {}  # of each program: the numbers that it evaluates
        self.inapplicable = set()  # those that their operands do not allow

    def _run(self, program, changes, limit):
        """Returns the exit status; None if it took too long."""
        environment = {**os.environ, "RC_PARAMS": "seed=1", **changes}
        with tempfile.TemporaryDirectory() as folder:
            environment["TMPDIR"] = folder
            process = subprocess.Popen(
                self.library.test_command(program), cwd=folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                      (MEMORY_LIMIT, MEMORY_LIMIT)))
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                end_group(process)

    def measure(self):
        """Runs every program without a mutant."""
        for program in self.library.programs:
            with tempfile.NamedTemporaryFile("r") as file:
                begin = time.monotonic()
                status = self._run(program, {"PINFOLD_MUTANTS_REACHED": file.name}, 1800)
                self.seconds[program] = time.monotonic() - begin
                if status != 0:
                    raise RuntimeError(f"'{program}' fails without a mutant: {status}")
                lines = file.read().split()
                self.reached[program] = {int(line) for line in lines if not line.startswith("-")}
                self.inapplicable |= {int(line[1:]) for line in lines if line.startswith("-")}

    def judge(self, number):
        """Returns (verdict, program that saw it): killed, survived, unreached or inapplicable."""
        programs = [name for name in self.library.programs if number in self.reached[name]]
        if not programs:
            return ("inapplicable" if number in self.inapplicable else "unreached"), ""
        for program in sorted(programs, key=self.seconds.get):
            limit = 10 + 5 * self.seconds[program]
            status = self._run(program, {"PINFOLD_MUTANT": str(number)}, limit)
            if status != 0:
                return "killed", program
        return "survived", ""

    def judge_all(self, numbers, saved, save):
        """Returns verdicts by number. `saved`: the known ones; calls `save` with each new one."""
        verdicts = {number: saved[number] for number in numbers if number in saved}
        left = [number for number in numbers if number not in saved]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            tasks = {pool.submit(self.judge, number): number for number in left}
            for task in concurrent.futures.as_completed(tasks):
                number = tasks[task]
                verdicts[number] = task.result()
                save(number, verdicts[number])
        return verdicts


class Results:
    """The verdicts of a library's build, kept in a file so that a run can be resumed."""

    def __init__(self, path, digest):
        self.path, self.digest, self.verdicts = path, digest, {}
        try:
            with open(path, encoding="ascii") as file:
                for line in file:
                    entry = json.loads(line)
                    if entry["build"] == digest:
                        self.verdicts[entry["number"]] = (entry["verdict"], entry["program"])
        except (FileNotFoundError, ValueError, KeyError):
            pass  # nothing is kept, or an interrupted line
        if not self.verdicts and os.path.exists(path):
            os.remove(path)  # of another build

    def save(self, number, verdict):
        entry = {"build": self.digest, "number": number, "verdict": verdict[0],
                 "program": verdict[1]}
        with open(self.path, "a", encoding="ascii") as file:
            file.write(json.dumps(entry) + "\n")
        self.verdicts[number] = verdict
