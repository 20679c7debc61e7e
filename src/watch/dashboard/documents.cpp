#include "watch/dashboard/documents.h"

#include <map>

#include "base/json.h"
#include "model/fields/fields.h"
#include "model/json/json_parts.h"
#include "model/names.h"
#include "validate/guard/series.h"
#include "watch/dashboard/answers.h"

namespace warpmark::watch {
namespace {

constexpr const char* kParams = "As \"m=1024 dtype=f32\".";

constexpr Field kShownReportFields[] = {
    field<&ShownReport::title>("title"),
    field<&ShownReport::subtitle>("subtitle"),
    field<&ShownReport::html>("html", "Its sections, for a page with the style sheet of reports."),
};

constexpr Field kSessionRowFields[] = {
    field<&store::SessionSummary::id>("id"),
    field<&store::SessionSummary::started>("started", "UTC, as 2026-03-01T12:34:56Z."),
    field<&store::SessionSummary::command>("command"),
    field<&store::SessionSummary::hostname>("hostname"),
    field<&store::SessionSummary::fingerprint>("fingerprint", "Equal for machines whose results can be compared."),
    field<&store::SessionSummary::commit>("commit",
                                          "Of the folder in which it was measured; empty outside of a repository."),
    field<&store::SessionSummary::branch>("branch"),
    field<&store::SessionSummary::dirty>("dirty", "With changes that were not committed."),
    field<&store::SessionSummary::complete>("complete", "False: interrupted."),
    derived("outcomes", "Number of results by outcome.",
            [](const store::SessionSummary& session) {
              std::map<std::string, std::int64_t> outcomes;
              for (const auto& [outcome, count] : session.outcomes) outcomes[name_of(outcome)] = count;
              return outcomes;
            })
        .within(kAtLeastOne),
    field<&store::SessionSummary::tags>("tags"),
};

constexpr Field kBoundsFields[] = {
    field<&Interval::low>("low", "Of the interval."),
    field<&Interval::high>("high"),
};
constexpr RecordOf<Interval> kBounds{"bounds", "", kBoundsFields};

constexpr auto kHasValue = [](const store::RunPoint& run) { return run.n > 0; };

constexpr Field kRunRowFields[] = {
    field<&store::RunPoint::session>("session"),
    field<&store::RunPoint::index>("index").within(kNonNegative),
    field<&store::RunPoint::started>("started", "UTC."),
    field<&store::RunPoint::hostname>("hostname"),
    field<&store::RunPoint::commit>("commit"),
    field<&store::RunPoint::branch>("branch"),
    field<&store::RunPoint::dirty>("dirty"),
    field<&store::RunPoint::fingerprint>("fingerprint"),
    field<&store::RunPoint::workload>("workload"),
    field<&store::RunPoint::params>("params", kParams),
    field<&store::RunPoint::device>("device"),
    field<&store::RunPoint::mode>("mode"),
    field<&store::RunPoint::metric>("metric"),
    field<&store::RunPoint::outcome>("outcome"),
    derived("label", "",
            [](const store::RunPoint& run) {
              return validate::case_label(run.workload, run.params, run.device, run.mode);
            }),
    field<&store::RunPoint::unit>("unit").when(kHasValue),
    field<&store::RunPoint::better>("better").when(kHasValue),
    field<&store::RunPoint::n>("n").unless_empty().within(kNonNegative),
    field<&store::RunPoint::median>("value", "Median of the primary metric; absent where there is none.")
        .when(kHasValue),
    inlined<&store::RunPoint::interval>(kBounds).when(kHasValue),
};
constexpr RecordOf<store::RunPoint> kRunRow{"run_row", "", kRunRowFields};

constexpr Field kDocumentRowFields[] = {
    field<&store::DocumentEntry::session>("session", "Id of the session that it is about."),
    field<&store::DocumentEntry::index>("index", "Among the documents of that session.").within(kNonNegative),
    field<&store::DocumentEntry::kind>("kind",
                                       "Of which schema it is: \"matrix\", \"optimization\", \"acceptance\", ..."),
    field<&store::DocumentEntry::made>("made", "UTC."),
    field<&store::DocumentEntry::title>("title"),
    field<&store::DocumentEntry::hostname>("hostname", "Of the session."),
    field<&store::DocumentEntry::command>("command"),
    field<&store::DocumentEntry::bytes>("bytes").within(kNonNegative),
};
constexpr RecordOf<store::DocumentEntry> kDocumentRow{"document_row", "", kDocumentRowFields};

constexpr Field kCaseRowFields[] = {
    field<&CaseRow::of, &store::CaseEntry::workload>("workload"),
    field<&CaseRow::of, &store::CaseEntry::params>("params", kParams),
    field<&CaseRow::of, &store::CaseEntry::device>("device"),
    field<&CaseRow::of, &store::CaseEntry::mode>("mode"),
    field<&CaseRow::of, &store::CaseEntry::metric>("metric"),
    field<&CaseRow::of, &store::CaseEntry::newest>("newest", "When it was last measured, UTC."),
    derived("label", "",
            [](const CaseRow& row) {
              return validate::case_label(row.of.workload, row.of.params, row.of.device, row.of.mode);
            }),
    field<&CaseRow::unit>("unit", "Of the values."),
    field<&CaseRow::values>("values", "Newest medians of the machine that measured it last, oldest first.")
        .ruled(R"({"maxItems": 40})"),
};
constexpr RecordOf<CaseRow> kCaseRow{"case_row", "", kCaseRowFields};

constexpr Field kFileRowFields[] = {
    field<&FileRow::name>("name"),
    field<&FileRow::kind>("kind", "\"profile\", or of which schema it is: \"matrix\", \"load\", ..."),
    field<&FileRow::bytes>("bytes").within(kNonNegative),
    field<&FileRow::modified>("modified"),
};
constexpr RecordOf<FileRow> kFileRow{"file_row", "", kFileRowFields};

constexpr Field kSeriesPointFields[] = {
    field<&SeriesPoint::session>("session"),
    field<&SeriesPoint::index>("index", "Of the run in its session.").within(kNonNegative),
    field<&SeriesPoint::started>("started"),
    field<&SeriesPoint::commit>("commit"),
    field<&SeriesPoint::branch>("branch"),
    field<&SeriesPoint::dirty>("dirty"),
    field<&SeriesPoint::n>("n").within(kNonNegative),
    field<&SeriesPoint::value>("value"),
    field<&SeriesPoint::low>("low", "Of the interval; of several sessions the least value."),
    field<&SeriesPoint::high>("high"),
    field<&SeriesPoint::count>("count", "Sessions that this point stands for; value is their median.")
        .ruled(R"({"minimum": 2})"),
};
constexpr RecordOf<SeriesPoint> kSeriesPoint{"point", "", kSeriesPointFields};

constexpr Field kSeriesMarkFields[] = {
    field<&SeriesMark::at>("at", "Index into points.").within(kNonNegative),
    field<&SeriesMark::session>("session"),
    field<&SeriesMark::started>("started"),
    field<&SeriesMark::commit>("commit"),
};
constexpr RecordOf<SeriesMark> kSeriesMark{"mark", "", kSeriesMarkFields};

constexpr Field kLevelChangeFields[] = {
    field<&LevelChange::before>("before"),
    field<&LevelChange::after>("after"),
    field<&LevelChange::p>("p").within(kShare),
    field<&LevelChange::good_commit>("good_commit", "Of the session before."),
    field<&LevelChange::worse>("worse"),
};
constexpr RecordOf<LevelChange> kLevelChange{"level_change", "", kLevelChangeFields};

constexpr Field kSeriesChangeFields[] = {
    inlined<&SeriesChange::mark>(kSeriesMark),
    inlined<&SeriesChange::change>(kLevelChange),
};
constexpr RecordOf<SeriesChange> kSeriesChange{"change", "", kSeriesChangeFields};

constexpr Field kSeriesMachineFields[] = {
    inlined<&SeriesMachine::mark>(kSeriesMark),
    field<&SeriesMachine::what>("what"),
};
constexpr RecordOf<SeriesMachine> kSeriesMachine{"machine_mark", "", kSeriesMachineFields};

constexpr Field kSeriesBandFields[] = {
    inlined<&SeriesBand::interval>(kBounds),
    field<&SeriesBand::from>("from", "Index into points.").within(kNonNegative),
};
constexpr RecordOf<SeriesBand> kSeriesBand{"band", "Where the next session is expected.", kSeriesBandFields};

constexpr Field kSeriesDriftFields[] = {
    field<&SeriesDrift::per_session>("per_session", "Relative to the level."),
    inlined<&SeriesDrift::interval>(kBounds),
    field<&SeriesDrift::p>("p").within(kShare),
};
constexpr RecordOf<SeriesDrift> kSeriesDrift{"drift", "", kSeriesDriftFields};

constexpr Field kSeriesOfMachineFields[] = {
    field<&SeriesOfMachine::label>("label"),
    field<&SeriesOfMachine::metric>("metric"),
    field<&SeriesOfMachine::unit>("unit"),
    field<&SeriesOfMachine::better>("better"),
    field<&SeriesOfMachine::total>("total", "Sessions, however many points are drawn.").within(kNonNegative),
    field<&SeriesOfMachine::points>("points", "Oldest first.", kSeriesPoint),
    field<&SeriesOfMachine::changes>("changes", "", kSeriesChange),
    field<&SeriesOfMachine::machines>("machines", "Where another machine begins.", kSeriesMachine),
    field<&SeriesOfMachine::machine>("machine", "Fingerprint of the newest one."),
    field<&SeriesOfMachine::level>("level"),
    field<&SeriesOfMachine::band>("band", "", kSeriesBand),
    field<&SeriesOfMachine::drift>("drift", "", kSeriesDrift),
};
constexpr RecordOf<SeriesOfMachine> kSeriesOfMachine{"series", "", kSeriesOfMachineFields};

constexpr Field kChangeRowFields[] = {
    field<&ChangeRow::label>("label"),
    field<&ChangeRow::of, &store::CaseEntry::workload>("workload"),
    field<&ChangeRow::of, &store::CaseEntry::params>("params", kParams),
    field<&ChangeRow::of, &store::CaseEntry::device>("device"),
    field<&ChangeRow::of, &store::CaseEntry::mode>("mode"),
    field<&ChangeRow::metric>("metric"),
    field<&ChangeRow::unit>("unit"),
    inlined<&ChangeRow::change>(kLevelChange),
    field<&ChangeRow::session>("session"),
    field<&ChangeRow::started>("started"),
    field<&ChangeRow::commit>("commit"),
    field<&ChangeRow::ago>("ago", "Sessions since then, its own included.").within(kAtLeastOne),
};
constexpr RecordOf<ChangeRow> kChangeRow{"change_row", "", kChangeRowFields};

constexpr Field kPairSideFields[] = {
    field<&PairSide::id>("id"),         field<&PairSide::started>("started"), field<&PairSide::commit>("commit"),
    field<&PairSide::branch>("branch"), field<&PairSide::dirty>("dirty"),     field<&PairSide::hostname>("hostname"),
};
constexpr RecordOf<PairSide> kPairSide{"pair_side", "", kPairSideFields};

constexpr Field kReportPageFields[] = {
    inlined<&ReportPage::report>(kShownReport),
    field<&ReportPage::problem>("problem", "What is wrong with a document of a known schema."),
};
constexpr Field kSessionsPageFields[] = {
    field<&SessionsPage::rows>("sessions", "", kSessionRow),
    field<&SessionsPage::next>("next", "Of /api/sessions: there are more behind the session of this id."),
};
constexpr Field kRunsPageFields[] = {
    field<&RunsPage::rows>("runs", "", kRunRow),
    field<&RunsPage::next>("next", "\"<session>.<index>\" of the last one: there are more behind it."),
};
constexpr Field kDocumentsPageFields[] = {
    field<&DocumentsPage::rows>("documents", "", kDocumentRow),
    field<&DocumentsPage::next>("next", "\"<session>.<index>\" of the last one: there are more behind it."),
};
constexpr Field kCasesPageFields[] = {
    field<&CasesPage::total>("total", "That fit the query.").within(kNonNegative),
    field<&CasesPage::cases>("cases", "", kCaseRow),
};
constexpr Field kFilesPageFields[] = {
    field<&FilesPage::folder>("folder", "Whether there is one."),
    field<&FilesPage::files>("files", "", kFileRow),
};
constexpr Field kSeriesPageFields[] = {
    field<&SeriesPage::label>("label"),
    field<&SeriesPage::metric>("metric"),
    field<&SeriesPage::metrics>("metrics", "That the newest runs have."),
    field<&SeriesPage::series>("series", "", kSeriesOfMachine),
};
constexpr Field kChangesPageFields[] = {
    field<&ChangesPage::cases>("cases", "That there are.").within(kNonNegative),
    field<&ChangesPage::seen>("seen", "Of these; ask again for the rest.").within(kNonNegative),
    field<&ChangesPage::changes>("changes", "", kChangeRow),
};
constexpr Field kPairPageFields[] = {
    field<&PairPage::a>("a", "", kPairSide),
    field<&PairPage::b>("b", "", kPairSide),
    field<&PairPage::not_compared>("not_compared", "Cases that only one of them has."),
    derived("verdict", "", [](const PairPage& page) { return overall(page.comparison); }),
    field<&PairPage::comparison>("comparison", "", kComparison),
    field<&PairPage::report>("report", "", kShownReport),
};

}  // namespace

constexpr RecordOf<ShownReport> kShownReport{"shown_report", "", kShownReportFields};
constexpr RecordOf<ReportPage> kReportPage{
    "report_page", "A document as `warpmark report` shows it, if it has a report (/api/report).", kReportPageFields,
    "warpmark.report/1"};
constexpr RecordOf<store::SessionSummary> kSessionRow{"session_row", "", kSessionRowFields};
constexpr RecordOf<SessionsPage> kSessionsPage{"sessions_page", "Stored sessions, the newest first (/api/sessions).",
                                               kSessionsPageFields, "warpmark.sessions/1"};
constexpr RecordOf<RunsPage> kRunsPage{"runs_page", "Runs, the newest first, whatever became of them (/api/runs).",
                                       kRunsPageFields, "warpmark.runs/1"};
constexpr RecordOf<DocumentsPage> kDocumentsPage{
    "documents_page", "What verbs concluded about stored sessions, the newest first (/api/documents).",
    kDocumentsPageFields, "warpmark.documents/1"};
constexpr RecordOf<CasesPage> kCasesPage{"cases_page", "Benchmarks, the most recently measured first (/api/cases).",
                                         kCasesPageFields, "warpmark.cases/1"};
constexpr RecordOf<FilesPage> kFilesPage{"files_page", "Recordings and reports in the folder of --files (/api/files).",
                                         kFilesPageFields, "warpmark.files/1"};
constexpr RecordOf<SeriesPage> kSeriesPage{
    "series_page", "One metric of one benchmark over time, split where machines take turns (/api/series).",
    kSeriesPageFields, "warpmark.series/1"};
constexpr RecordOf<ChangesPage> kChangesPage{
    "changes_page", "The newest change point of every benchmark, as far as looked at by now (/api/changes).",
    kChangesPageFields, "warpmark.changes/1"};
constexpr RecordOf<PairPage> kPairPage{"pair_page", "Two stored sessions against each other (/api/pair).",
                                       kPairPageFields, "warpmark.pair/1"};

}  // namespace warpmark::watch
