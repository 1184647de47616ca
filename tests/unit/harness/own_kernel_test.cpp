#include "pinfold/harness/own_kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "image/embedded_config.hpp"
#include "machine.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/process.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

using std::string_literals::operator""s;

/// Returns the beginning of a bzImage, with a version at 0x3000, where real ones have it behind the
/// header.
std::string bzimage(const std::string& version) {
  std::string bytes(0x900, '\0');
  bytes.replace(0x1fe, 2, "\x55\xaa");
  bytes.replace(0x202, 4, "HdrS");
  bytes.replace(0x20e, 2, "\x00\x06"s);  // 0x600, counted from 0x200
  bytes.replace(0x800, version.size() + 1, version + '\0');
  return bytes;
}

TEST(RecogniseKernel, ByItsContent) {
  const test::TempDir folder;
  folder.write("vmlinuz", bzimage("6.1.0"));
  folder.write("tree/arch/x86/boot/bzImage", bzimage("6.2.0"));
  folder.write("linux.deb",
               "!<arch>\ndebian-binary   1700000000  0     0     100644  4         `\n2.0\n");
  EXPECT_EQ(recognise_kernel(folder / "vmlinuz").value(), KernelKind::kImage);
  EXPECT_EQ(recognise_kernel(folder / "tree").value(), KernelKind::kBuildTree);
  EXPECT_EQ(recognise_kernel(folder / "linux.deb").value(), KernelKind::kDebianPackage);
}

TEST(RecogniseKernel, SaysWhatElseItIs) {
  const test::TempDir folder;
  const struct {
    const char* name;
    std::string bytes;
    const char* said;
  } cases[] = {
      {"Image", std::string(0x38, '\0') + "ARM\x64",
       "an arm64 Image, expected a bzImage of x86-64"},
      {"vmlinux",
       "\x7f"
       "ELF\x02",
       "an ELF file (vmlinux? its bzImage is arch/x86/boot/bzImage)"},
      {"Image.gz", "\x1f\x8b\x08", "a gzip file, expected"},
      {"library.a", "!<arch>\nobject.o/  ",
       "': expected a bzImage of x86-64, a build tree with one"},
      {"empty", "", "': expected a bzImage of x86-64"},
      {"short", bzimage("").substr(0, 0x204), "': expected a bzImage of x86-64"},
  };
  for (const auto& c : cases) {
    folder.write(c.name, c.bytes);
    const auto kind = recognise_kernel(folder / c.name);
    ASSERT_FALSE(kind) << c.name;
    EXPECT_THAT(kind.error().message, testing::HasSubstr(c.said)) << c.name;
  }
  EXPECT_THAT(recognise_kernel(folder.path()).error().message,
              testing::HasSubstr("a folder without arch/x86/boot/bzImage"));
  EXPECT_THAT(recognise_kernel(folder / "absent").error().message,
              testing::HasSubstr("cannot be read, expected a bzImage"));
}

TEST(RecogniseKernel, OfArm64) {
  const test::TempDir folder;
  folder.write("tree/arch/arm64/boot/Image", "");
  folder.write("Image", std::string(0x38, '\0') + "ARM\x64");
  folder.write("vmlinuz", bzimage("6.1.0"));
  EXPECT_EQ(recognise_kernel(folder / "Image", Arch::kArm64).value(), KernelKind::kImage);
  EXPECT_EQ(recognise_kernel(folder / "tree", Arch::kArm64).value(), KernelKind::kBuildTree);
  EXPECT_THAT(recognise_kernel(folder / "vmlinuz", Arch::kArm64).error().message,
              testing::HasSubstr("a bzImage of x86-64, expected an uncompressed Image of arm64"));
  EXPECT_THAT(recognise_kernel(folder.path(), Arch::kArm64).error().message,
              testing::HasSubstr("build one with `make Image modules`"));
}

TEST(VersionOfImage, IsInTheHeader) {
  EXPECT_EQ(version_of_image(bzimage("6.1.0-56-cloud-amd64 (debian-kernel) #1 SMP")),
            "6.1.0-56-cloud-amd64");
  EXPECT_EQ(version_of_image(bzimage("6.18.0")), "6.18.0");
  EXPECT_EQ(version_of_image(bzimage("")), "");
  EXPECT_EQ(version_of_image("no kernel"), "");
  std::string far = bzimage("6.1.0");
  far.replace(0x20e, 2, "\xff\xff");
  EXPECT_EQ(version_of_image(far), "");
  far.replace(0x20e, 2, "\x00\x00"s);
  EXPECT_EQ(version_of_image(far), "");
}

