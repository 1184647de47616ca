#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace pinfold::test {

/// A new directory for one test; the destructor removes it with its contents.
class TempDir {
 public:
  /// Uses a directory in memory if possible: tests write thousands of small files.
  TempDir() : TempDir(in_memory()) {}
  explicit TempDir(const std::filesystem::path& parent)
      : path_((parent / "pinfold-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp " + path_);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file and creates its parent directories.
  void write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = *this / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << content;
    out.close();
    if (!out) throw std::runtime_error("write " + file.string());
  }
  /// Removes a file, or a directory with its contents.
  void remove(const std::string& name) const { std::filesystem::remove_all(*this / name); }

 private:
  static std::filesystem::path in_memory() {
    const std::filesystem::path memory = "/dev/shm";
    const bool writable = ::access(memory.c_str(), W_OK) == 0;
    return writable ? memory : std::filesystem::temp_directory_path();
  }

  std::string path_;
};

}  // namespace pinfold::test
