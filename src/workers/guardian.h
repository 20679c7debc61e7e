// Ends what programs of ours left behind, also where we are killed ourselves, as by kill -9, and can end nothing any
// more.
//
// A shell waits at a pipe whose other end only we hold. When that closes, it ends every process that has the given
// variable in its environment: also those that left their process group or session, as ranks and daemons do.
#pragma once

#include <sys/types.h>

#include <string>

namespace warpmark::workers {

class Guardian {
 public:
  /// `variable`: NAME=VALUE that all processes of the programs inherit, and no other has. Where no shell can be started
  /// there is no guardian.
  explicit Guardian(const std::string& variable);
  /// Ends what is left now, and waits for that.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  [[nodiscard]] bool watches() const { return shell_ > 0; }

 private:
  pid_t shell_ = -1;
  int pipe_ = -1;
};

}  // namespace warpmark::workers