TEST(KernelConfig, HasWhatIsSetAndWhatIsNot) {
  const KernelConfig config = parse_kernel_config(
      "# Linux/x86 6.1 Kernel Configuration\nCONFIG_NUMA=y\n# CONFIG_XFS_FS is not set\n"
      "CONFIG_NR_CPUS=8192\nCONFIG_CMDLINE=\"a=b\"\nnonsense\nCONFIG_NO_VALUE\n");
  EXPECT_THAT(config, testing::UnorderedElementsAre(testing::Pair("CONFIG_NUMA", "y"),
                                                    testing::Pair("CONFIG_XFS_FS", "n"),
                                                    testing::Pair("CONFIG_NR_CPUS", "8192"),
                                                    testing::Pair("CONFIG_CMDLINE", "\"a=b\"")));
}

/// Returns every option that a guest can need.
KernelConfig full_config() {
  KernelConfig config;
  for (const char* option : {"64BIT",
                             "ACPI",
                             "BINFMT_ELF",
                             "BLK_DEV_INITRD",
                             "PROC_FS",
                             "SYSFS",
                             "DEVTMPFS",
                             "TMPFS",
                             "SERIAL_8250",
                             "SERIAL_8250_CONSOLE",
                             "X86_IOPL_IOPERM",
                             "CGROUPS",
                             "CPUSETS",
                             "CPUSETS_V1",
                             "NUMA",
                             "ACPI_NUMA",
                             "X86_64_ACPI_NUMA",
                             "SMP",
                             "HUGETLBFS",
                             "PCI",
                             "HOTPLUG_CPU",
                             "MEMORY_HOTPLUG",
                             "ACPI_HOTPLUG_MEMORY",
                             "CGROUP_SCHED",
                             "CFS_BANDWIDTH",
                             "MEMCG",
                             "NAMESPACES",
                             "CGROUP_BPF",
                             "CGROUP_PIDS"}) {
    config[std::string("CONFIG_") + option] = "y";
  }
  config["CONFIG_BLK_DEV_NBD"] = config["CONFIG_XFS_FS"] = config["CONFIG_VMXNET3"] = "m";
  config["CONFIG_NODES_SHIFT"] = "10";
  config["CONFIG_NR_CPUS"] = "8192";
  return config;
}

/// Returns a machine that uses all features.
VmMachine full_machine() {
  VmMachine machine = two_sockets();
  machine.nodes[0].huge_pages[2 * kMiB] = 1;
  machine.devices = {0};
  machine.network_cards = 1;
  machine.absent = CpuSet{7};
  machine.pluggable_memory = 128 * kMiB;
  machine.disk = VmDisk{Filesystem::kXfs, 64 * kMiB, "/disk"};
  machine.platform = {std::string(kOwnKernel), CgroupMode::kV1};
  return machine;
}

TEST(MissingOptions, NoneOfAFullKernel) {
  EXPECT_THAT(missing_options(full_config(), full_machine(), GuestWork::kRuntime),
              testing::IsEmpty());
}

TEST(MissingOptions, EachIsNamedWithWhatNeedsIt) {
  for (const auto& [option, value] : full_config()) {
    KernelConfig config = full_config();
    config[option] = "n";
    const auto missing = missing_options(config, full_machine(), GuestWork::kRuntime);
    EXPECT_THAT(missing, testing::ElementsAre(testing::MatchesRegex(option + "=.* \\(.+\\)")))
        << option;
  }
}

