#include "pinfold/extender/extender_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinfold::extender {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST(ExtenderSettings, AnEmptyFileSetsNothing) {
  EXPECT_EQ(parse_extender_settings("").value(), ExtenderSettings{});
}

TEST(ExtenderSettings, ReadsEveryMember) {
  const ExtenderSettings settings = parse_extender_settings(R"(
address: 0.0.0.0:9472
healthAddress: 0.0.0.0:9473
tls: {certificate: /tls/tls.crt, key: /tls/tls.key, clientCa: /tls/ca.crt}
kubeconfig: /etc/kubeconfig
ignore: [memory]
scoring: LeastAllocated
exporterDelaySeconds: 60
bindSeconds: 10
logLevel: debug
)")
                                        .value();
  EXPECT_EQ(settings.tls, (web::ServerCertificate{"/tls/tls.crt", "/tls/tls.key", "/tls/ca.crt"}));
  EXPECT_EQ(settings.ignore, std::vector<std::string>{"memory"});
  EXPECT_EQ(settings.scoring, ScoringStrategy::kLeastAllocated);
  EXPECT_EQ(settings.exporter_delay, seconds(60));
  EXPECT_EQ(settings.bind_time, seconds(10));
  EXPECT_EQ(settings.log_level, "debug");
}

TEST(ExtenderSettings, NamesWhatIsWrong) {
  const auto message = [](const char* yaml) {
    const auto settings = parse_extender_settings(yaml);
    return settings ? "" : settings.error().message;
  };
  EXPECT_EQ(message("adress: x"), "unknown field 'adress', did you mean 'address'?");
  EXPECT_EQ(message("tls: {certificate: c, key: k, clientCA: a}"),
            "unknown field 'tls.clientCA', did you mean 'clientCa'?");
  EXPECT_THAT(message("scoring: Best"), HasSubstr("expected LeastNUMANodes"));
  EXPECT_THAT(message("logLevel: loud"), HasSubstr("logLevel: 'loud': expected debug"));
  EXPECT_THAT(message("exporterDelaySeconds: -1"), HasSubstr("exporterDelaySeconds"));
  EXPECT_THAT(message("tls: {key: k}"), HasSubstr("tls.certificate"));
  EXPECT_THAT(message("address: a\n---\naddress: b"), HasSubstr("2 documents"));
  EXPECT_NE(message("[]"), "");
}

}  // namespace
}  // namespace pinfold::extender
