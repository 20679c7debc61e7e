#include "store/sql/sql_store.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "model/names.h"

namespace warpmark::store {
namespace {

struct Condition {
  std::string sql;
  SqlValues values;

  void add(const std::string& condition, std::string value) {
    sql += condition;
    values.emplace_back(std::move(value));
  }
};

/// On cases c: what a series is made of.
Condition case_condition(const RunQuery& query, const Dialect& dialect) {
  Condition condition;
  if (is_glob(query.workload)) {
    condition.add(std::string(" AND c.workload ") + dialect.glob + " ?", dialect.to_pattern(query.workload));
  } else if (!query.workload.empty()) {
    condition.add(" AND c.workload = ?", query.workload);
  }
  if (!query.device.empty()) condition.add(" AND c.device = ?", query.device);
  if (query.mode) condition.add(" AND c.mode = ?", name_of(*query.mode));
  if (query.case_params) condition.add(" AND c.params = ?", *query.case_params);
  for (const auto& [name, value] : query.params) {
    condition.add(" AND EXISTS (SELECT 1 FROM case_params p WHERE p.case_key = c.key AND p.name = ?", name);
    condition.add(" AND p.value = ?)", value);
  }
  return condition;
}

/// On sessions s.
Condition session_condition(const RunQuery& query) {
  Condition condition;
  if (!query.fingerprint.empty()) condition.add(" AND s.fingerprint = ?", query.fingerprint);
  if (!query.commit.empty()) {
    condition.add(kCommitBeginsWith, query.commit);
    condition.values.emplace_back(query.commit);
  }
  if (!query.branch.empty()) condition.add(" AND s.branch = ?", query.branch);
  if (query.dirty) condition.sql += *query.dirty ? " AND s.dirty != 0" : " AND s.dirty = 0";
  return condition;
}

/// On points p; metric names are compared where the key can serve them, patterns only where one is asked for.
Condition metric_condition(const RunQuery& query, const Dialect& dialect) {
  Condition condition;
  if (query.metric.empty()) {
    condition.sql = " AND p.metric = c.metric";
  } else if (is_glob(query.metric)) {
    condition.add(std::string(" AND p.metric ") + dialect.glob + " ?", dialect.to_pattern(query.metric));
  } else {
    condition.add(" AND p.metric = ?", query.metric);
  }
  return condition;
}

constexpr const char* kColumns =
    "SELECT s.id, p.position, p.started, s.commit_id, s.fingerprint, c.workload, c.params, c.device, c.mode, "
    "p.outcome, "
    "p.metric, p.unit, p.better, p.n, p.median, p.ci_low, p.ci_high, p.ci_confidence, p.run, s.started, s.branch, "
    "s.dirty, s.hostname FROM ";

Status read_point(const Row& row, RunPoint& point) {
  point.session = row.text(0);
  point.index = row.integer(1);
  point.started = row.text(2);
  point.commit = row.text(3);
  point.fingerprint = row.text(4);
  point.workload = row.text(5);
  point.params = row.text(6);
  point.device = row.text(7);
  const auto mode = value_named<Mode>(row.text(8));
  const auto outcome = value_named<Outcome>(row.text(9));
  const auto better = value_named<Better>(row.text(12));
  if (!mode || !outcome || !better) {
    return data_error("run " + point.session + "." + std::to_string(point.index) +
                      " has an unknown mode, outcome or "
                      "direction: " +
                      row.text(8) + ", " + row.text(9) + ", " + row.text(12));
  }
  point.mode = *mode;
  point.outcome = *outcome;
  point.metric = row.text(10);
  point.unit = row.text(11);
  point.better = *better;
  point.n = row.integer(13);
  point.median = row.number(14);
  if (!row.null(15)) point.interval = Interval{row.number(15), row.number(16), row.number(17)};
  point.session_started = row.text(19);
  point.branch = row.text(20);
  point.dirty = row.integer(21) != 0;
  point.hostname = row.text(22);
  return {};
}

/// A point with the key of its run, which orders points of the same second.
struct Found {
  std::int64_t run = 0;
  RunPoint point;
};

/// Of "2026-11-28T19:51:15Z", the digits as a number: in the order of the texts.
std::int64_t second_of(std::string_view started) {
  constexpr std::size_t kSeconds = 19;
  std::int64_t digits = 0;
  for (const char c : started.substr(0, kSeconds)) {
    if (c >= '0' && c <= '9') digits = digits * 10 + (c - '0');
  }
  return digits;
}

bool newer(const Found& a, const Found& b) {
  if (a.point.started != b.point.started) return a.point.started > b.point.started;
  return a.run != b.run ? a.run > b.run : a.point.metric < b.point.metric;
}

/// The newest `limit`, newest first. Points are large, and their texts far apart: places with a number of each are
/// sorted.
std::vector<RunPoint> newest_of(std::vector<Found> found, std::size_t limit) {
  std::vector<std::pair<std::int64_t, Found*>> order;
  order.reserve(found.size());
  for (auto& one : found) order.emplace_back(second_of(one.point.started), &one);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : newer(*a.second, *b.second);
  });
  order.resize(std::min(order.size(), limit));
  std::vector<RunPoint> points;
  points.reserve(order.size());
  for (const auto& [second, one] : order) points.push_back(std::move(one->point));
  return points;
}

