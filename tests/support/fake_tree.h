// A small folder tree that stands in for "/", removed with the object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/result.h"

namespace warpmark::test {

class FakeTree {
 public:
  FakeTree() {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark_tree_XXXXXX").string();
    WM_CHECK(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;
  ~FakeTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  /// `path` is relative: "proc/stat".
  FakeTree& file(std::string_view path, std::string_view text) {
    const auto full = root_ / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
    return *this;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace warpmark::test
