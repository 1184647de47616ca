"""Builds the test programs of a library with all its mutants compiled in.

The library is compiled from copies of its sources with the commands of the preset dev; the programs
are linked from the objects of that build, so the tests themselves are not compiled again.
"""

import glob
import hashlib
import os
import re
import shlex
import subprocess

import mutants

GTEST = ["--gtest_fail_fast", "--gtest_brief=1"]
# Arguments of programs that are not GoogleTests: the recorded decisions.
SAMPLE = "tests/conformance/sample/"
ARGUMENTS = {"pinfold": ["simulate", "--compare", SAMPLE + "*.jsonl.gz"],
             # Skips the tests that restore a state at each operation, which take minutes.
             "crash_checkpoint": [*GTEST, "--gtest_filter=-Snapshot.*"],
             "predict_truth": [SAMPLE + "[!t]*.jsonl.gz", SAMPLE + "topo-*.jsonl.gz"]}

# For each library: its sources, and the programs that test it.
LIBRARIES = {
    "base": ("libtopo/base/src/*.cpp", ["unit_base", "unit_discover"]),
    "discover": ("libtopo/discover/src/*.cpp", ["unit_discover"]),
    "text": ("libtopo/text/src/*.cpp", ["unit_text", "unit_api"]),
    "types": ("libtopo/types/src/*.cpp", ["unit_types", "unit_cpu", "property_types"]),
    "api": ("libtopo/api/src/*.cpp", ["unit_api", "unit_device", "property_types", "pinfold"]),
    "machine": ("libtopo/machine/src/*.cpp",
                ["unit_machine", "unit_cpu", "unit_decide", "pinfold"]),
    "cpu": ("libtopo/cpu/src/*.cpp",
            ["unit_cpu", "spec_cpu", "property_cpu", "conformance_versions", "pinfold"]),
    "memory": ("libtopo/memory/src/*.cpp",
               ["unit_memory", "spec_memory", "property_memory", "pinfold"]),
    "device": ("libtopo/device/src/*.cpp", ["unit_device", "unit_decide", "pinfold"]),
    "align": ("libtopo/align/src/*.cpp",
              ["unit_align", "spec_topology", "property_align", "pinfold"]),
    "decide": ("libtopo/decide/src/*.cpp",
               ["unit_decide", "spec_topology", "spec_cpu", "pinfold"]),
    "predict": ("libtopo/predict/src/*.cpp", ["unit_predict", "spec_predict", "predict_truth"]),
    "reconfigure": ("libtopo/reconfigure/src/*.cpp", ["unit_reconfigure", "property_reconfigure"]),
    "explain": ("libtopo/explain/src/*.cpp",
                ["unit_explain", "property_explain", "cli_explain", "cli_rejections", "pinfold"]),
    "checkpoint": ("checkpoint/src/*.cpp",
                   ["unit_checkpoint", "property_checkpoint", "property_convert",
                    "crash_checkpoint"]),
    "enforce": ("enforce/src/plan.cpp", ["unit_enforce", "property_plan"]),
}


class BuildError(Exception):
    pass


