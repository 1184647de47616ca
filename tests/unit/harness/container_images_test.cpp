#include "pinfold/harness/container_images.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pinfold/harness/process.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

/// The output of a program that must succeed.
std::string output_of(const std::vector<std::string>& command) {
  const auto ran = run_program(command, std::chrono::seconds(30));
  EXPECT_TRUE(ran) << command[0];
  EXPECT_EQ(ran ? ran->exit_status : -1, 0) << command[0] << ": " << ran->output;
  return ran ? ran->output : "";
}

TEST(WriteTar, IsReadByTar) {
  const test::TempDir folder;
  folder.write("a.tar", write_tar({CpioEntry::folder("etc"), CpioEntry::folder("etc"),
                                   CpioEntry::file("bin/busybox", std::string(513, 'x'), true),
                                   CpioEntry::link("bin/sh", "/bin/busybox"),
                                   CpioEntry::file("etc/empty", "", false)}));
  EXPECT_EQ(output_of({"env", "TZ=UTC", "tar", "--list", "--verbose", "--numeric-owner", "--file",
                       folder / "a.tar"}),
            "drwxr-xr-x 0/0               0 1970-01-01 00:00 etc\n"
            "drwxr-xr-x 0/0               0 1970-01-01 00:00 bin\n"
            "-rwxr-xr-x 0/0             513 1970-01-01 00:00 bin/busybox\n"
            "lrwxrwxrwx 0/0               0 1970-01-01 00:00 bin/sh -> /bin/busybox\n"
            "-rw-r--r-- 0/0               0 1970-01-01 00:00 etc/empty\n");
  EXPECT_EQ(
      output_of({"tar", "--extract", "--to-stdout", "--file", folder / "a.tar", "bin/busybox"}),
      std::string(513, 'x'));
}

TEST(WriteTar, TakesTheLongestPath) {
  const test::TempDir folder;
  const std::string path(99, 'p');
  folder.write("a.tar", write_tar({CpioEntry::file(path, "text", false)}));
  EXPECT_EQ(output_of({"tar", "--list", "--file", folder / "a.tar"}), path + "\n");
}

TEST(WriteImages, DescribesEachImageWithTheSumOfItsLayer) {
  const std::vector<ContainerImage> images = {
      {"localhost/one:1", {CpioEntry::file("one", "1", true)}, {"/one", "x"}},
      {"localhost/two:1", {CpioEntry::file("two", "2", false)}, {"/two"}}};
  const auto archive = write_images(images);
  ASSERT_TRUE(archive) << archive.error().message;
  EXPECT_EQ(*archive, *write_images(images));
  const test::TempDir folder;
  folder.write("images.tar", *archive);
  (void)output_of(
      {"tar", "--extract", "--directory", folder.path(), "--file", folder / "images.tar"});
  const auto json_of = [&folder](const std::string& file) {
    return nlohmann::json::parse(output_of({"cat", folder / file}));
  };
  const auto manifest = json_of("manifest.json");
  ASSERT_EQ(manifest.size(), images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ(manifest[i]["RepoTags"], nlohmann::json({images[i].name}));
    ASSERT_EQ(manifest[i]["Layers"].size(), 1U);
    const std::string layer = manifest[i]["Layers"][0];
    const auto config = json_of(manifest[i]["Config"]);
    EXPECT_EQ(config["config"]["Cmd"], nlohmann::json(images[i].command));
    EXPECT_EQ(config["rootfs"]["diff_ids"],
              nlohmann::json({"sha256:" + output_of({"sha256sum", folder / layer}).substr(0, 64)}));
    EXPECT_EQ(output_of({"tar", "--list", "--file", folder / layer}),
              images[i].files[0].path + "\n");
  }
}

}  // namespace
}  // namespace pinfold::harness
