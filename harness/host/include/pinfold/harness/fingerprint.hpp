#pragma once

#include <string>
#include <string_view>

namespace pinfold::harness {

/// 128-bit FNV-1a over a sequence of length-prefixed texts: the key of the caches. Protects against
/// stale or damaged entries, not against an attacker.
class Fingerprint {
 public:
  Fingerprint& add(std::string_view bytes);
  /// Returns 32 hexadecimal digits.
  [[nodiscard]] std::string to_string() const;

 private:
  __extension__ using Word = unsigned __int128;
  static constexpr Word kStart = (Word{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;

  void mix(std::string_view bytes);

  Word hash_ = kStart;
};

}  // namespace pinfold::harness
