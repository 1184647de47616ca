#include "pinfold/text/host_port.hpp"

#include <gtest/gtest.h>

namespace pinfold {
namespace {

TEST(HostPort, IsSplit) {
  const struct {
    const char* address;
    const char* host;
    std::optional<std::uint16_t> port;
  } cases[] = {
      {"127.0.0.1:9470", "127.0.0.1", 9470},
      {":1", "0.0.0.0", 1},
      {"9470", "0.0.0.0", 9470},
      {"localhost:0", "127.0.0.1", 0},
      {"[::1]:80", "::1", 80},
      {"::1:80", "::1", 80},
      {"a:65535", "a", 65535},
      {"a:65536", "a", std::nullopt},
      {"a:", "a", std::nullopt},
      {"", "0.0.0.0", std::nullopt},
      {"a:+1", "a", std::nullopt},
      {"a:1 ", "a", std::nullopt},
      {"a:000001", "a", std::nullopt},
  };
  for (const auto& c : cases) {
    const HostPort found = split_host_port(c.address);
    EXPECT_EQ(found.host, c.host) << c.address;
    EXPECT_EQ(found.port, c.port) << c.address;
  }
}

}  // namespace
}  // namespace pinfold
