// Findings of many checks, including some in a header and around includes. `tools/tidy/check`
// expects the same ones with the plugin as without.

#include "findings.hpp"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

int global = 0;

namespace sample {

using std::vector;

void declared(int second) { global = second; }

std::size_t moved(std::string text, std::string copied) {
  const std::string other = std::move(text);
  return text.size() + other.size() + copied.size();
}

double divided(int a, int unused) { return a / 2; }

int dereferenced(int* pointer) {
  if (pointer == nullptr) return *pointer;
  return *pointer;
}

int opened(const char* Name) {
  std::remove(Name);
  std::getenv(Name);
  return open(Name, O_RDONLY);
}

int branches(int n) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) {
        for (int l = 0; l < n; ++l) {
          for (int m = 0; m < n; ++m) {
            for (int o = 0; o < n; ++o) {
              for (int p = 0; p < n; ++p) {
                for (int q = 0; q < n; ++q) {
                  if (i > 0 && j > 0 && k > 0 && l > 0 && m > 0 && o > 0 && p > 0 && q > 0) {
                    return i;
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  return 0;
}

}  // namespace sample
