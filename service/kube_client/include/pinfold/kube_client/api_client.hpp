#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/kube_client/cluster_access.hpp"

namespace pinfold::kube_client {

struct ClientTimes {
  std::chrono::milliseconds connect{10'000};
  std::chrono::seconds answer{60};  ///< for a whole answer to a request that is not a watch
  /// A connection without a byte for this time is dead. API servers send bookmarks every minute.
  std::chrono::seconds silence{150};
};

/// Sends requests to an API server. Connections are kept. Thread-safety: one thread at a time.
class ApiClient {
 public:
  ApiClient(ClusterAccess access, const ClientTimes& times);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;
  ~ApiClient();

  struct Call {
    std::string method = "GET";
    std::string target;  ///< path and query
    std::string_view accept = "application/json";
    std::string_view content_type = {};  ///< of the body
    std::string body = {};               ///< "": none
    bool is_endless = false;             ///< a watch
  };
  /// Takes the next bytes of an answer's body. Returns false to close the connection.
  using OnBody = std::function<bool(int status, std::string_view bytes)>;
  /// Returns the status once the answer has ended. Ends soon after `stop` is set.
  /// Errors: kIo, "GET 'https://...': <what libcurl says>"; kIo or kNotFound for a token that
  /// cannot be read.
  Result<int> send(const Call& call, const OnBody& on_body, const std::atomic<bool>& stop);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pinfold::kube_client
