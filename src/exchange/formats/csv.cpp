// A table of samples, one a row. Known columns: workload (or name) and value, which must be there, and metric, unit,
// better, device, mode, outcome, reason, round, started, commit, branch, host, session; "note.x" is the note x of a run
// ("note.label": its label), and every other column is a parameter. Rows of one session, start, commit, branch and host
// are a session; rows that agree in what is measured are samples of one run, in their order. Separated by commas,
// semicolons or tabs; with the latter two numbers may have decimal commas.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/csv.h"
#include "base/text.h"
#include "base/units.h"
#include "exchange/import.h"
#include "exchange/quantities.h"
#include "model/names.h"
#include "report/results/build_parts.h"

namespace warpmark::exchange {
namespace {

using Fields = std::vector<std::string>;

constexpr std::array<std::string_view, 15> kColumns{"session",  "started", "commit", "branch",  "host",
                                                    "workload", "device",  "mode",   "outcome", "reason",
                                                    "metric",   "unit",    "better", "round",   "value"};
constexpr std::size_t kMostColumns = kColumns.size() + kMostParams;  // but for notes
constexpr std::string_view kParameter = "param.";  // before the name of a parameter that is also a column's
constexpr std::string_view kNote = "note.";

bool is_column(std::string_view name) { return std::find(kColumns.begin(), kColumns.end(), name) != kColumns.end(); }

/// Whether a spreadsheet would take the cell for a formula and run it, quotes in front left aside.
bool like_formula(std::string_view text) {
  const auto begin = text.find_first_not_of('\'');
  if (begin == std::string_view::npos || std::string_view("=+-@").find(text[begin]) == std::string_view::npos) {
    return false;
  }
  return begin > 0 || !parse_number(text).ok();
}

/// A text cell: one that looks like a formula gets a quote in front, with which spreadsheets show it as it is (OWASP,
/// "CSV Injection"); reading takes it off again.
std::string guarded(std::string_view text) {
  return csv_field(like_formula(text) ? "'" + std::string(text) : std::string(text));
}
std::string_view unguarded(std::string_view text) {
  return text.starts_with('\'') && like_formula(text.substr(1)) ? text.substr(1) : text;
}

/// The separator with which the first line is our header.
std::optional<char> separator_of(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.size() > (1 << 16)) return std::nullopt;
  for (const char separator : {',', ';', '\t'}) {
    Fields fields;
    if (!CsvRows(line, separator).next(fields).ok()) continue;
    const auto has = [&](std::string_view name) {
      return std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return trim(field) == name; });
    };
    if (has("value") && (has("workload") || has("name"))) return separator;
  }
  return std::nullopt;
}

bool detect_csv(const Document& document) { return !document.json && separator_of(document.text).has_value(); }

/// Where the known columns are, and the names of the others.
struct Header {
  std::map<std::string, std::size_t, std::less<>> known;
  std::vector<std::pair<std::size_t, std::string>> parameters, notes;
  bool decimal_commas = false;  ///< in the column of values
};

Result<Header> header_of(const Fields& fields) {
  Header header;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string name = clean_text(unguarded(trim(fields[i])));
    if (name == "name") name = "workload";
    if (name == "hostname") name = "host";
    if (name.starts_with(kNote) && name.size() > kNote.size()) {
      header.notes.emplace_back(i, name.substr(kNote.size()));
      continue;
    }
    if (name.empty()) return data_error(fmt::format("column {} has no name", i + 1));
    if (!is_column(name)) {
      header.parameters.emplace_back(i, name.starts_with(kParameter) ? name.substr(kParameter.size()) : name);
    } else if (!header.known.emplace(name, i).second) {
      return data_error("there are two columns '" + name + "'");
    }
  }
  return header;
}

class CsvReader {
 public:
  CsvReader(Header header, std::string_view text) : header_(std::move(header)), limit_(text) {}

