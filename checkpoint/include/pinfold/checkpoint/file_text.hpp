#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/checkpoint/files.hpp"
#include "pinfold/checkpoint/journal.hpp"

namespace pinfold::checkpoint {

/// A text whose content_sum() is computed once.
class SummedText {
 public:
  explicit SummedText(std::string text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  /// By how much this text multiplies the sum of a text before it.
  [[nodiscard]] std::uint64_t factor() const { return factor_; }

 private:
  friend class FileText;
  SummedText(std::string text, std::uint64_t sum);

  std::string text_;
  std::uint64_t sum_;
  std::uint64_t factor_;
};

/// The bytes of a state file, made of parts: one for each pod, and what is around them. Two texts
/// with the same parts share them, so a copy, a comparison and the sum cost little, whatever the
/// size of the file.
///
/// How it works: parts are kept in groups of about 16. A group ends after a part whose sum says so,
/// so that a changed part changes no other group.
class FileText {
 public:
  using Part = std::shared_ptr<const SummedText>;

  FileText() = default;
  explicit FileText(std::string text);
  /// `before`: another text that may have some of the parts; nullptr: none.
  FileText(std::span<const Part> parts, const FileText* before);
  /// Puts a text in front of another.
  FileText(std::string front, const FileText& rest);

  [[nodiscard]] std::size_t size() const;
  /// Returns the content_sum() of the whole text.
  [[nodiscard]] std::uint64_t sum() const;
  [[nodiscard]] std::string text() const;

  friend bool operator==(const FileText& a, const FileText& b);
  /// Returns the same as difference() of the two texts, or other edits with the same effect,
  /// without looking at groups that the two share.
  friend std::variant<std::string, Edits> difference(const FileText& before, const FileText& after);

 private:
  struct Group {
    std::vector<Part> parts;
    SummedText whole;
  };
  using Groups = std::vector<std::shared_ptr<const Group>>;

  [[nodiscard]] static std::shared_ptr<const Group> make_group(std::vector<Part> parts);

  Groups groups_;
};
[[nodiscard]] std::variant<std::string, Edits> difference(const FileText& before,
                                                          const FileText& after);

/// The state files of a transaction; nullopt leaves a file alone. See Files.
struct FileTexts {
  std::optional<FileText> cpu;
  std::optional<FileText> memory;
  std::optional<FileText> pods;
  std::optional<FileText> node = {};

  friend bool operator==(const FileTexts&, const FileTexts&) = default;
};
[[nodiscard]] FileTexts texts_of(Files files);
[[nodiscard]] Files files_of(const FileTexts& texts);

}  // namespace pinfold::checkpoint
