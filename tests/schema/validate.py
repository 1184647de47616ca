#!/usr/bin/python3
"""validate.py [--lines] SCHEMA < DOCUMENT: prints what a schema does not allow in a JSON document; exit status 1 then.

--lines: each line is a document.
"""
import json
import sys

import jsonschema


def validator_of(path):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def problems_of(validator, document):
    """One line for each part of a document that its schema does not allow."""
    return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(document)]


def main(arguments):
    by_line = arguments[0] == "--lines"
    validator = validator_of(arguments[-1])
    text = sys.stdin.read()
    documents = [json.loads(line) for line in text.splitlines()] if by_line else [json.loads(text)]
    problems = [problem for document in documents for problem in problems_of(validator, document)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
