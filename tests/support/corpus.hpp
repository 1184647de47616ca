#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace pinfold::test {

/// Visits every `stride`-th vector of one file of the conformance corpus.
template <class Visit>
void for_each_vector(const std::filesystem::path& file, std::size_t stride, const Visit& visit) {
  gzFile in = gzopen(file.c_str(), "rb");
  ASSERT_NE(in, nullptr) << file;
  std::string line;
  std::size_t number = 0;
  std::string chunk(1U << 16U, '\0');
  while (gzgets(in, chunk.data(), static_cast<int>(chunk.size())) != nullptr) {
    line += chunk.c_str();
    if (!line.ends_with('\n')) continue;
    if (number++ % stride == 0) visit(nlohmann::json::parse(line));
    line.clear();
  }
  gzclose(in);
}

/// Skips its tests where the corpus is not available (PINFOLD_SHARED).
class Corpus : public testing::Test {
 protected:
  void SetUp() override {
    const char* const shared = std::getenv("PINFOLD_SHARED");  // NOLINT(concurrency-mt-unsafe)
    if (shared == nullptr) GTEST_SKIP() << "PINFOLD_SHARED is not set";
    folder_ = std::filesystem::path(shared) / "conformance";
  }
  std::filesystem::path folder_;
};

}  // namespace pinfold::test
