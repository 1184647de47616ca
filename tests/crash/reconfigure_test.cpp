// A reconfiguration that a power cut or a kill ends at any point, and everything that can follow.

#include "pinfold/verbs/reconfigure.hpp"

#include <gtest/gtest.h>

#include <set>

#include "agent_world.hpp"
#include "memory_fs.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/verbs/config_file.hpp"

namespace pinfold::agent {
namespace {

using checkpoint::testing::Disk;
using checkpoint::testing::Image;
using checkpoint::testing::MemoryFs;
using test::guaranteed;
using test::must_admit;
using test::pod;

const std::string kOldText = "# by hand\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
const std::string kNewText = "# new\ncpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";

Node node_of(const std::string& text) {
  return make_node(test::two_sockets(), parse_config(text).value().config).value();
}

// Does the work of `pinfold reconfigure` on a disk, without a kernel.

struct Session {
  explicit Session(const std::shared_ptr<Disk>& disk, const MemoryFs::Hook& hook = {})
      : files(disk, hook), agent(open(disk, hook)) {
    source.file = verbs::ConfigFile::kReplace;
    source.files = [disk, hook]() -> Result<std::unique_ptr<checkpoint::Fs>> {
      return std::make_unique<MemoryFs>(disk, hook);
    };
  }

  static NodeAgent open(const std::shared_ptr<Disk>& disk, const MemoryFs::Hook& hook) {
    auto store = checkpoint::Store::open(std::make_unique<MemoryFs>(disk, hook));
    if (!store) throw std::runtime_error(store.error().message);
    const auto stored = decode_node(store->load().value().node.value());
    if (!stored) throw std::runtime_error(stored.error().message);
    auto agent = NodeAgent::open(make_node(stored->machine, stored->config).value(),
                                 *std::move(store), std::nullopt, AgentOptions{});
    if (!agent) throw std::runtime_error(agent.error().message);
    return *std::move(agent);
  }
  [[nodiscard]] std::string config_file() { return files.read(kConfigFileName).value().value(); }

  Result<void> act(const verbs::Reconfigure& request) {
    PINFOLD_LET(const auto done, verbs::reconfigure(agent, request, source));
    EXPECT_TRUE(done.is_applied);
    return agent.checkpoint_journal();
  }
  Result<void> reconfigure() {
    verbs::Reconfigure request;
    request.config = kNewText;
    return act(request);
  }
  Result<void> undo() {
    verbs::Reconfigure request;
    request.undo = true;
    auto done = act(request);
    // `pinfold` says that there is nothing to undo; nothing has changed.
    if (!done && done.error().code == ErrorCode::kNotFound) return {};
    return done;
  }

  MemoryFs files;
  NodeAgent agent;
  verbs::NodeSource source;
};

Image image_of(const Disk& disk) {
  Image image;
  for (const auto& [name, inode] : disk.names) image[name] = disk.inodes[inode].now;
  return image;
}

/// The complete contents of one of the two nodes.
struct Side {
  Config config;
  CpuCheckpoint cpus;
};
Side side_of(const NodeAgent& agent) {
  return {agent.node().config(), agent.state().node.cpu.checkpoint()};
}
bool is_on(const NodeAgent& agent, const Side& side) {
  return agent.node().config() == side.config && agent.state().node.cpu.checkpoint() == side.cpus;
}

class ReconfigurePowerCut : public testing::Test {
 protected:
  ReconfigurePowerCut() {
    auto disk = std::make_shared<Disk>();
    {
      MemoryFs files(disk);
      EXPECT_TRUE(checkpoint::replace_all(files, {{kConfigFileName, kOldText}}));
      NodeAgent agent =
          NodeAgent::open(node_of(kOldText),
                          checkpoint::Store::open(std::make_unique<MemoryFs>(disk)).value(),
                          std::nullopt, AgentOptions{})
              .value();
      must_admit(agent, pod("x", {guaranteed("a", 1)}));
      must_admit(agent, pod("y", {guaranteed("a", 2)}));
      must_admit(agent, pod("s", {test::best_effort("a")}));
      EXPECT_TRUE(agent.checkpoint_journal());
      old_ = side_of(agent);
    }
    before_ = image_of(*disk);
    Session session(disk);
    EXPECT_TRUE(session.reconfigure());
    new_ = side_of(session.agent);
    EXPECT_NE(old_.cpus, new_.cpus);
    after_ = image_of(*disk);
  }

