#include <array>

#include "base/json.h"
#include "model/acceptance.h"
#include "model/json/json_parts.h"

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

}  // namespace warpmark
