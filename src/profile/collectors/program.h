// Starts the program that is to be recorded, untouched but for its environment: it keeps our terminal, standard input
// and output, and working directory.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark::profile {

/// Not copied; ends nothing when it is destroyed.
class Program {
 public:
  /// `words` are found on PATH. Environment error if it cannot be started.
  [[nodiscard]] static Result<Program> start(const std::vector<std::string>& words,
                                             const std::vector<std::pair<std::string, std::string>>& environment);

  /// The exit code once it has ended (128 + signal number if a signal ended it); nothing before.
  [[nodiscard]] std::optional<int> poll();
  void send(int signal) const;
  [[nodiscard]] pid_t id() const { return id_; }

 private:
  explicit Program(pid_t id) : id_(id) {}
  pid_t id_;
};

}  // namespace warpmark::profile
