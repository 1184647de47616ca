#include "pinfold/types/container_id.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <type_traits>

#include "pinfold/types/container_map.hpp"

namespace pinfold {
namespace {

// These must not compile: a string as a pod's UID, a UID as a string, and swapped arguments.
static_assert(!std::is_convertible_v<std::string, PodUid>);
static_assert(!std::is_convertible_v<const char*, PodUid>);
static_assert(!std::is_convertible_v<PodUid, std::string>);
static_assert(!std::is_constructible_v<ContainerId, std::string, PodUid>);
static_assert(!std::is_constructible_v<ContainerId, std::string, std::string>);
static_assert(!std::is_constructible_v<ContainerId, const char*, const char*>);
static_assert(requires { ContainerId{PodUid(), std::string()}; });

template <class Pod, class Name>
concept CanBeLookedUp = requires(const ContainerMap<int>& map, Pod pod, Name name) {
  map.find({pod, name});
};
static_assert(CanBeLookedUp<PodUid, std::string>);
static_assert(!CanBeLookedUp<std::string, PodUid>);
static_assert(!CanBeLookedUp<std::string, std::string>);

const ContainerId kWeb{PodUid("pod-a"), "web"};

TEST(PodUid, AcceptsAnyText) {
  const std::string text = "0b5e";
  EXPECT_EQ(PodUid(text), PodUid("0b5e"));
  EXPECT_EQ(PodUid(std::string_view(text)).value, text);
  EXPECT_EQ(PodUid().value, "");
}

TEST(PodUid, IsPrintedAsItsText) {
  std::ostringstream out;
  out << kWeb.pod;
  EXPECT_EQ(out.str(), "pod-a");
  EXPECT_EQ(fmt::format("'{:>6}'", kWeb.pod), "' pod-a'");
}

TEST(ContainerId, IsOrderedByPodThenName) {
  EXPECT_LT((ContainerId{PodUid("a"), "z"}), (ContainerId{PodUid("b"), "a"}));
  EXPECT_LT((ContainerId{PodUid("a"), "b"}), (ContainerId{PodUid("a"), "c"}));
  // Not the order of the printed form: '-' comes before '/'.
  EXPECT_LT((ContainerId{PodUid("a"), "x"}), (ContainerId{PodUid("a-b"), "a"}));
}

TEST(ContainerId, IsPrintedAsPodAndName) {
  EXPECT_EQ(to_string(kWeb), "pod-a/web");
  std::ostringstream out;
  out << kWeb;
  EXPECT_EQ(out.str(), "pod-a/web");
  EXPECT_EQ(fmt::format("'{}'", kWeb), "'pod-a/web'");
}

}  // namespace
}  // namespace pinfold
