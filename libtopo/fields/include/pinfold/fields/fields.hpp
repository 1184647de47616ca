#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

/// One description of a type's members yields the writer, the reader and the schema of its JSON:
/// json.hpp. A type is described by one of two functions, which are found in its namespace:
///
///     void describe(fields::Fields& fields, Mount& mount) {
///       fields.type("Mount", "A mounted hierarchy of control groups.");
///       fields.member("root", mount.root, "Absolute directory.");
///       fields.member("cpus", mount.cpus, "Its CPUs; \"\": any.");
///     }
///     void describe_value(fields::Fields& fields, PodUid& uid) { fields.text(uid.value); }
///
/// docs/json.md has the rules for names and units.
namespace pinfold::fields {

class Fields;

/// Access to a list, an optional value, a map and a choice, regardless of the types of their
/// values. The `visit_sample` functions visit a new value; only its type counts.
class ListAccess {
 public:
  virtual ~ListAccess() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  virtual void clear() = 0;
  virtual void append() = 0;  ///< adds a new value
  virtual void visit(std::size_t index, Fields& fields) = 0;
  virtual void visit_sample(Fields& fields) = 0;
};
class OptionalAccess {
 public:
  virtual ~OptionalAccess() = default;
  [[nodiscard]] virtual bool has_value() const = 0;
  virtual void reset() = 0;
  virtual void emplace() = 0;
  virtual void visit(Fields& fields) = 0;
  virtual void visit_sample(Fields& fields) = 0;
};
class MapAccess {
 public:
  virtual ~MapAccess() = default;
  [[nodiscard]] virtual std::vector<std::string> keys() const = 0;
  virtual void clear() = 0;
  virtual void visit(const std::string& key, Fields& fields) = 0;  ///< creates the value
  virtual void visit_sample(Fields& fields) = 0;
};
class ChoiceAccess {
 public:
  virtual ~ChoiceAccess() = default;
  [[nodiscard]] virtual std::size_t index() const = 0;
  virtual void emplace(std::size_t index) = 0;
  virtual void visit(Fields& fields) = 0;
  virtual void visit_sample(std::size_t index, Fields& fields) = 0;
};

/// A value in a format that is described elsewhere, such as a Kubernetes Pod.
struct ForeignValue {
  const char* type;  ///< in the schema
  const char* doc;
  std::function<nlohmann::json()> write;
  std::function<Result<void>(const nlohmann::json&)> read;
};

/// The name of one alternative of Fields::alternatives.
struct Alternative {
  const char* name;
  const char* doc;
};

/// An integer or a time with its limits.
template <class T, class Limit>
struct Limited {
  T& value;
  Limit min;
  Limit max;
};
/// Limits an unsigned number or a time to 0 to `max`.
template <class T, class Limit>
[[nodiscard]] Limited<T, Limit> up_to(T& value, Limit max) {
  return {value, Limit{}, max};
}
template <class T>
[[nodiscard]] Limited<T, T> between(T& value, T min, T max) {
  return {value, min, max};
}

/// The longest time, unless limited otherwise: a double represents its nanoseconds exactly.
inline constexpr std::chrono::seconds kMostSeconds{1'000'000};

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// Visits the members of an object and their values: writes them, reads them, or describes their
/// types. Only a reader changes values.
class Fields {
 public:
  Fields() = default;
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  virtual ~Fields() = default;

  // For describe().

  /// Names the type. The first name counts, so that a type can include the members of another one
  /// by calling its describe().
  virtual void type(const char* /*name*/, const char* /*doc*/) {}
  /// A member that is always written. A reader needs it, unless its type is optional: a value that
  /// does not exist is written as null.
  template <class T>
  void member(const char* name, T&& value, const char* doc) {
    put(name, kIsOptional<std::remove_cvref_t<T>> ? Presence::kNullable : Presence::kRequired,
        value, doc);
  }
  /// A member that is always written. A reader that does not find it keeps the value.
  template <class T>
  void may_lack(const char* name, T&& value, const char* doc) {
    put(name, Presence::kMayLack, value, doc);
  }
  /// A member that is written only if it has a value.
  template <class T>
  void if_set(const char* name, std::optional<T>& value, const char* doc) {
    if (value || !writes()) put(name, Presence::kIfSet, value, doc);
  }
  /// A member that follows from others: always written; a reader checks only its type.
  template <class T>
  void computed(const char* name, T value, const char* doc) {
    put(name, Presence::kComputed, value, doc);
  }
  /// One more member, whose name says which alternative of the variant it is. Comes after all other
  /// members. `what`: for messages, "a request".
  template <class... T>
  void alternatives(std::variant<T...>& value, std::span<const Alternative, sizeof...(T)> names,
                    const char* what);

