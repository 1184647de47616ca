#include "recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "pinfold/text/base64.hpp"

namespace pinfold::nri::test {

std::vector<Recorded> read_recording(const std::string& file) {
  std::ifstream in(std::string(PINFOLD_NRI_DATA "/") + file);
  std::vector<Recorded> frames;
  std::string direction;
  std::string name;
  std::string text;
  while (in >> direction >> name >> text) {
    frames.push_back({direction == ">", name, decode_base64(text)});
  }
  if (frames.empty()) throw std::runtime_error("no frames in " + file);
  return frames;
}

std::string recorded(const std::string& file, std::string_view name) {
  const auto frames = read_recording(file);
  const auto found = std::find_if(frames.begin(), frames.end(),
                                  [&](const Recorded& frame) { return frame.name == name; });
  if (found == frames.end()) throw std::runtime_error("no such frame: " + std::string(name));
  return found->bytes;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

}  // namespace pinfold::nri::test