TEST(MissingOptions, OfArm64) {
  KernelConfig config = full_config();
  for (const char* option : {"CONFIG_ACPI", "CONFIG_ACPI_NUMA", "CONFIG_X86_64_ACPI_NUMA",
                             "CONFIG_X86_IOPL_IOPERM", "CONFIG_SERIAL_8250_CONSOLE"}) {
    config[option] = "n";
  }
  VmMachine machine = two_sockets();
  machine.platform.arch = Arch::kArm64;
  const char* const needed[] = {"CONFIG_SERIAL_AMBA_PL011", "CONFIG_SERIAL_AMBA_PL011_CONSOLE",
                                "CONFIG_SERIAL_8250_PCI",   "CONFIG_PCI_HOST_GENERIC",
                                "CONFIG_ARM_PSCI_FW",       "CONFIG_OF_NUMA"};
  EXPECT_EQ(missing_options(config, machine, GuestWork::kPods).size(), std::size(needed));
  for (const char* option : needed) config[option] = "y";
  EXPECT_THAT(missing_options(config, machine, GuestWork::kPods), testing::IsEmpty());
}

TEST(MissingOptions, OnlyWhatTheMachineNeeds) {
  KernelConfig config = full_config();
  for (const char* option :
       {"CONFIG_NUMA", "CONFIG_NODES_SHIFT", "CONFIG_HUGETLBFS", "CONFIG_HOTPLUG_CPU",
        "CONFIG_MEMORY_HOTPLUG", "CONFIG_BLK_DEV_NBD", "CONFIG_MEMCG", "CONFIG_CGROUP_BPF",
        "CONFIG_CPUSETS_V1", "CONFIG_X86_IOPL_IOPERM"}) {
    config.erase(option);
  }
  VmMachine machine;
  machine.nodes = {{CpuSet{0}, 512 * kMiB, {}}};
  EXPECT_THAT(missing_options(config, machine, GuestWork::kPlain), testing::IsEmpty());
  config["CONFIG_NR_CPUS"] = "4";
  EXPECT_THAT(
      missing_options(config, two_sockets(), GuestWork::kPlain),
      testing::ElementsAre("CONFIG_NUMA=y (2 NUMA nodes)", "CONFIG_NODES_SHIFT=1 (2 NUMA nodes)",
                           "CONFIG_NR_CPUS=8 (8 CPUs)"));
}

std::string text_of(const KernelConfig& config) {
  std::string text;
  for (const auto& [option, value] : config) text += option + "=" + value + "\n";
  return text;
}

TEST(PrepareOwnKernel, SaysWhatItsConfigurationLacksBeforeTheBoot) {
  const test::TempDir folder;
  folder.write("vmlinuz", bzimage("6.1.0"));
  folder.write("script", "#!/bin/sh\necho \"$@\" > " + (folder / "arguments") + "\necho " +
                             (folder / "image") + "\n");
  std::filesystem::permissions(folder / "script", std::filesystem::perms::owner_all);
  folder.write("image/vmlinuz", bzimage("6.1.0"));
  folder.write("image/config", text_of(full_config()));
  const auto image =
      prepare_own_kernel(folder / "script", folder / "vmlinuz", two_sockets(), GuestWork::kPods);
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->version, "6.1.0");
  EXPECT_EQ(image->kernel, folder / "image/vmlinuz");
  EXPECT_EQ(read_file(folder / "arguments").value(),
            "--arch amd64 --own image " + (folder / "vmlinuz") + "\n");

  KernelConfig config = full_config();
  config["CONFIG_NUMA"] = "n";
  config.erase("CONFIG_CPUSETS");
  folder.write("image/config", text_of(config));
  const auto lacking =
      prepare_own_kernel(folder / "script", folder / "vmlinuz", two_sockets(), GuestWork::kPods);
  ASSERT_FALSE(lacking);
  EXPECT_EQ(
      lacking.error().message,
      "kernel '" + (folder / "vmlinuz") +
          "': expected CONFIG_CPUSETS=y (control groups), CONFIG_NUMA=y (2 NUMA nodes) in its "
          "configuration; build it with these options");
}

/// Returns the output of a compressing program for these bytes.
std::string packed(const test::TempDir& folder, const char* program, const std::string& bytes) {
  folder.write("plain", bytes);
  const auto done = run_program({program, "-c", folder / "plain"}, Milliseconds(20000));
  return done && done->exit_status == 0 ? done->output : "";
}

/// Returns a kernel whose configuration is in its image, where CONFIG_IKCONFIG=y puts it, among
/// compressible bytes, so that it is not found in the compressed kernel.
std::string kernel_with(const test::TempDir& folder, const std::string& config) {
  return std::string(20000, 'c') + "IKCFG_ST" + packed(folder, "gzip", config) +
         "IKCFG_ED more code";
}