  /// A row whose value is NaN or infinite is left out and counted.
  Status add(const Fields& row) {
    WM_ASSIGN(const double value, number(row));
    if (!std::isfinite(value)) {
      if (not_finite_++ == 0) example_ = text(row, "workload", "?");
      return {};
    }
    WM_ASSIGN(Collected* const run, run_of(row));
    // Without a column of units the names are all that has them.
    const std::string metric_text = text(row, "metric", "");
    const Described by_name = described(metric_text.empty() ? run->run.workload : metric_text);
    const bool named = !header_.known.contains("unit");
    const Unit unit = named ? by_name.unit : unit_of(text(row, "unit", ""));
    WM_ASSIGN(const Better better, direction(row, named ? by_name.better : direction_of_unit(unit.si)));
    const std::string id = metric_text.empty() ? metric_for(unit.si) : named ? by_name.id : metric_text;
    WM_ASSIGN(CollectedMetric* const found, metric_of(*run, id, unit.si, better));
    CollectedMetric& metric = *found;
    if (metric.unit != unit.si) return data_error("the unit of '" + id + "' changes from '" + metric.unit + "'");
    const std::string round = text(row, "round", "");
    if (metric.samples.empty() || round != metric.round) metric.round_sizes.push_back(0);
    metric.round = round;
    ++metric.round_sizes.back();
    metric.samples.push_back(unit.to_si(value));
    return {};
  }

  Result<std::vector<Session>> finish() {
    std::vector<Session> sessions;
    sessions.reserve(groups_.size());
    for (auto& group : groups_) {
      group.session.runs.reserve(group.runs.size());
      for (auto& collected : group.runs) WM_TRY(finish(group.session, collected));
      sessions.push_back(std::move(group.session));
      group = {};
    }
    if (not_finite_ > 0 && sessions.empty()) return data_error("no row has a value that is a number");
    if (not_finite_ > 0) {
      sessions.front().remarks.push_back(
          fmt::format("{} rows whose value is not a number: left out (the first: {})", not_finite_, example_));
    }
    return sessions;
  }

 private:
  struct CollectedMetric {
    std::string id, unit, round;
    Better better = Better::lower;
    std::vector<double> samples;
    std::vector<std::int64_t> round_sizes;
  };
  struct Collected {
    Run run;
    std::vector<CollectedMetric> metrics;
  };
  struct Group {
    Session session;
    std::vector<Collected> runs;
    std::map<std::string, std::size_t> by_case;
  };

  [[nodiscard]] std::string text(const Fields& row, std::string_view column, std::string_view otherwise) const {
    const auto found = header_.known.find(column);
    if (found == header_.known.end() || trim(row[found->second]).empty()) return std::string(otherwise);
    return clean_text(unguarded(trim(row[found->second])));
  }

  [[nodiscard]] Result<double> number(const Fields& row) const {
    const std::string written = text(row, "value", "");
    const auto value = number_in_cell(written, header_.decimal_commas);
    if (value.ok()) return *value;
    std::string name = ascii_lower(written);
    if (name.starts_with('-') || name.starts_with('+')) name.erase(0, 1);
    if (name == "nan" || name == "inf" || name == "infinity") return std::nan("");
    return data_error("the value '" + written + "' is no number");
  }

  [[nodiscard]] Result<Better> direction(const Fields& row, Better otherwise) const {
    const std::string written = text(row, "better", "");
    if (written.empty()) return otherwise;
    const auto better = value_named<Better>(written);
    if (!better) return data_error("'better' cannot be '" + written + "'", "it can: lower, higher, neither");
    return *better;
  }

  Result<Group*> group_of(const Fields& row) {
    const std::string key = text(row, "session", "") + '\n' + text(row, "started", "") + '\n' +
                            text(row, "commit", "") + '\n' + text(row, "branch", "") + '\n' + text(row, "host", "");
    const auto [found, is_new] = by_group_.emplace(key, groups_.size());
    if (is_new) {
      WM_TRY(limit_.add(1));
      Group& group = groups_.emplace_back();
      group.session = foreign_session("CSV");
      group.session.commit = text(row, "commit", "");
      group.session.branch = text(row, "branch", "");
      group.session.machine.hostname = text(row, "host", "");
    }
    return &groups_[found->second];
  }

