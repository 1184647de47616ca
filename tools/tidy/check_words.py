#!/usr/bin/python3
"""One word for one thing: finds words for which Pinfold has another one.

Usage: check_words.py SOURCE_FOLDER | --table
Looks at identifiers, comments, messages and docs. Tests, benchmarks, examples and the changelog may
use any word. docs/glossary.md ends with the table that --table prints. A word that is right in
ordinary English is only in the table where a pattern can tell the two uses apart.
"""

import pathlib
import re
import sys

MANAGERS = ["libtopo/align", "libtopo/cpu", "libtopo/device", "libtopo/memory"]
PRODUCT = ["libtopo", "enforce", "checkpoint", "audit", "agent", "service", "tools", "gate"]
FOLDERS = PRODUCT + ["harness", "docs", "README.md", "CONTRIBUTING.md"]
SUFFIXES = (".hpp", ".cpp", ".h", ".proto", ".md")

# The words as the glossary shows them, divided by ", "; a regular expression of whole words without
# regard to case, which finds them; what to write instead; and where to look. A blank also matches a
# line break within a comment or a paragraph.
A = "(?:an?|the|this|that|its|each|every|all)"
TABLE = [
    ("refuse a pod", r"refus(?:e|es|ed|ing) " + A + r" pods?", "reject", FOLDERS),
    ("the answer is no;", r"the answer is no[.,;]", "reject", FOLDERS),
    ("forget a pod, give back a container, take back a pod",
     rf"(?:forgets?|forgot|forgotten|gives? back|takes? back) {A} (?:pod|container)s?", "remove", FOLDERS),
    ("place_group", r"place_group", "adopt", FOLDERS),
    ("place a process", rf"place_process|plac(?:e|es|ed|ing) {A} process(?:es)?", "attach", FOLDERS),
    ("wanted", r"wanted", "desired", PRODUCT + ["docs"]),
    ("not as decided, not as asked", r"not as (?:decided|asked)",
     "drift, or: differs from the desired state", FOLDERS),
    ("repair a cgroup, repair cpusets", rf"repair(?:s|ed|ing)? (?:{A} )?(?:c?groups?|cpusets?)", "reconcile", FOLDERS),
    # "Not settled" is the name of a warning, and "settle" that of a request.
    ("settle", r'(?<!not[ _])(?<![`"])settl(?:e|es|ed|ing)', "checkpoint the journal", FOLDERS),
    ("beside", r"beside", "next to; for files: side files", FOLDERS),
    ("CPUs of its own", r"(?:CPUs?|cores?) of (?:its|their|his) own(?! group)", "exclusive CPUs", FOLDERS),
    ("nobody else has", r"nobody else (?:has|uses)", "exclusive", FOLDERS),
    ("offer", r"offer(?:s|ed|ing)?", "hint", MANAGERS),
    ("rehearse", r"rehears(?:e|es|ed|al|als|ing)", "dry run", FOLDERS),
    ("defect", r"defects?", "quirk, or known bug", FOLDERS),
    ("deviation", r"(?<!standard[ _])deviat(?:e|es|ion|ions)", "quirk, or difference", FOLDERS),
    ("tell why", r"tells? why", "explain", FOLDERS),
    ("CPUs that are not there", r"CPUs? (?:that )?(?:is|are|was|were) not there", "offline", FOLDERS),
    ("pages in place", r"pages[ _]in[ _]place", "page placement", FOLDERS),
    ('"good"', r'"good"', "ok", FOLDERS),
]
GLOSSARY = "docs/glossary.md"
BREAK = re.compile(r"\s*\n\s*(?://+<?\s*|\*\s+)?|\s+")


def one_line(text):
    """The text with each run of blanks and line breaks as one blank, and the line of each character."""
    out, lines, line, at = [], [], 1, 0
    for match in BREAK.finditer(text):
        out.append(text[at:match.start()] + " ")
        lines += [line] * (match.start() - at + 1)
        line += match.group().count("\n")
        at = match.end()
    out.append(text[at:])
    return "".join(out), lines + [line] * (len(text) - at)


def files(root, folders):
    for folder in folders:
        path = root / folder
        yield from sorted(path.rglob("*")) if path.is_dir() else [path]


def glossary():
    """Returns the table of words that are not used."""
    where = {tuple(FOLDERS): "", tuple(MANAGERS): " the managers of `libtopo`",
             tuple(PRODUCT + ["docs"]): " outside of the harness"}
    rows = [f"| {words} | {instead} |{where[tuple(folders)]} |" for words, _, instead, folders in TABLE]
    return "\n".join(["| not | but | only in |", "|---|---|---|", *rows]) + "\n"


def main():
    if sys.argv[1] == "--table":
        print(glossary(), end="")
        return
    root = pathlib.Path(sys.argv[1])
    texts = {path: one_line(path.read_text()) for path in files(root, FOLDERS)
             if path.suffix in SUFFIXES and path.is_file() and path != root / GLOSSARY}
    findings = []
    for _, word, instead, folders in TABLE:
        pattern = re.compile(rf"(?<![a-z])(?:{word})(?![a-z])", re.I)
        for path in files(root, folders):
            text, lines = texts.get(path, ("", []))
            findings += [(str(path.relative_to(root)), lines[match.start()], match.group(), instead)
                         for match in pattern.finditer(text)]
    for path, line, found, instead in sorted(findings):
        print(f"{path}:{line}: '{found}': expected '{instead}'")
    sys.exit(1 if findings else 0)


main()
