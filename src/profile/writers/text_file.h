// A large text file that is written piece by piece and appears under its name only when it is whole.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"

namespace warpmark::profile {

class TextFile {
 public:
  [[nodiscard]] static Result<TextFile> create(const std::filesystem::path& path);
  TextFile(TextFile&&) = default;
  TextFile& operator=(TextFile&&) = delete;
  /// Removes what is not finished.
  ~TextFile();

  /// Append to this; call flush_if_large() now and then.
  std::string text;
  [[nodiscard]] Status flush_if_large();
  [[nodiscard]] Status finish();

 private:
  TextFile() = default;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[nodiscard]] Status flush();
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace warpmark::profile
