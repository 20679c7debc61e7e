// When to record. The program runs untouched until it is warm: its steps repeat, or a time has passed. Then its
// launches are counted without recording, with it, and without again; and `probes` times more with and without, for
// which the records are thrown away. The rates of launches in neighbouring windows tell what the recording itself
// costs. What was recorded before the steps repeated, or of something that soon gave way to other steps, was start-up:
// it is recorded anew. So is, later, a program whose steps are not found. Pure: the clock and the counters are
// arguments.
#pragma once

#include <cstdint>
#include <vector>

namespace warpmark::profile::module {

enum class Phase { waiting, plain, recording, probing, done };

struct ScheduleOptions {
  double delay_s = -1;              ///< until the program is taken for warm; negative: until its steps repeat
  double duration_s = 2;            ///< of recording; 0 records until the program ends and does not count beside it
  std::int64_t warmup_steps = 0;    ///< instead of delay_s, if steps are found; 0 is not asked for
  std::int64_t recorded_steps = 0;  ///< instead of duration_s, if steps are found; 0 is not asked for
  bool captures = false;            ///< instead of all these: from when the program marks its part until it ends
  int probes = 4;                   ///< further recorded windows, whose records are thrown away
};

inline constexpr std::int64_t kNamedSteps = -1;

/// How far the program is.
struct Progress {
  double elapsed_s = 0;            ///< since the first CUDA call
  std::int64_t launches = 0;       ///< seen while they were counted
  std::int64_t step_launches = 0;  ///< of one step; 0 while unknown
  std::int64_t steps = 0;          ///< seen while they were counted
  double step_s = 0;               ///< median time of a step since window_begin_s(); 0 if unknown
  bool part_begun = false;         ///< that the program marks
  bool part_ended = false;
  std::int64_t maybe_step = 0;  ///< as step_launches, not confirmed yet; kNamedSteps if the program names its steps
};

/// How much slower the program ran while it was recorded: 0.1 is 10 %. CUPTI, once used, leaves a program a little
/// slower than before even while it records nothing: that is told by the windows around the first recorded one, where
/// the first of all is long, and added to what the others differ by from their neighbours.
struct Inflation {
  double typical = -1;            ///< by the median of the recorded windows; negative if it cannot be told
  double low = -1;                ///< of the window that was slowed least, as if nothing stayed
  double high = -1;               ///< of the window that was slowed most
  double residual = 0;            ///< what stays between the recorded windows, and after them
  bool residual_assumed = false;  ///< it could not be measured: no window was both steady and untouched
  int windows = 0;                ///< recorded ones that could be compared
};

class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options);

  /// Moves on if it is time. True if the phase is a new one.
  bool advance(const Progress& now);
  /// The window begins now: switching the recording on or off took its time.
  void restart_window(const Progress& now);
  [[nodiscard]] Phase phase() const { return windows_[at_].phase; }
  [[nodiscard]] double window_begin_s() const { return windows_[at_].begin.elapsed_s; }
  /// Launches have to be counted although nothing is recorded yet.
  [[nodiscard]] bool counts_steps() const { return !options_.captures && (options_.warmup_steps > 0 || is_adaptive()); }
  /// How often what was recorded turned out to be start-up, and is to be thrown away.
  [[nodiscard]] int repeated() const { return repeated_; }
  /// Steps were asked for and not found.
  [[nodiscard]] bool steps_missed() const { return steps_missed_; }

  /// Launches a second of the first window of this phase; 0 if it was too short to tell.
  [[nodiscard]] double rate(Phase phase) const;
  [[nodiscard]] Inflation inflation() const;

 private:
  struct Window {
    Phase phase = Phase::waiting;
    Progress begin;
    Progress end;
  };
  [[nodiscard]] bool is_adaptive() const {
    return options_.delay_s < 0 && options_.warmup_steps <= 0 && !options_.captures;
  }
  [[nodiscard]] bool is_over(const Window& window) const;
  [[nodiscard]] bool is_warm(const Window& waiting) const;
  void lay_out_windows();
  void note_steps(const Progress& now);
  void wait_for_launches(const Progress& now);
  [[nodiscard]] bool is_before_another() const;
  void move_to(std::size_t at, const Progress& now);
  [[nodiscard]] bool were_other_steps() const;
  [[nodiscard]] bool recorded_start_up(const Progress& now) const;
  [[nodiscard]] double length_of(const Window& window) const;
  [[nodiscard]] static double rate(const Window& window);
  [[nodiscard]] static double slowdown(const Window& slow, const Window& fast);

  ScheduleOptions options_;
  std::vector<Window> windows_;
  std::size_t at_ = 0;
  bool steps_missed_ = false;
  std::int64_t launches_ = 0;  ///< at noted_s_
  bool launched_ = false;      ///< since it was noted the time before
  double noted_s_ = 0;
  double last_launch_s_ = 0;
  double launching_s_ = 0;       ///< since the first launch, without what is silent for long
  Progress steady_;              ///< when the steps that repeat now were first seen
  Progress recorded_steady_;     ///< the same of what was recorded; its step_launches are 0 if no steps were known
  double recorded_after_s_ = 0;  ///< of launching
  int repeated_ = 0;             ///< recordings that were thrown away
};

}  // namespace warpmark::profile::module
