// When to record. The program runs untouched until `delay_s` after its first CUDA call; then its launches are counted
// without recording, with recording, and without again. The rates of launches tell what the recording itself costs.
// Pure: the clock and the counter are arguments.
#pragma once

#include <cstdint>

namespace warpmark::profile::module {

enum class Phase { waiting, before, recording, after, done };

struct ScheduleOptions {
  double delay_s = 5;
  double duration_s = 2;  ///< of recording; 0 records until the program ends and does not count beside it
};

class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options) : options_(options) {}

  /// Moves on if it is time. `elapsed_s` is since the first CUDA call, `launches` the count so far.
  Phase advance(double elapsed_s, std::int64_t launches);
  [[nodiscard]] Phase phase() const { return phase_; }

  /// Launches a second in a phase; 0 if it was too short to tell.
  [[nodiscard]] double rate(Phase phase) const;
  /// How much slower the program ran while it was recorded: 0.1 is 10 %. Negative if it cannot be told.
  [[nodiscard]] double inflation() const;

 private:
  struct Window {
    double begin_s = 0, end_s = 0;
    std::int64_t begin_launches = 0, end_launches = 0;
  };
  [[nodiscard]] double length_of(Phase phase) const;

  ScheduleOptions options_;
  Phase phase_ = Phase::waiting;
  Window windows_[5];
};

}  // namespace warpmark::profile::module
