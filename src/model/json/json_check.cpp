// Check as JSON, "warpmark.check/1". Written only: a check is an end product.
#include "base/json.h"
#include "model/check.h"
#include "model/json/json_parts.h"
#include "model/names.h"

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

}  // namespace warpmark
