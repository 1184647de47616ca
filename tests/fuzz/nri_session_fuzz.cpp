#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <variant>

#include "pinfold/nri/session.hpp"

namespace {

using namespace pinfold::nri;  // NOLINT(google-build-using-namespace)

PluginAnswer answer_to(const PluginRequest& request) {
  return std::visit(
      [](const auto& message) { return PluginAnswer(AnswerTo<std::decay_t<decltype(message)>>()); },
      request);
}

}  // namespace

/// A whole connection: input from a runtime is either understood or ends the connection, and every
/// call that it makes can be answered.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Session session({"pin", "10"}, TimePoint(), TimePoint() + std::chrono::seconds(5));
  (void)session.update_containers({}, TimePoint(), TimePoint() + std::chrono::seconds(1));
  const auto events = session.receive(bytes);
  if (!events && events.error().message.empty()) std::abort();
  if (!events) return 0;
  for (const SessionEvent& event : *events) {
    const auto* asked = std::get_if<Asked>(&event);
    if (asked == nullptr) continue;
    (void)session.take_output();
    if (!session.answer(asked->call, answer_to(asked->request))) std::abort();
    if (session.take_output().empty()) std::abort();
  }
  return 0;
}
