#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/harness/machine_copy.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kMaxXml = std::size_t{64} << 20U;

Result<Machine> machine_at(const std::string& place) {
  if (place == "this") return discover(SysTree{}, "this machine");
  std::error_code failed;
  if (std::filesystem::is_directory(place, failed)) return discover(SysTree{place}, place);
  PINFOLD_LET(auto text, read_file(place, kMaxXml));
  return discover(HwlocXml{std::move(text)}, place);
}

Result<std::uint64_t> parse_memory(const std::string& text) {
  const auto quantity = Quantity::parse(text);
  if (quantity && quantity->sign() > 0 && quantity->is_whole()) {
    return static_cast<std::uint64_t>(quantity->value());
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--memory: '{}': expected an amount such as 4Gi", text));
}

Result<std::string> copied_text(const MachineArguments& arguments) {
  PINFOLD_LET(const auto memory, parse_memory(arguments.memory));
  PINFOLD_LET_WRAP(const auto source, machine_at(arguments.from),
                   fmt::format("--from '{}'", arguments.from));
  PINFOLD_LET_WRAP(const auto copy, copy_machine(source, memory),
                   fmt::format("--from '{}'", arguments.from));
  if (arguments.output != "json") return copy_yaml(copy, arguments.from);
  return copy_json(copy, arguments.from)
             .dump(2, ' ', true, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace

int copy_machine_of(const MachineArguments& arguments) {
  const auto text = copied_text(arguments);
  if (!text) return report(text.error());
  fmt::print("{}", *text);
  return kOk;
}

}  // namespace pinfold::harness
