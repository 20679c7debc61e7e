#include "store/sql/sql_store.h"

#include <cmath>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/untrusted/input.h"
#include "model/json/json.h"
#include "model/names.h"
#include "store/location.h"
#include "store/lookup.h"
#include "store/payload.h"

namespace warpmark::store {
namespace {

using Kind = Transaction::Kind;

class SqlStore final : public Store {
 public:
  explicit SqlStore(std::unique_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Status begin(const Session& header) override;
  Status append_round(const std::string& session_id, const Run& partial, std::int64_t round) override;
  Status append_run(const std::string& session_id, const Run& run) override {
    return append_runs(session_id, std::span(&run, 1));
  }
  Status append_runs(const std::string& session_id, std::span<const Run> runs) override;
  Status finish(const std::string& session_id, std::span<const Ceiling> ceilings) override;
  Status attach(const std::string& id, const Document& document) override {
    return attach_document(*database_, id, document);
  }
  Result<std::vector<DocumentEntry>> documents(const DocumentQuery& query) override {
    return list_documents(*database_, query);
  }
  Result<Document> document(const std::string& id, std::int64_t index) override {
    return load_document(*database_, id, index);
  }
  Result<std::vector<SessionSummary>> sessions(const SessionQuery& query) override;
  Result<StoredSession> load(const std::string& id) override;
  Status tag(const std::string& session, const std::string& name) override;
  Status untag(const std::string& name) override;
  Status prune(std::span<const std::string> session_ids) override;
  Result<std::vector<RunPoint>> find(const RunQuery& query) override { return find_points(*database_, query); }
  Result<PointTable> series() override { return all_series(*database_); }
  Result<std::vector<RunPoint>> runs(const RunListQuery& query) override { return list_runs(*database_, query); }
  Result<Run> run(const std::string& id, std::int64_t index) override { return load_run(*database_, id, index); }
  Result<std::vector<CaseEntry>> cases() override { return list_cases(*database_); }
  Result<std::vector<HostEntry>> hosts() override { return list_hosts(*database_); }

 private:
  struct Begun {
    std::int64_t key = 0;
    std::string started;
  };
  struct RunRow {
    std::int64_t key = 0;
    std::int64_t session = 0;
    std::int64_t case_key = 0;
    std::string started;
  };
  Result<Begun> begun(const std::string& session_id);
  Result<bool> has_run(std::int64_t session, std::int64_t index);
  Result<std::int64_t> case_key_of(const Run& run);
  Status insert_run(const Begun& session, const Run& run);
  Status insert_points(const RunRow& row, const Run& run);
  Result<std::string> choose(const std::string& typed);
  Status prune_all(std::span<const std::string> session_ids);
  Status add_tags(std::int64_t session, SessionSummary& summary);
  Status count_runs(std::int64_t session, SessionSummary& summary);
  Status load_runs(std::int64_t session, StoredSession& stored);

  std::unique_ptr<SqlDatabase> database_;
};

constexpr const char* kLastCharacter = "\xF4\x8F\xBF\xBF";  // U+10FFFF, after every other

std::string number_of(std::int64_t index) { return std::to_string(index); }

Status SqlStore::begin(const Session& header) {
  Session bare;  // what comes later is not even copied: an imported session may be large
  bare.id = header.id;
  bare.started = header.started;
  bare.command = hide_password(header.command);
  bare.commit = header.commit;
  bare.branch = header.branch;
  bare.dirty = header.dirty;
  bare.machine = header.machine;
  bare.build = header.build;
  WM_ASSIGN(auto transaction, Transaction::begin(*database_, Kind::write));
  WM_ASSIGN(const auto known, database_->integer("SELECT count(*) FROM sessions WHERE id = ?", {header.id}));
  if (known > 0) return internal_error("session '" + header.id + "' is already stored");
  WM_TRY(
      database_->run("INSERT INTO sessions (id, started, command, hostname, fingerprint, commit_id, branch, dirty, "
                     "document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                     {header.id, header.started, bare.command, header.machine.hostname, header.machine.fingerprint,
                      header.commit, header.branch, std::int64_t{header.dirty}, dump_json(to_json(bare), -1)}));
  return transaction.commit();
}

Status SqlStore::append_round(const std::string& session_id, const Run& partial, std::int64_t round) {
  const Payload payload = to_payload(partial);
  WM_ASSIGN(auto transaction, Transaction::begin(*database_, Kind::write));
  WM_ASSIGN(const auto session, begun(session_id));
  WM_ASSIGN(const bool merged, has_run(session.key, partial.index));
  WM_ASSIGN(const auto known,
            database_->integer("SELECT count(*) FROM rounds WHERE session = ? AND position = ? AND round = ?",
                               {session.key, partial.index, round}));
  if (merged || known > 0) {
    return internal_error("round " + number_of(round) + " of run " + number_of(partial.index) + " is already stored");
  }
  WM_TRY(database_->run("INSERT INTO rounds (session, position, round, document, samples) VALUES (?, ?, ?, ?, ?)",
                        {session.key, partial.index, round, payload.document, Blob{payload.samples}}));
  return transaction.commit();
}

Status SqlStore::append_runs(const std::string& session_id, std::span<const Run> runs) {
  WM_ASSIGN(auto transaction, Transaction::begin(*database_, Kind::write));
  WM_ASSIGN(const auto session, begun(session_id));
  for (const Run& run : runs) {
    WM_ASSIGN(const bool known, has_run(session.key, run.index));
    if (known) {
      return internal_error("run " + number_of(run.index) + " of session '" + session_id + "' is already stored");
    }
    WM_TRY(insert_run(session, run));
  }
  return transaction.commit();
}

Status SqlStore::insert_run(const Begun& session, const Run& run) {
  const Payload payload = to_payload(run);
  RunRow row{0, session.key, 0, run.started.empty() ? session.started : run.started};
  WM_ASSIGN(row.case_key, case_key_of(run));
  WM_ASSIGN(row.key, database_->integer("INSERT INTO runs (session, position, case_key, started, outcome) VALUES "
                                        "(?, ?, ?, ?, ?) RETURNING key",
                                        {row.session, run.index, row.case_key, row.started, name_of(run.outcome)}));
  WM_TRY(database_->run("INSERT INTO payloads (run, document, samples) VALUES (?, ?, ?)",
                        {row.key, payload.document, Blob{payload.samples}}));
  WM_TRY(insert_points(row, run));
  return database_->run("DELETE FROM rounds WHERE session = ? AND position = ?", {session.key, run.index});
}

Status SqlStore::finish(const std::string& session_id, std::span<const Ceiling> ceilings) {
  Json document = Json::array();
  for (const auto& ceiling : ceilings) document.push_back(to_json(ceiling));
  WM_ASSIGN(auto transaction, Transaction::begin(*database_, Kind::write));
  WM_ASSIGN(const auto session, begun(session_id));
  WM_ASSIGN(const auto known, database_->integer("SELECT count(*) FROM finishes WHERE session = ?", {session.key}));
  if (known > 0) return internal_error("session '" + session_id + "' is already finished");
  WM_TRY(
      database_->run("INSERT INTO finishes (session, document) VALUES (?, ?)", {session.key, dump_json(document, -1)}));
  return transaction.commit();
}

Result<std::vector<SessionSummary>> SqlStore::sessions(const SessionQuery& query) {
  std::string sql =
      "SELECT s.key, s.id, s.started, s.command, s.hostname, s.fingerprint, s.commit_id, s.branch, s.dirty, "
      "CASE WHEN f.session IS NULL THEN 0 ELSE 1 END FROM sessions s LEFT JOIN finishes f ON f.session = s.key "
      "WHERE TRUE";
  SqlValues values;
  const auto filter = [&](const char* condition, const std::string& value) {
    if (value.empty()) return;
    sql += condition;
    values.emplace_back(value);
  };
  filter(" AND s.hostname = ?", query.hostname);
  filter(" AND s.fingerprint = ?", query.fingerprint);
  filter(kCommitBeginsWith, query.commit);
  if (!query.commit.empty()) values.emplace_back(query.commit);
  filter(" AND s.branch = ?", query.branch);
  filter(" AND s.key IN (SELECT session FROM tags WHERE name = ?)", query.tag);
  filter(" AND lower(s.id || ' ' || s.hostname || ' ' || s.command) LIKE lower(?) ESCAPE '!'",
         query.text.empty() ? "" : holds_pattern(query.text));
  filter(" AND (s.started, s.key) < (SELECT started, key FROM sessions WHERE id = ?)", query.before);
  sql += " ORDER BY s.started DESC, s.key DESC LIMIT ?";
  values.emplace_back(query.limit);

  WM_ASSIGN(auto transaction, Transaction::begin(*database_, Kind::read));
  std::vector<SessionSummary> found;
  WM_TRY(database_->each(sql, values, [&](const Row& row) {
    auto& summary = found.emplace_back();
    summary.id = row.text(1);
    summary.started = row.text(2);
    summary.command = row.text(3);
    summary.hostname = row.text(4);
    summary.fingerprint = row.text(5);
    summary.commit = row.text(6);
    summary.branch = row.text(7);
    summary.dirty = row.integer(8) != 0;
    summary.complete = row.integer(9) != 0;
    const Status tagged = add_tags(row.integer(0), summary);
    return tagged.ok() ? count_runs(row.integer(0), summary) : tagged;
  }));
  WM_TRY(transaction.commit());
  return found;
}

Status SqlStore::add_tags(std::int64_t session, SessionSummary& summary) {
  return database_->each("SELECT name FROM tags WHERE session = ? ORDER BY name", {session}, [&](const Row& row) {
    summary.tags.push_back(row.text(0));
    return Status();
  });
}

Status SqlStore::count_runs(std::int64_t session, SessionSummary& summary) {
  WM_TRY(database_->each("SELECT outcome, count(*) FROM runs WHERE session = ? GROUP BY outcome", {session},
                         [&](const Row& row) {
                           const auto outcome = value_named<Outcome>(row.text(0));
                           if (!outcome) return Status(data_error("unknown outcome '" + row.text(0) + "'"));
                           summary.outcomes[*outcome] = row.integer(1);
                           return Status();
                         }));
  WM_ASSIGN(summary.unmerged_rounds, database_->integer("SELECT count(*) FROM rounds WHERE session = ?", {session}));
  return {};
}

Result<StoredSession> SqlStore::load(const std::string& id) {
  WM_ASSIGN(auto transaction, Transaction::begin(*database_, Kind::read));
  WM_ASSIGN(const std::string chosen, choose(id));
  const std::string name = "session " + chosen;
  std::int64_t key = 0;
  std::string header, finish;
  WM_TRY(
      database_->each("SELECT s.key, s.document, f.document FROM sessions s LEFT JOIN finishes f ON f.session = s.key "
                      "WHERE s.id = ?",
                      {chosen}, [&](const Row& row) {
                        key = row.integer(0);
                        header = row.text(1);
                        finish = row.text(2);
                        return Status();
                      }));
  WM_ASSIGN(const Json header_json, parse_json(header, name));
  StoredSession stored;
  WM_ASSIGN(stored.session, session_from_json(header_json));
  stored.session.complete = !finish.empty();
  if (stored.session.complete) {
    WM_ASSIGN(const Json ceilings, parse_json(finish, name));
    for (const auto& item : ceilings) {
      WM_ASSIGN(auto ceiling, ceiling_from_json(item));
      stored.session.ceilings.push_back(std::move(ceiling));
    }
  }
  WM_TRY(load_runs(key, stored));
  WM_TRY(transaction.commit());
  return stored;
}

Status SqlStore::load_runs(std::int64_t session, StoredSession& stored) {
  const auto append_to = [&](std::vector<Run>& runs) {
    return [&](const Row& row) -> Status {
      const std::string name = "run " + stored.session.id + "." + number_of(row.integer(0));
      WM_ASSIGN(auto run, run_from_payload(row.text(1), row.bytes(2), name));
      runs.push_back(std::move(run));
      return {};
    };
  };
  WM_TRY(
      database_->each("SELECT r.position, p.document, p.samples FROM runs r JOIN payloads p ON p.run = r.key "
                      "WHERE r.session = ? ORDER BY r.position",
                      {session}, append_to(stored.session.runs)));
  return database_->each("SELECT position, document, samples FROM rounds WHERE session = ? ORDER BY position, round",
                         {session}, append_to(stored.unmerged_rounds));
}

Result<std::string> SqlStore::choose(const std::string& typed) {
  std::vector<std::string> matches, newest;
  const auto append_to = [](std::vector<std::string>& ids) {
    return [&](const Row& row) {
      ids.push_back(row.text(0));
      return Status();
    };
  };
  WM_TRY(database_->each("SELECT id FROM sessions ORDER BY started DESC, key DESC LIMIT 1", {}, append_to(newest)));
  std::vector<std::string> tagged;
  WM_TRY(database_->each("SELECT s.id FROM tags t JOIN sessions s ON s.key = t.session WHERE t.name = ?", {typed},
                         append_to(tagged)));
  // An exact id comes first, so that it is found however many longer ones begin with it.
  WM_TRY(database_->each(
      "SELECT id FROM sessions WHERE id >= ? AND id < ? "
      "ORDER BY CASE WHEN id = ? THEN 0 ELSE 1 END, started DESC, key DESC LIMIT ?",
      {typed, typed + kLastCharacter, typed, static_cast<std::int64_t>(kShownMatches + 1)}, append_to(matches)));
  const bool is_id = !matches.empty() && matches.front() == typed;
  if (!tagged.empty() && !is_id) return tagged.front();
  return choose_session(typed, matches, newest.empty() ? "" : newest.front());
}

Result<SqlStore::Begun> SqlStore::begun(const std::string& session_id) {
  Begun session;
  WM_TRY(database_->each("SELECT key, started FROM sessions WHERE id = ?", {session_id}, [&](const Row& row) {
    session = {row.integer(0), row.text(1)};
    return Status();
  }));
  if (session.key == 0) return not_begun(session_id);
  return session;
}

Result<bool> SqlStore::has_run(std::int64_t session, std::int64_t index) {
  WM_ASSIGN(const auto count,
            database_->integer("SELECT count(*) FROM runs WHERE session = ? AND position = ?", {session, index}));
  return count > 0;
}

Result<std::int64_t> SqlStore::case_key_of(const Run& run) {
  const SqlValues identity = {run.workload, run.device, name_of(run.mode), to_text(run.params),
                              run.metrics.empty() ? "" : run.metrics.front().id};
  WM_ASSIGN(const auto known, database_->integer("SELECT key FROM cases WHERE workload = ? AND device = ? AND mode = ? "
                                                 "AND params = ? AND metric = ?",
                                                 identity));
  if (known != 0) return known;
  WM_ASSIGN(const auto key, database_->integer("INSERT INTO cases (workload, device, mode, params, metric) VALUES "
                                               "(?, ?, ?, ?, ?) RETURNING key",
                                               identity));
  for (const auto& [name, value] : run.params.items()) {
    WM_TRY(database_->run("INSERT INTO case_params (case_key, name, value) VALUES (?, ?, ?)",
                          {key, name, to_text(value)}));
  }
  return key;
}

Status SqlStore::insert_points(const RunRow& row, const Run& run) {
  if (run.outcome == Outcome::failed) return {};  // a wrong result has no speed
  for (const Metric& metric : run.metrics) {
    const Summary& summary = metric.summary;
    if (summary.n == 0 || !std::isfinite(summary.median)) continue;  // nothing to put in a series
    const auto bound = [&](double Interval::*part) {
      return summary.median_interval ? SqlValue((*summary.median_interval).*part) : SqlValue(nullptr);
    };
    WM_TRY(
        database_->run("INSERT INTO points (case_key, metric, started, run, session, position, outcome, unit, better, "
                       "n, median, ci_low, ci_high, ci_confidence) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       {row.case_key, metric.id, row.started, row.key, row.session, run.index, name_of(run.outcome),
                        metric.unit, name_of(metric.better), summary.n, summary.median, bound(&Interval::low),
                        bound(&Interval::high), bound(&Interval::confidence)}));
  }
  return {};
}

Status SqlStore::tag(const std::string& session, const std::string& name) {
  WM_TRY(check_tag(name));
  WM_ASSIGN(auto transaction, Transaction::begin(*database_, Kind::write));
  WM_ASSIGN(const std::string id, choose(session));
  WM_ASSIGN(const auto begun_session, begun(id));
  WM_ASSIGN(const auto ids, database_->integer("SELECT count(*) FROM sessions WHERE id = ?", {name}));
  if (ids > 0) return usage_error("'" + name + "' is the id of a session", "choose another name");
  std::string owner;
  WM_TRY(database_->each("SELECT s.id FROM tags t JOIN sessions s ON s.key = t.session WHERE t.name = ?", {name},
                         [&](const Row& row) {
                           owner = row.text(0);
                           return Status();
                         }));
  if (owner == id) return {};
  if (!owner.empty()) return tag_is_taken(name, owner);
  WM_TRY(database_->run("INSERT INTO tags (name, session) VALUES (?, ?)", {name, begun_session.key}));
  return transaction.commit();
}

Status SqlStore::untag(const std::string& name) {
  WM_ASSIGN(auto transaction, Transaction::begin(*database_, Kind::write));
  WM_ASSIGN(const auto known, database_->integer("SELECT count(*) FROM tags WHERE name = ?", {name}));
  if (known == 0) return no_such_tag(name);
  WM_TRY(database_->run("DELETE FROM tags WHERE name = ?", {name}));
  return transaction.commit();
}

/// The triggers let go what an open row of `prunings` names; its row stays as the record of it.
Status SqlStore::prune(std::span<const std::string> session_ids) {
  WM_TRY(database_->check_references(false));
  const Status pruned = prune_all(session_ids);
  WM_TRY(database_->check_references(true));
  return pruned;
}

Status SqlStore::prune_all(std::span<const std::string> session_ids) {
  WM_ASSIGN(auto transaction, Transaction::begin(*database_, Kind::write));
  for (const std::string& id : session_ids) {
    WM_ASSIGN(const auto session, begun(id));
    WM_ASSIGN(const auto tags, database_->integer("SELECT count(*) FROM tags WHERE session = ?", {session.key}));
    if (tags > 0) return tag_keeps(id);
    WM_TRY(database_->run("INSERT INTO prunings (session, id, started, pruned, is_open) VALUES (?, ?, ?, ?, 1)",
                          {session.key, id, session.started, format_utc(wall_clock_s())}));
    WM_TRY(delete_session(*database_, session.key));
  }
  WM_TRY(database_->run("UPDATE prunings SET is_open = 0 WHERE is_open = 1"));
  return transaction.commit();
}

}  // namespace

std::unique_ptr<Store> make_sql_store(std::unique_ptr<SqlDatabase> database) {
  return std::make_unique<SqlStore>(std::move(database));
}

}  // namespace warpmark::store
