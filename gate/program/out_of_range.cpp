namespace std {

// The program has no C++ library. The headers that it uses need this function of it, and only after
// a mistake of the program's: it ends with a signal, so that its container does not start.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl50-cpp,cert-dcl58-cpp,readability-identifier-naming)
void __throw_out_of_range_fmt(const char* /*format*/, ...) { __builtin_trap(); }

}  // namespace std
