#include <algorithm>
#include <array>

#include "base/json.h"
#include "model/across.h"
#include "model/json/json_parts.h"
#include "model/names.h"

namespace warpmark {
namespace {

constexpr Field kNodeDeviceFields[] = {
    field<&NodeDevice::node>("node", "Host name, or the file's name where host names are not distinct."),
    field<&NodeDevice::device>("device", "cpu, cuda:0"),
    field<&NodeDevice::file>("file"),
    field<&NodeDevice::state>("state", "The gravest of its values."),
};
constexpr RecordOf<NodeDevice> kNodeDevice{"unit", "One device of one node.", kNodeDeviceFields};

constexpr Field kNodeValueFields[] = {
    field<&NodeValue::unit>("unit", "Index into units.").within(kNonNegative),
    field<&NodeValue::state>("state"),
    field<&NodeValue::value>("value", "Median, in the metric's unit."),
    field<&NodeValue::slowdown>("slowdown",
                                "Against the median of the others: 0.1 takes 10 % longer (or does 1/1.1 as much)."),
    field<&NodeValue::p>("p", "One-sided; null hypothesis: no slower than the others.").within(kShare),
    field<&NodeValue::adjusted_p>("adjusted_p", "Over all values of all metrics (Holm).").within(kShare),
    field<&NodeValue::reason>("reason", "Of what is not normal or slow.").unless_empty(),
};
constexpr RecordOf<NodeValue> kNodeValue{"value", "", kNodeValueFields};

constexpr Field kAcrossMetricFields[] = {
    field<&AcrossMetric::what>("what", "copy size=67108864 mode=cold"),
    field<&AcrossMetric::device_name>("device_name", "Values of different models are not compared."),
    field<&AcrossMetric::metric>("metric"),
    field<&AcrossMetric::unit>("unit"),
    field<&AcrossMetric::better>("better"),
    field<&AcrossMetric::median>("median", "Of the units that were compared."),
    field<&AcrossMetric::spread>("spread", "Standard deviation of the logarithms of values that do not stand out."),
    field<&AcrossMetric::detectable>("detectable", "Smallest slow-down that would be certain."),
    field<&AcrossMetric::values>("values", "", kNodeValue),
};
constexpr RecordOf<AcrossMetric> kAcrossMetric{"metric", "", kAcrossMetricFields};

constexpr Field kNodeDifferenceFields[] = {
    field<&NodeDifference::node>("node"),
    field<&NodeDifference::fact>("fact"),
    field<&NodeDifference::value>("value"),
    field<&NodeDifference::most>("most", "What most have."),
};
constexpr RecordOf<NodeDifference> kNodeDifference{
    "difference", "A fact of the machine in which a node differs from most.", kNodeDifferenceFields};

constexpr Field kAcrossFields[] = {
    derived("result", "The gravest of all units.", [](const Across& across) { return overall(across); }),
    field<&Across::started>("started", "UTC."),
    field<&Across::command>("command").unless_empty(),
    field<&Across::effect>("effect").within(kPositive),
    field<&Across::alpha>("alpha").within(kBetweenZeroAndOne),
    field<&Across::units>("units", "", kNodeDevice),
    field<&Across::metrics>("metrics", "", kAcrossMetric),
    field<&Across::differences>("differences", "", kNodeDifference),
    field<&Across::build>("build", "", kBuild),
};

}  // namespace

constexpr RecordOf<Across> kAcross{
    "across", "Result of `warpmark accept --across`. Numbers are SI; slow-downs and spreads are ratios.", kAcrossFields,
    kAcrossSchema};

NodeState overall(const Across& across) {
  constexpr std::array kGravest{NodeState::failed, NodeState::slow, NodeState::undecided, NodeState::missing,
                                NodeState::unreliable};
  for (const auto state : kGravest) {
    if (std::any_of(across.units.begin(), across.units.end(), [&](const auto& unit) { return unit.state == state; })) {
      return state;
    }
  }
  return NodeState::normal;
}

Json to_json(const Across& across) { return write(kAcross, across); }

}  // namespace warpmark