Status append_found(SqlDatabase& database, const std::string& sql, const SqlValues& values, std::vector<Found>& found) {
  return database.each(sql, values, [&](const Row& row) {
    auto& next = found.emplace_back();
    next.run = row.integer(18);
    return read_point(row, next.point);
  });
}

struct Case {
  std::int64_t key = 0;
  std::string metric;  ///< the primary one
};

/// One stretch of `points` for each case. SQLite's CROSS JOIN fixes the order of the loops.
Result<std::vector<Found>> find_by_case(SqlDatabase& database, const RunQuery& query, std::span<const Case> cases) {
  const Condition on_sessions = session_condition(query);
  Condition on_metric = metric_condition(query, database.dialect());
  // The value and not the column of the case: PostgreSQL takes the order from the key only where it knows what it is.
  if (query.metric.empty()) on_metric.sql = " AND p.metric = ?";
  const std::string join = std::string(" ") + database.dialect().cross_join + " ";
  const std::string sql = std::string(kColumns) + "cases c" + join + "points p ON p.case_key = c.key" + join +
                          "sessions s ON s.key = p.session WHERE c.key = ? AND p.started >= ?" + on_metric.sql +
                          on_sessions.sql + " ORDER BY p.started DESC, p.run DESC, p.metric LIMIT ?";
  const auto limit = static_cast<std::size_t>(query.limit);
  std::vector<Found> found;
  std::string oldest;  // points before this cannot be among the newest `limit` any more
  for (const auto& [key, metric] : cases) {
    SqlValues values = {key, oldest};
    if (query.metric.empty()) values.emplace_back(metric);
    values.insert(values.end(), on_metric.values.begin(), on_metric.values.end());
    values.insert(values.end(), on_sessions.values.begin(), on_sessions.values.end());
    values.emplace_back(query.limit);
    WM_TRY(append_found(database, sql, values, found));
    if (found.size() <= limit) continue;
    std::nth_element(found.begin(), found.begin() + query.limit - 1, found.end(), newer);
    found.resize(limit);
    oldest = found.back().point.started;
  }
  return found;
}

/// All runs from the newest on, until the limit is reached.
Result<std::vector<Found>> find_by_time(SqlDatabase& database, const RunQuery& query, const Condition& on_cases) {
  const Condition on_sessions = session_condition(query);
  const Condition on_metric = metric_condition(query, database.dialect());
  const std::string join = std::string(" ") + database.dialect().cross_join + " ";
  const std::string of_run = "p.case_key = c.key" + on_metric.sql + " AND p.started = r.started AND p.run = r.key";
  const std::string sql = std::string(kColumns) + "runs r" + join + "cases c ON c.key = r.case_key" +
                          database.dialect().join_each("points p", of_run) + join +
                          "sessions s ON s.key = p.session WHERE TRUE" + on_cases.sql + on_sessions.sql +
                          " ORDER BY r.started DESC, r.key DESC, p.metric LIMIT ?";
  SqlValues values = on_metric.values;
  values.insert(values.end(), on_cases.values.begin(), on_cases.values.end());
  values.insert(values.end(), on_sessions.values.begin(), on_sessions.values.end());
  values.emplace_back(query.limit);
  std::vector<Found> found;
  WM_TRY(append_found(database, sql, values, found));
  return found;
}

