#include "pinfold/api/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace pinfold {
namespace {

using Cells = std::vector<std::string>;

/// The cells of a row of a Markdown table, without spaces and backquotes around them.
Cells cells_of(const std::string& row) {
  Cells cells;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const auto first = cell.find_first_not_of(" `");
    const auto last = cell.find_last_not_of(" `");
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

struct DocumentedTable {
  Cells header;
  std::map<std::string, Cells> rows;  ///< by the name of the quirk
};

DocumentedTable read_documented_table() {
  DocumentedTable table;
  std::ifstream page(PINFOLD_COMPATIBILITY_PAGE);
  EXPECT_TRUE(page) << PINFOLD_COMPATIBILITY_PAGE;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| quirk |")) table.header = cells_of(line);
    if (line.empty() && !table.rows.empty()) break;
    if (line.starts_with("| `") && !table.header.empty()) {
      const Cells cells = cells_of(line);
      table.rows[cells.front()] = cells;
    }
  }
  return table;
}

TEST(Profile, RoundTrips) {
  for (const Profile profile : kProfiles) {
    EXPECT_EQ(parse_profile(to_string(profile)).value(), profile);
  }
  EXPECT_FALSE(parse_profile("Fixed"));
}

TEST(Profile, TakesVersionsAsPeopleWriteThem) {
  for (const char* text : {"1.37", "v1.37", "1.37.2", "v1.37.0-rc.1", "1.37.2+k3s1",
                           "kubelet-1.37.1", "kubelet-v1.37"}) {
    const auto profile = parse_profile(text);
    ASSERT_TRUE(profile) << text;
    EXPECT_EQ(*profile, Profile::kKubelet137) << text;
  }
  for (const char* text : {"", "v", "1", "1.", "1.37x", ".37", "1.35", "kubelet-", "v fixed"}) {
    EXPECT_FALSE(parse_profile(text)) << text;
  }
}

TEST(Profile, IsThatOfTheKubelet) {
  EXPECT_EQ(profile_of_kubelet("Kubernetes v1.36.2").value(), Profile::kKubelet136);
  EXPECT_EQ(profile_of_kubelet("Kubernetes v1.37.0+k3s1").value(), Profile::kKubelet137);
  EXPECT_EQ(profile_of_kubelet("Kubernetes v1.38.0-alpha.2").value(), Profile::kKubelet138);
  EXPECT_EQ(profile_of_kubelet("Kubernetes v1.35.9").error().message,
            "kubelet 1.35 has no profile, expected 'kubelet-1.36', 'kubelet-1.37', 'kubelet-1.38' "
            "or 'fixed'");
  for (const char* const text :
       {"", "v1.37.0", "Kubernetes v1.37", "Kubernetes v1", "Kubernetes v", "Kubernetes v1.37rc.0",
        "Kubernetes 1.37.0", "Kubernetes v.37.0"}) {
    EXPECT_FALSE(profile_of_kubelet(text)) << text;
  }
}

TEST(Profile, Kubelet136HasEveryQuirkAndFixedHasNone) {
  const Quirks all = quirks_of(Profile::kKubelet136);
  std::set<const bool*> members;
  for (const Quirk& quirk : quirk_table()) {
    members.insert(&(all.*quirk.member));
    EXPECT_TRUE(all.*quirk.member) << quirk.name;
  }
  EXPECT_EQ(members.size(), sizeof(Quirks)) << "a member is not in the table";
  EXPECT_EQ(quirks_of(Profile::kFixed), Quirks{});
}

TEST(Profile, HasTheQuirksOfTheTableInTheDocumentation) {
  const DocumentedTable table = read_documented_table();
  std::map<Profile, std::size_t> column;
  for (const Profile profile : kProfiles) {
    std::string name(to_string(profile));
    if (name.starts_with("kubelet-")) name.erase(0, std::string("kubelet-").size());
    const auto found = std::find(table.header.begin(), table.header.end(), name);
    ASSERT_NE(found, table.header.end()) << name << " has no column";
    column[profile] = static_cast<std::size_t>(found - table.header.begin());
  }
  EXPECT_EQ(table.rows.size(), quirk_table().size());
  for (const Quirk& quirk : quirk_table()) {
    const auto row = table.rows.find(std::string(quirk.name));
    ASSERT_NE(row, table.rows.end()) << quirk.name << " has no row";
    ASSERT_EQ(row->second.size(), table.header.size()) << quirk.name;
    for (const Profile profile : kProfiles) {
      EXPECT_EQ(row->second.at(column.at(profile)), quirks_of(profile).*quirk.member ? "yes" : "no")
          << quirk.name << " of " << to_string(profile);
    }
  }
}

}  // namespace
}  // namespace pinfold
