// Standard output and standard error.
#pragma once

#include <filesystem>
#include <ostream>
#include <streambuf>
#include <string>

#include "base/options.h"
#include "base/result.h"

namespace warpmark::apps {

/// While it lives, --json or --html given as "-" go to a file of its own, which print() copies to standard output. The
/// verb's text has no place there then.
class StandardOutput {
 public:
  /// Usage error where both are "-". Environment error if there is no place for a temporary file.
  [[nodiscard]] static Result<StandardOutput> redirect(ParsedOptions& options);

  StandardOutput(StandardOutput&& other) noexcept;
  StandardOutput& operator=(StandardOutput&&) = delete;
  ~StandardOutput();

  [[nodiscard]] bool redirects() const { return !folder_.empty(); }
  [[nodiscard]] Status print(std::ostream& out) const;

 private:
  StandardOutput() = default;

  std::filesystem::path folder_;  ///< empty if nothing is redirected
};

// What is said to people on standard error: names of files, messages of servers and output of programs are in it, and
// none of them may move the cursor of a terminal or set its title.

/// Passes text on as report::without_controls() leaves it. To a terminal also a carriage return and the sequences that
/// our own progress lines use: colours, clearing a line or what is below, and moving up.
class SafeBuffer : public std::streambuf {
 public:
  SafeBuffer(std::streambuf& to, bool is_terminal) : to_(to), is_terminal_(is_terminal) {}
  ~SafeBuffer() override { finish(); }
  SafeBuffer(const SafeBuffer&) = delete;
  SafeBuffer& operator=(const SafeBuffer&) = delete;

 private:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  void finish();
  [[nodiscard]] std::string shown(std::string_view text) const;
  [[nodiscard]] bool write(const std::string& text);

  std::streambuf& to_;
  bool is_terminal_;
  std::string waiting_;  ///< what may be the begin of a character or sequence
};

}  // namespace warpmark::apps
