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
  /// Joins texts; computes the sum from theirs.
  explicit SummedText(std::span<const SummedText* const> texts);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  /// Returns the factor by which this text multiplies the sum of a text before it.
  [[nodiscard]] std::uint64_t factor() const { return factor_; }

 private:
  std::string text_;
  std::uint64_t sum_ = 0;  ///< of no bytes
  std::uint64_t factor_;
};

/// The bytes of a state file, made of parts: some for the entries of pods, others for the text
/// around them. Texts share parts, so copies, sums and comparisons with the previous text cost
/// little, even for a large file.
class FileText {
 public:
  using Part = std::shared_ptr<const SummedText>;

  FileText() = default;
  explicit FileText(std::string text);
  explicit FileText(std::vector<Part> parts);
  /// Puts a text in front of another.
  FileText(std::string front, const FileText& rest);

  [[nodiscard]] std::size_t size() const;
  /// Returns the content_sum() of the whole text.
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  [[nodiscard]] std::string text() const;

  friend bool operator==(const FileText& a, const FileText& b);
  /// Returns edits with the same effect as difference() of the two texts, without looking at parts
  /// that the two share.
  friend std::variant<std::string, Edits> difference(const FileText& before, const FileText& after);

 private:
  std::vector<Part> parts_;
  std::uint64_t sum_ = 0;  ///< of no bytes
};
[[nodiscard]] std::variant<std::string, Edits> difference(const FileText& before,
                                                          const FileText& after);

/// Joins entries, each with the separator before it. Leaves out that of the first if `is_first`.
[[nodiscard]] FileText::Part join_entries(std::span<const SummedText* const> entries,
                                          bool is_first);

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
