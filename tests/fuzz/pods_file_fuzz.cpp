#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/agent/pods_file.hpp"

/// A state that was read can be written, and reads back to the same state.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::agent;  // NOLINT(google-build-using-namespace)
  AgentState state;
  if (!decode_pods(std::string_view(reinterpret_cast<const char*>(data), size), state)) return 0;
  AgentState again;
  if (!decode_pods(encode_pods(state), again) || !(again == state)) std::abort();
  return 0;
}
