// How many steps a program has made: by the ranges that it names itself, else by the kernels that it launches again and
// again.
#pragma once

#include <cstdint>

#include "profile/module/launch_history.h"
#include "profile/module/schedule.h"

namespace warpmark::profile::module {

/// Not thread safe.
class StepFinder {
 public:
  /// `named_steps` have ended so far, by ranges; 0 if the program names none. `now_ns` is any clock's. Looking for the
  /// steps costs up to a few milliseconds, so it is done now and then, and never while `busy`.
  void look(std::int64_t now_ns, const LaunchHistory& history, std::int64_t named_steps, bool busy);
  /// Without the time.
  [[nodiscard]] Progress progress() const;
  /// "ranges", "kernels", or "" while nothing was found.
  [[nodiscard]] const char* found_by() const;

 private:
  [[nodiscard]] bool is_known() const;

  [[nodiscard]] static std::int64_t search(std::int64_t now_ns, const LaunchHistory& history);

  std::int64_t launches_ = 0;
  std::int64_t searched_ns_ = 0;
  std::int64_t searched_launches_ = 0;  ///< by then
  std::int64_t pause_ns_ = 0;           ///< until the next search
  std::int64_t step_launches_ = 0;      ///< by the kernels; 0 while unknown
  int confirmed_ = 0;                   ///< searches in a row that found it anew: start-up repeats things as well
  std::int64_t known_at_ = 0;           ///< launches when it was found
  std::int64_t named_steps_ = 0;
  std::int64_t first_named_ = 0;     ///< named steps when the first were seen ...
  std::int64_t first_launches_ = 0;  ///< ... and launches by then
};

}  // namespace warpmark::profile::module
