#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/checkpoint/file_text.hpp"
#include "pinfold/checkpoint/go_json.hpp"

namespace pinfold::checkpoint {

/// A JsonWriter that keeps encoded elements as parts instead of copying them.
class JsonParts : public JsonWriter {
 public:
  /// Writes elements of an object or array, with the separator before each that is not the first.
  void part(const FileText::Part& part) {
    skip_separator();
    end_part();
    parts_.push_back(part);
  }

  [[nodiscard]] std::vector<FileText::Part> take_parts() && {
    end_part();
    return std::move(parts_);
  }
  /// Returns the whole text.
  [[nodiscard]] std::string take() && {
    std::string text;
    for (const auto& part : std::move(*this).take_parts()) text += part->text();
    return text;
  }

 private:
  void end_part() {
    if (text_.empty()) return;
    parts_.push_back(std::make_shared<const SummedText>(std::exchange(text_, {})));
  }

  std::vector<FileText::Part> parts_;
};

}  // namespace pinfold::checkpoint
