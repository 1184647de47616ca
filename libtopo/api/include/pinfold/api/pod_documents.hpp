#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"

/// Reads Pods as users write them.
namespace pinfold {

/// Returns a document as a Pod: for a Deployment, DaemonSet, StatefulSet, ReplicaSet,
/// ReplicationController, Job, CronJob or PodTemplate the pod template with the workload's name and
/// namespace, else the document itself.
/// Errors: kInvalidArgument for a workload without a template and for an object that does not look
/// like a manifest.
[[nodiscard]] Result<nlohmann::json> as_pod(nlohmann::json document);
/// Returns "Deployment 'a/web': its pod template is read as one pod"; "" for a pod.
[[nodiscard]] std::string template_note(const nlohmann::json& document);

/// How a reader treats unknown fields.
enum class UnknownFields {
  kRefuse,  ///< as kubectl, for what a user wrote: see check_pod_fields
  kIgnore,  ///< as a kubelet, for objects from an API server
};
/// Reads a Pod (see as_pod), and applies the API server's defaults. Errors: kInvalidArgument, those
/// of pod_from_json and check_pod_fields.
[[nodiscard]] Result<PodSpec> read_pod(const nlohmann::json& document,
                                       UnknownFields unknown = UnknownFields::kRefuse);

/// Returns why a kubelet rejected a pod, which then never ran ("TopologyAffinityError"); "" for any
/// other pod.
[[nodiscard]] std::string rejection_reason(const nlohmann::json& pod);

/// How a collector treats a pod that a kubelet has rejected and that is not an item of a list.
enum class RejectedPods {
  kSkip,    ///< as any finished pod
  kDecide,  ///< reads it, for a question about it
};

struct PodDocuments {
  std::vector<PodSpec> pods;
  std::vector<std::size_t> texts;  ///< for each pod: how many texts were added before its own
  /// Notes on objects that were skipped (finished pods, which get nothing from a kubelet; unknown
  /// kinds), read as a pod, or read although they belong to another node.
  std::vector<std::string> notes;
};
/// Collects the pods of documents, each a Pod, a workload or a list of them as printed by
/// `kubectl get -o yaml`.
class PodCollector {
 public:
  explicit PodCollector(UnknownFields unknown, RejectedPods rejected = RejectedPods::kSkip)
      : unknown_(unknown), rejected_(rejected) {}

  /// Adds one document. `place`: where it is, for messages; "": nothing to say.
  /// Errors: kInvalidArgument; then the collector is not usable.
  [[nodiscard]] Result<void> add(const nlohmann::json& document, const std::string& place);
  /// Adds the documents of a text with this name. Errors: kInvalidArgument with the document's
  /// number.
  [[nodiscard]] Result<void> add_text(std::string_view yaml_or_json, std::string_view name);
  /// Returns the pods. A workload whose pods were added, or whose owner was, is skipped.
  /// Errors: kInvalidArgument if there are only objects of other kinds.
  [[nodiscard]] Result<PodDocuments> finish() &&;

 private:
  /// A pod or workload, and the objects that its ownerReferences name.
  struct Object {
    std::string key;  ///< "Deployment default/web"
    std::vector<std::string> owners;
    std::string template_note;   ///< of a workload: see template_note
    std::optional<PodSpec> pod;  ///< nullopt: it has finished
    std::size_t text = 0;
  };

  /// Returns the keys of the objects that own pods, directly or not.
  [[nodiscard]] std::set<std::string> owners_of_pods() const;
  void choose_pods();
  void choose(Object& object);
  [[nodiscard]] Result<void> add_item(const nlohmann::json& item, const std::string& kind,
                                      const std::string& place);
  [[nodiscard]] Result<void> add_pod(const nlohmann::json& document, const std::string& place);
  [[nodiscard]] Result<void> add_rejected(nlohmann::json document, const std::string& place);
  void skip(const nlohmann::json& document, const std::string& place);

  UnknownFields unknown_;
  RejectedPods rejected_;
  bool is_in_list_ = false;
  std::size_t text_ = 0;  ///< of the next object
  PodDocuments out_;
  std::vector<Object> objects_;
  std::set<std::string> nodes_;
  std::optional<Error> foreign_;  ///< what is wrong with the first object of another kind
  std::size_t foreign_count_ = 0;
};
/// Collects the pods of a text that a user wrote. `name` is the name of the text in errors.
[[nodiscard]] Result<PodDocuments> read_pods(std::string_view yaml_or_json, std::string_view name);
/// Validates all pods. Errors: kInvalidArgument with all violations (see
/// pinfold/api/validation.hpp).
[[nodiscard]] Result<void> validate_all(const std::vector<PodSpec>& pods);

}  // namespace pinfold
