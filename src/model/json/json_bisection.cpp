// Bisection as JSON, "warpmark.bisect/1".
#include "base/json.h"
#include "model/bisection.h"
#include "model/json/json_parts.h"
#include "model/names.h"

namespace warpmark {
namespace {

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

}  // namespace

constexpr RecordOf<Commit> kCommit{"commit", "", kCommitFields};
constexpr RecordOf<Bisection> kBisection{
    "bisection",
    "What `warpmark bisect --json` writes: which commit changed a metric, how much, and how certain that is.",
    kBisectionFields, kBisectSchema};

Json to_json(const Bisection& bisection) { return write(kBisection, bisection); }

}  // namespace warpmark
