// Results of the same workloads on several nodes set against each other, and which node is slow. JSON:
// "warpmark.across/1" (docs/schema/across.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
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
[[nodiscard]] const char* name_of(NodeState state);

/// One device of one node.
struct NodeDevice {
  std::string node;    ///< host name, or the file's name where host names are not distinct
  std::string device;  ///< "cpu", "cuda:0"
  std::string file;
  NodeState state = NodeState::normal;  ///< the gravest of its values
};

struct NodeValue {
  std::int64_t unit = 0;  ///< index into Across::units
  NodeState state = NodeState::normal;
  std::optional<double> value;     ///< median, in the metric's unit
  std::optional<double> slowdown;  ///< against the median of the others: 0.1 takes 10 % longer (or does 1/1.1 as much)
  std::optional<double> p;         ///< one-sided, of "as fast as the others"
  std::optional<double> adjusted_p;  ///< over all values of all metrics (Holm)
  std::string reason;                ///< of what is not normal or slow
};

/// One workload with its parameters, on one kind of device.
struct AcrossMetric {
  std::string what;         ///< "copy size=67108864 mode=cold"
  std::string device_name;  ///< values of different models are not compared
  std::string metric;
  std::string unit;
  Better better = Better::lower;
  std::optional<double> median;      ///< of the units that were compared, if any
  double spread = 0;                 ///< standard deviation of the logs of those that are not suspected: about a ratio
  std::optional<double> detectable;  ///< smallest slow-down that would have been certain here
  std::vector<NodeValue> values;
};

/// A fact of the machine in which a node differs from most.
struct NodeDifference {
  std::string node;
  std::string fact;
  std::string value;
  std::string most;  ///< what most have
};

struct Across {
  std::string started;  ///< UTC
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
