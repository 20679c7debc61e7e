// Results of the same workloads on several nodes set against each other, and which node is slow. JSON:
// "warpmark.across/1" (docs/schema/across.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "model/fields/names.h"
#include "model/machine.h"
#include "model/metric.h"

namespace warpmark {

inline constexpr const char* kAcrossSchema = "warpmark.across/1";

enum class NodeState {
  normal,      ///< no difference that matters, or none that is certain and not even suspected
  slow,        ///< certainly slower than the others, by more than the effect that matters
  undecided,   ///< as far off as would matter, but the others differ too much, or are too few, to be certain
  unreliable,  ///< disturbed while it was measured; left out of the comparison
  failed,      ///< it computed a wrong result
  missing,     ///< it has no value where others have one
};
inline constexpr auto kNodeStateNames =
    in_order(NodeState::missing, "normal", "slow", "undecided", "unreliable", "failed", "missing");
constexpr Names names_of(NodeState) { return kNodeStateNames; }

/// One device of one node.
struct NodeDevice {
  std::string node;
  std::string device;
  std::string file;
  NodeState state = NodeState::normal;
};

struct NodeValue {
  std::int64_t unit = 0;
  NodeState state = NodeState::normal;
  std::optional<double> value;
  std::optional<double> slowdown;
  std::optional<double> p;
  std::optional<double> adjusted_p;
  std::string reason;
};

/// One workload with its parameters, on one kind of device.
struct AcrossMetric {
  std::string what;
  std::string device_name;
  std::string metric;
  std::string unit;
  Better better = Better::lower;
  std::optional<double> median;
  double spread = 0;  ///< standard deviation of the logs of those that are not suspected: about a ratio
  std::optional<double> detectable;
  std::vector<NodeValue> values;
};

/// A fact of the machine in which a node differs from most.
struct NodeDifference {
  std::string node;
  std::string fact;
  std::string value;
  std::string most;
};

struct Across {
  std::string started;
  std::string command;
  double effect = 0.03;
  double alpha = 0.05;
  std::vector<NodeDevice> units;
  std::vector<AcrossMetric> metrics;
  std::vector<NodeDifference> differences;
  Build build;
};

/// Gravest state of all units: failed, slow, undecided, missing, unreliable, normal.
[[nodiscard]] NodeState overall(const Across& across);

[[nodiscard]] Json to_json(const Across& across);

}  // namespace warpmark
