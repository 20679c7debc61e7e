// Signals and crashes. The first SIGINT, SIGTERM, SIGHUP (a closed terminal) or SIGQUIT asks the session to stop; what
// has been measured is kept. If the work in progress does not come back within a second, the program ends all the same:
// results are committed as they finish, and the folders of base/files.h that were for the time being are removed.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

namespace warpmark::apps {

/// Set by these signals once handle_interrupts() was called.
[[nodiscard]] std::atomic<bool>& interrupt_flag();

/// How often such a signal came.
[[nodiscard]] std::atomic<int>& interrupt_count();
/// The terminal sent the last one (Ctrl-C): every program of its foreground group got it as well.
[[nodiscard]] bool interrupt_from_terminal();

/// Installs the handlers and a watchdog thread. Call once, from main.
void handle_interrupts();

/// How long after the signal the work in progress may take to come back, instead of 0.9 s: for verbs that have
/// something to clean up. Also where the signal has come already.
void set_grace(double seconds);

/// Files that are removed if a signal ends the program while this lives, such as those that are half written:
/// base/files.h names them by temporary_for. One at a time.
class RemovedIfInterrupted {
 public:
  explicit RemovedIfInterrupted(std::vector<std::filesystem::path> files);
  ~RemovedIfInterrupted();
  RemovedIfInterrupted(const RemovedIfInterrupted&) = delete;
  RemovedIfInterrupted& operator=(const RemovedIfInterrupted&) = delete;

 private:
  std::vector<std::filesystem::path> files_;
};

/// What is printed if a signal or a crash ends the program from now on; empty for nothing. At most 500 bytes. The text
/// is used from signal handlers. Main thread only.
void set_crash_messages(const std::string& on_interrupt, const std::string& on_crash);

}  // namespace warpmark::apps
