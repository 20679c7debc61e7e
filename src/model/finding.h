// A Finding is one bottleneck: what is wrong, the numbers that show it, what to do, and what that would gain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/fields/names.h"

namespace warpmark {

/// A number that supports a finding.
struct Fact {
  std::string text;  ///< complete sentence or label with the number in it, as a person reads it
  std::string id;
  std::optional<double> value;  ///< in `unit`
  std::string unit;
};

/// An event that shows the finding, for the timeline.
struct EventReference {
  int rank = 0;  ///< index into ProfileSession::ranks
  std::uint32_t event = 0;
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

enum class AdviceKind { code, config, environment, command, measure };
inline constexpr auto kAdviceKindNames =
    in_order(AdviceKind::measure, "code", "config", "environment", "command", "measure");
constexpr Names names_of(AdviceKind) { return kAdviceKindNames; }

/// Speedup factor (1.0 is none) if the cause is removed: of the step, or of the samples a second where the fix makes
/// the step itself larger.
struct Gain {
  double low = 1;
  double high = 1;
  std::string method;
  bool per_sample = false;
  bool unknown = false;
};

/// Concrete enough to paste.
struct Recommendation {
  AdviceKind kind = AdviceKind::code;
  std::string text;  ///< what to do and why, one or two sentences
  std::string snippet;
  std::string id;  ///< "cuda_graph": stable, for programs; only where `gain` is known
  std::optional<Gain> gain;
};

inline constexpr double kCritical = 0.7;  ///< above
inline constexpr double kWarning = 0.4;   ///< from

struct Finding {
  std::string rule;     ///< id of the rule: an interface
  std::string kind;     ///< kernel_efficiency, memory_bandwidth, data_loading, cpu_gpu_sync, multi_gpu_comm, ...
  double severity = 0;  ///< 0..1: above 0.7 critical, from 0.4 warning, below a note
  std::string title;
  std::int64_t lost_ns = 0;  ///< time a step that only this finding is attributed for
  std::vector<Fact> evidence;
  std::vector<EventReference> events;
  std::vector<Recommendation> recommendations;
  Gain gain;
};

[[nodiscard]] const char* severity_name(double severity);  ///< "critical", "warning", "note"

}  // namespace warpmark
