// Starts a program whose whole tree of processes ends with us, however we end: also by SIGKILL or a closed terminal.
//
// Between us and the program stands a process of ours, the reaper. It adopts every descendant that loses its parent
// (PR_SET_CHILD_SUBREAPER, prctl(2)), also those that left their process group or session or cleared their environment.
// It waits at a pipe whose other end only we hold. When that closes, it kills what is left.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark {

/// How a program ended.
struct ProcessEnding {
  int exit_code = 0;                   ///< 128 + signal number if a signal ended it
  double wall_s = 0;                   ///< from its start until it ended
  double cpu_s = 0;                    ///< user and system time of it and of the descendants it waited for
  std::int64_t peak_memory_bytes = 0;  ///< largest resident set of any of them
};

struct ReapedOptions {
  /// Our descriptors and the numbers they get in the program, in this order. The others are inherited unless they are
  /// close-on-exec.
  std::vector<std::pair<int, int>> descriptors{};
  std::string directory{};                                         ///< working directory; empty keeps ours
  std::vector<std::pair<std::string, std::string>> environment{};  ///< set or replaced in our environment
  /// In a process group of its own, without a terminal: Ctrl-C is not for it, and what it leaves behind is killed when
  /// it ends. Otherwise it is in our process group and may use our terminal, and what it leaves behind is left alone,
  /// unless we sent it a signal or were interrupted.
  bool own_group = true;
  const std::atomic<bool>* interrupted = nullptr;  ///< of us, as by Ctrl-C; outlives the program
  /// Above 0: who is ended early first gets SIGTERM, and this long to end what it started.
  double grace_s = 0;
};

/// One started program. Movable; ends it, and all it started, when destroyed. One thread at a time.
class Reaped {
 public:
  /// `words` are found on PATH. Environment error if it cannot be started.
  [[nodiscard]] static Result<Reaped> start(const std::vector<std::string>& words, const ReapedOptions& options);
  Reaped(Reaped&& other) noexcept;
  Reaped& operator=(Reaped&& other) noexcept;
  ~Reaped();

  [[nodiscard]] pid_t id() const { return id_; }
  /// Readable once the program has ended, for poll(2).
  [[nodiscard]] int ended_descriptor() const { return channel_; }
  /// How it ended, once it has, and all of it that is not left alone.
  [[nodiscard]] std::optional<ProcessEnding> poll();
  void send(int signal);
  /// Ends it and all it started, and waits for that.
  void end();

 private:
  Reaped() = default;
  void command(char command) const;
  pid_t id_ = -1;
  pid_t reaper_ = -1;
  int channel_ = -1;
  bool may_leave_ = false;
  const std::atomic<bool>* interrupted_ = nullptr;
  std::optional<ProcessEnding> ending_;
};

}  // namespace warpmark
