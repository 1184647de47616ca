#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "pinfold/fields/fields.hpp"

/// Writer, reader and schema of described types.
namespace pinfold::fields {

/// What a reader does with members that a type does not have.
enum class UnknownMembers { kRefuse, kIgnore };

struct ReadOptions {
  std::string path = {};           ///< of the value, for messages; "": `whole`
  std::string whole = "document";  ///< the name of the outermost value, for messages
  UnknownMembers unknown = UnknownMembers::kRefuse;
};

/// Writes values.
// NOLINTNEXTLINE(bugprone-exception-escape): about json, whose destructor allocates
class FieldsWriter final : public Fields {
 public:
  FieldsWriter() = default;  // NOLINT(bugprone-exception-escape): the same
  FieldsWriter(const FieldsWriter&) = delete;
  FieldsWriter& operator=(const FieldsWriter&) = delete;
  ~FieldsWriter() override = default;
  [[nodiscard]] nlohmann::json take() { return std::move(root_); }
  [[nodiscard]] bool writes() const override { return true; }

  void text(std::string& value) override;
  void flag(bool& value) override;
  void number(std::uint64_t& value, std::uint64_t min, std::uint64_t max) override;
  void number(std::int64_t& value, std::int64_t min, std::int64_t max) override;
  void real(double& value) override;
  void cpu_set(CpuSet& value) override;
  void seconds(std::chrono::nanoseconds& value, std::chrono::nanoseconds max) override;
  void name(std::size_t& index, std::span<const std::string_view> names) override;
  void object(const std::function<void()>& members) override;
  void list(ListAccess& value) override;
  void optional(OptionalAccess& value) override;
  void map(MapAccess& value) override;
  void foreign(const ForeignValue& value) override;

 protected:
  bool begin_member(const char* name, Presence presence, const char* doc) override;
  void end_member() override;
  void choice(ChoiceAccess& value, std::span<const Alternative> names, const char* what) override;

 private:
  nlohmann::json root_;
  nlohmann::json* at_ = &root_;  ///< where the current value goes
  std::vector<nlohmann::json*> above_;
};

/// Reads values and keeps the first error. Values that come after it are not visited.
class FieldsReader final : public Fields {
 public:
  FieldsReader(const nlohmann::json& value, ReadOptions options)
      : at_(&value),
        path_(std::move(options.path)),
        whole_(std::move(options.whole)),
        unknown_(options.unknown) {}
  /// Errors: kInvalidArgument, "path: value: expectation".
  [[nodiscard]] Result<void> result() && { return std::move(error_); }

  [[nodiscard]] bool reads() const override { return true; }
  void refuse(const char* name, const std::string& expectation) override;
  void text(std::string& value) override;
  void flag(bool& value) override;
  void number(std::uint64_t& value, std::uint64_t min, std::uint64_t max) override;
  void number(std::int64_t& value, std::int64_t min, std::int64_t max) override;
  void real(double& value) override;
  void cpu_set(CpuSet& value) override;
  void seconds(std::chrono::nanoseconds& value, std::chrono::nanoseconds max) override;
  void name(std::size_t& index, std::span<const std::string_view> names) override;
  void object(const std::function<void()>& members) override;
  void list(ListAccess& value) override;
  void optional(OptionalAccess& value) override;
  void map(MapAccess& value) override;
  void foreign(const ForeignValue& value) override;

 protected:
  bool begin_member(const char* name, Presence presence, const char* doc) override;
  void end_member() override;
  void choice(ChoiceAccess& value, std::span<const Alternative> names, const char* what) override;

 private:
  /// An object whose members are being read.
  struct OpenObject {
    const nlohmann::json* object;
    std::vector<std::string_view> read;  ///< names, owned by the description or the object

    [[nodiscard]] bool has_read(std::string_view name) const;
  };
  struct OuterValue {
    const nlohmann::json* at;
    std::size_t path_size;
  };

  void fail_here(std::string_view expectation);
  void enter(std::string_view name, const nlohmann::json& value);
  void enter(std::size_t index, const nlohmann::json& value);
  void leave();
  [[nodiscard]] const std::string& place() const { return path_.empty() ? whole_ : path_; }

  const nlohmann::json* at_;
  std::string path_;
  std::string whole_;
  UnknownMembers unknown_;
  std::vector<OpenObject> frames_;
  std::vector<OuterValue> above_;
  Result<void> error_;
};

/// Describes types as JSON Schema, draft 2020-12. Named types are definitions below "$defs".
class FieldsSchema final : public Fields {
 public:
  /// Returns the schema of the type that was visited.
  [[nodiscard]] nlohmann::json take(std::string_view title) &&;

  void type(const char* name, const char* doc) override;
  void text(std::string& value) override;
  void flag(bool& value) override;
  void number(std::uint64_t& value, std::uint64_t min, std::uint64_t max) override;
  void number(std::int64_t& value, std::int64_t min, std::int64_t max) override;
  void real(double& value) override;
  void cpu_set(CpuSet& value) override;
  void seconds(std::chrono::nanoseconds& value, std::chrono::nanoseconds max) override;
  void name(std::size_t& index, std::span<const std::string_view> names) override;
  void object(const std::function<void()>& members) override;
  void list(ListAccess& value) override;
  void optional(OptionalAccess& value) override;
  void map(MapAccess& value) override;
  void foreign(const ForeignValue& value) override;

 protected:
  bool begin_member(const char* name, Presence presence, const char* doc) override;
  void end_member() override;
  void choice(ChoiceAccess& value, std::span<const Alternative> names, const char* what) override;

 private:
  struct OpenType {
    nlohmann::json schema;
    std::string name;  ///< "": the type has none
  };
  struct OpenMember {
    const char* name;
    Presence presence;
    const char* doc;
  };
  /// Visits a value and returns its schema.
  [[nodiscard]] nlohmann::json schema_of(const std::function<void()>& visit);
  [[nodiscard]] nlohmann::json defined(const std::string& name, nlohmann::json schema);

  nlohmann::json out_;  ///< the schema of the value visited last
  nlohmann::json definitions_ = nlohmann::json::object();
  std::vector<OpenType> frames_;
  std::vector<OpenMember> members_;
};

template <class T>
[[nodiscard]] nlohmann::json to_json(const T& value) {
  FieldsWriter writer;
  // A writer changes nothing: one description serves writers and readers.
  fields::visit(writer, const_cast<T&>(value));
  return writer.take();
}

/// Fills `value`, which a failed read may change in part. Errors: kInvalidArgument,
/// "admit.containers[0].cpus: '2-1': expected ...".
template <class T>
[[nodiscard]] Result<void> read_into(T& value, const nlohmann::json& json,
                                     ReadOptions options = {}) {
  FieldsReader reader(json, std::move(options));
  fields::visit(reader, value);
  return std::move(reader).result();
}

/// Reads a value. Errors: as read_into.
template <class T>
[[nodiscard]] Result<T> read(const nlohmann::json& json, ReadOptions options = {}) {
  Result<T> value{T{}};
  if (auto read = read_into(*value, json, std::move(options)); !read) {
    value = fail(std::move(read).error());
  }
  return value;
}

/// Returns the JSON Schema of a type.
template <class T>
[[nodiscard]] nlohmann::json schema(std::string_view title) {
  FieldsSchema writer;
  T sample{};
  fields::visit(writer, sample);
  return std::move(writer).take(title);
}

}  // namespace pinfold::fields
