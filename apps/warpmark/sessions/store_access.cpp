#include "warpmark/sessions/store_access.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>

#include "base/files.h"
#include "measure/round.h"
#include "session/run_session.h"
#include "store/keep.h"
#include "store/location.h"
#include "warpmark/sessions/result_files.h"

namespace warpmark::apps {
namespace {

constexpr std::int64_t kMostOfCommit = 1000;

/// Those of them that are stored.
Result<std::vector<std::string>> stored_ids(store::Store& store, const About& about) {
  std::vector<std::string> ids;
  for (const auto& id : about.sessions) {
    WM_ASSIGN(const auto found, store.sessions({.text = id, .limit = kMostOfCommit}));
    if (std::ranges::any_of(found, [&](const auto& session) { return session.id == id; })) ids.push_back(id);
  }
  if (about.commit.empty()) return ids;
  WM_ASSIGN(const auto found, store.sessions({.commit = about.commit, .limit = kMostOfCommit}));
  if (!found.empty()) ids.push_back(found.back().id);
  return ids;
}

Status attach_verdict(const Context& context, const ParsedOptions& options, const About& about, const Json& report,
                      const std::string& title) {
  WM_ASSIGN(const auto location, store_location(context, options));
  std::error_code code;
  if (!store::is_postgres(location) && !std::filesystem::exists(location, code)) return {};
  WM_ASSIGN(const auto store, store::open_store(location));
  WM_ASSIGN(const auto ids, stored_ids(*store, about));
  for (const auto& id : ids) WM_TRY(store::attach_report(*store, id, report, title));
  return {};
}

Result<store::RunningMark> make_mark(Context& context, const ParsedOptions& options, const Session& session) {
  WM_ASSIGN(const auto location, store_location(context, options));
  WM_ASSIGN(const auto folder, store::sibling_folder(location, context.environment));
  return store::RunningMark::make(folder, {.session = session.id,
                                           .started = session.started,
                                           .hostname = session.machine.hostname,
                                           .phase = "begins",
                                           .updated_at = {}});
}

}  // namespace

Result<std::string> store_location(const Context& context, const ParsedOptions& options) {
  return store::location_of(options.get("--db"), context.environment);
}

Result<std::unique_ptr<store::Store>> open_store(const Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto location, store_location(context, options));
  return store::open_store(location);
}

Result<std::unique_ptr<store::Store>> open_to_read(const Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto location, store_location(context, options));
  return store::open_to_read(location,
                             [&](const std::string& reason) { context.err << "warpmark: " << reason << '\n'; });
}

Result<Session> load_session(store::Store& store, const std::string& id) {
  WM_ASSIGN(auto stored, store.load(id));
  std::map<std::int64_t, std::vector<Run>> rounds;
  for (auto& round : stored.unmerged_rounds) rounds[round.index].push_back(std::move(round));
  for (const auto& [index, partial] : rounds) {
    Run run = measure::merge_rounds(partial, {});
    run.notes.emplace_back("rounds", "the session ended before all rounds were measured");
    stored.session.runs.push_back(std::move(run));
  }
  session::attach_peaks(stored.session);
  return std::move(stored.session);
}

Result<Session> load_results(const Context& context, const ParsedOptions& options, const std::string& what) {
  if (is_result_file(what)) {
    WM_ASSIGN(auto session, read_one_session(what));
    for (const auto& remark : session.remarks) context.err << what << ": " << remark << '\n';
    return session;
  }
  WM_ASSIGN(const auto store, open_to_read(context, options));
  auto session = load_session(*store, what);
  if (session.ok() || what.find_first_of("./") == std::string::npos) return session;
  return Error{session.error().kind, session.error().what + ", and no file of this name", session.error().hint};
}

void remember_verdict(const Context& context, const ParsedOptions& options, const About& about, const Json& report,
                      const std::string& title) {
  const auto attached = attach_verdict(context, options, about, report, title);
  if (!attached.ok()) context.err << "the database does not have this verdict: " << attached.error().what << '\n';
}

std::optional<store::RunningMark> running_mark(Context& context, const ParsedOptions& options, const Session& session) {
  auto mark = make_mark(context, options, session);
  if (mark.ok()) return std::move(*mark);
  context.err << "warpmark: this session does not appear as running: " << mark.error().what << '\n';
  return std::nullopt;
}

}  // namespace warpmark::apps
