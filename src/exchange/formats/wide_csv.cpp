// Tables with a metric a column: NVBench's --csv, and the "wide" CSV that scripts write and Otava (hunter) reads: time,
// commit, metrics. What a column holds is what its name says; rows of one commit, time and host are a session.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/clock.h"
#include "base/csv.h"
#include "base/text.h"
#include "base/units.h"
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

using Fields = std::vector<std::string>;

constexpr std::size_t kMostWideColumns = 1000;
constexpr std::size_t kInspected = 20;  // rows by which a column's kind is told

enum class Role { time, commit, branch, host, name, note, parameter, metric };

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> known) {
  return std::find(known.begin(), known.end(), text) != known.end();
}

std::string small_letters(std::string_view text) {
  std::string small(trim(text));
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

struct Table {
  Fields header;
  std::vector<Fields> rows;
  bool decimal_commas = false;  ///< of the columns that have no decimal points
  std::vector<bool> points;     ///< of each column: a number in it has a decimal point
  [[nodiscard]] Result<double> number(const Fields& row, std::size_t column) const {
    return number_in_cell(row[column], decimal_commas && !points[column]);
  }
};

/// "1.234" beside "0,5" is a thousand.
void find_decimal_commas(Table& table) {
  for (std::size_t column = 0; column < table.header.size(); ++column) {
    std::vector<std::string_view> cells;
    for (const auto& row : table.rows) cells.push_back(row[column]);
    table.decimal_commas = table.decimal_commas || has_decimal_commas(cells);
    table.points[column] = std::ranges::any_of(
        cells, [](auto cell) { return parse_number(trim(cell)).ok() && !number_in_cell(cell, true).ok(); });
  }
}

/// Up to `most` rows; nothing if the text is no table of one width.
std::optional<Table> table_of(std::string_view text, std::size_t most) {
  const auto line = text.substr(0, text.find('\n'));
  if (line.size() > (1 << 16)) return std::nullopt;
  for (const char separator : {',', ';', '\t'}) {
    CsvRows rows(text, separator, kMostWideColumns);
    Table table;
    if (const auto count = rows.next(table.header); !count.ok() || *count < 2) continue;
    bool even = true;
    while (even && table.rows.size() < most) {
      Fields row;
      const auto count = rows.next(row);
      if (count.ok() && *count == 0) break;
      even = count.ok() && *count == table.header.size();
      if (even) table.rows.push_back(std::move(row));
    }
    const bool named = std::none_of(table.header.begin(), table.header.end(), [](const auto& name) {
      return trim(name).empty() || parse_number(trim(name)).ok();
    });
    if (!even || !named || table.rows.empty()) continue;
    table.points.resize(table.header.size());
    if (separator != ',') find_decimal_commas(table);
    return table;
  }
  return std::nullopt;
}

bool is_numeric(const Table& table, std::size_t column) {
  bool any = false;
  for (std::size_t i = 0; i < std::min(table.rows.size(), kInspected); ++i) {
    const auto text = trim(table.rows[i][column]);
    if (text.empty() || text == "N/A" || text == "nan" || text == "NaN") continue;
    if (!table.number(table.rows[i], column).ok()) return false;
    any = true;
  }
  return any;
}

/// As ISO 8601 what people write: "2026.01.01 3:00:00 +0100" of Otava's examples, "2026/01/01", "31.01.2026".
std::string iso_date(std::string_view text) {
  std::string iso(text);
  if (iso.size() >= 10 && iso[2] == '.' && iso[5] == '.') {
    iso = iso.substr(6, 4) + '-' + iso.substr(3, 2) + '-' + iso.substr(0, 2) + iso.substr(10);
  }
  for (const std::size_t at : {std::size_t{4}, std::size_t{7}}) {
    if (iso.size() > at && (iso[at] == '.' || iso[at] == '/')) iso[at] = '-';
  }
  if (iso.size() > 12 && iso[12] == ':') iso.insert(11, "0");
  if (const auto blank = iso.rfind(' '); blank != std::string::npos && blank > 10) iso.erase(blank, 1);
  return iso;
}

/// A date with or without a time, or seconds (or milliseconds) since 1970.
std::string date_of_cell(std::string_view text) {
  text = trim(text);
  const std::string iso = iso_date(text);
  if (const auto utc = to_utc(iso)) return *utc;
  if (const auto utc = to_utc(iso + "T00:00:00")) return *utc;
  const auto seconds = parse_number(text);
  if (!seconds.ok() || *seconds < 1e8 || *seconds > 1e14) return {};
  return format_utc(*seconds > 1e11 ? *seconds / 1000 : *seconds);
}

/// Dates with their month and year; numbers may be anything.
bool is_dates(const Table& table, std::size_t column) {
  const auto rows = std::span(table.rows).first(std::min(table.rows.size(), kInspected));
  return std::ranges::all_of(rows, [&](const Fields& row) {
    return !parse_number(trim(row[column])).ok() && !date_of_cell(row[column]).empty();
  });
}

/// What people write beside their numbers; it differs from row to row and tells no two benchmarks apart.
bool is_note(std::string_view name) {
  return is_one_of(name, {"note", "notes", "comment", "comments", "remark", "remarks", "description", "message",
                          "commit_message", "subject", "author", "user", "url", "link", "log", "info"});
}

std::vector<Role> roles_of(const Table& table) {
  std::vector<Role> roles;
  bool dated = false;
  for (const auto& column : table.header) {
    const auto name = small_letters(column);
    dated = dated || is_one_of(name, {"commit", "commit_id", "revision", "sha", "timestamp", "date", "datetime"});
  }
  bool named = false, timed = false;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const auto name = small_letters(table.header[i]);
    const bool numeric = is_numeric(table, i);
    const Described what = described(trim(table.header[i]));
    const bool speaks = !what.unit.si.empty() || what.better != Better::neither;
    const bool first_time = i == 0 && name == "time" && (dated || !numeric);
    if (first_time || is_one_of(name, {"timestamp", "date", "datetime"}) || (!timed && is_dates(table, i))) {
      timed = true;
      roles.push_back(Role::time);
    } else if (is_one_of(name, {"commit", "commit_id", "revision", "sha"})) {
      roles.push_back(Role::commit);
    } else if (name == "branch") {
      roles.push_back(Role::branch);
    } else if (!numeric && is_one_of(name, {"host", "hostname", "host_name", "node", "machine", "runner"})) {
      roles.push_back(Role::host);
    } else if (!numeric && is_note(name)) {
      roles.push_back(Role::note);
    } else if (!named && !numeric && is_one_of(name, {"name", "test", "test_name", "benchmark", "workload", "case"})) {
      named = true;
      roles.push_back(Role::name);
    } else {
      roles.push_back(numeric && (speaks || dated) ? Role::metric : Role::parameter);
    }
  }
  return roles;
}