  /// Returns whether values are being filled.
  [[nodiscard]] virtual bool reads() const { return false; }
  /// Returns whether values are being written.
  [[nodiscard]] virtual bool writes() const { return false; }
  /// Reports a value that has the right type and is still wrong. Only a reader fails with it:
  /// "path.name: expectation".
  virtual void refuse(const char* /*name*/, const std::string& /*expectation*/) {}

  // For describe_value().

  virtual void text(std::string& value) = 0;
  virtual void flag(bool& value) = 0;
  virtual void number(std::uint64_t& value, std::uint64_t min, std::uint64_t max) = 0;
  virtual void number(std::int64_t& value, std::int64_t min, std::int64_t max) = 0;
  virtual void real(double& value) = 0;
  /// A list as the kernel writes it: "0-3,8".
  virtual void cpu_set(CpuSet& value) = 0;
  /// A number of seconds, which may have a fraction.
  virtual void seconds(std::chrono::nanoseconds& value, std::chrono::nanoseconds max) = 0;
  /// One of several names, by its index.
  virtual void name(std::size_t& index, std::span<const std::string_view> names) = 0;
  virtual void object(const std::function<void()>& members) = 0;
  virtual void list(ListAccess& value) = 0;
  virtual void optional(OptionalAccess& value) = 0;
  virtual void map(MapAccess& value) = 0;
  virtual void foreign(const ForeignValue& value) = 0;

 protected:
  enum class Presence {
    kRequired,  ///< see member
    kNullable,  ///< see member, of an optional type
    kMayLack,   ///< see may_lack
    kIfSet,     ///< see if_set
    kComputed,  ///< see computed
  };
  /// Returns whether the value is visited now; end_member follows then.
  virtual bool begin_member(const char* name, Presence presence, const char* doc) = 0;
  virtual void end_member() = 0;
  virtual void choice(ChoiceAccess& value, std::span<const Alternative> names,
                      const char* what) = 0;

 private:
  template <class T>
  void put(const char* name, Presence presence, T& value, const char* doc);
};

/// A type with its own describe_value().
template <class T>
concept DescribedValue = requires(Fields& fields, T& value) {
  describe_value(fields, value);
};

/// Visits a value of any described type. Enumerations have enumerators() and to_string().
template <class T>
void visit(Fields& fields, T& value);

template <class T>
void visit_enumeration(Fields& fields, T& value) {
  const auto all = enumerators(value);
  std::vector<std::string_view> names;
  std::size_t index = 0;
  for (const T one : all) {
    if (one == value) index = names.size();
    names.push_back(to_string(one));
  }
  fields.name(index, names);
  if (fields.reads()) value = all[index];
}

template <class T, class Limit>
void describe_value(Fields& fields, Limited<T, Limit>& limited) {
  if constexpr (std::integral<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    Wide wide = limited.value;
    fields.number(wide, static_cast<Wide>(limited.min), static_cast<Wide>(limited.max));
    if (fields.reads()) limited.value = static_cast<T>(wide);
  } else {
    auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(limited.value);
    fields.seconds(time, limited.max);
    if (fields.reads()) limited.value = std::chrono::duration_cast<T>(time);
  }
}

template <class T>
class VectorAccess final : public ListAccess {
 public:
  explicit VectorAccess(std::vector<T>& values) : values_(values) {}
  [[nodiscard]] std::size_t size() const override { return values_.size(); }
  void clear() override { values_.clear(); }
  void append() override { values_.emplace_back(); }
  void visit(std::size_t index, Fields& fields) override { fields::visit(fields, values_[index]); }
  void visit_sample(Fields& fields) override {
    T sample{};
    fields::visit(fields, sample);
  }

