#include "dbus_message.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace pinfold::quiet {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// What `busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1
// org.freedesktop.systemd1.Manager SetUnitProperties 'sba(sv)' system.slice true 1 AllowedCPUs ay 2
// 3 2` of systemd 252 sends, without its flag for interactive authorization.
constexpr const char* kHello =
    "6c01000100000000010000006d00000001016f00150000002f6f72672f667265656465736b746f70"
    "2f44427573000000030173000500000048656c6c6f00000002017300140000006f72672e66726565"
    "6465736b746f702e444275730000000006017300140000006f72672e667265656465736b746f702e"
    "4442757300000000";
constexpr const char* kSet =
    "6c0100013a00000002000000ad00000001016f00190000002f6f72672f667265656465736b746f70"
    "2f73797374656d6431000000000000000301730011000000536574556e697450726f706572746965"
    "730000000000000002017300200000006f72672e667265656465736b746f702e73797374656d6431"
    "2e4d616e61676572000000000000000006017300180000006f72672e667265656465736b746f702e"
    "73797374656d64310000000000000000080167000773626128737629000000000c00000073797374"
    "656d2e736c69636500000000010000001a000000000000000b000000416c6c6f7765644350557300"
    "02617900020000000302";

TEST(DbusMessage, IsByteForByteThatOfSystemd) {
  EXPECT_EQ(hex(hello_message(1)), kHello);
  EXPECT_EQ(hex(allowed_cpus_message(2, "system.slice", CpuSet{0, 1, 9})), kSet);
}

TEST(DbusMessage, HasThePartitionAfterTheCpus) {
  constexpr std::string_view kArguments =  // after the header
      "07000000612e73636f70650001000000450000000000000"
      "00b000000416c6c6f7765644350557300026179000200000003020000"
      "000000000f000000435055536574506172746974696f6e"
      "00017300000800000069736f6c6174656400";
  const std::string message = hex(partition_message(2, "a.scope", CpuSet{0, 1, 9}, "isolated"));
  EXPECT_TRUE(message.ends_with(kArguments)) << message;
}

TEST(DbusMessage, HasTheLengthThatItSays) {
  for (const CpuSet& cpus : {CpuSet{}, CpuSet{0}, CpuSet{7}, CpuSet{8, 300}}) {
    for (const std::string unit : {"a", "system.slice", "user.slice", "init.scope"}) {
      const std::string message = allowed_cpus_message(3, unit, cpus);
      EXPECT_EQ(dbus_size(message), message.size()) << unit << " " << cpus.to_string();
      const std::string with_partition = partition_message(3, unit, cpus, "member");
      EXPECT_EQ(dbus_size(with_partition), with_partition.size()) << unit;
    }
  }
}

/// A reply as a bus sends it; field 5 has the serial of the call.
std::string reply_of(const std::string& fields) {
  std::string message("l\2\1\1\0\0\0\0\7\0\0\0", 12);
  message += static_cast<char>(fields.size());
  message += std::string(3, '\0') + fields;
  message.resize((message.size() + 7) / 8 * 8);
  return message;
}

const std::string kSerial9("\5\1u\0\x9\0\0\0", 8);

TEST(DbusReply, HasTheSerialOfTheCall) {
  EXPECT_EQ(parse_reply(reply_of(kSerial9)), (DbusReply{9, ""}));
  EXPECT_EQ(parse_reply(reply_of("")), (DbusReply{0, ""}));
}

TEST(DbusReply, HasTheNameOfTheError) {
  const std::string error = kSerial9 + std::string("\4\1s\0\3\0\0\0a.b\0", 12);
  EXPECT_EQ(parse_reply(reply_of(error)), (DbusReply{9, "a.b"}));
}

TEST(DbusReply, RejectsEveryTruncation) {
  const std::string whole = reply_of(kSerial9 + std::string("\4\1s\0\3\0\0\0a.b\0", 12));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_reply(whole.substr(0, size))) << size;
  }
}

TEST(DbusReply, RejectsFieldsThatAreTooLongOrOfAnotherType) {
  EXPECT_FALSE(parse_reply(reply_of(std::string("\4\1s\0\x40\0\0\0a", 9))));
  EXPECT_FALSE(parse_reply(reply_of(std::string("\4\1x\0\1\0\0\0", 8))));
  std::string big = reply_of(kSerial9);
  big[0] = 'B';
  EXPECT_FALSE(dbus_size(big));
  big[0] = 'l';
  big[7] = '\x7f';
  EXPECT_FALSE(dbus_size(big)) << "a body of 2 GB";
}

}  // namespace
}  // namespace pinfold::quiet
