#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <variant>

#include "pinfold/grpc/requests.hpp"

namespace {

using namespace pinfold;  // NOLINT(google-build-using-namespace)

/// An error is the client's fault and has a text; a request to admit has a pod.
template <class Request>
void check(std::string_view bytes) {
  Request request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto action = pinfold::grpc::to_action(request);
  if (action) {
    const auto* const admit = std::get_if<verbs::Admit>(&*action);
    if (admit != nullptr && admit->pods.empty()) std::abort();
    return;
  }
  const auto& error = action.error();
  const bool is_clients =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kNotFound;
  if (!is_clients || pinfold::grpc::to_status(error).error_message().empty()) std::abort();
}

}  // namespace

/// A request of pinfold.v1: the first byte says which, then its bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr void (*kChecks[])(std::string_view) = {
      check<pinfold::v1::AdmitRequest>,     check<pinfold::v1::AdmitTogetherRequest>,
      check<pinfold::v1::StartRequest>,     check<pinfold::v1::RemoveRequest>,
      check<pinfold::v1::AdoptRequest>,     check<pinfold::v1::AttachRequest>,
      check<pinfold::v1::ReconcileRequest>, check<pinfold::v1::ReconfigureRequest>,
      check<pinfold::v1::DefragmentRequest>};
  [[maybe_unused]] static const auto kSilent = google::protobuf::SetLogHandler(nullptr);
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  kChecks[data[0] % std::size(kChecks)](bytes.substr(1));
  return 0;
}
