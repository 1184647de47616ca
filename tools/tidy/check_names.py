#!/usr/bin/python3
"""One name for one type: no type name is defined twice in the product, namespaces apart.

Usage: check_names.py SOURCE_FOLDER
Looks at classes, structs and enumerations of a namespace (not those inside of a class, which bear
its name). Tests, benchmarks and examples may repeat names.
"""

import collections
import pathlib
import re
import sys

FOLDERS = ["libtopo", "enforce", "checkpoint", "audit", "agent", "service", "tools", "harness"]
NOISE = re.compile(r'//[^\n]*|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
DEFINITION = re.compile(
    r"^(?:template <[^{;]*?>\s*)?(?:struct|class|enum class)\s+(?:\[\[\w+\]\]\s*)?"
    r"([A-Z]\w*)\s*(?:final\s*)?(?::(?!:)[^;{]*)?\{", re.M)


def definitions(root):
    """Each type name with the files that define it, a file once for each definition."""
    found = collections.defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h"):
                text = NOISE.sub(" ", path.read_text())
                for match in DEFINITION.finditer(text):
                    found[match.group(1)].append(str(path.relative_to(root)))
    return found


def main():
    twice = {name: files for name, files in definitions(pathlib.Path(sys.argv[1])).items()
             if len(files) > 1}
    for name, files in sorted(twice.items()):
        print(f"{name}: expected one definition, found {', '.join(sorted(files))}")
    sys.exit(1 if twice else 0)


main()
