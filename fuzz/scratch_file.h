// A file with given bytes, in a folder of this process: for readers that take a path. Not synced, which would take
// longer than reading it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace warpmark::fuzz {

inline std::filesystem::path file_with(std::string_view name, std::string_view bytes) {
  static const auto folder = ScratchFolder::make("fuzz");
  WM_CHECK(folder.ok());
  auto path = folder->path() / name;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  WM_CHECK(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::close(file);
  return path;
}

}  // namespace warpmark::fuzz
