#pragma once

#include <string>

namespace pinfold::checkpoint {

/// One fact about an object: a pod, a container ("POD/CONTAINER") or a file.
struct Note {
  std::string object;
  std::string text;

  friend bool operator==(const Note&, const Note&) = default;
};

}  // namespace pinfold::checkpoint
