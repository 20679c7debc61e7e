#include "store/sql/delete_session.h"

#include <string>
#include <vector>

namespace warpmark::store {
namespace {

Result<std::vector<std::string>> metrics_of_case(SqlDatabase& database, std::int64_t case_key) {
  std::vector<std::string> metrics;
  for (std::string last;;) {  // from one to the next, without reading the points between
    std::string next;
    WM_TRY(database.each("SELECT metric FROM points WHERE case_key = ? AND metric > ? ORDER BY metric LIMIT 1",
                         {case_key, last}, [&](const Row& row) {
                           next = row.text(0);
                           return Status();
                         }));
    if (next.empty()) return metrics;
    metrics.push_back(next);
    last = next;
  }
}

}  // namespace

Status delete_session(SqlDatabase& database, std::int64_t key) {
  struct Key {
    std::int64_t run = 0, case_key = 0;
    std::string started;
  };
  std::vector<Key> runs;
  WM_TRY(database.each("SELECT key, case_key, started FROM runs WHERE session = ?", {key}, [&](const Row& row) {
    runs.push_back({row.integer(0), row.integer(1), row.text(2)});
    return Status();
  }));
  for (const auto& [run, case_key, started] : runs) {
    // By the key of the table, metric after metric: a search by run alone would read all of it.
    WM_ASSIGN(const auto metrics, metrics_of_case(database, case_key));
    for (const auto& metric : metrics) {
      WM_TRY(database.run("DELETE FROM points WHERE case_key = ? AND metric = ? AND started = ? AND run = ?",
                          {case_key, metric, started, run}));
    }
    WM_TRY(database.run("DELETE FROM payloads WHERE run = ?", {run}));
  }
  for (const char* sql : {"DELETE FROM documents WHERE session = ?", "DELETE FROM rounds WHERE session = ?",
                          "DELETE FROM runs WHERE session = ?", "DELETE FROM finishes WHERE session = ?",
                          "DELETE FROM sessions WHERE key = ?"}) {
    WM_TRY(database.run(sql, {key}));
  }
  return {};
}

}  // namespace warpmark::store
