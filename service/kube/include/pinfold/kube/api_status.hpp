#pragma once

#include <string>
#include <string_view>

namespace pinfold::kube {

// Statuses of an API server's answers.
inline constexpr int kOk = 200;
inline constexpr int kCreated = 201;
inline constexpr int kUnauthorized = 401;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kConflict = 409;
inline constexpr int kGone = 410;
inline constexpr int kInvalid = 422;
inline constexpr int kTooManyRequests = 429;
inline constexpr int kServerErrors = 500;  ///< the first of them

/// Returns the message of a Status, or the beginning of another text.
[[nodiscard]] std::string status_text(std::string_view body);

/// Returns why a request has failed and what is expected: "status 403: <message>; expected a role
/// that allows 'list' and 'watch' of them". `verbs` are those of the request.
[[nodiscard]] std::string describe_status(int status, std::string_view body,
                                          std::string_view verbs);

}  // namespace pinfold::kube