Status add_row(const Table& table, const std::vector<Role>& roles, const Fields& row, Session& session) {
  std::string name = "table";
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (roles[i] == Role::name) name = clean_text(trim(row[i]));
  }
  Run& run = add_run(session, name, kUnknownDevice);
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto text = trim(row[i]);
    if (text.empty()) continue;
    if (roles[i] == Role::parameter) WM_TRY(set_param(run, clean_text(trim(table.header[i])), param_value(text)));
    if (roles[i] == Role::note) run.notes.emplace_back(clean_text(trim(table.header[i])), clean_text(text));
    if (roles[i] != Role::metric) continue;
    const auto value = table.number(row, i);
    if (!value.ok()) {
      run.notes.emplace_back(clean_text(trim(table.header[i])), "is not a number");
      continue;
    }
    Described what = described(trim(table.header[i]));
    if (const int before = seen[what.id]++; before > 0) what.id += fmt::format("_{}", before + 1);
    WM_TRY(add_described(run, what, {*value}));
  }
  return {};
}

/// A session for every commit and time, in the order of the table.
Result<std::vector<Session>> sessions_of(const Table& table, const std::vector<Role>& roles, std::string_view text) {
  std::vector<Session> sessions;
  std::map<std::string, std::size_t> places;
  ResultLimit limit(text);
  std::size_t undated = 0;
  std::string example;
  for (const Fields& row : table.rows) {
    Session fresh = foreign_session("CSV");
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = clean_text(trim(row[i]));
      if (roles[i] == Role::time) fresh.started = date_of_cell(cell);
      if (roles[i] == Role::time && fresh.started.empty() && undated++ == 0) example = cell;
      if (roles[i] == Role::commit) fresh.commit = cell;
      if (roles[i] == Role::branch) fresh.branch = cell;
      if (roles[i] == Role::host) fresh.machine.hostname = cell;
    }
    const std::string key = fresh.started + '\n' + fresh.commit + '\n' + fresh.branch + '\n' + fresh.machine.hostname;
    const auto [place, is_new] = places.try_emplace(key, sessions.size());
    if (is_new) sessions.push_back(std::move(fresh));
    Session& session = sessions[place->second];
    WM_TRY(add_row(table, roles, row, session));
    WM_TRY(limit.add(session.runs.back()));
  }
  std::size_t repeated = 0;
  for (Session& session : sessions) {
    repeated += session.runs.size();
    merge_repeats(session);
    repeated -= session.runs.size();
  }
  auto& remarks = sessions.front().remarks;
  if (undated > 0) remarks.push_back(fmt::format("{} rows have a time that is no date ('{}')", undated, example));
  if (repeated > 0) {
    remarks.push_back(fmt::format("{} rows repeat a name and its parameters: read as further rounds", repeated));
  }
  return sessions;
}

