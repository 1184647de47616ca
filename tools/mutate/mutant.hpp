#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

/// The code that tools/mutate inserts into sources: every mutant is compiled in, and the
/// environment turns one on. In constant expressions all are off.
///   PINFOLD_MUTANT=N         mutant N is on
///   PINFOLD_MUTANTS_REACHED  a file to which the numbers of all evaluated mutants are appended;
///                            -N: mutant N is impossible with these operands
namespace pinfold_mutant {

inline constexpr int kMost = 32768;

class Recorder {
 public:
  explicit Recorder(const char* file) : file_(file) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() {
    if (file_ == nullptr) return;
    std::FILE* const out = std::fopen(file_, "ae");
    if (out == nullptr) std::abort();
    for (int i = 0; i < kMost; ++i) {
      const char* const sign = reached_[static_cast<std::size_t>(i)];
      if (sign != nullptr) std::fprintf(out, "%s%d\n", sign, i);
    }
    std::fclose(out);
  }
  void add(int number, const char* sign) { reached_[static_cast<std::size_t>(number)] = sign; }

 private:
  const char* file_;
  std::array<const char*, kMost> reached_{};
};

inline void record(int number, const char* sign) {
  static Recorder recorder(std::getenv("PINFOLD_MUTANTS_REACHED"));
  recorder.add(number, sign);
}

inline int chosen() {
  static const char* const text = std::getenv("PINFOLD_MUTANT");
  static const int number = text == nullptr ? -1 : std::atoi(text);
  return number;
}
inline bool is_chosen(int number) {
  record(number, "");
  return chosen() == number;
}

template <int N>
constexpr bool on() {
  if (std::is_constant_evaluated()) return false;
  return is_chosen(N);
}

/// Records that mutant N is impossible with these operands.
template <int N>
constexpr void refuse() {
  if (!std::is_constant_evaluated()) record(N, "-");
}

/// A literal: the next number, or the other truth value.
template <int N, class T>
constexpr T lit(T value) {
  if (!on<N>()) return value;
  if constexpr (std::is_same_v<T, bool>) {
    return !value;
  } else {
    return static_cast<T>(value + 1);
  }
}

// `a OP b` becomes `a OP Tag<N>{} OP b`, which the compiler groups in the same way: the first
// operator keeps `a`, the second one computes `a OP b` or, if the mutant is on, `a OTHER b`.
#define PINFOLD_MUTANT_OPERATOR(TAG, OP, OTHER)                                                 \
  template <int N>                                                                              \
  struct TAG {};                                                                                \
  template <class T, int N>                                                                     \
  struct TAG##Left {                                                                            \
    T&& value;                                                                                  \
  };                                                                                            \
  template <class T, int N>                                                                     \
  constexpr TAG##Left<T, N> operator OP(T&& left, TAG<N> /*tag*/) {                             \
    return {static_cast<T&&>(left)};                                                            \
  }                                                                                             \
  template <class T, int N, class U>                                                            \
  constexpr auto operator OP(TAG##Left<T, N> left, U&& right) {                                 \
    using Result = decltype(static_cast<T&&>(left.value) OP static_cast<U&&>(right));           \
    if constexpr (requires {                                                                    \
                    static_cast<Result>(static_cast<T&&>(left.value)                            \
                                            OTHER static_cast<U&&>(right));                     \
                  }) {                                                                          \
      if (on<N>()) {                                                                            \
        return static_cast<Result>(static_cast<T&&>(left.value) OTHER static_cast<U&&>(right)); \
      }                                                                                         \
    } else {                                                                                    \
      refuse<N>();                                                                              \
    }                                                                                           \
    return static_cast<Result>(static_cast<T&&>(left.value) OP static_cast<U&&>(right));        \
  }
PINFOLD_MUTANT_OPERATOR(Lt, <, <=)
PINFOLD_MUTANT_OPERATOR(Le, <=, <)
PINFOLD_MUTANT_OPERATOR(Gt, >, >=)
PINFOLD_MUTANT_OPERATOR(Ge, >=, >)
PINFOLD_MUTANT_OPERATOR(Eq, ==, !=)
PINFOLD_MUTANT_OPERATOR(Ne, !=, ==)
PINFOLD_MUTANT_OPERATOR(Add, +, -)
PINFOLD_MUTANT_OPERATOR(Sub, -, +)
PINFOLD_MUTANT_OPERATOR(Mul, *, +)
#undef PINFOLD_MUTANT_OPERATOR

// `!x` becomes `Not<N>{} ->* x`, which binds its right operand as tightly as a unary operator.
template <int N>
struct Not {};
template <int N, class T>
constexpr bool operator->*(Not<N> /*tag*/, T&& value) {
  return on<N>() ? static_cast<bool>(value) : !static_cast<bool>(value);
}

}  // namespace pinfold_mutant
