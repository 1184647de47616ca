#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "pinfold/harness/kept_guest.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::harness {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns the kept guest with this name, or of the scenario with this name; "": the only one.
Result<KeptGuest> choose_guest(const std::vector<KeptGuest>& guests, const std::string& name) {
  std::vector<KeptGuest> chosen;
  std::vector<std::string> names;  // names of guests and scenarios
  std::string known;
  for (const KeptGuest& guest : guests) {
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", guest.name);
    names.push_back(guest.name);
    names.push_back(guest.name.substr(0, guest.name.find(" on ")));
    if (guest.name == name) return guest;
    if (name.empty() || guest.name.starts_with(name + " on ")) chosen.push_back(guest);
  }
  if (chosen.size() == 1) return chosen.front();
  if (guests.empty()) {
    return fail(ErrorCode::kNotFound,
                "no guest is kept; `pinfold-harness run --keep` keeps those of "
                "failed steps");
  }
  return fail(ErrorCode::kInvalidArgument,
              name.empty() ? fmt::format("several guests are kept, expected one of {}", known)
                           : fmt::format("'{}': expected one of {}{}", escaped(name), known,
                                         did_you_mean(name, std::vector<std::string_view>(
                                                                names.begin(), names.end()))));
}

}  // namespace

int attach(const AttachArguments& arguments, int interrupt_fd) {
  const auto guests = kept_guests();
  if (arguments.list) {
    for (const KeptGuest& guest : guests) {
      fmt::print("{:<40} {}\n", guest.name, first_line(guest.message));
    }
    return kOk;
  }
  const auto guest = choose_guest(guests, arguments.guest);
  if (!guest) return report(guest.error());
  auto session = open_kept_guest(*guest, interrupt_fd);
  if (!session) return report(session.error());
  fmt::print(stderr, "{}: {}\n", guest->name, first_line(guest->message));
  return talk_to_guest(*session);
}

}  // namespace pinfold::harness
