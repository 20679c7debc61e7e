// A file of lines that only grows. A line is on the disk when append returns, so whatever ends the process loses the
// line under way at most, and that one does not damage the file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"

namespace warpmark {

/// Takes the first line off the text; without its line feed, which the last one may lack.
[[nodiscard]] inline std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// Calls use(line, place) for each line that is not blank, until one returns an error. `place` is "FILE line 7", from 1
/// and with blank lines counted.
template <typename Use>
[[nodiscard]] Status each_filled_line(std::string_view text, std::string_view file, Use use) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (!trim(line).empty()) WM_TRY(use(line, std::string(file) + " line " + std::to_string(number)));
  }
  return {};
}

/// Environment errors of all of it name the file and what failed; the hint is the caller's to add. One thread at a
/// time.
class LineFile {
 public:
  /// Opens or creates; the folder must be there.
  [[nodiscard]] static Result<LineFile> open(const std::filesystem::path& path);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&&) = delete;
  ~LineFile();

  /// Whether this process has the file for itself now; the kernel ends that with the process.
  [[nodiscard]] bool hold();
  /// The whole lines. A last one that was cut off is dropped, from the file too.
  [[nodiscard]] Result<std::string> read(std::int64_t cap_bytes = 1 << 30);
  /// `line` has no line feed.
  [[nodiscard]] Status append(std::string_view line);
  /// Forgets what follows the first so many bytes.
  [[nodiscard]] Status shorten(std::size_t bytes);
  /// Bytes of the lines that were read, left and appended.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  LineFile(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}

  std::filesystem::path path_;
  int file_;
  std::size_t size_ = 0;
};

}  // namespace warpmark
