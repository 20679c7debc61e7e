// What has been answered already, by the hash of the request: a file that is only appended to, so that a killed run
// loses at most the answers under way, and asks nothing twice.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/lines/line_file.h"
#include "base/result.h"
#include "evaluate/models/model.h"

namespace warpmark::evaluate {

class Journal {
 public:
  /// Reads what is there; a last line that was cut off by a crash is dropped. Data error for other damage, environment
  /// error if the file cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open(const std::filesystem::path& path);

  /// Any thread.
  [[nodiscard]] const Reply* find(const std::string& hash) const;
  /// On disk when it returns. Any thread.
  [[nodiscard]] Status append(const std::string& hash, const Reply& reply);
  [[nodiscard]] std::size_t size() const;

 private:
  explicit Journal(LineFile file) : file_(std::move(file)) {}
  mutable std::mutex mutex_;
  std::map<std::string, Reply> replies_;  ///< a map: addresses stay
  LineFile file_;
};

}  // namespace warpmark::evaluate
