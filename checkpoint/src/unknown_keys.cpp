#include "unknown_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cpu_fields.hpp"
#include "go_value.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::checkpoint {
namespace {

constexpr std::array<std::string_view, 8> kKnownKeys = {"policyName",   "defaultCpuSet", "entries",
                                                        "machineState", "podEntries",    "checksum",
                                                        "data",         "dataChecksum"};

enum class KeysOf { kFile, kData };

bool is_known(const std::string& key, std::string_view value, KeysOf where) {
  if (JsonReader::same_field(key, "baselines")) {
    return where == KeysOf::kData && cpu_file::parse_baselines(value);
  }
  return std::any_of(kKnownKeys.begin(), kKnownKeys.end(),
                     [&](std::string_view name) { return JsonReader::same_field(key, name); });
}

/// Returns the unknown keys of one object. Domain: `json` has no syntax error.
std::map<std::string, std::string> unknown_in(std::string_view json, KeysOf where) {
  std::map<std::string, std::string> out;
  JsonReader reader(json);
  if (reader.null()) return out;
  reader.map("", [&](const std::string& key) {
    const std::string_view value = reader.raw();
    if (!is_known(key, value, where)) out[key] = value;
  });
  return out;
}

std::string data_of(std::string_view json) {
  std::string data;
  JsonReader reader(json);
  reader.structure("", JsonReader::Field{"data", [&] { reader.read(data); }});
  return data;
}

std::vector<std::string> keys_of(std::string_view object) {
  std::vector<std::string> keys;
  JsonReader reader(object);
  reader.map("", [&](const std::string& key) {
    reader.skip();
    keys.push_back(key);
  });
  return keys;
}

/// Returns the keys in the entries of `baselines` other than `baseline`.
std::set<std::string> unknown_in_baselines(std::string_view data) {
  std::set<std::string> out;
  JsonReader reader(data);
  const auto read_entry = [&](const std::string& key) {
    reader.skip();
    if (!JsonReader::same_field(key, "baseline")) out.insert(key);
  };
  const auto read_pod = [&](const std::string& /*name*/) {
    if (!reader.null()) reader.map("", read_entry);
  };
  const auto read_pods = [&](const std::string& /*uid*/) {
    if (!reader.null()) reader.map("", read_pod);
  };
  const auto read_all = [&] {
    if (!reader.null()) reader.map("", read_pods);
  };
  reader.structure("", JsonReader::Field{"baselines", read_all});
  return out;
}

/// Appends the members that an object lacks.
std::string with_members(std::string object, const std::map<std::string, std::string>& members) {
  const auto present = keys_of(object);
  object.pop_back();
  for (const auto& [key, value] : members) {
    const bool is_present =
        std::any_of(present.begin(), present.end(),
                    [&](const std::string& one) { return JsonReader::same_field(one, key); });
    if (is_present) continue;
    JsonWriter name;
    name.string(key);
    object += fmt::format("{}{}:{}", object.ends_with('{') ? "" : ",", name.text(), value);
  }
  return object + "}";
}

}  // namespace

std::vector<std::string> UnknownKeys::names() const {
  std::vector<std::string> out;
  for (const auto& entry : outside) out.push_back(printable(entry.first));
  for (const auto& entry : in_data) out.push_back(printable(entry.first) + " (in data)");
  for (const auto& key : in_baselines) out.push_back(printable(key) + " (in baselines)");
  return out;
}

UnknownKeys unknown_keys(std::string_view bytes) {
  if (json_syntax_error(bytes)) return {};
  UnknownKeys out;
  out.outside = unknown_in(bytes, KeysOf::kFile);
  if (const std::string data = data_of(bytes); !json_syntax_error(data)) {
    out.in_data = unknown_in(data, KeysOf::kData);
    const bool is_known_form = !out.in_data.contains("baselines");
    if (is_known_form) out.in_baselines = unknown_in_baselines(data);
  }
  return out;
}

std::string with_keys(std::string written, const UnknownKeys& keys) {
  const auto data_at = written.find(R"(,"data":")");
  if (data_at != std::string::npos && !keys.in_data.empty()) {
    JsonWriter json;
    json.open_struct();
    put_data(json, with_members(data_of(written), keys.in_data));
    json.close_struct();
    written = written.substr(0, data_at) + ',' + std::move(json).take().substr(1);
  }
  if (keys.outside.empty()) return written;
  return with_members(std::move(written), keys.outside);
}

std::string keep_keys(std::string written, std::string_view from, bool is_same_format,
                      std::vector<Note>& lost) {
  UnknownKeys keys = unknown_keys(from);
  if (is_same_format) {
    written = with_keys(std::move(written), keys);
    keys.outside.clear();
    keys.in_data.clear();
  }
  for (std::string& name : keys.names()) {
    lost.push_back({"key " + std::move(name), "unknown to kubelets up to 1.38"});
  }
  return written;
}

std::vector<std::string> describe(const std::vector<WrongSum>& sums) {
  std::vector<std::string> lines;
  std::vector<WrongSum> versions;
  for (const WrongSum& sum : sums) {
    if (sum.field != "dataChecksum") {
      versions.push_back(sum);
    } else {
      lines.push_back(
          fmt::format("wrong dataChecksum: {} in the file, {} computed", sum.found, sum.computed));
    }
  }
  if (versions.empty()) return lines;
  // Newest first. The newest format has pod entries, which few files have.
  const std::size_t likely = versions.size() > 1 ? 1 : 0;
  std::string line = fmt::format("wrong checksum: {} in the file, {} computed",
                                 versions[likely].found, versions[likely].computed);
  for (const WrongSum& other : versions) {
    if (other == versions[likely]) continue;
    const auto version = other.field.find('(') + 1;  // "checksum (V3)"
    line += fmt::format(", {} as {}", other.computed,
                        other.field.substr(version, other.field.size() - version - 1));
  }
  lines.push_back(std::move(line));
  return lines;
}

}  // namespace pinfold::checkpoint
