#include "pinfold/checkpoint/file_text.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "node_fixture.hpp"
#include "pinfold/checkpoint/go_dump.hpp"
#include "pinfold/checkpoint/kubelet_encoder.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/decide/decide.hpp"

namespace pinfold::checkpoint {
namespace {

using Parts = std::vector<FileText::Part>;

FileText::Part part_of(std::string text) {
  return std::make_shared<const SummedText>(std::move(text));
}

std::string joined(const Parts& parts) {
  std::string text;
  for (const auto& part : parts) text += part->text();
  return text;
}

/// The result of a record that changes a file from one text to another.
std::string applied(const FileText& before, const FileText& after) {
  Contents contents = {{"file", before.text()}};
  const auto done = apply_record(
      {kJournalVersion, {{"file", {before.sum(), difference(before, after)}}}}, contents);
  return done ? contents["file"] : done.error().message;
}

TEST(FileText, OfNothingIsEmpty) {
  EXPECT_EQ(FileText().text(), "");
  EXPECT_EQ(FileText().sum(), content_sum(""));
  EXPECT_EQ(FileText(Parts()), FileText());
  EXPECT_EQ(FileText(""), FileText());
}

TEST(FileText, ComparesContents) {
  EXPECT_EQ(FileText("ab"), FileText(Parts{part_of("a"), part_of("b")}));
  EXPECT_FALSE(FileText("ab") == FileText("ba"));
  EXPECT_EQ(FileText("a", FileText("b")).text(), "ab");
}

/// Changes at random places, as when pods come and go, and at the front, as when the shared pool
/// changes.
TEST(FileText, KeepsSumAndEditsRightWhileItsPartsChange) {
  std::mt19937 random(11);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in every run
  const auto draw = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  const auto at = [](std::size_t place) { return static_cast<std::ptrdiff_t>(place); };
  Parts parts = {part_of("front")};
  FileText text(parts);
  std::size_t edited = 0;
  for (int step = 0; step < 400; ++step) {
    if (parts.size() < 100 || draw(2) == 0) {
      const std::string entry = std::to_string(step) + std::string(draw(300), 'x');
      parts.insert(parts.begin() + at(1 + draw(parts.size())), part_of("," + entry));
    } else {
      parts.erase(parts.begin() + at(1 + draw(parts.size() - 1)));
    }
    if (draw(3) > 0) parts.front() = part_of("front " + std::to_string(draw(1000)));
    const FileText next(parts);
    ASSERT_EQ(next.text(), joined(parts)) << step;
    ASSERT_EQ(next.size(), joined(parts).size()) << step;
    ASSERT_EQ(next.sum(), content_sum(joined(parts))) << step;
    ASSERT_EQ(applied(text, next), joined(parts)) << step;
    edited += std::holds_alternative<Edits>(difference(text, next)) ? 1U : 0U;
    text = next;
  }
  EXPECT_GT(edited, 350U) << "a record has whole files only at first";
}

TEST(FileText, IsWholeInARecordIfMostOfItIsNew) {
  const FileText before("{\"a\":1}");
  const FileText after(std::string(1000, 'y'));
  EXPECT_EQ(std::get<std::string>(difference(before, after)), after.text());
}

TEST(DumpPart, AddsWhatTheSumOfItsBytesDoes) {
  std::mt19937 random(5);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in every run
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(random() & 0xFFU);
  for (const std::string& text : {std::string(), std::string("7a90:map[main:2-3]"), bytes}) {
    const DumpPart part(text);
    for (int i = 0; i < 2000; ++i) {
      const auto before = static_cast<std::uint32_t>(random());
      ASSERT_EQ(part.sum_after(before), fnv1a_32(text, before)) << text << " after " << before;
    }
  }
}

Node node_of(Profile profile, bool pod_level_gate) {
  Config config = test::with_memory_manager(test::aligning_config("best-effort"));
  config.profile = profile;
  config.feature_gates["PodLevelResourceManagers"] = pod_level_gate;
  return Node::make(test::machine_of({}), config).value();
}

TEST(KubeletEncoder, WritesTheSameBytesAsAnEncoderOfWholeFiles) {
  std::mt19937 random(3);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in every run
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136, Profile::kKubelet138}) {
    for (const bool gate : {false, true}) {
      const Node node = node_of(profile, gate);
      NodeState state = empty_state(node);
      KubeletEncoder encoder;
      for (int step = 0; step < 300; ++step) {
        const auto number = random() % 80;
        const std::string uid = "p" + std::to_string(number);
        if (random() % 4 == 0) {
          state = remove_pod(node, state, PodUid(uid));
        } else {
          const std::string cpu = number % 8 == 0 ? "1" : "10m";
          auto decision = decide(node, state, test::pod(uid, {{"cpu", cpu}, {"memory", "1Mi"}}));
          auto* const admitted = std::get_if<Admitted>(&decision);
          state = admitted != nullptr ? admitted->next : std::get<Rejected>(decision).next;
        }
        const KubeletFiles whole = encode_files(node, state);
        ASSERT_EQ(encoder.cpu(node, state.cpu).text(), whole.cpu) << step;
        ASSERT_EQ(encoder.memory(node, state.memory).text(), whole.memory) << step;
      }
    }
  }
}

}  // namespace
}  // namespace pinfold::checkpoint
