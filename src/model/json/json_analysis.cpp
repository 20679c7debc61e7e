#include "model/json/json_analysis.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "model/json/json_parts.h"

namespace warpmark {

namespace {

constexpr double kSecond = 1e-9, kMillisecond = 1e-6;  ///< of nanoseconds

constexpr Field kBreakdownPartFields[] = {
    field<&BreakdownPart::group>("group").ruled(R"({"enum": ["compute", "communication", "copy", "idle"]})"),
    field<&BreakdownPart::total_ns>("total_ns", "Over the analyzed steps (a rank), or of one step (the session).")
        .within(kNonNegative),
    field<&BreakdownPart::share>("share", "Of the steps.").within(kShare),
};
constexpr RecordOf<BreakdownPart> kBreakdownPart{"part", "", kBreakdownPartFields};
constexpr const char* kBreakdown =
    "Exclusive parts. Of a rank, their total_ns sum exactly to its analyzed steps; of the whole, which is the mean "
    "over "
    "ranks of the time a step, to the mean step. Shares are of that sum.";

constexpr Name kPerSample[] = {{true, "sample"}};
constexpr Field kGainFields[] = {
    field<&Gain::low>("low").within(kPositive),
    field<&Gain::high>("high").within(kPositive),
    field<&Gain::method>("method", "How it was estimated.").unless_empty(),
    field<&Gain::per_sample>("per", "Of the samples a second, as the fix changes the step; absent: of the step.")
        .named(kPerSample)
        .unless_empty(),
    field<&Gain::unknown>("unknown", "The recording does not show what a fix gains: low and high are 1.")
        .unless_empty(),
};
constexpr RecordOf<Gain> kGain{"gain", "Speedup of the step; 1 is none. Always an interval.", kGainFields};

constexpr Field kFactFields[] = {
    field<&Fact::id>("id", "Stable, for programs.").within(kAtLeastOne).added_later(),
    field<&Fact::text>("text", "As a person reads it.").within(kAtLeastOne),
    field<&Fact::value>("value"),
    field<&Fact::unit>("unit", "SI without prefix; empty for ratios and counts.")
        .added_later()
        .when([](const Fact& fact) { return fact.value.has_value(); }),
};
constexpr RecordOf<Fact> kFact{"fact", "A number that supports a finding.", kFactFields};

constexpr Field kEventFields[] = {
    field<&EventReference::rank>("rank"),
    field<&EventReference::event>("event"),
    field<&EventReference::name>("name"),
    field<&EventReference::start_ns>("start_ns", "Since the timeline's origin."),
    field<&EventReference::duration_ns>("duration_ns"),
};
constexpr RecordOf<EventReference> kEvent{"event", "Shows the finding, for the timeline.", kEventFields};

constexpr Field kRecommendationFields[] = {
    field<&Recommendation::kind>("kind"),
    field<&Recommendation::text>("text", "What to do and why.").within(kAtLeastOne),
    field<&Recommendation::snippet>("snippet", "The line of code, key, variable or command.").unless_empty(),
    field<&Recommendation::id>("id", "Stable; only with a gain of its own.").unless_empty(),
    field<&Recommendation::gain>("gain", "Of this one alone, where it differs from the finding's.", kGain),
};
constexpr RecordOf<Recommendation> kRecommendation{"recommendation", "", kRecommendationFields};

constexpr Field kFindingFields[] = {
    field<&Finding::rule>("rule"),
    field<&Finding::kind>("kind"),
    field<&Finding::severity>("severity").within(kShare),
    derived("level", "", [](const Finding& finding) { return severity_name(finding.severity); })
        .ruled(R"({"enum": ["critical", "warning", "note"]})"),
    field<&Finding::title>("title", "One line.").within(kAtLeastOne),
    field<&Finding::lost_ns>("lost_s", "A step, attributed on this finding alone.")
        .scaled(kSecond)
        .within(kNonNegative)
        .added_later(),
    field<&Finding::evidence>("evidence", "", kFact).added_later(),
    derived(
        "events", "Not read.", kEvent, [](const Finding& finding) -> const auto& { return finding.events; }),
    field<&Finding::recommendations>("recommendations", "", kRecommendation).added_later(),
    field<&Finding::gain>("gain", "Of the first recommendation.", kGain),
};
constexpr RecordOf<Finding> kFinding{"finding", "", kFindingFields};

constexpr Field kStepSpanFields[] = {
    field<&StepSpan::start_ns>("start_ns", "Since the timeline's origin."),
    field<&StepSpan::end_ns>("end_ns"),
};
constexpr RecordOf<StepSpan> kStepSpan{"step", "", kStepSpanFields};

constexpr Field kStepPauseFields[] = {
    field<&StepPause::start_ns>("start_ns", "Since the timeline's origin."),
    field<&StepPause::end_ns>("end_ns"),
    field<&StepPause::name>("name", "The range that most of it was spent in.").unless_empty(),
};
constexpr RecordOf<StepPause> kStepPause{"pause", "", kStepPauseFields};

constexpr Field kRankFields[] = {
    field<&RankAnalysis::rank>("rank"),
    field<&RankAnalysis::gpu>("gpu", "Its name.").unless_empty(),
    field<&RankAnalysis::median_step_ns>("step_ms").scaled(kMillisecond),
    field<&RankAnalysis::steps>("steps", "Those analyzed.", kStepSpan),
    field<&RankAnalysis::pauses>("pauses",
                                 "Steps far longer than the others (a checkpoint, an evaluation), which no mean "
                                 "counts; absent if there are none.",
                                 kStepPause)
        .unless_empty(),
    keyed<&RankAnalysis::breakdown, &BreakdownPart::id>("breakdown", kBreakdown, kBreakdownPart),
};
constexpr RecordOf<RankAnalysis> kRank{"rank", "", kRankFields};

constexpr Form kTableValueForm{[](const void* value) -> Json {
                                 const auto& held = *static_cast<const TableValue*>(value);
                                 if (const auto* number = std::get_if<double>(&held)) WM_CHECK(std::isfinite(*number));
                                 return std::visit([](const auto& one) { return Json(one); }, held);
                               },
                               nullptr, R"({"type": ["string", "number"]})"};

constexpr Field kColumnFields[] = {
    field<&AnalysisColumn::id>("id"),
    field<&AnalysisColumn::title>("title"),
    field<&AnalysisColumn::unit>("unit", "s, B, B/s, ratio; empty for counts and texts."),
};
constexpr RecordOf<AnalysisColumn> kColumn{"column", "", kColumnFields};

constexpr Field kTableFields[] = {
    field<&AnalysisTable::id>("id").within(kAtLeastOne),
    field<&AnalysisTable::title>("title"),
    field<&AnalysisTable::note>("note", "How to read it, or why it is empty.").unless_empty(),
    field<&AnalysisTable::columns>("columns", "", kColumn),
    field<&AnalysisTable::rows>("rows").formed(kTableValueForm),
};
constexpr RecordOf<AnalysisTable> kTable{"table", "", kTableFields};

constexpr Field kMissingFields[] = {
    field<&MissingData::name>("name").added_later(),
    field<&MissingData::what>("what", "The name, and what it would show."),
    field<&MissingData::how>("how", "Command or setting that records it."),
};
constexpr RecordOf<MissingData> kMissing{"missing", "", kMissingFields};

constexpr Field kQualityFields[] = {
    field<&DataQualityIssue::count>("count").within(kNonNegative),
    field<&DataQualityIssue::text>("text"),
    field<&DataQualityIssue::example>("example").unless_empty(),
};
constexpr RecordOf<DataQualityIssue> kQuality{"quality", "", kQualityFields};

constexpr Field kAnalysisSessionFields[] = {
    field<&Analysis::rank_count>("ranks").within(kNonNegative),
    field<&Analysis::gpus>("gpus"),
    derived("steps", "Analyzed a rank, start-up left out.",
            [](const Analysis& analysis) {
              std::size_t steps = 0;
              for (const RankAnalysis& rank : analysis.ranks) steps = std::max(steps, rank.steps.size());
              return steps;
            })
        .within(kNonNegative),
    field<&Analysis::median_step_ns>("step_ms", "Median of the slowest rank.")
        .scaled(kMillisecond)
        .within(kNonNegative),
    derived(
        "undisturbed_step_ms",
        "Mean step of the rank that the others wait for, without the estimated cost of recording. Severities and gains "
        "are of such a step: this one, or that of the rank that a finding about several ranks is of.",
        [](const Analysis& analysis) { return analysis.undisturbed_step_ns * kMillisecond; })
        .when([](const Analysis& analysis) { return analysis.undisturbed_step_ns > 0; })
        .within(kNonNegative),
    field<&Analysis::steps_found_by>("steps_found_by", "ProfilerStep annotations, repeating kernel sequence, ...")
        .unless_empty(),
    field<&Analysis::sources>("sources"),
};
constexpr RecordOf<Analysis> kAnalysisSession{"session", "", kAnalysisSessionFields};

constexpr Field kAnalysisFields[] = {
    group("session", "", kAnalysisSession),
    field<&Analysis::verdict>("verdict", "One sentence."),
    field<&Analysis::cautions>(
        "cautions",
        "What makes all of it doubtful: files that are cut off or corrupt, profiles that are not "
        "of one run of one program."),
    keyed<&Analysis::breakdown, &BreakdownPart::id>("breakdown", kBreakdown, kBreakdownPart),
    field<&Analysis::findings>("findings", "Worst first.", kFinding),
    field<&Analysis::combined>("combined_gain", "Of all findings together; overlapping gains are not added up.", kGain),
    field<&Analysis::ranks>("ranks", "", kRank),
    field<&Analysis::tables>("tables", "", kTable),
    field<&Analysis::missing>("missing", "", kMissing),
    keyed<&Analysis::quality, &DataQualityIssue::id>("data_quality", "", kQuality),
};

struct Findings {
  std::vector<Finding> findings;
};
constexpr Field kFindingsFields[] = {field<&Findings::findings>("findings", "", kFinding).added_later()};
constexpr RecordOf<Findings> kFindings{"findings", "", kFindingsFields, kAnalysisSchema};

constexpr Field kStepDifferenceFields[] = {
    field<&StepDifference::before_s>("before", "Mean.").within(kNonNegative),
    field<&StepDifference::after_s>("after", "Mean.").within(kNonNegative),
    field<&StepDifference::steps_before>("steps_before", "Analyzed.").within(kNonNegative),
    field<&StepDifference::steps_after>("steps_after", "Analyzed.").within(kNonNegative),
    field<&StepDifference::ratio>("ratio", "After divided by before.").within(kPositive),
    field<&StepDifference::interval>("interval", "Of the ratio; absent with fewer than 3 steps.", kInterval),
};
constexpr RecordOf<StepDifference> kStepDifference{"step_difference", "", kStepDifferenceFields};

constexpr Field kProfileDifferenceFields[] = {
    field<&ProfileDifference::step>("step", "Of the rank that the others wait for; absent without a timeline.",
                                    kStepDifference),
    field<&ProfileDifference::tables>("tables", "diff_step, diff_breakdown, diff_operators, diff_kernels.", kTable)};

}  // namespace

constexpr RecordOf<Analysis> kAnalysis{"analysis",
                                       "What `warpmark analyze` says about a profile. Times in seconds, except step_ms "
                                       "and the _ns of instants; ratios 0..1. "
                                       "No NaN, no infinity.",
                                       kAnalysisFields, kAnalysisSchema};
constexpr RecordOf<ProfileDifference> kProfileDifference{
    "difference",
    "What `warpmark analyze --against` says: tables of what changed between two profiles, per step of their slowest "
    "ranks. "
    "Times in seconds. No NaN, no infinity.",
    kProfileDifferenceFields, kProfileDiffSchema};

Json to_json(const Analysis& analysis) { return write(kAnalysis, analysis); }
Json to_json(const ProfileDifference& difference) { return write(kProfileDifference, difference); }

Result<std::vector<Finding>> findings_from_json(const Json& json) {
  WM_ASSIGN(auto read_findings, read(kFindings, json));
  return std::move(read_findings.findings);
}

}  // namespace warpmark
