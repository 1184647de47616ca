#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace pinfold {

/// The kind of a failure. The values are part of the C ABI: append only, never renumber.
enum class ErrorCode : std::int32_t {
  kInvalidArgument = 1,  ///< input that is malformed or out of its domain
  kNotFound = 2,         ///< the named object does not exist
  kCorrupt = 3,          ///< stored data that fails its own checks
  kIo = 4,               ///< a system call failed; see Error::sys_errno
  kUnsupported = 5,      ///< well-formed, but not possible on this machine or in this build
  kInternal = 6,         ///< a bug in Pinfold
  kBusy = 7,             ///< another process still held a needed resource when the time limit ended
};

/// Returns the name of a code for output, such as "invalid argument".
[[nodiscard]] std::string_view to_string(ErrorCode code);

/// A failure. Branch on `code`; show `message` (outermost intent first, object in single quotes).
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  int sys_errno = 0;  ///< 0 when no system call failed
  std::string message;

  /// Puts the caller's intent in front: "context: message". A message that already begins with it
  /// ("configuration: ...", "admit pod 'a': ...") is unchanged.
  [[nodiscard]] Error wrap(std::string_view context) &&;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

/// Returns a failure from a function with any Result type.
[[nodiscard]] tl::unexpected<Error> fail(ErrorCode code, std::string message);
[[nodiscard]] tl::unexpected<Error> fail(Error error);

/// Returns the failure of a system call: "message: strerror(sys_errno)", kNotFound for ENOENT, else
/// kIo.
[[nodiscard]] tl::unexpected<Error> fail_errno(int sys_errno, std::string message);

}  // namespace pinfold

// Each macro evaluates an expression that yields a Result (or another tl::expected) and, on
// failure, returns its error from the enclosing function. The _WRAP forms add one phrase of the
// caller's intent, evaluated only on failure. An expression with a comma outside parentheses needs
// parentheses around it.

/// PINFOLD_TRY(store.commit(files)); only the success matters.
#define PINFOLD_TRY(...) PINFOLD_TRY_IMPL_(PINFOLD_UNIQUE_(result_), (__VA_ARGS__))
/// PINFOLD_LET(auto pods, read_pods(file)); declares a variable with the value.
#define PINFOLD_LET(declaration, ...) \
  PINFOLD_LET_IMPL_(PINFOLD_UNIQUE_(result_), declaration, (__VA_ARGS__))
/// PINFOLD_TRY_WRAP(store.commit(files), "persist");
#define PINFOLD_TRY_WRAP(expression, ...) \
  PINFOLD_TRY_WRAP_IMPL_(PINFOLD_UNIQUE_(result_), (expression), (__VA_ARGS__))
/// PINFOLD_LET_WRAP(auto pods, read_pods(file), fmt::format("admit '{}'", name));
#define PINFOLD_LET_WRAP(declaration, expression, ...) \
  PINFOLD_LET_WRAP_IMPL_(PINFOLD_UNIQUE_(result_), declaration, (expression), (__VA_ARGS__))

// NOLINTBEGIN(bugprone-macro-parentheses): names and declarations cannot be in parentheses
#define PINFOLD_JOIN_IMPL_(a, b) a##b
#define PINFOLD_JOIN_(a, b) PINFOLD_JOIN_IMPL_(a, b)
#define PINFOLD_UNIQUE_(prefix) PINFOLD_JOIN_(prefix, __LINE__)
#define PINFOLD_TRY_IMPL_(result, expression)                                                  \
  do {                                                                                         \
    if (auto result = expression; !result) return ::tl::unexpected(std::move(result).error()); \
  } while (false)
#define PINFOLD_TRY_WRAP_IMPL_(result, expression, context)             \
  do {                                                                  \
    if (auto result = expression; !result)                              \
      return ::tl::unexpected(std::move(result).error().wrap(context)); \
  } while (false)
#define PINFOLD_LET_IMPL_(result, declaration, expression)         \
  auto result = expression;                                        \
  if (!result) return ::tl::unexpected(std::move(result).error()); \
  declaration = *std::move(result)
#define PINFOLD_LET_WRAP_IMPL_(result, declaration, expression, context)         \
  auto result = expression;                                                      \
  if (!result) return ::tl::unexpected(std::move(result).error().wrap(context)); \
  declaration = *std::move(result)
// NOLINTEND(bugprone-macro-parentheses)
