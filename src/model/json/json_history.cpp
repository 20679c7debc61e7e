// Check as JSON, "warpmark.check/1". Written only: a check is an end product.
#include "base/json.h"
#include "model/bisection.h"
#include "model/check.h"
#include "model/json/json_parts.h"
#include "model/names.h"
#include "model/trend.h"

namespace warpmark {
namespace {

constexpr Field kHistoryPointFields[] = {
    field<&HistoryPoint::session>("session"),
    field<&HistoryPoint::n>("n", "Samples in the session.").within(kNonNegative),
    field<&HistoryPoint::value>("value", "Their median, in the metric's unit."),
    field<&HistoryPoint::started>("started", "UTC.").unless_empty(),
    field<&HistoryPoint::commit>("commit").unless_empty(),
    field<&HistoryPoint::dirty>("dirty").unless_empty(),
};
constexpr RecordOf<HistoryPoint> kHistoryPoint{"point", "", kHistoryPointFields};

constexpr Field kRestartFields[] = {
    field<&Restart::at>("at", "First session of the new level.", kHistoryPoint),
    field<&Restart::change>("change", "Ratio of the levels less 1."),
    field<&Restart::worse>("worse", "In the metric's own direction."),
    field<&Restart::ago>("sessions_since", "Of the baseline, this one included.").within(kAtLeastOne),
};
constexpr RecordOf<Restart> kRestart{
    "restart", "The last change point in the baseline; sessions before it are not used.", kRestartFields};

constexpr Field kMetricCheckFields[] = {
    field<&MetricCheck::label>("case", "For people."),
    field<&MetricCheck::metric>("metric"),
    field<&MetricCheck::unit>("unit"),
    field<&MetricCheck::better>("better"),
    field<&MetricCheck::verdict>("verdict"),
    field<&MetricCheck::reason>("reason", "Why it is inconclusive or unreliable.").unless_empty(),
    field<&MetricCheck::more_runs>("more_runs", "Sessions of the same commit that would probably decide.")
        .within(kAtLeastOne),
    field<&MetricCheck::level_sessions>("level_sessions", "The newest sessions of the baseline, which make its level.")
        .within(kNonNegative),
    field<&MetricCheck::level>("level", "Geometric mean of the baseline's newest level_sessions sessions."),
    field<&MetricCheck::value>("value", "Geometric mean of the checked sessions."),
    field<&MetricCheck::ratio>("ratio", "value / level, less the drift of the history; absent where undefined."),
    inlined<&MetricCheck::interval>(kCiInterval),
    field<&MetricCheck::p>("p", "Two-sided; null hypothesis: no change from the history.").within(kShare),
    field<&MetricCheck::adjusted_p>("adjusted_p", "Over all metrics of the check (Holm).").within(kShare),
    field<&MetricCheck::noise>("noise", "How far a session typically lies from the level before it, a ratio."),
    field<&MetricCheck::detectable>("detectable", "Smallest change for the worse that is found with 90 %, a ratio."),
    field<&MetricCheck::restart>("restart", "", kRestart),
    field<&MetricCheck::baseline>("baseline", "Oldest first.", kHistoryPoint),
    field<&MetricCheck::current>("current", "", kHistoryPoint),
};
constexpr RecordOf<MetricCheck> kMetricCheck{"metric", "", kMetricCheckFields};

constexpr Field kSuspectsFields[] = {
    field<&Suspects::metric>("metric",
                             "What they made worse: of the metrics that are worse the one that changed most."),
    field<&Suspects::good>("good", "Commit of the baseline's newest session from which the checked commit descends.")
        .unless_empty(),
    field<&Suspects::bad>("bad", "The checked commit.").unless_empty(),
    field<&Suspects::reason>("reason", "Why no commit can be named.").unless_empty(),
    field<&Suspects::commits>("commits", "After the good one, oldest first, by first parents; the bad one is the last.",
                              kCommit),
    derived("culprit_certain", "",
            [](const Suspects& suspects) {
              return suspects.search ? std::optional(suspects.search->outcome == BisectOutcome::found) : std::nullopt;
            }),
    derived("culprit", "", kCommit,
            [](const Suspects& suspects) {
              const bool one = suspects.search && suspects.search->candidates.size() == 1;
              return one ? std::optional(suspects.search->candidates.front()) : std::nullopt;
            }),
    field<&Suspects::search>("search", "Of --bisect, if it came to an end.", kBisection),
};
constexpr RecordOf<Suspects> kSuspects{"suspects", "Where a metric is worse: the commits since the last good session.",
                                       kSuspectsFields};

constexpr Field kCheckFields[] = {
    field<&Check::command>("command"),
    derived("verdict", "The gravest of all metrics.", [](const Check& check) { return overall(check); }),
    field<&Check::branch>("baseline", "Branch whose history is the baseline, or the file."),
    field<&Check::threshold>("threshold", "Smallest relative change that counts.").within(kPositive),
    field<&Check::alpha>("alpha").within(kBetweenZeroAndOne),
    field<&Check::tested>(
        "tested", "Whether a statistical test decided. False with a file as the baseline: its values alone did."),
    field<&Check::sessions>("sessions", "What is checked: ids."),
    field<&Check::started>("started", "UTC, of the newest of them."),
    field<&Check::commit>("commit").unless_empty(),
    field<&Check::commit_branch>("branch", "Of the commit.").unless_empty(),
    field<&Check::dirty>("dirty"),
    field<&Check::metrics>("metrics", "", kMetricCheck),
    field<&Check::missing>("missing", "Metrics that the baseline's newest session has and the checked ones lack."),
    field<&Check::moved>("moved",
                         "That the branch has sessions of commits from which the checked one does not descend, or may "
                         "not, how many, and "
                         "what to do where too few others are stored.")
        .unless_empty(),
    field<&Check::advice>("advice", "Where the history's noise leaves a metric undecided: what would decide.")
        .unless_empty(),
    field<&Check::suspects>("suspects", "", kSuspects),
    field<&Check::disturbances>("disturbances", "How the machine differed from what it was during the baseline.",
                                kDisturbance),
    field<&Check::machine>("machine", "", kMachine),
    field<&Check::build>("build", "", kBuild),
};

constexpr Field kCommitFields[] = {
    field<&Commit::sha>("sha").ruled(R"({"pattern": "^[0-9a-f]{40,64}$"})"),
    field<&Commit::author>("author"),
    field<&Commit::date>("date", "ISO 8601, of the commit."),
    field<&Commit::subject>("subject"),
    field<&Commit::merged>("merged", "Of a merge: its second parent.").unless_empty(),
};

constexpr Field kBisectedMetricFields[] = {
    field<&MetricVerdict::id>("id"),
    field<&MetricVerdict::unit>("unit"),
    field<&MetricVerdict::better>("better"),
};
constexpr RecordOf<MetricVerdict> kBisectedMetric{"bisected_metric", "", kBisectedMetricFields};

constexpr Field kRangeFields[] = {
    field<&MetricVerdict::verdict>("verdict"),
    field<&MetricVerdict::reason>("reason", "Why it is inconclusive or unreliable.").unless_empty(),
    derived("rounds", "", [](const MetricVerdict& metric) { return metric.a.size(); }).within(kNonNegative),
    field<&MetricVerdict::median_a>("median_a"),
    field<&MetricVerdict::median_b>("median_b"),
    field<&MetricVerdict::ratio>("ratio", "b / a.").within(kPositive),
    inlined<&MetricVerdict::interval>(kCiInterval),
    field<&MetricVerdict::p>("p").within(kShare),
    field<&MetricVerdict::a>("values_a", "One value a round.").added_later(),
    field<&MetricVerdict::b>("values_b").added_later(),
};
constexpr RecordOf<MetricVerdict> kRange{"range", "", kRangeFields};

constexpr Field kChangeFields[] = {
    inlined<&Bisection::change>(kRange),
    field<&Bisection::change_a>("a", "Its commit."),
    field<&Bisection::change_b>("b", "Its commit."),
};
constexpr RecordOf<Bisection> kChange{"change", "", kChangeFields};

constexpr Field kProbeFields[] = {
    field<&BisectProbe::index>("index", "Place in the range; 0 is the good revision.").within(kAtLeastOne),
    field<&BisectProbe::commit>("commit", "", kCommit),
    field<&BisectProbe::answer>("answer"),
    field<&BisectProbe::rounds>("rounds").within(kNonNegative),
    field<&BisectProbe::bad_probability>("bad_probability",
                                         "By these rounds alone, bounded by the error that a probe may have.")
        .within(kShare),
    field<&BisectProbe::ratio_to_good>("ratio_to_good", "Of the medians.").within(kPositive),
    field<&BisectProbe::reason>("reason", "Why it was skipped.").unless_empty(),
};
constexpr RecordOf<BisectProbe> kProbe{"probe", "", kProbeFields};

constexpr Field kBisectionFields[] = {
    field<&Bisection::started>("started", "UTC."),
    field<&Bisection::command>("command"),
    field<&Bisection::good>("good", "", kCommit),
    field<&Bisection::bad>("bad", "", kCommit),
    field<&Bisection::commits>("commits", "Candidates: after the good one, to the bad one.").within(kAtLeastOne),
    field<&Bisection::range>("metric", "", kBisectedMetric),
    field<&Bisection::effect>("effect", "Smallest relative difference that matters.").within(kPositive),
    field<&Bisection::alpha>("alpha", "Of one decision.").within(kBetweenZeroAndOne),
    field<&Bisection::confidence>("confidence", "Asked for."),
    field<&Bisection::seed>("seed").decimal_text(),
    field<&Bisection::outcome>(
        "outcome",
        "found: one commit, as certain as was asked for; range: certain that it is one of several, "
        "between which nothing could be measured; no_difference: the bad revision differs from the "
        "good one by less than what matters; inconclusive: the budget ended before."),
    field<&Bisection::candidates>(
        "candidates", "The culprit; several, oldest first, if not found; none without a difference.", kCommit),
    field<&Bisection::probability>("probability", "That it is one of the candidates.").within(kShare),
    field<&Bisection::range>("range", "The bad revision (b) against the good one (a).", kRange),
    group("change", "The first commit known to be bad (b) against the last one before it that could be measured (a).",
          kChange)
        .when([](const Bisection& bisection) { return bisection.change.has_value(); }),
    field<&Bisection::probes>("probes", "The commits asked, in order.", kProbe),
    field<&Bisection::disturbances>(
        "disturbances", "Differences in how the machine treated the two commits of `change`.", kDisturbance),
    field<&Bisection::builds>("builds", "Attempts, the good and the bad revision included.").ruled(R"({"minimum": 2})"),
    field<&Bisection::runs>("runs", "Of the command, earlier invocations included, without warm-ups.")
        .within(kNonNegative),
    field<&Bisection::history_points>("history_points", "Stored results that narrowed the range.").within(kNonNegative),
    field<&Bisection::stopped_because>("stopped_because").unless_empty(),
    field<&Bisection::machine>("machine", "", kMachine),
    field<&Bisection::build>("build", "", kBuild),
};

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

constexpr RecordOf<Check> kCheck{
    "check",
    "What `warpmark check --json` writes: the verdict on a result against the history of a branch, metric by metric.",
    kCheckFields, kCheckSchema};

Verdict overall(const Check& check) {
  for (const Verdict verdict : {Verdict::unreliable, Verdict::worse, Verdict::inconclusive, Verdict::different,
                                Verdict::better, Verdict::same}) {
    for (const auto& metric : check.metrics) {
      if (metric.verdict == verdict) return verdict;
    }
  }
  return Verdict::inconclusive;
}

Json to_json(const Check& check) { return write(kCheck, check); }

constexpr RecordOf<Commit> kCommit{"commit", "", kCommitFields};
constexpr RecordOf<Bisection> kBisection{
    "bisection",
    "What `warpmark bisect --json` writes: which commit changed a metric, how much, and how certain that is.",
    kBisectionFields, kBisectSchema};

Json to_json(const Bisection& bisection) { return write(kBisection, bisection); }

constexpr RecordOf<Trend> kTrend{"trend",
                                 "What `warpmark trend --format json` writes: metrics over the sessions of a branch, "
                                 "with change points and changes of the machine.",
                                 kTrendFields, kTrendSchema};

Json to_json(const Trend& trend) { return write(kTrend, trend); }

}  // namespace warpmark
