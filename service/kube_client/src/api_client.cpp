#include "pinfold/kube_client/api_client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "pinfold/base/read_file.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold::kube_client {
namespace {

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, FreeList>;

/// What the callbacks of one request need.
struct Transfer {
  CURL* easy;
  const ApiClient::OnBody& on_body;
  const std::atomic<bool>& stop;
};

extern "C" {
std::size_t pinfold_kube_client_body(char* data, std::size_t size, std::size_t count, void* user) {
  const Transfer& transfer = *static_cast<Transfer*>(user);
  long status = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  const std::size_t bytes = size * count;
  return transfer.on_body(static_cast<int>(status), {data, bytes}) ? bytes : 0;
}

int pinfold_kube_client_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(user)->stop ? 1 : 0;
}
}

void append(Headers& headers, const std::string& header) {
  headers.reset(curl_slist_append(headers.release(), header.c_str()));
}

void set_pem(CURL* easy, const Pem& pem, CURLoption file, CURLoption blob) {
  if (!pem.file.empty()) {
    curl_easy_setopt(easy, file, pem.file.c_str());
  } else if (!pem.text.empty()) {
    curl_blob text{const_cast<char*>(pem.text.data()), pem.text.size(), CURL_BLOB_COPY};
    curl_easy_setopt(easy, blob, &text);
  }
}

void set_access(CURL* easy, const ClusterAccess& access) {
  set_pem(easy, access.ca, CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB);
  set_pem(easy, access.certificate, CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB);
  set_pem(easy, access.key, CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB);
  if (!access.skips_verification) return;
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
}

void set_times(CURL* easy, const ClientTimes& times, bool is_endless) {
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(times.connect.count()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT,
                   is_endless ? 0L : static_cast<long>(times.answer.count()));
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(times.silence.count()));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);  // it is used by several threads
}

void set_body(CURL* easy, const ApiClient::Call& call) {
  if (call.body.empty()) return;
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call.body.c_str());
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call.method.c_str());
}

void set_callbacks(CURL* easy, Transfer& transfer) {
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, pinfold_kube_client_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, pinfold_kube_client_progress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &transfer);
}

/// libcurl's own preparation, once and before any thread needs it.
CURL* new_easy() {
  static const CURLcode kInitResult = curl_global_init(CURL_GLOBAL_DEFAULT);
  return kInitResult == CURLE_OK ? curl_easy_init() : nullptr;
}

}  // namespace

struct ApiClient::Parts {
  struct FreeEasy {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };

  [[nodiscard]] Result<std::string> token() const {
    if (access.token_file.empty()) return access.token;
    PINFOLD_LET(const auto text, read_file(access.token_file));
    return std::string(trimmed(text));
  }
  [[nodiscard]] Result<Headers> headers(const Call& call) const {
    Headers headers;
    append(headers, fmt::format("Accept: {}", call.accept));
    append(headers, "User-Agent: pinfold");
    append(headers, "Expect:");  // the body follows at once, regardless of its size
    if (!call.body.empty()) append(headers, fmt::format("Content-Type: {}", call.content_type));
    PINFOLD_LET(const auto text, token());
    if (!text.empty()) append(headers, "Authorization: Bearer " + text);
    return headers;
  }

  ClusterAccess access;
  ClientTimes times;
  std::unique_ptr<CURL, FreeEasy> easy{new_easy()};
};

ApiClient::ApiClient(ClusterAccess access, const ClientTimes& times)
    : parts_(std::make_unique<Parts>()) {
  parts_->access = std::move(access);
  parts_->times = times;
}

ApiClient::~ApiClient() = default;

Result<int> ApiClient::send(const Call& call, const OnBody& on_body,
                            const std::atomic<bool>& stop) {
  CURL* const easy = parts_->easy.get();
  if (easy == nullptr) return fail(ErrorCode::kInternal, "libcurl cannot be initialised");
  PINFOLD_LET(const auto headers, parts_->headers(call));
  const std::string url = parts_->access.server + call.target;
  Transfer transfer{easy, on_body, stop};
  curl_easy_reset(easy);  // keeps connections
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set_access(easy, parts_->access);
  set_times(easy, parts_->times, call.is_endless);
  set_body(easy, call);
  set_callbacks(easy, transfer);
  const CURLcode done = curl_easy_perform(easy);
  if (done != CURLE_OK) {
    const std::string path = call.target.substr(0, call.target.find('?'));
    return fail(ErrorCode::kIo, fmt::format("{} '{}{}': {}", call.method, parts_->access.server,
                                            path, curl_easy_strerror(done)));
  }
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

}  // namespace pinfold::kube_client
