// yaml-cpp's archive in Debian is compiled for programs: it addresses tables of these classes
// directly, which a shared library can do only with its own tables.
#include <ios>
#include <sstream>
#include <streambuf>

template class std::basic_ios<char>;
template class std::basic_streambuf<char>;
template class std::basic_stringbuf<char>;
template class std::basic_stringstream<char>;
