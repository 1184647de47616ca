#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run_program.hpp"
#include "temp_dir.hpp"

/// docs/rejections.md: each command of the page prints what the page shows.
namespace pinfold {
namespace {

using test::run_shell;

/// A file that a section shows, or a command with its output.
struct Item {
  std::string file;    ///< "": a command
  std::string text;    ///< of the file; the command
  std::string output;  ///< of the command
};
struct Section {
  std::string title;
  std::vector<Item> items;
};

/// A fenced block is a file whose first line is "# NAME". An indented block has commands after "$ "
/// and their output.
std::vector<Section> read_page() {
  constexpr const char* kIndent = "    ";
  std::vector<Section> sections(1);
  std::optional<Item> file;
  Item* command = nullptr;
  std::string blank;
  std::ifstream page(PINFOLD_REJECTIONS_PAGE);
  for (std::string line; std::getline(page, line);) {
    auto& items = sections.back().items;
    if (file) {
      if (line == "```") {
        items.push_back(*std::exchange(file, std::nullopt));
      } else if (file->file.empty()) {
        file->file = line.substr(2);
      } else {
        file->text += line + "\n";
      }
    } else if (line == "```yaml") {
      file.emplace();
      command = nullptr;
    } else if (line.starts_with("## ")) {
      sections.push_back({line, {}});
      command = nullptr;
    } else if (line.starts_with("    $ ")) {
      command = &items.emplace_back(Item{"", line.substr(6), ""});
      blank.clear();
    } else if (command != nullptr && line.empty()) {
      blank += "\n";
    } else if (command != nullptr && line.starts_with(kIndent)) {
      command->output += std::exchange(blank, "") + line.substr(4) + "\n";
    } else {
      command = nullptr;
    }
  }
  return sections;
}

class Rejections : public testing::Test {
 protected:
  /// Runs a command in the directory of the test, with the variables that the page has set.
  [[nodiscard]] std::string run(const std::string& command) {
    const std::string programs = std::filesystem::path(PINFOLD_COMMAND).parent_path().string();
    dir_.write("run.sh", "export LC_ALL=C PATH=" + programs + ":$PATH\ncd " + dir_.path() + "\n" +
                             variables_ + command + "\n");
    const auto outcome = run_shell("bash " + (dir_ / "run.sh"));
    if (command.starts_with("node=")) variables_ += command + "\n";
    return outcome.out + outcome.err;
  }

  test::TempDir dir_;

 private:
  std::string variables_;
};

TEST_F(Rejections, PrintWhatThePageShows) {
  const std::vector<Section> page = read_page();
  ASSERT_EQ(page.size(), 12U) << "eleven cases after the introduction";
  for (const Section& section : page) {
    dir_.remove("state");
    std::filesystem::create_directory(dir_ / "state");
    int explained = 0;
    for (const Item& item : section.items) {
      if (!item.file.empty()) {
        dir_.write(item.file, item.text);
        continue;
      }
      EXPECT_EQ(run(item.text), item.output) << section.title << "\n" << item.text;
      if (item.text.starts_with("pinfold explain")) ++explained;
    }
    EXPECT_EQ(explained, &section == &page.front() ? 0 : 1) << section.title;
  }
}

TEST_F(Rejections, EachSayWhatHelps) {
  for (const Section& section : read_page()) {
    for (const Item& item : section.items) {
      if (!item.text.starts_with("pinfold explain")) continue;
      EXPECT_NE(item.output.find("\nRejected, "), std::string::npos) << section.title;
      EXPECT_NE(item.output.find("\nIt fits"), std::string::npos) << section.title;
    }
  }
}

}  // namespace
}  // namespace pinfold
