// kubelet_tree_files DIR: writes the files of a node with a kubelet to DIR, where a container of
// the shared pool can run on another one's exclusive CPU 2.
#include <filesystem>

#include "kubelet_tree.hpp"

// NOLINTNEXTLINE(bugprone-exception-escape): a file that cannot be written fails the test
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const pinfold::test::KubeletTree tree;
  tree.write_group(tree.log(), "0-2,6-7", "0-1", {1003});
  std::filesystem::copy(
      tree.path(), argv[1],
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
}
