#include "judge/exec_reply.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace pinfold::harness {

std::string describe_end(const Json& reply) {
  if (reply.value("timedOut", false)) return "the time limit";
  if (reply.contains("signal")) return "signal " + reply["signal"].dump();
  return "status " + reply.value("status", Json()).dump();
}

std::string excerpt(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > 2000) text = "..." + text.substr(text.size() - 2000);
  return text;
}

}  // namespace pinfold::harness
