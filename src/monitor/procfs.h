// Processes and processors as /proc shows them (proc(5)), read with few system calls: a machine may run thousands of
// processes, and looking at them must not be work worth mentioning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpmark::monitor {

/// Clock ticks since boot.
struct CpuTicks {
  std::int64_t busy = 0;
  std::int64_t all = 0;
};

/// Of all CPUs together, then of each.
[[nodiscard]] std::vector<CpuTicks> parse_cpu_ticks(std::string_view proc_stat);

struct ProcessTicks {
  std::int64_t id = 0;
  std::string name;  ///< at most 15 bytes, as the kernel keeps it
  std::int64_t parent = 0;
  std::int64_t ticks = 0;  ///< user and system time
  std::int64_t threads = 0;
  std::int64_t started = 0;  ///< ticks since boot: tells apart two processes that bore one number
  std::int64_t resident_pages = 0;
};

/// Nothing if the text is not what proc(5) says.
[[nodiscard]] std::optional<ProcessTicks> parse_process(std::string_view proc_pid_stat);

/// Not thread safe.
class ProcFolder {
 public:
  /// `root` is that of /proc: "/" but in tests.
  explicit ProcFolder(const std::filesystem::path& root);
  ~ProcFolder();
  ProcFolder(const ProcFolder&) = delete;
  ProcFolder& operator=(const ProcFolder&) = delete;

  /// The text of a file below /proc, at most 64 KiB of it; empty if it cannot be read. Valid until the next call.
  [[nodiscard]] std::string_view read(const char* path);
  /// All processes but the kernel's own threads.
  [[nodiscard]] std::vector<ProcessTicks> processes();
  /// The command with its arguments, blanks between them, without control characters, at most 256 bytes; its name in
  /// brackets if it hides them.
  [[nodiscard]] std::string command(std::int64_t process, const std::string& name);

 private:
  std::filesystem::path path_;
  int folder_ = -1;
  std::string buffer_;
};

}  // namespace warpmark::monitor
