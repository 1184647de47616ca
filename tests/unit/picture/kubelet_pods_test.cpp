#include "node/kubelet_pods.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <thread>

namespace pinfold::tools {
namespace {

using boost::asio::ip::tcp;
using testing::HasSubstr;

/// Answers one connection.
class Answerer {
 public:
  explicit Answerer(std::string answer)
      : acceptor_(context_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)),
        thread_([this, answer = std::move(answer)] {
          tcp::socket client = acceptor_.accept();
          std::array<char, 4096> request{};
          asked_.assign(request.data(), client.read_some(boost::asio::buffer(request)));
          boost::system::error_code ignored;
          boost::asio::write(client, boost::asio::buffer(answer), ignored);
        }) {}
  ~Answerer() { join(); }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  [[nodiscard]] ReadOnlyPort at() const { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }
  /// Returns the request.
  const std::string& join() {
    if (thread_.joinable()) thread_.join();
    return asked_;
  }

 private:
  boost::asio::io_context context_;
  tcp::acceptor acceptor_;
  std::string asked_;
  std::thread thread_;
};

audit::ObservedKubelet kubelet_of(const std::string& config) {
  audit::ObservedKubelet kubelet;
  kubelet.config_path = "/var/lib/kubelet/config.yaml";
  kubelet.config_text = config;
  return kubelet;
}

TEST(KubeletPods, ThePortIsThatOfTheFlagsOrTheConfiguration) {
  EXPECT_EQ(read_only_port(kubelet_of("{}")), (ReadOnlyPort{"127.0.0.1", 0}));
  auto kubelet = kubelet_of(R"({"readOnlyPort": 10255, "address": "0.0.0.0"})");
  EXPECT_EQ(read_only_port(kubelet), (ReadOnlyPort{"127.0.0.1", 10255}));
  kubelet.flags = {{"read-only-port", "8080"}, {"address", "10.0.0.7"}};
  EXPECT_EQ(read_only_port(kubelet), (ReadOnlyPort{"10.0.0.7", 8080}));
  kubelet.flags = {{"read-only-port", "0"}};
  EXPECT_EQ(read_only_port(kubelet).port, 0);
  kubelet = kubelet_of("");
  kubelet.config_path = "";
  EXPECT_EQ(read_only_port(kubelet).port, 10255) << "the default of the flag";
  EXPECT_EQ(read_only_port(kubelet_of(R"({"readOnlyPort": 70000})")).port, 0);
  EXPECT_EQ(read_only_port(kubelet_of("[1")).port, 0);
}

TEST(KubeletPods, ReadsTheBodyOfAnAnswer) {
  EXPECT_EQ(body_of_response("HTTP/1.0 200 OK\r\nA: b\r\n\r\n{}\r\n").value(), "{}\r\n");
  EXPECT_EQ(body_of_response("HTTP/1.1 403 Forbidden\r\n\r\n").error().message,
            "answered '403 Forbidden'");
  for (const char* const text :
       {"", "HTTP/1.0", "HTTP/1.0 200 OK\r\nA: b\r\n", "SSH-2.0 x\r\n\r\n"}) {
    EXPECT_EQ(body_of_response(text).error().message, "the answer is not a whole HTTP response")
        << text;
  }
}

TEST(KubeletPods, AsksForThem) {
  const std::string list(200'000, 'x');  // more than one read
  Answerer kubelet("HTTP/1.0 200 OK\r\n\r\n" + list);
  EXPECT_EQ(ask_for_pods(kubelet.at()).value(), list);
  EXPECT_THAT(kubelet.join(), HasSubstr("GET /pods HTTP/1.0\r\n"));
}

TEST(KubeletPods, SaysWhyThereIsNoAnswer) {
  ReadOnlyPort at;
  {
    Answerer refuses("HTTP/1.0 404 Not Found\r\n\r\n");
    at = refuses.at();
    EXPECT_EQ(ask_for_pods(at).error().message, "answered '404 Not Found'");
  }
  EXPECT_THAT(ask_for_pods(at).error().message, HasSubstr("refused"));  // nothing listens now
}

}  // namespace
}  // namespace pinfold::tools
