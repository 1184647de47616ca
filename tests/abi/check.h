/* CHECK(condition) counts a condition that does not hold, and prints its file and line. */
#ifndef PINFOLD_TESTS_ABI_CHECK_H
#define PINFOLD_TESTS_ABI_CHECK_H

#include <stdio.h>

static int failures;

static void check(int holds, const char* file, const char* what, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
}
#define CHECK(condition) check((condition), __FILE__, #condition, __LINE__)

#endif