bool is_nvbench(const Fields& header) {
  const auto has = [&](std::string_view name) { return std::find(header.begin(), header.end(), name) != header.end(); };
  return has("Benchmark") && has("Device") && has("Device Name") && has("Skipped");
}

bool detect_wide(const Document& document) {
  if (document.json) return false;
  const auto table = table_of(document.text, kInspected);
  if (!table || is_nvbench(table->header)) return false;
  const auto roles = roles_of(*table);
  return std::count(roles.begin(), roles.end(), Role::metric) > 0;
}

Result<std::vector<Session>> read_wide(const Document& document) {
  const auto table = table_of(document.text, static_cast<std::size_t>(-1));
  if (!table) return data_error("its rows do not have as many fields as its header, or the header has no names");
  return sessions_of(*table, roles_of(*table), document.text);
}

bool detect_nvbench_csv(const Document& document) {
  return !document.json && document.text.starts_with("Benchmark,Device,Device Name");
}

/// Tables of several benchmarks follow one another, each with a header of its own; what stands before "Skipped" are
/// axes.
Status read_nvbench_table(const Table& table, Session& session, ResultLimit& limit, std::set<std::string>& devices) {
  const auto skipped_at =
      static_cast<std::size_t>(std::find(table.header.begin(), table.header.end(), "Skipped") - table.header.begin());
  for (const Fields& row : table.rows) {
    Run& run = add_run(session, row[0], "cuda:" + clean_text(trim(row[1])));
    run.mode = Mode::cold;
    run.timing.method = "NVBench";
    if (devices.insert(run.device).second) {
      DeviceInfo device;
      device.id = run.device;
      device.backend = "cuda";
      device.name = clean_text(trim(row[2]));
      session.machine.devices.push_back(std::move(device));
    }
    std::string before;  // the "Noise (%)" of a column belongs to that column
    for (std::size_t i = 3; i < row.size(); ++i) {
      const auto cell = trim(row[i]);
      if (i < skipped_at) {
        if (!cell.empty()) WM_TRY(set_param(run, clean_text(table.header[i]), param_value(cell)));
        continue;
      }
      if (i == skipped_at && small_letters(cell) == "yes") {
        run.outcome = Outcome::skipped;
        run.reason = "the benchmark skipped it";
      }
      const auto value = parse_number(cell);
      if (i == skipped_at || !value.ok()) continue;
      Described what = described(table.header[i]);
      const std::string column = table.header[i];
      const bool noise = column.starts_with("Noise");
      if (column.starts_with("GPU Time")) what.id = "time";
      if (column.starts_with("CPU Time")) what.id = "cpu_time";
      if (column.starts_with("Batch GPU")) what = {.id = "batch_time", .unit = unit_of("sec"), .better = Better::lower};
      if (column.starts_with("GlobalMem BW")) what.id = "bandwidth";
      if (noise) what = {.id = before + "_noise", .unit = {"", 1, 100}, .better = Better::lower};
      if (!noise) before = what.id;
      WM_TRY(add_described(run, what, {*value}));
    }
    const auto time =
        std::find_if(run.metrics.begin(), run.metrics.end(), [](const auto& m) { return m.id == "time"; });
    if (time != run.metrics.end()) std::rotate(run.metrics.begin(), time, time + 1);
    WM_TRY(limit.add(run));
  }
  return {};
}

Result<std::vector<Session>> read_nvbench_csv(const Document& document) {
  Session session = foreign_session("NVBench");
  ResultLimit limit(document.text);
  std::set<std::string> devices;
  std::string block;
  const auto finish = [&]() -> Status {
    if (trim(block).empty()) return {};
    const auto table = table_of(block, static_cast<std::size_t>(-1));
    if (!table || !is_nvbench(table->header)) return data_error("a table has no columns Benchmark, Device and Skipped");
    block.clear();
    return read_nvbench_table(*table, session, limit, devices);
  };
  for (const auto& line : split(document.text, '\n')) {
    if (line.starts_with("Benchmark,Device,") || trim(line).empty()) WM_TRY(finish());
    if (!trim(line).empty()) block += line + '\n';
  }
  WM_TRY(finish());
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kNvbenchCsv{"nvbench-csv", "NVBench's --csv", detect_nvbench_csv, read_nvbench_csv};

extern const Format kWideCsv{
    "wide-csv", "a table with a metric a column, as Otava reads", detect_wide, read_wide, nullptr, true};

}  // namespace warpmark::exchange
