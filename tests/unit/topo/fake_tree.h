// SPDX-License-Identifier: Apache-2.0
#pragma once
// A made-up copy of /sys and /proc in a scratch folder.

#include "lib/topo/load_machine.h"
#include "tests/unit/scratch.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace distinit {

class FakeTree {
 public:
  explicit FakeTree(const std::string& name) : root_(make_scratch_folder(name)) {}
  ~FakeTree() { std::filesystem::remove_all(root_); }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;

  SystemRoots roots() const { return {root_ + "/sys", root_ + "/proc"}; }
  std::string path(const std::string& below) const { return root_ + "/" + below; }

  void file(const std::string& below, const std::string& content) const {
    folder(std::filesystem::path(below).parent_path());
    std::ofstream(path(below)) << content;
  }
  void folder(const std::string& below) const { std::filesystem::create_directories(path(below)); }
  /// `target` as it stands, relative to the link's folder.
  void link(const std::string& below, const std::string& target) const {
    folder(std::filesystem::path(below).parent_path());
    std::filesystem::create_symlink(target, path(below));
  }

 private:
  std::string root_;
};

}  // namespace distinit