  using Act = Result<void> (Session::*)();

  /// Cuts the power before every operation of `act` and after it, and checks every disk that this
  /// can leave behind.
  void cut(const Image& start, Act act) {
    auto disk = std::make_shared<Disk>(start);
    std::set<std::string> seen;
    const auto look = [&](const std::string& where) {
      ++cuts_;
      disk->for_each_image(seen, [&](const Image& image) { check(image, where); });
    };
    {
      Session session(disk, [&](const std::string& operation) {
        look("before " + operation);
        return MemoryFs::Fault();
      });
      const auto done = (session.*act)();
      ASSERT_TRUE(done) << done.error().message;
    }
    look("at the end");
  }

  void check(const Image& image, const std::string& where) {
    if (HasFailure()) return;
    SCOPED_TRACE(where);
    ++images_;
    const bool is_new = expect_whole(image);
    if (is_new) ++forward_;
    follow(image, &Session::reconfigure, new_, kNewText);
    // An uncommitted change is dropped and a committed one is undone; undoing the undo leads
    // forward again.
    const bool is_undone = during_undo_ && !is_new;
    follow(image, &Session::undo, is_undone ? new_ : old_, is_undone ? kNewText : kOldText);
  }

  /// Expects the old node or the new one in full; returns true for the new one.
  bool expect_whole(const Image& image) {
    Session session(std::make_shared<Disk>(image));
    const bool is_old = is_on(session.agent, old_);
    const bool is_new = is_on(session.agent, new_);
    EXPECT_TRUE(is_old != is_new);
    const auto text = parse_config(session.config_file());
    EXPECT_TRUE(text && (text->config == old_.config || text->config == new_.config))
        << session.config_file();
    return is_new;
  }

  void follow(const Image& image, Act act, const Side& side, const std::string& text) {
    const auto disk = std::make_shared<Disk>(image);
    {
      Session session(disk);
      const auto done = (session.*act)();
      ASSERT_TRUE(done) << done.error().message;
    }
    Session session(disk);
    EXPECT_TRUE(is_on(session.agent, side));
    if (!during_undo_) {
      EXPECT_EQ(session.config_file(), text);
      return;
    }
    // An --undo that ends in between can lose the comments of a configuration, but nothing else.
    const auto parsed = parse_config(session.config_file());
    ASSERT_TRUE(parsed) << session.config_file();
    EXPECT_EQ(parsed->config, side.config);
  }

  Image before_;
  Image after_;
  Side old_;
  Side new_;
  bool during_undo_ = false;
  std::size_t cuts_ = 0;
  std::size_t images_ = 0;
  std::size_t forward_ = 0;
};

TEST_F(ReconfigurePowerCut, LeavesTheOldNodeOrTheNewOne) {
  cut(before_, &Session::reconfigure);
  EXPECT_GT(cuts_, 20U);
  EXPECT_GT(forward_, 0U);
  EXPECT_LT(forward_, images_);
  std::printf("%zu cuts, %zu different disks, %zu of the new node\n", cuts_, images_, forward_);
}

TEST_F(ReconfigurePowerCut, LeavesTheNewNodeOrTheOldOneDuringAnUndo) {
  during_undo_ = true;
  cut(after_, &Session::undo);
  EXPECT_GT(cuts_, 20U);
  EXPECT_GT(forward_, 0U);
  EXPECT_LT(forward_, images_);
  std::printf("%zu cuts, %zu different disks, %zu of the new node\n", cuts_, images_, forward_);
}

TEST_F(ReconfigurePowerCut, ARepetitionKeepsTheWayBack) {
  const auto disk = std::make_shared<Disk>(after_);
  {
    Session session(disk);
    ASSERT_TRUE(session.reconfigure());
    ASSERT_TRUE(session.reconfigure());
  }
  follow(image_of(*disk), &Session::undo, old_, kOldText);
}

}  // namespace
}  // namespace pinfold::agent
