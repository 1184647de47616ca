#!/usr/bin/python3
"""No dependency cycles between the files of one module.

Usage: check_files.py SOURCE_FOLDER [MODULE_FOLDER ...]
A file is foo.hpp with foo.cpp, or either of them alone. It depends on the files of its module that
it includes, and on a file that defines what another one's header declares, if it calls that.
Functions are known by name only, so those that several files define are left out.
"""

import collections
import pathlib
import re
import sys

PROGRAMS = ["harness/guest", "harness/host/main", "tools/pinfold"]  # their sources are not in src/

NOISE = re.compile(r'//[^\n]*|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
LOCAL = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.M | re.S)
LAMBDA = re.compile(r"\b(\w+) = \[")
DEFINITION = re.compile(
    r"^(?!using|static|namespace)[\w:][^\n;={}()#]*?(?:\b(\w+)::)?(~?\b\w+)\(", re.M)


class File:
    """One or two source files, without comments and strings."""

    def __init__(self):
        self.includes = set()
        self.header = ""
        self.source = ""
        self.defines = set()  # for others: (class or "", function)
        self.own = set()  # functions that only this file knows

    def declares(self, of_class, function):
        if of_class:
            return re.search(rf"^(?:class|struct) {of_class}\b[^;]*\{{", self.header, re.M)
        return re.search(rf"^(?!\s).*\b{function}\(", self.header, re.M)

    def calls(self, of_class, function):
        if of_class and of_class not in {known for known, _ in self.defines}:
            return re.search(rf"(?:\.|->|\b{of_class}::){function}\(", self.source)
        return function not in self.own and re.search(rf"(?<![.>~])\b{function}\(", self.source)


def definitions(source):
    """The functions that a text defines, as (class or "", function): with a body."""
    source = NOISE.sub(" ", source)
    for match in DEFINITION.finditer(source):
        depth, at = 1, match.end()
        while depth > 0 and at < len(source):
            depth += {"(": 1, ")": -1}.get(source[at], 0)
            at += 1
        end = re.search(r"[;{]", source[at:])
        if end and end.group() == "{":
            yield match.group(1) or "", match.group(2)


def read_module(folder):
    """The files of a module by name: the path below src/ (or include/) without its suffix."""
    parts = [part for part in (folder / "include", folder / "src") if part.exists()] or [folder]
    paths = sorted(path for part in parts for path in part.rglob("*.[hc]pp"))
    sources = {path.stem: path for path in paths if path.suffix == ".cpp"}

    def name_of(path):
        owner = path.with_suffix(".cpp")  # next to it, or for a public header below src/
        if not owner.exists():
            owner = sources.get(path.stem, path) if folder / "include" in path.parents else path
        root = next(part for part in parts if part in owner.parents)
        return str(owner.relative_to(root).with_suffix(""))

    names = {path: name_of(path) for path in paths}
    files = collections.defaultdict(File)
    for path in paths:
        file, text = files[names[path]], path.read_text()
        for include in INCLUDE.findall(text):
            places = [base / include for base in (path.parent, *parts)]
            file.includes.update([names[place] for place in places if place in names][:1])
        if path.suffix == ".hpp":
            file.header += NOISE.sub(" ", text)
        else:
            file.source += NOISE.sub(" ", text)
            file.defines.update(definitions(LOCAL.sub("", text)))
            file.own.update(name for _, name in definitions("".join(LOCAL.findall(text))))
            file.own.update(LAMBDA.findall(text))
    return files


def arrows_of(files):
    """The files that each file depends on, each with the reason."""
    arrows = {}
    definers = collections.Counter()
    for name, file in files.items():
        arrows[name] = {other: "includes it" for other in file.includes - {name}}
        definers.update({function for _, function in file.defines})
    for definer, file in files.items():
        for of_class, function in sorted(file.defines):
            if definers[function] > 1 or file.declares(of_class, function):
                continue
            headers = {name for name in file.includes if files[name].declares(of_class, function)}
            for user, other in files.items():
                sees = user in headers or headers & other.includes
                if sees and user != definer and other.calls(of_class, function):
                    arrows[user].setdefault(definer, f"calls {function}()")
    return arrows


def circles(arrows):
    """The groups of files that all reach each other."""
    reach = {}
    for start in arrows:
        reach[start], todo = set(), [start]
        while todo:
            for after in arrows[todo.pop()]:
                if after not in reach[start]:
                    reach[start].add(after)
                    todo.append(after)
    groups = {frozenset(other for other in reach[one] if one in reach[other]) for one in arrows}
    return sorted(sorted(group) for group in groups if group)


def modules(root):
    """The folders with include/ or src/, and the programs."""
    found = set()
    for top in root.iterdir():
        if top.is_dir() and top.name[0] != "." and top.name not in ("build", "tests"):
            found.update(path.parent for kind in ("include", "src") for path in top.rglob(kind))
    return sorted(str(path.relative_to(root)) for path in found) + PROGRAMS


def report(module, circle, arrows):
    print(f"{module}: {len(circle)} files know each other:")
    for name in circle:
        for other in sorted(set(arrows[name]) & set(circle)):
            print(f"  {name} -> {other}: {arrows[name][other]}")


def main():
    root = pathlib.Path(sys.argv[1])
    failed = False
    for module in sys.argv[2:] or modules(root):
        arrows = arrows_of(read_module(root / module))
        for circle in circles(arrows):
            report(module, circle, arrows)
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
