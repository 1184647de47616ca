#include "pinfold/base/loaded_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace pinfold {
namespace {

tl::unexpected<Error> unsupported(const LoadedLibrary::Description& library, std::string_view why) {
  return fail(ErrorCode::kUnsupported,
              fmt::format("library '{}', needed to {}: {}", library.soname, library.purpose, why));
}

int find_interpreter(dl_phdr_info* program, std::size_t /*size*/, void* found) {
  const std::span headers(program->dlpi_phdr, program->dlpi_phnum);
  *static_cast<bool*>(found) =
      std::any_of(headers.begin(), headers.end(),
                  [](const ElfW(Phdr) & header) { return header.p_type == PT_INTERP; });
  return 1;  // the first object is the program: look at no other
}

/// True if the program has no dynamic linker. glibc's dlopen would then load a second C library,
/// and only of the version that the program was linked with.
bool is_static_program() {
  bool has_interpreter = false;
  (void)::dl_iterate_phdr(find_interpreter, &has_interpreter);
  return !has_interpreter;
}

}  // namespace

Result<LoadedLibrary> LoadedLibrary::open(const Description& description) {
  if (is_static_program()) {
    return unsupported(description,
                       "a statically linked program cannot load it; link the program dynamically");
  }
  void* const handle = ::dlopen(description.soname, RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return LoadedLibrary(description, handle);
  const char* const error = ::dlerror();  // NOLINT(concurrency-mt-unsafe): each thread has its own
  return unsupported(description,
                     fmt::format("{}; install the package '{}'", error, description.package));
}

Result<void*> LoadedLibrary::address_of(const char* name) const {
  void* const address = ::dlsym(handle_, name);
  if (address != nullptr) return address;
  return unsupported(description_,
                     fmt::format("it has no function '{}'; install a newer version of the package "
                                 "'{}'",
                                 name, description_.package));
}

}  // namespace pinfold
