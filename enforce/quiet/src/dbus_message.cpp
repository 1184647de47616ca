#include "dbus_message.hpp"

#include <utility>

namespace pinfold::quiet {
namespace {

constexpr char kLittleEndian = 'l';
constexpr std::uint8_t kMethodCall = 1;
constexpr std::size_t kMostBytes = 65536;

enum class HeaderField : std::uint8_t {
  kPath = 1,
  kInterface = 2,
  kMember = 3,
  kErrorName = 4,
  kReplySerial = 5,
  kDestination = 6,
  kSignature = 8,
};

/// Appends values as D-Bus lays them out.
class Marshaller {
 public:
  void align(std::size_t to) { bytes_.append((to - bytes_.size() % to) % to, '\0'); }
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void number(std::uint32_t value) {
    align(4);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      byte(static_cast<std::uint8_t>(value >> shift & 0xffU));
    }
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_.append(value).push_back('\0');
  }
  void signature(std::string_view value) {
    byte(static_cast<std::uint8_t>(value.size()));
    bytes_.append(value).push_back('\0');
  }
  void field(HeaderField code, std::string_view type, std::string_view value) {
    align(8);
    byte(static_cast<std::uint8_t>(code));
    signature(type);
    if (type == "g") return signature(value);
    text(value);
  }
  void append(const std::string& bytes) { bytes_ += bytes; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

struct MethodCall {
  std::string_view destination;
  std::string_view path;
  std::string_view interface;
  std::string_view member;
  std::string_view signature;  ///< of the body; "": none
  std::string body;
};

std::string fields_of(const MethodCall& call) {
  Marshaller fields;
  fields.field(HeaderField::kPath, "o", call.path);
  fields.field(HeaderField::kMember, "s", call.member);
  fields.field(HeaderField::kInterface, "s", call.interface);
  fields.field(HeaderField::kDestination, "s", call.destination);
  if (!call.signature.empty()) fields.field(HeaderField::kSignature, "g", call.signature);
  return fields.take();
}

std::string message_of(std::uint32_t serial, const MethodCall& call) {
  Marshaller message;
  message.byte(static_cast<std::uint8_t>(kLittleEndian));
  message.byte(kMethodCall);
  message.byte(0);  // flags
  message.byte(1);  // version of the protocol
  message.number(static_cast<std::uint32_t>(call.body.size()));
  message.number(serial);
  const std::string fields = fields_of(call);
  message.number(static_cast<std::uint32_t>(fields.size()));
  message.append(fields);  // begins at byte 16, so it is aligned as in fields_of()
  message.align(8);
  message.append(call.body);
  return message.take();
}

/// Returns a set as systemd's bytes: CPU 9 is bit 1 of byte 1.
std::string bytes_of(const CpuSet& cpus) {
  constexpr std::size_t kBits = 8;
  if (cpus.empty()) return "";
  std::string bytes(static_cast<std::size_t>(cpus.last().value) / kBits + 1, '\0');
  for (const CpuId cpu : cpus) {
    const auto index = static_cast<std::size_t>(cpu.value);
    const unsigned bit = 1U << (index % kBits);
    char& byte = bytes[index / kBits];
    byte = static_cast<char>(static_cast<unsigned char>(byte) | bit);
  }
  return bytes;
}

void add_allowed_cpus(Marshaller& properties, const CpuSet& cpus) {
  properties.align(8);
  properties.text("AllowedCPUs");
  properties.signature("ay");
  const std::string bytes = bytes_of(cpus);
  properties.number(static_cast<std::uint32_t>(bytes.size()));
  properties.append(bytes);
}

void add_partition(Marshaller& properties, std::string_view partition) {
  properties.align(8);
  properties.text("CPUSetPartition");
  properties.signature("s");
  properties.text(partition);
}

/// Returns the arguments of SetUnitProperties: name, whether only until the next boot, and a list
/// of properties, which begins at a multiple of 8 and so is aligned as in `properties`.
std::string arguments_of(std::string_view unit, const std::string& properties) {
  Marshaller body;
  body.text(unit);
  body.number(1);  // a boolean: at run time
  body.number(static_cast<std::uint32_t>(properties.size()));
  body.align(8);
  body.append(properties);
  return body.take();
}

std::string set_message(std::uint32_t serial, std::string_view unit,
                        const std::string& properties) {
  return message_of(serial, {"org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                             "org.freedesktop.systemd1.Manager", "SetUnitProperties", "sba(sv)",
                             arguments_of(unit, properties)});
}

/// Reads values; every function fails at the end of the bytes.
class Unmarshaller {
 public:
  explicit Unmarshaller(std::string_view bytes) : bytes_(bytes) {}

  void align(std::size_t to) { at_ += (to - at_ % to) % to; }
  [[nodiscard]] bool is_at(std::size_t end) const { return at_ >= end; }
  [[nodiscard]] std::optional<std::uint8_t> byte() {
    if (at_ >= bytes_.size()) return std::nullopt;
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  [[nodiscard]] std::optional<std::uint32_t> number() {
    align(4);
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
      const auto next = byte();
      if (!next) return std::nullopt;
      value |= static_cast<std::uint32_t>(*next) << shift;
    }
    return value;
  }
  /// Returns `size` bytes and skips the null byte after them.
  [[nodiscard]] std::optional<std::string_view> text(std::optional<std::size_t> size) {
    if (!size || *size >= bytes_.size() || at_ >= bytes_.size() - *size) return std::nullopt;
    const auto value = bytes_.substr(at_, *size);
    at_ += *size + 1;
    return value;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// Reads the value of a field of a type that header fields have.
bool read_field(Unmarshaller& in, std::uint8_t code, std::string_view type, DbusReply& reply) {
  if (type == "u") {
    const auto number = in.number();
    if (number && code == static_cast<std::uint8_t>(HeaderField::kReplySerial))
      reply.serial = *number;
    return number.has_value();
  }
  if (type != "s" && type != "o" && type != "g") return false;
  const auto text = type == "g" ? in.text(in.byte()) : in.text(in.number());
  if (text && code == static_cast<std::uint8_t>(HeaderField::kErrorName)) reply.error = *text;
  return text.has_value();
}

std::optional<std::uint32_t> number_at(std::string_view bytes, std::size_t at) {
  if (bytes.size() < at) return std::nullopt;
  return Unmarshaller(bytes.substr(at)).number();
}

}  // namespace

std::string hello_message(std::uint32_t serial) {
  return message_of(serial, {"org.freedesktop.DBus", "/org/freedesktop/DBus",
                             "org.freedesktop.DBus", "Hello", "", ""});
}

std::string allowed_cpus_message(std::uint32_t serial, std::string_view unit, const CpuSet& cpus) {
  Marshaller properties;
  add_allowed_cpus(properties, cpus);
  return set_message(serial, unit, properties.take());
}

std::string partition_message(std::uint32_t serial, std::string_view unit, const CpuSet& cpus,
                              std::string_view partition) {
  Marshaller properties;
  add_allowed_cpus(properties, cpus);
  add_partition(properties, partition);
  return set_message(serial, unit, properties.take());
}

std::optional<std::size_t> dbus_size(std::string_view head) {
  constexpr std::size_t kBodyAt = 4;
  constexpr std::size_t kFieldsAt = 12;
  if (head.size() < kDbusHead || head.front() != kLittleEndian) return std::nullopt;
  const auto body = number_at(head, kBodyAt);
  const auto fields = number_at(head, kFieldsAt);
  if (!body || !fields || *body > kMostBytes || *fields > kMostBytes) return std::nullopt;
  const std::size_t padded = (*fields + std::size_t{7}) / 8 * 8;
  const std::size_t size = kDbusHead + padded + *body;
  return size <= kMostBytes ? std::optional(size) : std::nullopt;
}

std::optional<DbusReply> parse_reply(std::string_view message) {
  constexpr std::size_t kFieldsAt = 12;
  const auto size = dbus_size(message);
  const auto fields = number_at(message, kFieldsAt);
  if (!size || message.size() < *size || !fields) return std::nullopt;
  Unmarshaller in(message.substr(kDbusHead, *fields));  // aligned, because it begins at 16
  DbusReply reply;
  for (in.align(8); !in.is_at(*fields); in.align(8)) {
    const auto code = in.byte();
    const auto type = in.text(in.byte());
    if (!code || !type || !read_field(in, *code, *type, reply)) return std::nullopt;
  }
  return reply;
}

}  // namespace pinfold::quiet
