#include <algorithm>
#include <array>

#include "base/json.h"
#include "model/acceptance.h"
#include "model/across.h"
#include "model/json/json_parts.h"
#include "model/names.h"

namespace warpmark {
namespace {

constexpr Field kAcceptanceRowFields[] = {
    field<&AcceptanceRow::title>("title"),
    field<&AcceptanceRow::required>("required"),
    field<&AcceptanceRow::subject>("subject", "Workload with parameters and mode, or a machine fact."),
    field<&AcceptanceRow::device>("device", "Absent for a fact of the host.").unless_empty(),
    field<&AcceptanceRow::metric>("metric", "bandwidth, time p99, share of the peak; absent for a fact.")
        .unless_empty(),
    field<&AcceptanceRow::unit>("unit", "Of value, interval and limits.").unless_empty(),
    field<&AcceptanceRow::comparator>("operator"),
    field<&AcceptanceRow::limits>("limits", "Two of `between`.")
        .unless_empty()
        .ruled(R"({"minItems": 1, "maxItems": 2})"),
    field<&AcceptanceRow::limit_text>("limit_text", "A limit that is no number, or could not be worked out.")
        .unless_empty(),
    field<&AcceptanceRow::limit_source>("limit_source", "90 % of 3.35e12 B/s, memory bandwidth by datasheet h100-sxm")
        .unless_empty(),
    field<&AcceptanceRow::value>("value"),
    field<&AcceptanceRow::value_text>("value_text", "Of versions and states.").unless_empty(),
    field<&AcceptanceRow::interval>("interval", "", kInterval),
    field<&AcceptanceRow::state>("state"),
    field<&AcceptanceRow::reason>("reason", "Why it is not a pass.").unless_empty(),
    field<&AcceptanceRow::repro>("repro", "The command that measures the value again.").unless_empty(),
};
constexpr RecordOf<AcceptanceRow> kAcceptanceRow{"row", "One criterion on one device (or of the whole machine).",
                                                 kAcceptanceRowFields};

constexpr Field kDatasheetUseFields[] = {
    field<&DatasheetUse::id>("id"),
    field<&DatasheetUse::name>("name"),
    field<&DatasheetUse::sources>("sources"),
};
constexpr RecordOf<DatasheetUse> kDatasheetUse{"datasheet", "From which a limit was taken.", kDatasheetUseFields};

constexpr Field kCriteriaFields[] = {
    field<&Acceptance::criteria_file>("file"),
    field<&Acceptance::criteria_sha256>("sha256").ruled(R"({"pattern": "^[0-9a-f]{64}$"})"),
};
constexpr RecordOf<Acceptance> kCriteria{"criteria", "", kCriteriaFields};

constexpr Field kAcceptanceFields[] = {
    field<&Acceptance::name>("name"),
    field<&Acceptance::summary>("summary").unless_empty(),
    derived("result", "What the required rows amount to.",
            [](const Acceptance& acceptance) { return overall(acceptance); }),
    group("criteria", "", kCriteria),
    field<&Acceptance::started>("started", "UTC, of the judgement."),
    field<&Acceptance::command>("command").unless_empty(),
    field<&Acceptance::session>("session", "The results that were judged.").unless_empty(),
    field<&Acceptance::session_started>("session_started", "UTC.").unless_empty(),
    field<&Acceptance::machine>("machine", "That was judged.", kMachine),
    field<&Acceptance::build>("build", "", kBuild),
    field<&Acceptance::datasheets>("datasheets", "", kDatasheetUse),
    field<&Acceptance::rows>("rows", "", kAcceptanceRow),
};

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

constexpr RecordOf<Acceptance> kAcceptance{
    "acceptance",
    "Result of `warpmark accept CRITERIA`. Numbers are SI: seconds, bytes, FLOP/s, "
    "ratios. Absent keys are unknown or do not apply.",
    kAcceptanceFields, kAcceptanceSchema};

RowState overall(const Acceptance& acceptance) {
  constexpr std::array kGravest{RowState::fail, RowState::unreliable, RowState::undecided, RowState::not_measurable};
  bool any = false;
  for (const auto state : kGravest) {
    for (const auto& row : acceptance.rows) {
      any = any || row.required;
      if (row.required && row.state == state) return state;
    }
  }
  return any ? RowState::pass : RowState::not_measurable;
}

Json to_json(const Acceptance& acceptance) { return write(kAcceptance, acceptance); }

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
