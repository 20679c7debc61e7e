// What the dashboard's API answers, as structs: their tables make the JSON, the schemas and the types of the pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/comparison.h"
#include "model/fields/fields_fwd.h"
#include "store/store.h"

namespace warpmark::watch {

/// A report for the pages.
struct ShownReport {
  std::string title, subtitle, html;
};

/// Rows, the newest first, and what names the last one where there are more behind it.
template <typename Row>
struct Page {
  std::vector<Row> rows;
  std::optional<std::string> next;
};
using SessionsPage = Page<store::SessionSummary>;
using RunsPage = Page<store::RunPoint>;
using DocumentsPage = Page<store::DocumentEntry>;

struct CaseRow {
  store::CaseEntry of;
  std::string unit;
  std::vector<double> values;
};

struct CasesPage {
  std::int64_t total = 0;
  std::vector<CaseRow> cases;
};

struct FileRow {
  std::string name, kind;  ///< the name is relative, with '/'
  std::int64_t bytes = 0;
  std::string modified;  ///< UTC
};

struct FilesPage {
  bool folder = false;
  std::vector<FileRow> files;
};

/// Points of a series that are drawn as one.
struct SeriesPoint {
  std::string session, started, commit, branch;
  std::int64_t index = 0;
  bool dirty = false;
  std::int64_t n = 0;
  double value = 0;
  std::optional<double> low, high;
  std::optional<std::int64_t> count;
};

struct SeriesMark {
  std::int64_t at = 0;
  std::string session, started, commit;
};

struct LevelChange {
  double before = 0, after = 0, p = 1;
  std::string good_commit;
  std::optional<bool> worse;
};

struct SeriesChange {
  SeriesMark mark;
  LevelChange change;
};

struct SeriesMachine {
  SeriesMark mark;
  std::string what;
};

struct SeriesBand {
  Interval interval;
  std::int64_t from = 0;
};

struct SeriesDrift {
  double per_session = 0;
  Interval interval;
  double p = 1;
};

struct SeriesOfMachine {
  std::string label, metric, unit;
  Better better = Better::lower;
  std::int64_t total = 0;
  std::vector<SeriesPoint> points;
  std::vector<SeriesChange> changes;
  std::vector<SeriesMachine> machines;
  std::string machine;
  std::optional<double> level;
  std::optional<SeriesBand> band;
  std::optional<SeriesDrift> drift;
};

struct SeriesPage {
  std::string label, metric;
  std::vector<std::string> metrics;
  std::vector<SeriesOfMachine> series;
};

struct ChangeRow {
  store::CaseEntry of;
  std::string label, metric, unit;
  LevelChange change;
  std::string session, started, commit;
  std::int64_t ago = 0;
};

struct ChangesPage {
  std::int64_t cases = 0, seen = 0;
  std::vector<ChangeRow> changes;
};

struct PairSide {
  std::string id, started, commit, branch, hostname;
  bool dirty = false;
};

struct PairPage {
  PairSide a, b;
  std::vector<std::string> not_compared;
  Comparison comparison;
  ShownReport report;
};

extern const RecordOf<store::SessionSummary> kSessionRow;
extern const RecordOf<ShownReport> kShownReport;
extern const RecordOf<SessionsPage> kSessionsPage;    ///< "warpmark.sessions/1"
extern const RecordOf<RunsPage> kRunsPage;            ///< "warpmark.runs/1"
extern const RecordOf<DocumentsPage> kDocumentsPage;  ///< "warpmark.documents/1"
extern const RecordOf<CasesPage> kCasesPage;          ///< "warpmark.cases/1"
extern const RecordOf<FilesPage> kFilesPage;          ///< "warpmark.files/1"
extern const RecordOf<SeriesPage> kSeriesPage;        ///< "warpmark.series/1"
extern const RecordOf<ChangesPage> kChangesPage;      ///< "warpmark.changes/1"
extern const RecordOf<PairPage> kPairPage;            ///< "warpmark.pair/1"

}  // namespace warpmark::watch
