#include "support/memory_store.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/untrusted/input.h"
#include "model/names.h"
#include "store/lookup.h"
#include "support/table_of_points.h"

namespace warpmark::store {
namespace {

struct Kept {
  Session session;
  std::map<std::pair<std::int64_t, std::int64_t>, Run> rounds;  ///< by index and round
  std::vector<Document> documents;
};

bool matches_text(const std::string& wanted, const std::string& text) { return wanted.empty() || wanted == text; }

bool matches(const RunQuery& query, const Run& run) {
  if (!query.workload.empty() && !glob_match(query.workload, run.workload)) return false;
  if (!matches_text(query.device, run.device) || (query.mode && *query.mode != run.mode)) return false;
  if (query.case_params && *query.case_params != to_text(run.params)) return false;
  return std::all_of(query.params.begin(), query.params.end(), [&](const auto& wanted) {
    const auto& items = run.params.items();
    return std::any_of(items.begin(), items.end(), [&](const auto& item) {
      return item.first == wanted.first && to_text(item.second) == wanted.second;
    });
  });
}

bool matches(const RunQuery& query, const Session& session) {
  return matches_text(query.fingerprint, session.machine.fingerprint) && session.commit.starts_with(query.commit) &&
         matches_text(query.branch, session.branch) && (!query.dirty || *query.dirty == session.dirty);
}

/// Those that are asked for and have a value; `wanted` empty is the first one.
std::vector<const Metric*> metrics_of(const Run& run, const std::string& wanted) {
  std::vector<const Metric*> found;
  if (run.outcome == Outcome::failed) return found;
  for (const auto& metric : run.metrics) {
    const bool asked = wanted.empty() ? &metric == &run.metrics.front() : glob_match(wanted, metric.id);
    if (asked && metric.summary.n > 0 && std::isfinite(metric.summary.median)) found.push_back(&metric);
  }
  std::sort(found.begin(), found.end(), [](const Metric* a, const Metric* b) { return a->id > b->id; });
  return found;
}

RunPoint to_point(const Session& session, const Run& run, const Metric& metric) {
  return {.session = session.id,
          .index = run.index,
          .started = run.started.empty() ? session.started : run.started,
          .session_started = session.started,
          .commit = session.commit,
          .branch = session.branch,
          .dirty = session.dirty,
          .hostname = session.machine.hostname,
          .fingerprint = session.machine.fingerprint,
          .workload = run.workload,
          .params = to_text(run.params),
          .device = run.device,
          .mode = run.mode,
          .outcome = run.outcome,
          .metric = metric.id,
          .unit = metric.unit,
          .better = metric.better,
          .n = metric.summary.n,
          .median = metric.summary.median,
          .interval = metric.summary.median_interval};
}

bool has_metric(const Run& run) { return !metrics_of(run, "").empty(); }

bool holds(const std::string& text, const std::string& part) {
  return ascii_lower(text).find(ascii_lower(part)) != std::string::npos;
}

bool matches(const RunListQuery& query, const Run& run) {
  if (!matches_text(query.workload, run.workload) || !matches_text(query.device, run.device)) return false;
  if (query.outcome && *query.outcome != run.outcome) return false;
  const std::string text =
      run.workload + ' ' + to_text(run.params) + ' ' + run.device + ' ' + std::string(name_of(run.mode));
  const auto words = split(query.text, ' ');
  return std::all_of(words.begin(), words.end(), [&](const auto& word) { return holds(text, word); });
}

bool matches(const RunListQuery& query, const Session& session) {
  return matches_text(query.session, session.id) && matches_text(query.hostname, session.machine.hostname) &&
         session.commit.starts_with(query.commit);
}

SessionSummary to_summary(const Kept& kept) {
  const Session& session = kept.session;
  SessionSummary summary{.id = session.id,
                         .started = session.started,
                         .command = session.command,
                         .hostname = session.machine.hostname,
                         .fingerprint = session.machine.fingerprint,
                         .commit = session.commit,
                         .branch = session.branch,
                         .dirty = session.dirty,
                         .complete = session.complete,
                         .outcomes = {},
                         .unmerged_rounds = static_cast<std::int64_t>(kept.rounds.size()),
                         .tags = {}};
  for (const Run& run : session.runs) ++summary.outcomes[run.outcome];
  return summary;
}

class MemoryStore final : public Store {
 public:
  Status begin(const Session& header) override {
    if (kept_of(header.id) != nullptr) return internal_error("session '" + header.id + "' is already stored");
    Kept kept{header, {}, {}};
    kept.session.runs.clear();
    kept.session.ceilings.clear();
    kept.session.complete = false;
    kept.session.command = hide_password(header.command);
    sessions_.push_back(std::move(kept));
    return {};
  }