  Result<Collected*> run_of(const Fields& row) {
    WM_ASSIGN(Group* const group_at, group_of(row));
    Group& group = *group_at;
    if (const std::string started = text(row, "started", ""); !started.empty()) {
      const auto utc = to_utc(started);
      if (!utc) return data_error("'" + started + "' is no date", "for example 2026-03-01T12:00:00Z");
      group.session.started = *utc;
    }
    const std::string workload = text(row, "workload", "");
    if (workload.empty()) return data_error("the row has no name");
    const std::string mode_text = text(row, "mode", "hot"), outcome_text = text(row, "outcome", "passed");
    const auto mode = value_named<Mode>(mode_text);
    const auto outcome = value_named<Outcome>(outcome_text);
    if (!mode) return data_error("there is no mode '" + mode_text + "'");
    if (!outcome) return data_error("there is no outcome '" + outcome_text + "'");
    Params params;
    for (const auto& [at, name] : header_.parameters) {
      if (!trim(row[at]).empty()) params.set(name, param_value(unguarded(trim(row[at]))));
    }
    const std::string device = text(row, "device", kUnknownDevice);
    const std::string key = workload + '\n' + to_text(params) + '\n' + device + '\n' + mode_text + '\n' + outcome_text;
    const auto [found, is_new] = group.by_case.emplace(key, group.runs.size());
    if (is_new) {
      WM_TRY(limit_.add(0, params));
      Session scratch = foreign_session("CSV");
      Run run = add_run(scratch, workload, device);
      run.params = std::move(params);
      run.mode = *mode;
      run.outcome = *outcome;
      if (*outcome != Outcome::passed) run.reason = text(row, "reason", "as the table says");
      for (const auto& [at, name] : header_.notes) {
        if (const auto note = trim(row[at]); !note.empty()) run.notes.emplace_back(name, clean_text(unguarded(note)));
      }
      group.runs.push_back({std::move(run), {}});
    }
    return &group.runs[found->second];
  }

  Result<CollectedMetric*> metric_of(Collected& run, const std::string& id, const std::string& unit, Better better) {
    for (auto& metric : run.metrics) {
      if (metric.id == id) return &metric;
    }
    WM_TRY(limit_.add(1));
    if (run.metrics.size() == kMostMetrics) {
      return data_error(fmt::format("'{}' has more than {} metrics", run.run.workload, kMostMetrics));
    }
    auto& metric = run.metrics.emplace_back();
    metric.id = id;
    metric.unit = unit;
    metric.better = better;
    return &metric;
  }

  static Status finish(Session& session, Collected& collected) {
    Run& run = collected.run;
    for (auto& metric : collected.metrics) {
      const Quantity quantity{metric.id.c_str(), metric.unit.c_str(), metric.better};
      WM_TRY(add_metric(run, quantity, std::move(metric.samples)));
      run.metrics.back().round_sizes = std::move(metric.round_sizes);
    }
    run.rounds = static_cast<std::int64_t>(run.metrics.front().round_sizes.size());
    run.index = static_cast<std::int64_t>(session.runs.size());
    session.runs.push_back(std::move(run));
    return {};
  }

  Header header_;
  ResultLimit limit_;
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> by_group_;
  std::int64_t not_finite_ = 0;
  std::string example_;
};

bool decimal_commas_in(std::string_view text, char separator, std::size_t column) {
  CsvRows rows(text, separator, column + 1);
  Fields row, values;
  for (auto fields = rows.next(row); fields.ok() && *fields > column; fields = rows.next(row)) {
    values.push_back(row[column]);
  }
  return has_decimal_commas(std::vector<std::string_view>(values.begin(), values.end()));
}

Result<std::vector<Session>> read_csv(const Document& document) {
  const auto separator = separator_of(document.text);
  if (!separator) {
    return data_error("the first line does not name the columns 'workload' (or 'name') and 'value'");
  }
  CsvRows rows(document.text, *separator, kMostColumns + kMostParams);
  Fields row;
  WM_ASSIGN(const std::size_t columns, rows.next(row));
  WM_ASSIGN(Header header, header_of(row));
  const std::size_t notes = header.notes.size();
  if (notes > kMostParams || columns - notes > kMostColumns) {
    return data_error(fmt::format("it has {} columns, at most {}", columns - notes, kMostColumns));
  }
  header.decimal_commas = *separator != ',' && decimal_commas_in(document.text, *separator, header.known.at("value"));
  CsvReader reader(std::move(header), document.text);
  for (std::size_t number = 2;; ++number) {
    const auto fields = rows.next(row);
    if (fields.ok() && *fields == 0) break;
    Status added;
    if (!fields.ok()) {
      added = fields.error();
    } else if (*fields != columns) {
      added = data_error(fmt::format("it has {} fields, the header {}", *fields, columns));
    } else {
      added = reader.add(row);
    }
    if (!added.ok()) return data_error(fmt::format("row {}: {}", number, added.error().what), added.error().hint);
  }
  return reader.finish();
}

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts parameters_of(const Run& run) {
  Facts facts;
  for (const auto& [name, value] : run.params.items()) facts.emplace_back(name, to_text(value));
  return facts;
}

