// A Finding is one bottleneck: what is wrong, the numbers that show it, what to do, and what that would gain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warpmark {

/// A number that supports a finding.
struct Fact {
  std::string text;             ///< complete sentence or label with the number in it, as a person reads it
  std::string id;               ///< "data_loader_time_per_step"; stable, for programs
  std::optional<double> value;  ///< in `unit`
  std::string unit;             ///< SI without prefix; "" for ratios and counts
};

/// An event that shows the finding, for the timeline.
struct EventReference {
  int rank = 0;  ///< index into ProfileSession::ranks
  std::uint32_t event = 0;
  std::string name;
  std::int64_t start_ns = 0;  ///< since the timeline's origin
  std::int64_t duration_ns = 0;
};

enum class AdviceKind { code, config, environment, command, measure };

/// Speed-up factor (1.0 is none) if the cause is removed: of the step, or of the samples a second where the fix makes
/// the step itself larger.
struct Gain {
  double low = 1;
  double high = 1;
  std::string method;  ///< how it was estimated
  bool per_sample = false;
  bool unknown = false;  ///< the recording does not show it: low and high are 1
};

/// Concrete enough to paste.
struct Recommendation {
  AdviceKind kind = AdviceKind::code;
  std::string text;          ///< what to do and why, one or two sentences
  std::string snippet;       ///< the line of code, key, variable or command; may be empty
  std::string id;            ///< "cuda_graph": stable, for programs; only where `gain` is known
  std::optional<Gain> gain;  ///< of this recommendation alone, where it differs from the finding's
};

inline constexpr double kCritical = 0.7;  ///< above
inline constexpr double kWarning = 0.4;   ///< from

struct Finding {
  std::string rule;          ///< id of the rule: an interface
  std::string kind;          ///< kernel_efficiency, memory_bandwidth, data_loading, cpu_gpu_sync, multi_gpu_comm, ...
  double severity = 0;       ///< 0..1: above 0.7 critical, from 0.4 warning, below a note
  std::string title;         ///< one line
  std::int64_t lost_ns = 0;  ///< time a step that only this finding is attributed for
  std::vector<Fact> evidence;
  std::vector<EventReference> events;
  std::vector<Recommendation> recommendations;
  Gain gain;  ///< of the first recommendation
};

[[nodiscard]] const char* severity_name(double severity);  ///< "critical", "warning", "note"

}  // namespace warpmark
