#!/usr/bin/python3
"""One name for one type: no type name is defined twice in the product, namespaces apart.

Usage: check_names.py SOURCE_FOLDER
Looks at classes, structs, unions and enumerations of a namespace (not at those inside a class,
which have its name before theirs), and at the aliases in public headers: an alias must not give a
second meaning to the name of another public type. Tests, benchmarks and examples may repeat names.
"""

import collections
import pathlib
import re
import sys

FOLDERS = ["libtopo", "enforce", "checkpoint", "audit", "agent", "service", "tools", "harness",
           "gate"]
NOISE = re.compile(r'//[^\n]*|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
DEFINITION = re.compile(
    r"^(?:template <[^{;]*?>\s*)?(?:struct|class|union|enum(?: class| struct)?)\s+(?:\[\[\w+\]\]\s*)?"
    r"([A-Z]\w*)\s*(?:final\s*)?(?::(?!:)[^;{]*)?\{", re.M)
ALIAS = re.compile(r"^(?:template <[^{;]*?>\s*)?using ([A-Z]\w*) =\s*([^;]+);", re.M)


def definitions(root):
    """Each type name with the files that define it, a file once for each definition; and each with
    its meanings in public headers: the file of a type, or what an alias stands for, with the file."""
    found = collections.defaultdict(list)
    meanings = collections.defaultdict(dict)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h"):
                text = NOISE.sub(" ", path.read_text())
                name = str(path.relative_to(root))
                is_public = "/include/" in name
                for match in DEFINITION.finditer(text):
                    found[match.group(1)].append(name)
                    if is_public:
                        meanings[match.group(1)][name] = name
                for match in ALIAS.finditer(text) if is_public else []:
                    meanings[match.group(1)].setdefault(" ".join(match.group(2).split()), name)
    return found, meanings


def main():
    found, meanings = definitions(pathlib.Path(sys.argv[1]))
    twice = {name: files for name, files in found.items() if len(files) > 1}
    for name, files in meanings.items():
        if len(files) > 1:
            twice.setdefault(name, list(files.values()))
    for name, files in sorted(twice.items()):
        print(f"{name}: expected one definition, found {', '.join(sorted(files))}")
    sys.exit(1 if twice else 0)


main()
