namespace std {

// The program does not link the C++ library. The headers that it uses need this function of it, but
// only after a bug in the program: it then ends with a signal, so that its container does not
// start.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl50-cpp,cert-dcl58-cpp,readability-identifier-naming)
void __throw_out_of_range_fmt(const char* /*format*/, ...) { __builtin_trap(); }

}  // namespace std