  Status append_round(const std::string& session_id, const Run& partial, std::int64_t round) override {
    WM_ASSIGN(Kept* const kept, begun(session_id));
    if (has_run(*kept, partial.index) || !kept->rounds.emplace(std::pair(partial.index, round), partial).second) {
      return internal_error("round " + std::to_string(round) + " of run " + std::to_string(partial.index) +
                            " is already stored");
    }
    return {};
  }

  Status append_run(const std::string& session_id, const Run& run) override {
    WM_ASSIGN(Kept* const kept, begun(session_id));
    if (has_run(*kept, run.index)) {
      return internal_error("run " + std::to_string(run.index) + " of session '" + session_id + "' is already stored");
    }
    auto& runs = kept->session.runs;
    const auto after = std::ranges::find_if(runs, [&](const Run& other) { return other.index > run.index; });
    runs.insert(after, run);
    std::erase_if(kept->rounds, [&](const auto& item) { return item.first.first == run.index; });
    return {};
  }

  Status append_runs(const std::string& session_id, std::span<const Run> runs) override {
    WM_ASSIGN(Kept* const kept, begun(session_id));
    Kept before = *kept;
    for (const Run& run : runs) {
      const Status appended = append_run(session_id, run);
      if (appended.ok()) continue;
      *kept = std::move(before);
      return appended;
    }
    return {};
  }

  Status finish(const std::string& session_id, std::span<const Ceiling> ceilings) override {
    WM_ASSIGN(Kept* const kept, begun(session_id));
    if (kept->session.complete) return internal_error("session '" + session_id + "' is already finished");
    kept->session.complete = true;
    kept->session.ceilings.assign(ceilings.begin(), ceilings.end());
    return {};
  }

  Status attach(const std::string& session_id, const Document& document) override {
    WM_ASSIGN(Kept* const kept, begun(session_id));
    Document added{document.kind, document.made, hide_password(document.title), hide_password(document.text)};
    const auto same = [&](const Document& other) { return other.text == added.text; };
    if (std::ranges::none_of(kept->documents, same)) kept->documents.push_back(std::move(added));
    return {};
  }

  Result<std::vector<DocumentEntry>> documents(const DocumentQuery& query) override {
    std::vector<DocumentEntry> found;
    for (const Kept& kept : sessions_) {
      const auto& [id, host] = std::tie(kept.session.id, kept.session.machine.hostname);
      for (std::int64_t i = 0; const auto& [kind, made, title, text] : kept.documents) {
        found.push_back({id, i++, kind, made, title, host, kept.session.command, std::ssize(text)});
      }
    }
    std::erase_if(found, [&](const DocumentEntry& entry) {
      return !matches_text(query.session, entry.session) || !matches_text(query.hostname, entry.hostname) ||
             !matches_text(query.kind, entry.kind);
    });
    std::reverse(found.begin(), found.end());
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.made > b.made; });
    if (query.before) {
      const auto at = std::find_if(found.begin(), found.end(), [&](const auto& entry) {
        return std::pair(entry.session, entry.index) == *query.before;
      });
      found.erase(found.begin(), at == found.end() ? at : at + 1);
    }
    if (static_cast<std::int64_t>(found.size()) > query.limit) found.resize(static_cast<std::size_t>(query.limit));
    return found;
  }

