// A command in stages, as its result tells it: what each takes, its share, how much it does, and what making it twice
// as fast would gain. Part of "warpmark.results/1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "model/metric.h"

namespace warpmark {

/// Of a stage's time among a run's metrics: "stage.train".
inline constexpr std::string_view kStagePrefix = "stage.";
/// Notes of a run with stages: items and limits, by stage or ("") of all: "items.train", "limit_s.".
inline constexpr std::string_view kStageItems = "items.";
inline constexpr std::string_view kStageLimit = "limit_s.";

enum class LimitState { none, met, missed, undecided };  ///< undecided: the interval lies on both sides
[[nodiscard]] const char* name_of(LimitState state);

struct Stage {
  std::string name;
  double seconds = 0;  ///< median
  std::optional<Interval> interval;
  double share = 0;         ///< of all
  double items = 0;         ///< that a run processes; 0: not told
  double gain_doubled = 1;  ///< speed-up of the whole if this stage were twice as fast (Amdahl, AFIPS 30, 1967)
  double limit_s = 0;       ///< 0: none
  LimitState limit = LimitState::none;
};

struct StagedRun {
  std::int64_t run = 0;  ///< Run::index
  Stage all;             ///< the whole; its gain is that of doubling everything
  std::vector<Stage> stages;
  double outside = 0;  ///< share of the whole that no stage has
};

[[nodiscard]] Json to_json(const std::vector<StagedRun>& runs);

/// Runs of one command at several sizes: what is paid whatever the size, and what each item costs.
struct SizeFit {
  struct Size {
    double items = 0;
    double seconds = 0;      ///< median
    double fixed_share = 0;  ///< of its time
    bool too_small = false;  ///< most of it is the fixed cost: it tells little about the work
    std::int64_t run = 0;
  };
  std::string parameter;
  std::vector<Size> sizes;  ///< the smallest first
  double fixed_s = 0;
  Interval fixed_interval;
  double per_item_s = 0;
  Interval per_item_interval;
  bool straight = true;  ///< a line tells the times; else the figures are to be taken with care
};

[[nodiscard]] Json to_json(const std::vector<SizeFit>& fits);

}  // namespace warpmark
