"""Finds the mutants of a C++ source, and writes the source with all of them in it.

It reads text, not a syntax tree: sources are formatted, so a binary operator has spaces around it
and a template's bracket has none. The caller drops mutants that do not compile nevertheless.
"""

import re
from dataclasses import dataclass

# Operator: the tag in mutant.hpp, and the replacement.
OPERATORS = {"<": ("Lt", "<="), "<=": ("Le", "<"), ">": ("Gt", ">="), ">=": ("Ge", ">"),
             "==": ("Eq", "!="), "!=": ("Ne", "=="), "+": ("Add", "-"), "-": ("Sub", "+"),
             "*": ("Mul", "+")}
NAMESPACE = "::pinfold_mutant::"


@dataclass
class Mutant:
    path: str
    line: int
    change: str  # "'<' to '<='"
    text: str    # of the line, without space around it
    nth: int     # of the same change in equal lines of the file, from 0
    edits: tuple  # (position, length, replacement with {N})

    @property
    def key(self):
        """The mutant's name in files, which stays the same when lines before it move."""
        return f"{self.path}: {self.text} [{self.change}, {self.nth}]"


def mask(text):
    """Replaces comments, strings, characters and directives with spaces."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
        r"(?<![\w])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.S | re.M)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def closing(text, at):
    """Returns the position of the parenthesis that closes the one at `at`."""
    depth = 0
    for position in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    raise ValueError("no closing parenthesis")


def constants(code):
    """Returns the lines of `code` that define a constexpr variable: the compiler evaluates them."""
    lines = set()
    for found in re.finditer(r"\bconstexpr\b[^;(){}]*=[^;]*;", code):
        first, last = (code.count("\n", 0, at) for at in found.span())
        lines.update(range(first, last + 1))
    return lines


def is_constant(line):
    """Returns True for lines that the compiler evaluates, or that are not code to mutate."""
    return bool(re.search(r"\b(case|constexpr|static_assert|enum|template|operator|using|virtual|"
                          r"PINFOLD_ASSERT|NOLINT|requires)\b|^\s*k\w+ = ", line))


def operators(code):
    for found in re.finditer(r"(?<=[\w)\]}] )(<=|>=|==|!=|<|>|\+|-|\*)(?=\s)", code):
        tag, other = OPERATORS[found.group()]
        edit = (found.start(), len(found.group()),
                f"{found.group()} {NAMESPACE}{tag}<{{N}}>{{}} {found.group()}")
        yield f"'{found.group()}' to '{other}'", (edit,)
    for found in re.finditer(r"(?<= )(&&|\|\|)(?=\s)", code):
        if found.group() == "&&":
            yield "false", ((found.start(), 2, f"&& !{NAMESPACE}on<{{N}}>() &&"),)
        else:
            yield "true", ((found.start(), 2, f"|| {NAMESPACE}on<{{N}}>() ||"),)
    for found in re.finditer(r"!(?=[\w(:*])", code):
        yield "without '!'", ((found.start(), 1, f"{NAMESPACE}Not<{{N}}>{{}}->*"),)


def literals(code):
    for found in re.finditer(r"(?<![\w.<'])(0|[1-9]\d*)(?![\w.>'])", code):
        before = code[:found.start()].rstrip()
        if before.endswith(") =") or before.endswith("const ="):
            continue  # a pure virtual function
        value = found.group()
        yield (f"{value} to {int(value) + 1}",
               ((found.start(), len(value), f"{NAMESPACE}lit<{{N}}>({value})"),))
    for found in re.finditer(r"\b(true|false)\b", code):
        value = found.group()
        other = "false" if value == "true" else "true"
        yield (f"{value} to {other}",
               ((found.start(), len(value), f"{NAMESPACE}lit<{{N}}>({value})"),))


def conditions(code):
    """Changes `if (c)` to `if (!c)`, if c has no operator that is mutated anyway."""
    for found in re.finditer(r"\bif \(", code):
        begin = found.end()
        end = closing(code, begin - 1)
        inner = code[begin:end]
        if re.search(r";|(?<![=!<>])=(?!=)| (<|>|<=|>=|==|!=|&&|\|\|) |^!", inner):
            continue
        yield "the opposite condition", (
            (begin, 0, f"{NAMESPACE}on<{{N}}>() != static_cast<bool>("), (end, 0, ")"))


def statements(code):
    """Removes a statement that is a line: a call, an assignment, `continue` or `break`."""
    pattern = re.compile(r"(?<=[;{})]\n)[ ]+((?:[\w.\[\]*:]|->|\(\*?\w+\))+(?:\([^\n]*\)| [-+|&]?= "
                         r"[^\n]*)|continue|break|(?:\+\+|--)[^\n;]*);(?=\n)")
    for found in pattern.finditer(code):
        statement = found.group(1)
        if statement.startswith(("return", "static_assert", "PINFOLD_", "using", "throw")):
            continue
        yield "without the statement", (
            (found.start(1), 0, f"if ({NAMESPACE}on<{{N}}>()) {{}} else "),)


def braces_doubled(text):
    """Doubles all braces except {N}, because replacements are format strings."""
    return text.replace("{", "{{").replace("}", "}}").replace("{{N}}", "{N}")


def find(path, text):
    """Returns all mutants of a source."""
    code = mask(text)
    lines = text.split("\n")
    constant = constants(code)
    found = []
    seen = {}
    for kind in (operators, literals, conditions, statements):
        for change, edits in kind(code):
            number = text.count("\n", 0, edits[0][0])
            if number in constant or is_constant(lines[number]):
                continue
            line = lines[number].strip()
            nth = seen.get((line, change), 0)
            seen[(line, change)] = nth + 1
            edits = tuple((at, length, braces_doubled(new)) for at, length, new in edits)
            found.append(Mutant(path, number + 1, change, line, nth, edits))
    return sorted(found, key=lambda mutant: mutant.edits[0][0])


def schema(text, numbered):
    """Returns the source with mutants inserted; each is (number, mutant)."""
    edits = []
    for number, mutant in numbered:
        for order, (at, length, new) in enumerate(mutant.edits):
            # At the same position, closing parts come first, and statements begin outermost.
            edits.append((at, length > 0, order == 0, -len(new), length, new.format(N=number)))
    for at, _, _, _, length, new in sorted(edits, key=lambda edit: edit[:4], reverse=True):
        text = text[:at] + new + text[at + length:]
    return text