  Result<Document> document(const std::string& session_id, std::int64_t index) override {
    const Kept* kept = kept_of(session_id);
    const auto count = kept == nullptr ? 0 : std::ssize(kept->documents);
    if (index < 0 || index >= count) return no_such_document(session_id, index);
    return kept->documents[static_cast<std::size_t>(index)];
  }

  Result<std::vector<SessionSummary>> sessions(const SessionQuery& query) override {
    std::vector<SessionSummary> found;
    bool behind = !query.before.empty();
    for (const Kept* kept : newest_first()) {
      if (static_cast<std::int64_t>(found.size()) >= query.limit) break;
      const Session& session = kept->session;
      if (behind) {  // pages begin behind a session
        behind = session.id != query.before;
        continue;
      }
      const auto tag = tags_.find(query.tag);
      if (!query.tag.empty() && (tag == tags_.end() || tag->second != session.id)) continue;
      if (!holds(session.id + ' ' + session.machine.hostname + ' ' + session.command, query.text)) continue;
      if (matches_text(query.hostname, session.machine.hostname) && matches_text(query.branch, session.branch) &&
          matches_text(query.fingerprint, session.machine.fingerprint) && session.commit.starts_with(query.commit)) {
        found.push_back(to_summary(*kept));
        for (const auto& [name, id] : tags_) {
          if (id == session.id) found.back().tags.push_back(name);
        }
      }
    }
    return found;
  }

  Result<StoredSession> load(const std::string& id) override {
    WM_ASSIGN(const std::string chosen, choose(id));
    const Kept& kept = *kept_of(chosen);
    StoredSession stored{kept.session, {}};
    for (const auto& [position, run] : kept.rounds) stored.unmerged_rounds.push_back(run);
    return stored;
  }

  Status tag(const std::string& session, const std::string& name) override {
    WM_TRY(check_tag(name));
    WM_ASSIGN(const std::string id, choose(session));
    if (kept_of(name) != nullptr) return usage_error("'" + name + "' is the id of a session", "choose another name");
    const auto [known, is_new] = tags_.emplace(name, id);
    if (!is_new && known->second != id) return tag_is_taken(name, known->second);
    return {};
  }

  Status untag(const std::string& name) override {
    if (tags_.erase(name) == 0) return no_such_tag(name);
    return {};
  }

  Status prune(std::span<const std::string> session_ids) override {
    for (const auto& id : session_ids) {
      WM_TRY(begun(id));
      for (const auto& [name, tagged] : tags_) {
        if (tagged == id) return tag_keeps(id);
      }
    }
    std::erase_if(sessions_, [&](const Kept& kept) {
      return std::find(session_ids.begin(), session_ids.end(), kept.session.id) != session_ids.end();
    });
    return {};
  }