class Library:
    """A library with its mutants, below `work`."""

    def __init__(self, name, source, build, work):
        self.name, self.source, self.build = name, source, build
        self.work = os.path.join(work, name)
        pattern, self.programs = LIBRARIES[name]
        self.texts = {}
        self.mutants = []
        for path in sorted(glob.glob(os.path.join(source, pattern))):
            relative = os.path.relpath(path, source)
            with open(path, encoding="ascii") as file:
                self.texts[relative] = file.read()
            self.mutants += mutants.find(relative, self.texts[relative])
        self.broken = set()  # keys of mutants that do not compile

    def program(self, name):
        return os.path.join(self.work, "bin", name)

    def test_command(self, name):
        """Returns the program with its arguments; patterns are expanded to files of the sources."""
        arguments = []
        for argument in ARGUMENTS.get(name, GTEST):
            is_pattern = "*" in argument and not argument.startswith("-")
            files = glob.glob(os.path.join(self.source, argument)) if is_pattern else [argument]
            if not files:
                raise BuildError(f"no file is '{argument}'")
            arguments += sorted(files)
        return [self.program(name), *arguments]

    def _commands(self):
        out = subprocess.run(["ninja", "-C", self.build, "-t", "commands", *self.programs],
                             check=True, capture_output=True, text=True).stdout
        return out.splitlines()

    def _run(self, command):
        return subprocess.run(command, cwd=self.build, shell=True, capture_output=True, text=True,
                              check=False)

    def write_sources(self):
        numbered = {}
        for number, mutant in enumerate(self.mutants):
            if mutant.key not in self.broken:
                numbered.setdefault(mutant.path, []).append((number, mutant))
        for path, text in self.texts.items():
            target = os.path.join(self.work, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="ascii") as file:
                file.write(mutants.schema(text, numbered.get(path, [])))

    def _compilation(self, command):
        """Returns (object file, own object file, command) of a compilation that differs for this
        library: of a unity file with some of its sources, or of a test that runs their program."""
        words = shlex.split(command)
        if "-c" not in words:
            return None
        runs_program = [i for i, word in enumerate(words) if word.startswith("-DPINFOLD_COMMAND=")]
        if runs_program:
            for i in runs_program:
                words[i] = f'-DPINFOLD_COMMAND="{self.program("pinfold")}"'
            return self._own_compilation(words, words[words.index("-c") + 1])
        unit = words[words.index("-c") + 1]
        with open(unit, encoding="utf-8") as file:
            text = file.read()
        for path in self.texts:
            text = text.replace(os.path.join(self.source, path), os.path.join(self.work, path))
        if self.work not in text:
            return None
        name = hashlib.sha256(unit.encode()).hexdigest()[:12]
        copy = os.path.join(self.work, f"{name}.cpp")
        with open(copy, "w", encoding="utf-8") as file:
            file.write(text)
        here = os.path.dirname(os.path.abspath(__file__))
        folders = {os.path.dirname(os.path.join(self.source, path)) for path in self.texts}
        words = [word for word in words if not word.startswith("-W")]
        words += ["-w", "-include", os.path.join(here, "mutant.hpp")]
        words += [f"-I{folder}" for folder in sorted(folders)]
        return self._own_compilation(words, copy)

    def _own_compilation(self, words, source):
        result = os.path.join(self.work, hashlib.sha256(source.encode()).hexdigest()[:12] + ".o")
        # Removes ccache, which would keep each of these, and the unneeded list of headers.
        words = words[next(i for i, word in enumerate(words) if word.endswith(("c++", "g++"))):]
        for option in ("-MD", "-MT", "-MF"):
            at = words.index(option)
            del words[at:at + (1 if option == "-MD" else 2)]
        original = words[words.index("-o") + 1]
        words[words.index("-o") + 1] = result
        words[words.index("-c") + 1] = source
        return original, result, shlex.join(words)

    def _drop_broken(self, errors):
        """Drops the mutants in lines that do not compile."""
        dropped = 0
        for mutant in self.mutants:
            place = re.escape(f"{os.path.join(self.work, mutant.path)}:{mutant.line}:")
            if mutant.key not in self.broken and re.search(place, errors):
                self.broken.add(mutant.key)
                dropped += 1
        return dropped

    def make(self):
        """Compiles and links, unless the inputs are the same as the last time."""
        commands = self._commands()
        digest = self._digest(commands)
        stamp = os.path.join(self.work, "digest")
        if os.path.exists(stamp):
            with open(stamp, encoding="ascii") as file:
                saved, *broken = file.read().split("\n")
            if saved == digest:
                self.broken = set(filter(None, broken))
                return digest
        os.makedirs(os.path.join(self.work, "bin"), exist_ok=True)
        self.write_sources()
        objects = {}
        for command in commands:
            found = self._compilation(command)
            if found is not None:
                objects[found[0]] = found[1]
                self._compile(found[2])
        if not objects:
            raise BuildError(f"{self.name}: the build in '{self.build}' compiles none of its sources")
        self._link(commands, objects)
        with open(stamp, "w", encoding="ascii") as file:
            file.write("\n".join([digest, *sorted(self.broken)]))
        return digest

    def _compile(self, command):
        for _ in range(8):
            done = self._run(command)
            if done.returncode == 0:
                return
            if self._drop_broken(done.stderr) == 0:
                break
            self.write_sources()
        raise BuildError(f"{self.name}: does not compile with mutants:\n{done.stderr[:4000]}")

    def _link(self, commands, objects):
        archives = {}
        for command in commands:
            if "/ar qc " not in command:
                continue
            archive = re.search(r"/ar qc (\S+)", command).group(1)
            copy = os.path.join(self.work, os.path.basename(archive))
            changed = command.replace(archive, copy)
            for original, result in objects.items():
                changed = changed.replace(f" {original}", f" {result}")
            if not any(result in changed for result in objects.values()):
                continue
            archives[archive] = copy
            self._must(changed)
        for name in self.programs:
            link = next((each for each in commands if re.search(rf" -o \S*/{name} ", each)), None)
            if link is None:
                raise BuildError(f"'{self.build}' does not link '{name}'")
            link = link.removeprefix(": && ").split(" && ")[0]
            link = re.sub(r" -o \S+ ", f" -o {self.program(name)} ", link)
            for original, own in [*objects.items(), *archives.items()]:
                link = link.replace(f" {original}", f" {own}")
            self._must(link)

    def _must(self, command):
        done = self._run(command)
        if done.returncode != 0:
            raise BuildError(f"{self.name}: '{command[:200]}': {done.stderr[:2000]}")

    def _digest(self, commands):
        digest = hashlib.sha256()
        here = os.path.dirname(os.path.abspath(__file__))
        for name in ("mutant.hpp", "mutants.py", "build.py"):
            with open(os.path.join(here, name), "rb") as file:
                digest.update(file.read())
        for path, text in self.texts.items():
            digest.update(f"{path}\n{text}".encode())
        for name in self.programs:
            found = [path for folder in ("tests", "tools") for path in
                     glob.glob(os.path.join(self.build, folder, "**", name), recursive=True)
                     if os.path.isfile(path)]
            if not found:
                raise BuildError(f"'{name}' is not built in '{self.build}'")
            with open(found[0], "rb") as file:
                digest.update(file.read())
        digest.update("\n".join(commands).encode())
        return digest.hexdigest()
