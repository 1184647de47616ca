#include "unknown_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
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
    return where == KeysOf::kData && cpu_file::parse_baselines(value).are_all;
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

/// Objects in which kubelets know these keys; "*" in a path is any key.
struct KnownObject {
  std::vector<std::string_view> path;
  std::vector<std::string_view> keys;
};
const std::array<KnownObject, 4>& known_objects() {
  static const std::array<KnownObject, 4> kObjects = {{
      {{"podEntries", "*"}, {"cpuSet", "memoryBlocks"}},
      {{"baselines", "*", "*"}, {"baseline"}},
      {{"machineState", "*"}, {"numberOfAssignments", "memoryMap", "cells"}},
      {{"machineState", "*", "memoryMap", "*"},
       {"total", "systemReserved", "allocatable", "reserved", "free"}},
  }};
  return kObjects;
}

/// Calls member(key, text) for each member of an object; does nothing for another value.
template <class Fn>
void for_each_member(std::string_view json, const Fn& member) {
  if (!json.starts_with('{')) return;
  JsonReader reader(json);
  reader.map("", [&](const std::string& key) { member(key, reader.raw()); });
}

/// Finds the unknown keys of the objects that a known one describes, in the value at `path`.
void find_in_entries(std::string_view json, const KnownObject& known,
                     std::vector<std::string>& path, UnknownKeys& out) {
  const std::size_t depth = path.size();
  for_each_member(json, [&](const std::string& key, std::string_view value) {
    const auto is_key = [&](std::string_view name) { return JsonReader::same_field(key, name); };
    if (depth == known.path.size()) {
      const bool is_known = std::any_of(known.keys.begin(), known.keys.end(), is_key);
      if (!is_known) out.in_entries[path][key] = value;
      return;
    }
    if (known.path[depth] != "*" && !is_key(known.path[depth])) return;
    path.push_back(known.path[depth] == "*" ? key : std::string(known.path[depth]));
    find_in_entries(value, known, path, out);
    path.pop_back();
  });
}

/// Appends the members that an object lacks.
std::string with_members(std::string object, const std::map<std::string, std::string>& members) {
  const auto present = keys_of(object);
  object.pop_back();
  for (const auto& member : members) {
    const std::string& key = member.first;
    const bool is_present =
        std::any_of(present.begin(), present.end(),
                    [&](const std::string& one) { return JsonReader::same_field(one, key); });
    if (is_present) continue;
    JsonWriter name;
    name.string(key);
    object += fmt::format("{}{}:{}", object.ends_with('{') ? "" : ",", name.text(), member.second);
  }
  return object + "}";
}

/// Appends the members that the object at a path lacks, if there is one.
std::string with_members_at(std::string_view json, std::span<const std::string> path,
                            const std::map<std::string, std::string>& members) {
  if (!json.starts_with('{')) return std::string(json);
  if (path.empty()) return with_members(std::string(json), members);
  std::string object = "{";
  for_each_member(json, [&](const std::string& key, std::string_view value) {
    JsonWriter name;
    name.string(key);
    object += fmt::format("{}{}:{}", object.size() == 1 ? "" : ",", name.text(),
                          key == path.front() ? with_members_at(value, path.subspan(1), members)
                                              : std::string(value));
  });
  return object + "}";
}

std::string with_entry_keys(std::string object, const UnknownKeys& keys) {
  for (const auto& [path, members] : keys.in_entries) {
    object = with_members_at(object, path, members);
  }
  return object;
}

}  // namespace

std::vector<std::string> UnknownKeys::names() const {
  std::vector<std::string> out;
  for (const auto& entry : outside) out.push_back(printable(entry.first));
  for (const auto& entry : in_data) out.push_back(printable(entry.first) + " (in data)");
  std::set<std::string> inside;
  for (const auto& [path, members] : in_entries) {
    for (const auto& [key, value] : members) {
      inside.insert(fmt::format("{} (in {})", printable(key), path.front()));
    }
  }
  out.insert(out.end(), inside.begin(), inside.end());
  return out;
}

std::vector<std::string> keys_of(std::string_view bytes) {
  std::vector<std::string> keys;
  if (json_syntax_error(bytes)) return keys;
  JsonReader reader(bytes);
  if (reader.null()) return keys;
  reader.map("", [&](const std::string& key) {
    keys.push_back(key);
    reader.skip();
  });
  return keys;
}

UnknownKeys unknown_keys(std::string_view bytes) {
  if (json_syntax_error(bytes)) return {};
  UnknownKeys out;
  out.outside = unknown_in(bytes, KeysOf::kFile);
  const std::string data = data_of(bytes);
  const bool has_data = !json_syntax_error(data);
  if (has_data) out.in_data = unknown_in(data, KeysOf::kData);
  for_each_member(has_data ? data : bytes, [&](const std::string& key, std::string_view value) {
    for (const KnownObject& known : known_objects()) {
      std::vector<std::string> path = {std::string(known.path.front())};
      const bool is_of_another_form = out.in_data.contains(path.front());
      if (is_of_another_form || !JsonReader::same_field(key, path.front())) continue;
      find_in_entries(value, known, path, out);
    }
  });
  return out;
}

std::string with_keys(std::string written, const UnknownKeys& keys) {
  const auto data_at = written.find(R"(,"data":")");
  if (data_at == std::string::npos) {
    written = with_entry_keys(std::move(written), keys);
  } else if (!keys.in_data.empty() || !keys.in_entries.empty()) {
    JsonWriter json;
    json.open_struct();
    put_data(json, with_members(with_entry_keys(data_of(written), keys), keys.in_data));
    json.close_struct();
    written = written.substr(0, data_at) + ',' + std::move(json).take().substr(1);
  }
  if (keys.outside.empty()) return written;
  return with_members(std::move(written), keys.outside);
}

std::string keep_keys(std::string written, const UnknownKeys& keys, bool is_same_format,
                      std::vector<Note>& lost) {
  if (is_same_format) written = with_keys(std::move(written), keys);
  const auto kept = unknown_keys(written).names();
  for (std::string& name : keys.names()) {
    if (std::find(kept.begin(), kept.end(), name) != kept.end()) continue;
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
