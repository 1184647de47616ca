#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "pinfold/base/unique_fd.hpp"

/// The read-only port of the fake kubelet.
namespace pinfold::test {

/// Listens on 127.0.0.1:10255; invalid if that fails.
[[nodiscard]] UniqueFd listen_read_only();

/// Answers one request for /pods with `list()`, if one comes within the time.
void answer_one(int port, std::chrono::milliseconds time, const std::function<std::string()>& list);

}  // namespace pinfold::test