/// What points share with others of their session or case, read once.
struct Shared {
  std::unordered_map<std::int64_t, RunPoint> sessions;
  std::unordered_map<std::int64_t, RunPoint> cases;  ///< `metric` is the primary one
};

Result<Shared> read_shared(SqlDatabase& database, const RunQuery& query, const Condition& on_cases) {
  Shared shared;
  const Condition on_sessions = session_condition(query);
  WM_TRY(database.each(
      "SELECT s.key, s.id, s.commit_id, s.fingerprint, s.started, s.branch, s.dirty, s.hostname FROM sessions s WHERE "
      "TRUE" +
          on_sessions.sql,
      on_sessions.values, [&](const Row& row) {
        RunPoint& point = shared.sessions[row.integer(0)];
        point.session = row.text(1);
        point.commit = row.text(2);
        point.fingerprint = row.text(3);
        point.session_started = row.text(4);
        point.branch = row.text(5);
        point.dirty = row.integer(6) != 0;
        point.hostname = row.text(7);
        return Status();
      }));
  WM_TRY(database.each(
      "SELECT c.key, c.workload, c.params, c.device, c.mode, c.metric FROM cases c WHERE TRUE" + on_cases.sql,
      on_cases.values, [&](const Row& row) {
        RunPoint& point = shared.cases[row.integer(0)];
        point.workload = row.text(1);
        point.params = row.text(2);
        point.device = row.text(3);
        const auto mode = value_named<Mode>(row.text(4));
        if (!mode) return Status(data_error("a case has an unknown mode: " + row.text(4)));
        point.mode = *mode;
        point.metric = row.text(5);
        return Status();
      }));
  return shared;
}

/// All points in the order of their table, where nearly all are wanted: joins would look up each of them.
Status scan(SqlDatabase& database, const Condition& on_points, const Shared& shared,
            const std::function<Status(const Row&, const RunPoint& of_case, const RunPoint& of_session)>& use) {
  return database.each(
      "SELECT p.case_key, p.session, p.position, p.started, p.outcome, p.metric, p.unit, p.better, p.n, p.median, "
      "p.ci_low, p.ci_high, p.ci_confidence, p.run FROM points p WHERE TRUE" +
          on_points.sql,
      on_points.values, [&](const Row& row) {
        const auto of_case = shared.cases.find(row.integer(0));
        const auto of_session = shared.sessions.find(row.integer(1));
        if (of_case == shared.cases.end() || of_session == shared.sessions.end()) return Status();
        return use(row, of_case->second, of_session->second);
      });
}

std::optional<Interval> scanned_interval(const Row& row) {
  if (row.null(10)) return std::nullopt;
  return Interval{row.number(10), row.number(11), row.number(12)};
}

/// What only a point has, over what its session and its case have.
Status read_scanned(const Row& row, const RunPoint& of_case, const RunPoint& of_session, RunPoint& point) {
  const auto outcome = value_named<Outcome>(row.text(4));
  const auto better = value_named<Better>(row.text(7));
  if (!outcome || !better) {
    return data_error("a point of " + of_session.session + " has an unknown outcome or direction: " + row.text(4) +
                      ", " + row.text(7));
  }
  point = of_session;
  point.workload = of_case.workload;
  point.params = of_case.params;
  point.device = of_case.device;
  point.mode = of_case.mode;
  point.index = row.integer(2);
  point.started = row.text(3);
  point.outcome = *outcome;
  point.metric = row.text(5);
  point.unit = row.text(6);
  point.better = *better;
  point.n = row.integer(8);
  point.median = row.number(9);
  point.interval = scanned_interval(row);
  return {};
}