 private:
  std::vector<T>& values_;
};

template <class T>
class StdOptionalAccess final : public OptionalAccess {
 public:
  explicit StdOptionalAccess(std::optional<T>& value) : value_(value) {}
  [[nodiscard]] bool has_value() const override { return value_.has_value(); }
  void reset() override { value_.reset(); }
  void emplace() override { value_.emplace(); }
  void visit(Fields& fields) override { fields::visit(fields, *value_); }
  void visit_sample(Fields& fields) override {
    T sample{};
    fields::visit(fields, sample);
  }

 private:
  std::optional<T>& value_;
};

template <class M>
class StdMapAccess final : public MapAccess {
 public:
  explicit StdMapAccess(M& values) : values_(values) {}
  [[nodiscard]] std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_) keys.push_back(key);
    return keys;
  }
  void clear() override { values_.clear(); }
  void visit(const std::string& key, Fields& fields) override {
    fields::visit(fields, values_[key]);
  }
  void visit_sample(Fields& fields) override {
    typename M::mapped_type sample{};
    fields::visit(fields, sample);
  }

 private:
  M& values_;
};

template <class... T>
class VariantAccess final : public ChoiceAccess {
 public:
  explicit VariantAccess(std::variant<T...>& value) : value_(value) {}
  [[nodiscard]] std::size_t index() const override { return value_.index(); }
  void emplace(std::size_t index) override { value_ = make(index); }
  void visit(Fields& fields) override {
    std::visit([&](auto& one) { fields::visit(fields, one); }, value_);
  }
  void visit_sample(std::size_t index, Fields& fields) override {
    auto sample = make(index);
    std::visit([&](auto& one) { fields::visit(fields, one); }, sample);
  }

 private:
  template <class One>
  static std::variant<T...> make_one() {
    return std::variant<T...>(std::in_place_type<One>);
  }
  static std::variant<T...> make(std::size_t index) {
    using Make = std::variant<T...> (*)();
    static constexpr std::array<Make, sizeof...(T)> kMakers = {&make_one<T>...};
    return kMakers[index]();
  }

  std::variant<T...>& value_;
};

template <class T>
inline constexpr bool kIsDuration = false;
template <class Rep, class Period>
inline constexpr bool kIsDuration<std::chrono::duration<Rep, Period>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsTextMap = false;
template <class T, class Less>
inline constexpr bool kIsTextMap<std::map<std::string, T, Less>> = true;

template <class T>
void visit(Fields& fields, T& value) {
  if constexpr (DescribedValue<T>) {
    describe_value(fields, value);
  } else if constexpr (std::same_as<T, bool>) {
    fields.flag(value);
  } else if constexpr (std::integral<T>) {
    auto limited = between(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    describe_value(fields, limited);
  } else if constexpr (std::floating_point<T>) {
    double wide = value;
    fields.real(wide);
    if (fields.reads()) value = static_cast<T>(wide);
  } else if constexpr (std::same_as<T, std::string>) {
    fields.text(value);
  } else if constexpr (std::same_as<T, CpuSet>) {
    fields.cpu_set(value);
  } else if constexpr (kIsDuration<T>) {
    auto limited = up_to(value, kMostSeconds);
    describe_value(fields, limited);
  } else if constexpr (std::is_enum_v<T>) {
    visit_enumeration(fields, value);
  } else if constexpr (kIsVector<T>) {
    VectorAccess access(value);
    fields.list(access);
  } else if constexpr (kIsOptional<T>) {
    StdOptionalAccess access(value);
    fields.optional(access);
  } else if constexpr (kIsTextMap<T>) {
    StdMapAccess access(value);
    fields.map(access);
  } else {
    fields.object([&] { describe(fields, value); });
  }
}

template <class T>
void Fields::put(const char* name, Presence presence, T& value, const char* doc) {
  if (begin_member(name, presence, doc)) {
    fields::visit(*this, value);
    end_member();
    return;
  }
  if constexpr (kIsOptional<T>) {
    if (reads()) value.reset();
  }
}

template <class... T>
void Fields::alternatives(std::variant<T...>& value,
                          std::span<const Alternative, sizeof...(T)> names, const char* what) {
  VariantAccess access(value);
  choice(access, names, what);
}

}  // namespace pinfold::fields
