#include "pinfold/socket/messages.hpp"

#include <array>
#include <optional>
#include <variant>

#include "pinfold/agent/fields.hpp"
#include "pinfold/api/fields.hpp"
#include "pinfold/machine/fields.hpp"
#include "pinfold/verbs/fields.hpp"

namespace pinfold::socket {
namespace {

using fields::Alternative;
using fields::Fields;
using std::chrono::milliseconds;

constexpr std::array<Alternative, 2> kGreetings = {
    {{"hello", "Who speaks, and which version of the protocol."},
     {"error", "Why the connection ends."}}};

/// In the order of verbs::Action.
constexpr std::array<Alternative, std::variant_size_v<verbs::Action>> kRequests = {{
    {"admit", "Admits pods."},
    {"start", "Starts a container."},
    {"attach", "Attaches a process."},
    {"remove", "Removes a pod or container."},
    {"releaseUnknown", "Releases held pods."},
    {"admitHooked", "Sent by the OCI hook."},
    {"removeHooked", "Sent by the OCI hook."},
    {"reconcile", "Reconciles."},
    {"settle", "Brings the state files up to date."},
    {"adopt", "Adopts a control group."},
    {"comparison", "Reads the comparison; answered with 'done' if there is none."},
    {"service", "Reads the state of the service."},
    {"reconfigure", "Changes the node."},
    {"defragment", "Makes room for a pod."},
    {"status", "Reads the node, desired and observed."},
    {"list", "Reads the pods, as desired."},
    {"resize", "Changes the number of a container's exclusive CPUs."},
    {"prepareHooked", "Sent by the OCI hook at precreate."},
    {"preview", "Decides pods on a copy of the state."},
}};

/// In the order of AnswerMessage::answer.
constexpr std::array<Alternative, std::variant_size_v<decltype(AnswerMessage::answer)>> kAnswers = {
    {
        {"done", "Success."},
        {"admissions", "To 'admit' and 'preview'."},
        {"change", "To requests that change the node."},
        {"hook", "To requests of the OCI hook; null: success."},
        {"report", "To 'reconcile'."},
        {"comparison", "To 'comparison'."},
        {"service", "To 'service'."},
        {"reconfiguration", "To 'reconfigure' and 'defragment'."},
        {"status", "To 'status'."},
        {"list", "To 'list'."},
        {"resize", "To 'resize'."},
        {"prepared", "To 'prepareHooked'."},
        {"error", "Nothing was done, unless the message says otherwise."},
    }};

}  // namespace

void describe(Fields& fields, HelloRequest& hello) {
  fields.type("HelloRequest", "Opens a connection.");
  fields.member("version", hello.version, "Of the protocol.");
}

void describe(Fields& fields, HelloAnswer& hello) {
  fields.type("Hello", "The service's reply that opens a connection.");
  fields.member("version", hello.version, "Of the protocol.");
  fields.member("software", hello.software, "Of the program.");
  fields.member("stateDir", hello.state_dir, "Absolute.");
  fields.member("config", hello.config, "With its profile.");
  fields.member("profileSource", hello.profile_source, "");
  fields.member("machine", hello.machine, "As observed.");
  if (!hello.machine) fields.refuse("machine", "missing");
  fields.member("cgroupRoot", hello.cgroup_root, "Absolute; \"\": it enforces nothing.");
}

void describe(Fields& fields, HelloRequestMessage& message) {
  fields.type("FirstRequest", "The first line of a client.");
  fields.alternatives(message.hello, kGreetings, "a greeting");
}

void describe(Fields& fields, HelloAnswerMessage& message) {
  fields.type("FirstAnswer", "The first line of the service.");
  fields.alternatives(message.hello, kGreetings, "a greeting");
}

void describe(Fields& fields, RequestMessage& message) {
  constexpr std::chrono::hours kLongest(1);
  fields.type("Request", "A request to the service, on one line.");
  Call& call = message.call;
  std::optional<milliseconds> timeout;
  if (call.timeout > milliseconds::zero()) timeout = call.timeout;
  if (fields.writes() && timeout) {
    fields.may_lack("timeoutSeconds", fields::up_to(*timeout, kLongest), "");
  } else if (!fields.writes()) {
    milliseconds read{0};
    fields.may_lack("timeoutSeconds", fields::up_to(read, kLongest),
                    "How long it may wait; absent or 0: no limit.");
    if (fields.reads()) call.timeout = read;
  }
  fields.alternatives(call.action, kRequests, "a request");
}

void describe(Fields& fields, AnswerMessage& message) {
  fields.type("Answer", "An answer of the service, on one line.");
  fields.alternatives(message.answer, kAnswers, "an answer");
}

}  // namespace pinfold::socket
