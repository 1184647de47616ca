#pragma once

#include <mutex>
#include <optional>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// A shared library of another project that is loaded when one of its functions is first needed. A
/// program starts without it, and runs where it is not installed. It stays loaded.
class LoadedLibrary {
 public:
  /// What to load, and what an error says. Domain: literals.
  struct Description {
    const char* soname;   ///< "libnuma.so.1"
    const char* package;  ///< the Debian package that has it: "libnuma1"
    const char* purpose;  ///< what needs it: "move pages between NUMA nodes"
  };

  /// Loads the library. Errors: kUnsupported if it is not installed, cannot be loaded, or if this
  /// program is statically linked; the message names the library, its package and its purpose.
  /// Thread-safety: safe.
  [[nodiscard]] static Result<LoadedLibrary> open(const Description& description);

  /// Sets `function` to the function with this name. Domain: a function of this type.
  /// Errors: kUnsupported if the library has no such function.
  template <class Function>
  [[nodiscard]] Result<void> find(const char* name, Function*& function) const {
    PINFOLD_LET(void* const address, address_of(name));
    function = reinterpret_cast<Function*>(address);
    return {};
  }

 private:
  LoadedLibrary(const Description& description, void* handle)
      : description_(description), handle_(handle) {}
  [[nodiscard]] Result<void*> address_of(const char* name) const;

  Description description_;
  void* handle_;
};

/// Returns the table of functions that `load` makes. `load` runs until it has succeeded once, so a
/// library can be installed while the program runs. Thread-safety: safe.
template <class Table, Result<Table> (*load)()>
[[nodiscard]] Result<const Table*> load_once() {
  static std::mutex mutex;
  static std::optional<Table> table;
  const std::lock_guard lock(mutex);
  if (!table) {
    PINFOLD_LET(table, load());
  }
  return &*table;
}

}  // namespace pinfold

/// Defines a LoadedLibrary::Description, and notes the library in the program for tools that
/// collect what a program needs: https://uapi-group.org/specifications/specs/elf_dlopen_metadata.
/// All arguments but the first are literals.
#define PINFOLD_LOADED_LIBRARY(variable, soname, package, purpose)                    \
  constexpr ::pinfold::LoadedLibrary::Description variable{soname, package, purpose}; \
  asm(".pushsection .note.dlopen, \"a\", %note\n"                                     \
      ".balign 4\n"                                                                   \
      ".long 4, 2f - 1f, 0x407c0c0a\n"                                                \
      ".asciz \"FDO\"\n"                                                              \
      "1: .asciz \"[{\\\"soname\\\":[\\\"" soname                                     \
      "\\\"],\\\"priority\\\":\\\"recommended\\\"}]\"\n"                              \
      "2: .balign 4\n"                                                                \
      ".popsection")