  Result<std::vector<RunPoint>> find(const RunQuery& query) override {
    std::vector<RunPoint> points;
    for (const Kept& kept : sessions_) {
      if (!matches(query, kept.session)) continue;
      for (const Run& run : kept.session.runs) {
        if (!matches(query, run)) continue;
        for (const Metric* metric : metrics_of(run, query.metric)) {  // backwards, as all are reversed below
          points.push_back(to_point(kept.session, run, *metric));
        }
      }
    }
    std::reverse(points.begin(), points.end());
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.started > b.started; });
    if (static_cast<std::int64_t>(points.size()) > query.limit) points.resize(static_cast<std::size_t>(query.limit));
    return points;
  }

  Result<PointTable> series() override { return table_of(find({.metric = "*", .limit = 1'000'000'000}).value()); }

  Result<std::vector<RunPoint>> runs(const RunListQuery& query) override {
    std::vector<RunPoint> found;
    for (const Kept& kept : sessions_) {
      for (const Run& run : kept.session.runs) {
        const Metric none{.id = run.metrics.empty() ? "" : run.metrics.front().id};
        found.push_back({to_point(kept.session, run, has_metric(run) ? run.metrics.front() : none)});
      }
    }
    std::reverse(found.begin(), found.end());
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.started > b.started; });
    bool behind = query.before.has_value();
    std::vector<RunPoint> page;
    for (const auto& entry : found) {
      if (behind) {
        behind = std::pair(entry.session, entry.index) != *query.before;
        continue;
      }
      if (static_cast<std::int64_t>(page.size()) >= query.limit) break;
      const Session& session = kept_of(entry.session)->session;
      const auto same = [&](const Run& other) { return other.index == entry.index; };
      const Run& run = *std::find_if(session.runs.begin(), session.runs.end(), same);
      if (matches(query, session) && matches(query, run)) page.push_back(entry);
    }
    return page;
  }

  Result<Run> run(const std::string& session_id, std::int64_t index) override {
    const Kept* kept = kept_of(session_id);
    if (kept == nullptr) return no_such_run(session_id, index);
    for (const Run& run : kept->session.runs) {
      if (run.index == index) return run;
    }
    return no_such_run(session_id, index);
  }

  Result<std::vector<CaseEntry>> cases() override {
    std::vector<CaseEntry> found;
    WM_ASSIGN(const auto points, find({.limit = std::numeric_limits<std::int64_t>::max()}));
    for (const auto& point : points) {
      const bool known = std::any_of(found.begin(), found.end(), [&](const CaseEntry& entry) {
        return entry.workload == point.workload && entry.params == point.params && entry.device == point.device &&
               entry.mode == point.mode && entry.metric == point.metric;
      });
      if (!known) {
        found.push_back({point.workload, point.params, point.device, point.mode, point.metric, point.started});
      }
    }
    return found;
  }

  Result<std::vector<HostEntry>> hosts() override {
    std::vector<HostEntry> found;
    for (const Kept* kept : newest_first()) {
      const auto& machine = kept->session.machine;
      const auto known = std::find_if(found.begin(), found.end(), [&](const HostEntry& host) {
        return host.hostname == machine.hostname && host.fingerprint == machine.fingerprint;
      });
      if (known != found.end()) {
        ++known->sessions;
      } else {
        found.push_back({machine.hostname, machine.fingerprint, 1, kept->session.started, kept->session.id});
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const HostEntry& a, const HostEntry& b) { return a.hostname < b.hostname; });
    return found;
  }

 private:
  Kept* kept_of(const std::string& id) {
    const auto found =
        std::find_if(sessions_.begin(), sessions_.end(), [&](const Kept& kept) { return kept.session.id == id; });
    return found == sessions_.end() ? nullptr : &*found;
  }

  Result<std::string> choose(const std::string& typed) {
    const auto tagged = tags_.find(typed);
    if (tagged != tags_.end()) return tagged->second;
    std::vector<std::string> candidates;
    const auto newest = newest_first();
    for (const Kept* kept : newest) {
      if (kept->session.id.starts_with(typed)) candidates.push_back(kept->session.id);
    }
    return choose_session(typed, candidates, newest.empty() ? "" : newest.front()->session.id);
  }

  Result<Kept*> begun(const std::string& id) {
    Kept* kept = kept_of(id);
    if (kept == nullptr) return not_begun(id);
    return kept;
  }

  static bool has_run(const Kept& kept, std::int64_t index) {
    const auto& runs = kept.session.runs;
    return std::any_of(runs.begin(), runs.end(), [&](const Run& run) { return run.index == index; });
  }

  std::vector<const Kept*> newest_first() const {
    std::vector<const Kept*> order;
    for (auto kept = sessions_.rbegin(); kept != sessions_.rend(); ++kept) order.push_back(&*kept);
    std::ranges::stable_sort(order, std::greater<>(), [](const Kept* kept) { return kept->session.started; });
    return order;
  }

  std::vector<Kept> sessions_;
  std::map<std::string, std::string> tags_;  ///< session ids by name
};

}  // namespace

std::unique_ptr<Store> make_memory_store() { return std::make_unique<MemoryStore>(); }

}  // namespace warpmark::store
