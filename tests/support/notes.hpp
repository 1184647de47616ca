#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/checkpoint/convert.hpp"

namespace pinfold::checkpoint {

/// Returns true if one of the notes is about `object` and contains `text`.
inline bool mentions(const std::vector<Note>& notes, std::string_view object,
                     std::string_view text) {
  return std::any_of(notes.begin(), notes.end(), [&](const Note& note) {
    return note.object == object && note.text.find(text) != std::string::npos;
  });
}

}  // namespace pinfold::checkpoint