/// Returns a bzImage with a compressed kernel followed by its size, as in real ones.
std::string bzimage_with(const std::string& payload) {
  std::string bytes = bzimage("6.1.0");
  bytes[0x1f1] = 3;                              // sectors after the first
  bytes.replace(0x248, 4, "\x00\x02\x00\x00"s);  // its offset, 0x200, from the fourth sector on
  const std::size_t length = payload.size() + 4;
  for (unsigned i = 0; i < 4; ++i) bytes[0x24c + i] = static_cast<char>(length >> (8 * i));
  bytes.resize(0xa00);
  return bytes + payload + "\x10\x20\x00\x00"s + "relocations";
}

TEST(EmbeddedConfig, OfABzimageHoweverItIsCompressed) {
  const test::TempDir folder;
  const std::string kernel = kernel_with(folder, "CONFIG_NUMA=y\n");
  for (const char* program : {"gzip", "xz", "bzip2"}) {
    EXPECT_EQ(embedded_config(bzimage_with(packed(folder, program, kernel))), "CONFIG_NUMA=y\n")
        << program;
  }
}

TEST(EmbeddedConfig, OfAnUncompressedImage) {
  const test::TempDir folder;
  EXPECT_EQ(embedded_config(kernel_with(folder, "CONFIG_NUMA=y\n")), "CONFIG_NUMA=y\n");
}

TEST(EmbeddedConfig, NoneInOtherBytes) {
  const test::TempDir folder;
  EXPECT_EQ(embedded_config(""), "");
  EXPECT_EQ(embedded_config(bzimage("6.1.0")), "");
  EXPECT_EQ(embedded_config(bzimage_with("no compressed kernel")), "");
  EXPECT_EQ(embedded_config(bzimage_with(packed(folder, "xz", "a kernel without one"))), "");
  std::string beyond = bzimage_with(packed(folder, "xz", kernel_with(folder, "CONFIG_NUMA=y\n")));
  beyond[0x24b] = '\x7f';  // an offset beyond the end
  EXPECT_EQ(embedded_config(beyond), "");
}

TEST(PrepareOwnKernel, ReadsTheConfigurationInTheImageOnce) {
  const test::TempDir folder;
  KernelConfig config = full_config();
  config["CONFIG_NUMA"] = "n";
  const std::string image =
      bzimage_with(packed(folder, "xz", kernel_with(folder, text_of(config))));
  folder.write("vmlinuz", image);
  folder.write("script", "#!/bin/sh\necho " + (folder / "image") + "\n");
  std::filesystem::permissions(folder / "script", std::filesystem::perms::owner_all);
  folder.write("image/vmlinuz", image);
  const auto prepared = [&] {
    return prepare_own_kernel(folder / "script", folder / "vmlinuz", two_sockets(),
                              GuestWork::kPlain);
  };
  const auto lacking = prepared();
  ASSERT_FALSE(lacking);
  EXPECT_THAT(lacking.error().message, testing::HasSubstr("CONFIG_NUMA=y (2 NUMA nodes)"));
  EXPECT_EQ(read_file(folder / "image/config").value(), text_of(config));

  folder.write("image/config", "");  // neither next to the image nor in it
  const auto unchecked = prepared();
  ASSERT_TRUE(unchecked) << unchecked.error().message;
  EXPECT_TRUE(unchecked->unchecked);
  folder.write("image/config", text_of(full_config()));
  EXPECT_FALSE(prepared()->unchecked);
}

/// The image of a Debian kernel that the harness has unpacked before, "" if there is none.
std::filesystem::path unpacked_kernel() {
  const auto file = cache_folder() / "images/debian-6.1/vmlinuz";
  std::error_code failed;
  return std::filesystem::exists(file, failed) ? file : "";
}

TEST(RecogniseKernel, KnowsTheKernelOfTheCache) {
  const auto file = unpacked_kernel();
  if (file.empty()) GTEST_SKIP() << "no kernel in '" << cache_folder().string() << "'";
  EXPECT_EQ(recognise_kernel(file).value(), KernelKind::kImage);
  const auto bytes = read_file(file, std::size_t{1} << 28U);
  ASSERT_TRUE(bytes);
  EXPECT_THAT(version_of_image(*bytes), testing::StartsWith("6.1."));
}

}  // namespace
}  // namespace pinfold::harness
