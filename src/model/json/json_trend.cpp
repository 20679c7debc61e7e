// Trend as JSON, "warpmark.trend/1". Written only.
#include "base/json.h"
#include "model/json/json_parts.h"
#include "model/names.h"
#include "model/trend.h"

namespace warpmark {
namespace {

constexpr Field kEndsFields[] = {
    field<&Interval::low>("ci_low"),
    field<&Interval::high>("ci_high"),
};
constexpr RecordOf<Interval> kEnds{"ends", "", kEndsFields};

constexpr Field kTrendPointFields[] = {
    field<&TrendPoint::point, &HistoryPoint::session>("session"),
    field<&TrendPoint::point, &HistoryPoint::n>("n", "Samples in the session.").within(kNonNegative),
    field<&TrendPoint::point, &HistoryPoint::value>("value", "Their median."),
    field<&TrendPoint::point, &HistoryPoint::started>("started", "UTC.").unless_empty(),
    field<&TrendPoint::point, &HistoryPoint::commit>("commit").unless_empty(),
    field<&TrendPoint::branch>("branch").unless_empty(),
    field<&TrendPoint::point, &HistoryPoint::dirty>("dirty").unless_empty(),
    field<&TrendPoint::machine>("machine", "Fingerprint.").unless_empty(),
    inlined<&TrendPoint::interval>(kEnds),
};
constexpr RecordOf<TrendPoint> kTrendPoint{"point", "", kTrendPointFields};

constexpr Field kTrendChangeFields[] = {
    field<&TrendChange::index>("index", "First point of the new level.").within(kNonNegative),
    field<&TrendChange::before>("before", "Mean of the level."),
    field<&TrendChange::after>("after", "Mean of the level."),
    field<&TrendChange::p>("p").within(kShare),
    field<&TrendChange::worse>("worse", "In the metric's own direction; absent where it has none."),
};
constexpr RecordOf<TrendChange> kTrendChange{"change", "", kTrendChangeFields};

constexpr Field kMachineChangeFields[] = {
    field<&MachineChange::index>("index", "First point on the new machine.").within(kNonNegative),
    field<&MachineChange::what>("what", "driver 550.54 instead of 535.12"),
};
constexpr RecordOf<MachineChange> kMachineChange{
    "machine_change", "Points on both sides say nothing about one another.", kMachineChangeFields};

constexpr Field kTrendDriftFields[] = {
    field<&TrendDrift::from>("from", "First point of what it was fitted to; the newest is the last.")
        .within(kNonNegative),
    field<&TrendDrift::per_session>("per_session", "Ratio less 1, from one session to the next."),
    field<&TrendDrift::interval, &Interval::low>("per_session_low"),
    field<&TrendDrift::interval, &Interval::high>("per_session_high"),
    field<&TrendDrift::interval, &Interval::confidence>("confidence"),
    field<&TrendDrift::change>("change", "Ratio less 1, from the first point to the newest."),
    field<&TrendDrift::change_interval, &Interval::low>("change_low"),
    field<&TrendDrift::change_interval, &Interval::high>("change_high"),
    field<&TrendDrift::p>("p", "Of \"no trend\".").within(kShare),
    field<&TrendDrift::marked>("marked", "The interval holds no 0, and the change is at least the threshold."),
    field<&TrendDrift::worse>("worse", "In the metric's own direction; absent where it has none."),
};
constexpr RecordOf<TrendDrift> kTrendDrift{
    "drift", "A straight line through the logarithms, of ten points or more of the newest machine.", kTrendDriftFields};

constexpr Field kBandFields[] = {
    field<&TrendSeries::band_from>("from", "First point of the newest level.").within(kNonNegative),
    derived(
        nullptr, "", kInterval, [](const TrendSeries& series) -> const auto& { return *series.band; }),
};
constexpr RecordOf<TrendSeries> kBand{"band", "Where the next session is expected.", kBandFields};

constexpr Field kTrendSeriesFields[] = {
    field<&TrendSeries::label>("case"),
    field<&TrendSeries::metric>("metric"),
    field<&TrendSeries::unit>("unit"),
    field<&TrendSeries::better>("better"),
    field<&TrendSeries::points>("points", "Oldest first.", kTrendPoint),
    field<&TrendSeries::changes>("changes", "", kTrendChange),
    field<&TrendSeries::machines>("machine_changes", "", kMachineChange),
    field<&TrendSeries::drift>("drift", "", kTrendDrift),
    field<&TrendSeries::level>("level", "Geometric mean of the newest sessions."),
    group("band", "", kBand).when([](const TrendSeries& series) { return series.band.has_value(); }),
};
constexpr RecordOf<TrendSeries> kTrendSeries{"series", "", kTrendSeriesFields};

constexpr Field kTrendFields[] = {
    field<&Trend::command>("command"),
    field<&Trend::threshold>("threshold", "Smallest change that is marked.").within(kPositive),
    field<&Trend::branch>("branch", "Absent for all branches.").unless_empty(),
    field<&Trend::left_out>("left_out", "3 sessions with uncommitted changes (--dirty shows them)").unless_empty(),
    field<&Trend::since>("since", "As given: a date or a revision; absent for all.").unless_empty(),
    field<&Trend::until>("until").unless_empty(),
    field<&Trend::series>("series", "", kTrendSeries),
};

}  // namespace

constexpr RecordOf<Trend> kTrend{"trend",
                                 "What `warpmark trend --format json` writes: metrics over the sessions of a branch, "
                                 "with change points and changes of the machine.",
                                 kTrendFields, kTrendSchema};

Json to_json(const Trend& trend) { return write(kTrend, trend); }

}  // namespace warpmark
