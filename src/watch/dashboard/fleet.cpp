// The nodes that write into one store: what each did last, whether it was accepted, and which differ from the others.
#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
#include "report/build/acceptance.h"
#include "report/build/across.h"
#include "validate/accept/acceptance.h"
#include "validate/accept/criteria.h"
#include "watch/dashboard/answers.h"
#include "watch/dashboard/query.h"

namespace warpmark::watch {
namespace {

constexpr std::size_t kMostHosts = 256;
constexpr std::size_t kMostCompared = 64;
constexpr std::int64_t kMostRuns = 5000;  ///< of a session that is loaded for it

/// The word behind "accept" of a stored command, if it is one of the criteria that come along: nothing that a stored
/// text names is ever opened.
std::optional<std::string> criteria_of(const std::string& command) {
  const auto names = validate::built_in_criteria_names();
  for (const auto& word : split(command, ' ')) {
    if (std::ranges::find(names, word) != names.end()) return word;
  }
  return std::nullopt;
}

Json acceptance_json(const Acceptance& judged, const std::string& session, const std::string& started) {
  return {{"criteria", judged.name},
          {"session", session},
          {"started", started},
          {"state", name_of(overall(judged))},
          {"rows", warpmark::to_json(judged)["rows"]},
          {"report", write(kShownReport, shown_report(report::build_report(judged)))}};
}

/// Judged anew by the criteria as they are now. What is read on the node itself is not in the store.
Result<Json> judged_again(store::Store& store, const store::SessionSummary& summary, const std::string& name) {
  WM_ASSIGN(const auto file, validate::load_criteria(name));
  WM_ASSIGN(const auto criteria, validate::parse_criteria(file.text, file.name));
  WM_ASSIGN(const auto stored, store.load(summary.id));
  const auto sheets = device::built_in_datasheets();
  WM_ASSIGN(const auto judged,
            validate::judge_acceptance(criteria, {.session = &stored.session,
                                                  .no_session = {},
                                                  .machine = stored.session.machine,
                                                  .facts = validate::facts_of(stored.session.machine),
                                                  .no_facts = "it is read on the node itself, and not stored",
                                                  .datasheets = sheets}));
  return acceptance_json(judged, summary.id, summary.started);
}

Json problem_json(const Error& error) { return {{"problem", error.what}, {"hint", error.hint}}; }

/// As it was judged then, with what was read on the node itself.
Result<Json> kept_acceptance(store::Store& store, const store::DocumentEntry& entry) {
  WM_ASSIGN(const auto document, store.document(entry.session, entry.index));
  WM_ASSIGN(const auto json, parse_json(document.text, "acceptance of " + entry.session));
  WM_ASSIGN(const auto judged, read(kAcceptance, json));
  Json shown = acceptance_json(judged, entry.session, entry.made);
  shown["index"] = entry.index;
  return shown;
}

Json last_acceptance(store::Store& store, const std::string& host) {
  const auto kept = store.documents({.kind = "acceptance", .hostname = host, .limit = 1});
  if (!kept.ok()) return problem_json(kept.error());
  if (!kept->empty()) {
    const auto json = kept_acceptance(store, kept->front());
    return json.ok() ? *json : problem_json(json.error());
  }
  // Of a session that was stored before verdicts were.
  store::SessionQuery query{.hostname = host, .fingerprint = {}, .commit = {}};
  query.text = "warpmark accept ";
  query.limit = 1;
  const auto found = store.sessions(query);
  if (!found.ok()) return problem_json(found.error());
  if (found->empty()) return nullptr;
  const auto name = criteria_of(found->front().command);
  if (!name) {
    return {{"session", found->front().id},
            {"started", found->front().started},
            {"problem", "its criteria are a file, which is not stored"}};
  }
  const auto judged = judged_again(store, found->front(), *name);
  return judged.ok() ? *judged : problem_json(judged.error());
}

Json machine_json(const Machine& machine) {
  Json gpus = Json::array();
  for (const auto& device : machine.devices) {
    if (device.backend != "cpu") gpus.push_back(device.name);
  }
  Json software = Json::object();
  for (const auto& [name, version] : machine.software) software[name] = version;
  return {{"cpu", machine.cpu}, {"kernel", machine.kernel}, {"gpus", std::move(gpus)}, {"software", software}};
}

std::int64_t runs_of(const store::SessionSummary& session) {
  std::int64_t runs = 0;
  for (const auto& [outcome, count] : session.outcomes) runs += count;
  return runs;
}

class Fleet {
 public:
  explicit Fleet(store::Store& store) : store_(store) {}

  Result<Json> make() {
    WM_ASSIGN(auto hosts, store_.hosts());
    const std::size_t all = hosts.size();
    if (hosts.size() > kMostHosts) hosts.resize(kMostHosts);
    Json list = Json::array();
    for (const auto& host : hosts) {
      WM_ASSIGN(auto json, host_json(host));
      list.push_back(std::move(json));
    }
    Json json{{"schema", "warpmark.fleet/1"}, {"total", all}, {"hosts", std::move(list)}};
    if (nodes_.size() < 2) {
      json["across"] = {{"problem", "results of one machine cannot be compared with others"}, {"hint", ""}};
    } else {
      const auto across = validate::judge_across(nodes_, {});
      json["across"] = across.ok() ? warpmark::to_json(*across) : problem_json(across.error());
      if (across.ok()) json["report"] = write(kShownReport, shown_report(report::build_report(*across)));
    }
    return json;
  }

 private:
  Result<Json> host_json(const store::HostEntry& host) {
    Json json{{"hostname", host.hostname}, {"fingerprint", host.fingerprint}, {"sessions", host.sessions}};
    WM_ASSIGN(const auto newest, store_.sessions({.hostname = host.hostname,
                                                  .fingerprint = host.fingerprint,
                                                  .commit = {},
                                                  .branch = {},
                                                  .tag = {},
                                                  .text = {},
                                                  .before = {},
                                                  .limit = 1}));
    if (newest.empty()) return json;
    json["newest"] = write(kSessionRow, newest.front());
    json["acceptance"] = last_acceptance(store_, host.hostname);
    if (nodes_.size() >= kMostCompared || runs_of(newest.front()) > kMostRuns) return json;
    WM_ASSIGN(auto stored, store_.load(newest.front().id));
    json["machine"] = machine_json(stored.session.machine);
    nodes_.push_back({host.hostname, std::move(stored.session)});
    return json;
  }

  store::Store& store_;
  std::vector<validate::NodeResults> nodes_;
};

}  // namespace

Result<Json> fleet_answer(store::Store& store, const std::string& text) {
  WM_TRY(Query::parse(text, {}));
  return Fleet(store).make();
}

}  // namespace warpmark::watch