Result<std::vector<Found>> find_by_scan(SqlDatabase& database, const RunQuery& query, const Condition& on_cases) {
  WM_ASSIGN(const Shared shared, read_shared(database, query, on_cases));
  const bool any_metric = query.metric == "*" || query.metric.empty();
  const Condition on_metric = any_metric ? Condition{} : metric_condition(query, database.dialect());
  std::vector<Found> found;  // large: moving them as it grows takes longer than counting
  WM_TRY(
      database.each("SELECT count(*) FROM points p WHERE TRUE" + on_metric.sql, on_metric.values, [&](const Row& row) {
        found.reserve(static_cast<std::size_t>(row.integer(0)));
        return Status();
      }));
  WM_TRY(scan(database, on_metric, shared, [&](const Row& row, const RunPoint& of_case, const RunPoint& of_session) {
    if (query.metric.empty() && row.bytes(5) != of_case.metric) return Status();
    auto& next = found.emplace_back();
    next.run = row.integer(13);
    return read_scanned(row, of_case, of_session, next.point);
  }));
  return found;
}

constexpr std::int64_t kNearlyAll = 50'000;  // a limit from which on a scan is cheaper than looking points up

Result<std::vector<Found>> find_any(SqlDatabase& database, const RunQuery& query, std::int64_t many_cases) {
  const Condition on_cases = case_condition(query, database.dialect());
  if (query.limit >= kNearlyAll && on_cases.sql.empty()) return find_by_scan(database, query, on_cases);
  std::vector<Case> cases;
  WM_TRY(database.each(
      "SELECT c.key, c.metric FROM cases c WHERE TRUE" + on_cases.sql + " LIMIT " + std::to_string(many_cases),
      on_cases.values, [&](const Row& row) {
        cases.push_back({row.integer(0), row.text(1)});
        return Status();
      }));
  return static_cast<std::int64_t>(cases.size()) < many_cases ? find_by_case(database, query, cases)
                                                              : find_by_time(database, query, on_cases);
}

}  // namespace

Result<std::vector<RunPoint>> find_points(SqlDatabase& database, const RunQuery& query, std::int64_t many_cases) {
  if (query.limit <= 0) return std::vector<RunPoint>();
  WM_ASSIGN(auto transaction, Transaction::begin(database, Transaction::Kind::read));
  WM_ASSIGN(auto found, find_any(database, query, many_cases));
  WM_TRY(transaction.commit());
  return newest_of(std::move(found), static_cast<std::size_t>(query.limit));
}

Result<PointTable> all_series(SqlDatabase& database) {
  WM_ASSIGN(auto transaction, Transaction::begin(database, Transaction::Kind::read));
  WM_ASSIGN(Shared shared, read_shared(database, {}, {}));
  PointTable table;
  Condition passed;
  passed.add(" AND p.outcome = ? ORDER BY p.case_key, p.metric, p.started, p.run", name_of(Outcome::passed));
  std::int64_t case_key = 0;
  const auto add = [&](const Row& row, const RunPoint& of_case, const RunPoint& of_session) -> Status {
    if (table.series.empty() || row.integer(0) != case_key || row.bytes(5) != table.series.back().facts.metric) {
      case_key = row.integer(0);
      table.series.emplace_back();
      WM_TRY(read_scanned(row, of_case, of_session, table.series.back().facts));
    }
    PointSeries& series = table.series.back();
    if (row.bytes(6) != series.facts.unit || row.bytes(7) != name_of(series.facts.better)) {
      WM_TRY(read_scanned(row, of_case, of_session, series.facts));
    }
    series.points.push_back({.session = &of_session,
                             .index = row.integer(2),
                             .n = row.integer(8),
                             .median = row.number(9),
                             .interval = scanned_interval(row)});
    return Status();
  };
  WM_TRY(scan(database, passed, shared, add));
  WM_TRY(transaction.commit());
  table.sessions = std::move(shared.sessions);
  return table;
}

}  // namespace warpmark::store
