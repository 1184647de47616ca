#include "documents.hpp"
#include "pinfold/checkpoint/fields.hpp"

/// The documents of `pinfold checkpoint`.
namespace pinfold::tools {

using fields::Fields;

void describe_value(Fields& fields, KubeletState& state) {
  fields.foreign({"KubeletState", "A state file in the kubelet's own format, without checksum.",
                  [&] { return state.value; },
                  [&](const nlohmann::json& value) -> Result<void> {
                    state.value = value;
                    return {};
                  }});
}

void describe(Fields& fields, KubeletVerdict& verdict) {
  fields.type("KubeletVerdict", "How a kubelet treats a state file.");
  fields.member("kubelet", verdict.kubelet, "\"1.36\".");
  fields.member("podLevelResourceManagers", verdict.has_pod_level_gate, "Its feature gate.");
  fields.member("writes", verdict.writes, "It would write the same bytes for this state.");
  fields.computed("reads", verdict.read_error.empty(), "");
  fields.member("readError", verdict.read_error, "The error; \"\": it can read the file.");
  fields.member("crashes", verdict.is_crash, "");
  fields.computed("starts", verdict.read_error.empty() && verdict.start_error.empty(), "");
  fields.member("startError", verdict.start_error,
                "The error; \"\": it starts, or cannot read the file.");
  fields.member("lost", verdict.lost, "What it drops.");
}

void describe(Fields& fields, ShowDocument& document) {
  fields.type("StateFile", "A state file, and how kubelets treat it.");
  fields.member("file", document.file, "");
  fields.member("kind", document.kind, "\"cpu\" or \"memory\".");
  fields.member("version", document.version, "Of the format.");
  fields.member("warnings", document.warnings, "");
  fields.member("kubelets", document.kubelets, "");
  fields.member("state", document.state, "");
}

void describe(Fields& fields, VerifiedFile& file) {
  fields.type("VerifiedFile", "How a kubelet treats a state file.");
  fields.member("file", file.file, "");
  describe(fields, file.verdict);
  fields.member("wrongChecksums", file.wrong_sums, "");
  fields.member("state", file.state,
                "The kubelet's state after loading; null: it cannot read the file.");
}

void describe(Fields& fields, DiffLine& line) {
  fields.type("DiffLine", "A difference between two states.");
  fields.member("kind", line.kind, "\"cpu\" or \"memory\".");
  describe(fields, line.difference);
}

void describe(Fields& fields, ConvertDocument& document) {
  fields.type("Conversion", "State files for another kubelet.");
  fields.member("kept", document.kept, "");
  fields.member("lost", document.lost, "With that kubelet.");
  fields.member("rejected", document.rejected, "Pods that it would reject.");
  fields.member("written", document.is_written, "");
  fields.member("starts", document.starts,
                "Null: unknown, because its configuration is not given.");
  fields.member("startError", document.start_error, "The error; \"\": it starts, or unknown.");
}

void describe(Fields& fields, RepairDocument& document) {
  fields.type("Repair", "Repaired state files.");
  fields.member("done", document.done, "");
  fields.member("readBack", document.read_back, "");
  fields.member("lost", document.lost, "");
  fields.member("kept", document.kept, "Old files.");
  fields.member("kernel", document.kernel,
                "Which running containers were read, or why none; \"\": not needed, no file is "
                "damaged.");
  fields.member("written", document.is_written, "");
  fields.member("starts", document.starts, "The kubelet starts from them.");
  fields.member("validation", document.validation, "\"passes\", or \"fails: \" and its text.");
}

}  // namespace pinfold::tools
