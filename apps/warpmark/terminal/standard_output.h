// "-" as a file: standard output, for what a verb writes besides its text.
#pragma once

#include <filesystem>
#include <ostream>
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

}  // namespace warpmark::apps
