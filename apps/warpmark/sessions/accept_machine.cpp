#include "warpmark/sessions/accept_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "collectives/calls/operation.h"
#include "device/health.h"
#include "device/machine.h"
#include "exchange/import.h"
#include "model/run_query.h"
#include "session/new_session.h"
#include "validate/accept/acceptance.h"
#include "validate/accept/criteria.h"
#include "warpmark/sessions/run_request.h"
#include "warpmark/sessions/store_access.h"
#include "workloads/catalog.h"

namespace warpmark::apps {
namespace {

/// A workload of criteria that only a user's command can have.
constexpr std::string_view kUserCommand = "command";

/// What `warpmark collective` stores is named after its operation, what `links` and `net` store after what was
/// measured; --measure measures none of it.
bool is_of_other_verbs(std::string_view workload) {
  constexpr std::string_view kLinks[] = {"gpu_link",    "host_link",     "net_throughput",
                                         "net_latency", "net_datagrams", "net_pair"};
  return std::ranges::find(kLinks, workload) != std::end(kLinks) ||
         find_in(collectives::collectives(), workload) != nullptr;
}

/// Whether names of results are those of another tool, of which nobody has a list.
bool is_imported(const Session& session) {
  return std::ranges::any_of(session.runs,
                             [](const Run& run) { return !note_text(run, exchange::kMeasuredBy).empty(); });
}

/// Names and parameters are checked before anything is measured; an error names the criterion's line.
Status check_workload(const validate::Criterion& row, const std::string& file) {
  if (!row.fact.empty() || row.workload == kUserCommand || is_of_other_verbs(row.workload)) return {};
  const auto place = fmt::format("{} line {}: ", file, row.line);
  const auto* workload = find_in(workloads::catalog(), row.workload);
  if (workload == nullptr) {
    const auto ids = ids_of(workloads::catalog());
    const auto meant = nearest(row.workload, ids);
    return data_error(
        place + "there is no workload '" + row.workload + "'",
        (meant.empty() ? "" : "did you mean '" + meant + "'? ") + std::string("`warpmark list workloads` shows all"));
  }
  Overrides params;
  for (const auto& item : row.set) {
    if (item.first == "mode") {
      const std::vector<std::string> modes{"cold", "hot", "graph"};
      if (std::find(modes.begin(), modes.end(), item.second) == modes.end()) {
        return data_error(place + "mode is '" + item.second + "'", "one of: " + join(modes, ", "));
      }
      continue;
    }
    params.push_back(item);
  }
  const auto resolved = resolve_params(workload->params, params);
  if (!resolved.ok()) return data_error(place + resolved.error().what, resolved.error().hint);
  return {};
}

Result<RunRequest> accept_machine_request_of(const validate::Criteria& criteria, const ParsedOptions& options) {
  RunRequest request;
  request.device = options.get("--device", "all");
  request.session.budget_s = criteria.budget_s;
  request.session.rounds = criteria.rounds;
  request.session.stopping.half_width = criteria.half_width;
  request.ceilings = false;
  for (const auto& row : criteria.rows) {
    if (!row.fact.empty() || row.workload == kUserCommand || is_of_other_verbs(row.workload)) continue;
    request.entries.push_back(
        {.workload = row.workload, .device = row.device, .set = row.set, .sweep = {}, .line = row.line});
    request.ceilings = request.ceilings || row.of == validate::LimitOf::peak;
  }
  if (options.has("--budget")) {
    WM_ASSIGN(request.session.budget_s, parse_duration_s(options.get("--budget")));
  }
  if (options.has("--rounds")) {
    WM_ASSIGN(const auto rounds, parse_integer(options.get("--rounds")));
    if (rounds < 1 || rounds > 100) return usage_error("--rounds must be 1 to 100, not " + options.get("--rounds"));
    request.session.rounds = static_cast<int>(rounds);
  }
  return request;
}

/// Results to judge, or why there are none.
struct Found {
  std::optional<Session> session;
  std::string why_not;
};

Result<Found> measured(Context& context, const ParsedOptions& options, const validate::Criteria& criteria) {
  WM_ASSIGN(auto request, accept_machine_request_of(criteria, options));
  if (request.entries.empty()) return Found{std::nullopt, "the criteria name no workload"};
  std::unique_ptr<store::Store> store;
  if (!options.has("--no-store")) {
    WM_ASSIGN(store, open_store(context, options));
  }
  auto session = measure_request(context, std::move(request), std::move(store));
  if (session.ok()) return Found{std::move(*session), {}};
  // Criteria for a GPU on a machine without one are not measurable, which is a result and no error.
  if (session.error().code == ErrorCode::nothing_to_measure) return Found{std::nullopt, "no such device is here"};
  return session.error();
}

/// More results of the same machine: a node is judged by several commands together.
Status add_results(Context& context, const ParsedOptions& options, const std::string& name, Session& all) {
  WM_ASSIGN(auto more, load_results(context, options, name));
  if (more.machine.fingerprint != all.machine.fingerprint) {
    return environment_error("the results are not of one machine: " + all.id + " and " + more.id,
                             "judge one machine at a time");
  }
  all.id += " " + more.id;
  all.complete = all.complete && more.complete;
  for (auto& run : more.runs) all.runs.push_back(std::move(run));
  return {};
}

Result<Found> stored_sessions(Context& context, const ParsedOptions& options) {
  auto names = options.all("--results");
  if (names.empty()) names = {"last"};
  auto session = load_results(context, options, names.front());
  if (!session.ok() && options.has("--results")) return session.error();
  if (!session.ok()) return Found{std::nullopt, "there are no results yet; measure with --measure"};
  for (std::size_t i = 1; i < names.size(); ++i) WM_TRY(add_results(context, options, names[i], *session));
  return Found{std::move(*session), {}};
}

}  // namespace

Result<Acceptance> accept_machine(Context& context, const ParsedOptions& options, const std::string& name) {
  if (options.has("--measure") && options.has("--results")) return usage_error("give --measure or --results, not both");
  WM_ASSIGN(const auto file, validate::load_criteria(name));
  WM_ASSIGN(const auto criteria, validate::parse_criteria(file.text, file.name));
  Found found;
  if (!options.has("--measure")) {
    WM_ASSIGN(found, stored_sessions(context, options));
  }
  if (!found.session || !is_imported(*found.session)) {
    for (const auto& row : criteria.rows) WM_TRY(check_workload(row, file.name));
  }
  if (options.has("--measure")) {
    WM_ASSIGN(found, measured(context, options, criteria));
  }

  const Machine here = device::machine_facts();
  const auto sheets = device::built_in_datasheets();
  validate::AcceptanceInput input{.session = found.session ? &*found.session : nullptr,
                                  .no_session = found.why_not,
                                  .machine = found.session ? found.session->machine : here,
                                  .facts = {},
                                  .no_facts = {},
                                  .datasheets = sheets};
  input.facts = validate::facts_of(input.machine);
  if (input.machine.fingerprint == here.fingerprint && input.machine.hostname == here.hostname) {
    for (auto& fact : validate::facts_of(device::gather_health_facts(), here)) input.facts.push_back(std::move(fact));
  } else {
    input.no_facts = "the results are of another machine, whose settings cannot be read here";
  }
  auto acceptance = validate::judge_acceptance(criteria, input);
  if (!acceptance.ok()) {
    return Error{acceptance.error().kind, file.name + ": " + acceptance.error().what, acceptance.error().hint};
  }
  acceptance->criteria_file = file.name;
  acceptance->criteria_sha256 = sha256_hex(file.text);
  acceptance->started = format_utc(wall_clock_s());
  acceptance->build = found.session ? found.session->build : session::build_info();
  if (found.session) {
    acceptance->session = found.session->id;
    acceptance->session_started = found.session->started;
  }
  return acceptance;
}

}  // namespace warpmark::apps
