// Empty: a target needs a source file.