/// But for the one that every reader makes.
Facts notes_of(const Run& run) {
  Facts facts = run.notes;
  std::erase_if(facts, [](const auto& note) { return note.first == kMeasuredBy; });
  return facts;
}

/// Names of the facts of all runs, in the order of their first use. A name that a run has twice is there twice. Data
/// error if they are too many for columns.
Result<Fields> names_of(const Session& session, const char* what, Facts (*facts_of)(const Run& run)) {
  Fields names;
  for (const Run& run : session.runs) {
    std::map<std::string, std::ptrdiff_t> seen;
    for (const auto& [name, text] : facts_of(run)) {
      if (std::count(names.begin(), names.end(), name) < ++seen[name]) names.push_back(name);
      if (names.size() <= kMostParams) continue;
      return data_error(fmt::format("{} has more than {} {}, a column each", session.id, kMostParams, what),
                        "--format warpmark writes all of them");
    }
  }
  return names;
}

std::string cells_of(Facts facts, const Fields& names) {
  std::string cells;
  for (const auto& name : names) {
    const auto found = std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == name; });
    cells += (found == facts.end() ? std::string() : guarded(found->second)) + ',';
    if (found != facts.end()) facts.erase(found);
  }
  return cells;
}

void add_samples(std::string& text, const std::string& run_fields, const Metric& metric) {
  const std::string fields =
      run_fields + guarded(metric.id) + ',' + guarded(metric.unit) + ',' + name_of(metric.better) + ',';
  std::size_t at = 0;
  for (std::size_t round = 0; round < metric.round_sizes.size(); ++round) {
    for (std::int64_t i = 0; i < metric.round_sizes[round] && at < metric.samples.size(); ++i, ++at) {
      text += fmt::format("{}{},{}\n", fields, round, metric.samples[at]);  // as many digits as it takes
    }
  }
}

Result<Exported> write_csv(const Session& session) {
  WM_ASSIGN(const auto names, names_of(session, "parameters", parameters_of));
  WM_ASSIGN(const auto notes, names_of(session, "notes", notes_of));
  const auto& host = session.machine.hostname;
  std::string text = "session,started,commit,branch,host,workload,";
  for (const auto& name : names) {
    const bool taken = is_column(name) || name == "name" || name == "hostname" || name.starts_with(kNote);
    text += guarded(taken ? std::string(kParameter) + name : name) + ',';
  }
  for (const auto& name : notes) text += guarded(std::string(kNote) + name) + ',';
  text += "device,mode,outcome,reason,metric,unit,better,round,value\n";
  std::size_t written = 0;
  for (const Run& run : session.runs) {
    if (!report::shows_speed(run)) continue;
    ++written;
    const std::string fields =
        csv_field(session.id) + ',' + csv_field(session.started) + ',' + csv_field(session.commit) + ',' +
        guarded(session.branch) + ',' + (host == kUnknownMachine ? "" : guarded(host)) + ',' + guarded(run.workload) +
        ',' + cells_of(parameters_of(run), names) + cells_of(notes_of(run), notes) + guarded(run.device) + ',' +
        name_of(run.mode) + ',' + name_of(run.outcome) + ',' + guarded(run.reason) + ',';
    for (const Metric& metric : run.metrics) add_samples(text, fields, metric);
  }
  return exported(std::move(text), written, session.runs.size() - written, "samples");
}

}  // namespace

extern const Format kCsv{"csv", "a table with one sample a row", detect_csv, read_csv, write_csv};

}  // namespace warpmark::exchange
