#pragma once

#include <string>
#include <string_view>

namespace pinfold::harness {

/// FNV-1a with 128 bits over a sequence of texts, each one counted with its length: the key of the
/// caches. Guards against staleness and damage, not against an attacker.
class Fingerprint {
 public:
  Fingerprint& add(std::string_view bytes);
  /// 32 hexadecimal digits.
  [[nodiscard]] std::string to_string() const;

 private:
  __extension__ using Word = unsigned __int128;
  static constexpr Word kStart = (Word{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;

  void mix(std::string_view bytes);

  Word hash_ = kStart;
};

}  // namespace pinfold::harness
