// What is being measured right now, for those who watch: a small file for each session in `running/` beside the
// database, held by a lock as long as its session measures, so that one left behind by kill -9 is known as such. It is
// written between measurements and never synced: it is worth nothing after a crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::store {

struct RunningSession {
  std::string session;
  std::string started;  ///< UTC
  std::string hostname;
  std::string phase;      ///< what it measures: "gemm m=1024 cold, round 2 of 3"
  std::int64_t done = 0;  ///< rounds of cases
  std::int64_t of = 0;
  double left_s = 0;       ///< estimate; 0: unknown
  std::string updated_at;  ///< UTC
};

/// Removed when it is destroyed. One thread.
class RunningMark {
 public:
  /// `folder`: that of the database. Environment error if it cannot be written.
  [[nodiscard]] static Result<RunningMark> make(const std::filesystem::path& folder, RunningSession session);
  RunningMark(RunningMark&& other) noexcept;
  RunningMark& operator=(RunningMark&&) = delete;
  RunningMark(const RunningMark&) = delete;
  RunningMark& operator=(const RunningMark&) = delete;
  ~RunningMark();

  /// How far it is; a disk that is full leaves the mark as it was.
  void update(const std::string& phase, std::int64_t done, std::int64_t of, double left_s);

 private:
  RunningMark(std::filesystem::path path, int file, RunningSession session);
  std::filesystem::path path_;
  int file_ = -1;
  RunningSession session_;
};

/// Sessions of this machine that measure now, by their ids; at most 100. Empty where there is no such folder.
[[nodiscard]] std::vector<RunningSession> running_sessions(const std::filesystem::path& folder);

}  // namespace warpmark::store
