// A command in stages, as its result tells it: what each takes, its share, how much it does, and what making it twice
// as fast would gain. Part of "warpmark.results/1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/fields/names.h"
#include "model/metric.h"

namespace warpmark {

/// Of a stage's time among a run's metrics: "stage.train".
inline constexpr std::string_view kStagePrefix = "stage.";
/// Notes of a run with stages: items and limits, by stage or ("") of all: "items.train", "limit_s.".
inline constexpr std::string_view kStageItems = "items.";
inline constexpr std::string_view kStageLimit = "limit_s.";

enum class LimitState { none, met, missed, undecided };  ///< undecided: the interval lies on both sides
inline constexpr Name kLimitStateNames[] = {
    {LimitState::met, "met"}, {LimitState::missed, "missed"}, {LimitState::undecided, "undecided"}};
constexpr Names names_of(LimitState) { return kLimitStateNames; }

struct Stage {
  std::string name;
  double seconds = 0;
  std::optional<Interval> interval;
  double share = 0;
  double items = 0;  ///< that a run processes; 0: not told
  double gain_doubled = 1;
  double limit_s = 0;  ///< 0: none
  LimitState limit = LimitState::none;
};

struct StagedRun {
  std::int64_t run = 0;  ///< Run::index
  Stage all;             ///< the whole; its gain is that of doubling everything
  std::vector<Stage> stages;
  double outside = 0;
};

/// Runs of one command at several sizes: what is paid whatever the size, and what each item costs.
struct SizeFit {
  struct Size {
    double items = 0;
    double seconds = 0;
    double fixed_share = 0;
    bool too_small = false;
    std::int64_t run = 0;
  };
  std::string parameter;
  std::vector<Size> sizes;
  double fixed_s = 0;
  Interval fixed_interval;
  double per_item_s = 0;
  Interval per_item_interval;
  bool straight = true;
};

}  // namespace warpmark
