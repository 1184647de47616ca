#include "pinfold/extender/extender_settings.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "pinfold/fields/json.hpp"
#include "pinfold/settings/settings.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::web {

void describe(fields::Fields& fields, ServerCertificate& files) {
  fields.type("ServerCertificate", "Files in PEM.");
  fields.member("certificate", files.certificate, "With the chain.");
  fields.member("key", files.key, "");
  fields.may_lack("clientCa", files.client_ca,
                  "Clients need a certificate of it; \"\": they need none.");
}

}  // namespace pinfold::web

namespace pinfold::extender {
namespace {

constexpr std::chrono::seconds kLongest(3600);

/// Errors: kInvalidArgument for a member that `known` does not have.
Result<void> check_names(const nlohmann::json& object, const nlohmann::json& known,
                         const std::string& path) {
  if (!object.is_object() || !known.is_object()) return {};
  std::vector<std::string_view> names;
  for (auto it = known.begin(); it != known.end(); ++it) names.push_back(it.key());
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (!known.contains(it.key())) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("unknown field '{}'{}", printable(join(path, it.key())),
                              did_you_mean(it.key(), names)));
    }
    PINFOLD_TRY(check_names(*it, known[it.key()], join(path, it.key())));
  }
  return {};
}

/// Errors: kInvalidArgument for a member that the settings do not have.
Result<void> check_names(const nlohmann::json& document) {
  ExtenderSettings all;
  all.tls.emplace();
  return check_names(document, fields::to_json(all), "");
}

Result<void> read_scoring(const std::string& name, ExtenderSettings& settings) {
  PINFOLD_LET_WRAP(settings.scoring, parse_scoring_strategy(name), "scoring");
  return {};
}

}  // namespace

void describe(fields::Fields& fields, ExtenderSettings& settings) {
  fields.type("ExtenderSettings", "The settings of pinfold-extender.");
  fields.may_lack("address", settings.address, "Where kube-scheduler asks: \"HOST:PORT\".");
  fields.may_lack("healthAddress", settings.health_address,
                  "Where probes and Prometheus ask, over plain HTTP.");
  fields.may_lack("tls", settings.tls, "Null: plain HTTP.");
  fields.may_lack("kubeconfig", settings.kubeconfig, "A file; \"\": the access of the Pod.");
  fields.may_lack("ignore", settings.ignore, "Resources that the kubelets do not align.");
  std::string scoring(to_string(settings.scoring));
  fields.may_lack("scoring", scoring,
                  "\"LeastNUMANodes\", \"LeastAllocated\", \"MostAllocated\" or "
                  "\"BalancedAllocation\".");
  if (fields.reads()) {
    if (const auto read = read_scoring(scoring, settings); !read) {
      fields.refuse("scoring", read.error().message);
    }
  }
  fields.may_lack("exporterDelaySeconds", fields::up_to(settings.exporter_delay, kLongest),
                  "The longest time from a bind until the exporters have published it.");
  fields.may_lack("bindSeconds", fields::up_to(settings.bind_time, kLongest),
                  "The longest time from the answer to a filter request to the bind.");
  fields.may_lack("logLevel", settings.log_level, "\"debug\", \"info\", \"warning\" or \"error\".");
}

Result<ExtenderSettings> parse_extender_settings(std::string_view yaml) {
  PINFOLD_LET(const auto documents, parse_documents(yaml));
  if (documents.empty() || documents.front().is_null()) return ExtenderSettings{};
  if (documents.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} documents: expected one", documents.size()));
  }
  PINFOLD_TRY(check_names(documents.front()));
  PINFOLD_LET(auto settings,
              fields::read<ExtenderSettings>(documents.front(), {.whole = "settings"}));
  PINFOLD_TRY_WRAP(settings::parse_log_level(settings.log_level), "logLevel");
  return settings;
}

}  // namespace pinfold::extender
