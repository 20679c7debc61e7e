#include "loadtest/pages/load_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <span>

#include "base/text.h"
#include "base/units.h"
#include "loadtest/pages/load_text.h"
#include "model/exit_code.h"
#include "report/draw/format.h"

namespace warpmark::loadtest {
namespace {

using serving::LevelVerdict;
using serving::LoadReport;
using serving::ScenarioResult;

double mean_of(const ScenarioResult& result, const char* id) {
  const auto* metric = serving::metric_of(result, id);
  return metric == nullptr ? 0 : metric->mean;
}

/// The one with the highest rate among those for which this holds; null if none.
template <typename Holds>
const ScenarioResult* fastest(const LoadReport& report, Holds holds) {
  const ScenarioResult* best = nullptr;
  for (const auto& result : report.scenarios) {
    if (result.completed == 0 || !holds(result)) continue;
    const auto rate = [](const ScenarioResult& load) { return mean_of(load, "request_throughput"); };
    if (best == nullptr || rate(result) > rate(*best)) best = &result;
  }
  return best;
}

bool has_objectives(const LoadReport& report) {
  return std::ranges::any_of(report.scenarios, [](const auto& result) { return !result.slo.empty(); });
}

std::string load_name(const LoadReport& report, const ScenarioResult& result) {
  const bool one =
      std::ranges::all_of(report.scenarios, [&](const auto& other) { return other.scenario == result.scenario; });
  return (one ? "" : result.scenario + ", ") + level_text(result);
}

/// " with 8 users", " at 25 requests/s, poisson".
std::string at_load(const LoadReport& report, const ScenarioResult& result) {
  return (result.arrivals == "closed" ? " with " : " at ") + load_name(report, result);
}

/// The objectives of a load that have this verdict: "ttft:p90<15ms (20.33 ms)".
std::string objectives_with(const ScenarioResult& result, std::string_view verdict) {
  std::vector<std::string> texts;
  for (const auto& outcome : result.slo) {
    if (outcome.verdict != verdict) continue;
    texts.push_back(outcome.text + (outcome.value ? " (" + objective_value(outcome) + ")" : ""));
  }
  if (texts.empty() && result.too_many_errors) texts.emplace_back("too many requests failed");
  return join(texts, ", ");
}

std::string lateness_text(const ScenarioResult& result) { return join(result.client.reasons, "; "); }

/// The command that measures again where the client was late.
void fix_client(const ScenarioResult& late, const LoadReport& report, LoadVerdict& verdict) {
  verdict.why.push_back(
      {"Client" + at_load(report, late) + ": " + lateness_text(late) + ". " + cause_text(late.client), Tone::warning});
  if (std::string_view(late.client.cause()) == "client") {
    const auto threads = report.options.find("--threads");
    const int now = threads == report.options.end() ? 1 : std::max(1, std::atoi(threads->second.back().c_str()));
    verdict.next = "Give the client more threads:";
    verdict.command = command_with(report, {{"--threads", std::to_string(2 * now)}});
  } else {
    verdict.next = "Stop other programs on this machine, or use another one for the client. Then repeat:";
    verdict.command = command_with(report);
  }
}

void show_again(const LoadReport& report, LoadVerdict& verdict) {
  verdict.next = "See it again, or as a page:";
  verdict.command = "warpmark report " + report.id + " --html load.html";
}

/// A load whose number was sought has been found: what may be asked next of the same server.
void go_on(const LoadReport& report, LoadVerdict& verdict) {
  const auto measured_otherwise = {"--search", "--saturate", "--mlperf", "--trace", "--eval", "--workload"};
  const bool may_search =
      std::ranges::none_of(measured_otherwise, [&](const char* name) { return report.options.contains(name); });
  if (!may_search || report.scenarios.empty()) return show_again(report, verdict);
  double most = 1;
  for (const auto& result : report.scenarios) {
    most = std::max(most, result.arrivals == "closed" ? static_cast<double>(result.users) : result.rate);
  }
  verdict.next = "Find the highest load that meets the objectives:";
  std::map<std::string, std::string> changed{{"--search", fmt::format("{:g}", 8 * most)}};
  if (!has_objectives(report)) {
    const bool streams = serving::metric_of(report.scenarios.front(), "ttft") != nullptr;
    verdict.next = std::string("Find the highest load that meets an objective, such as ") +
                   (streams ? "TTFT p95 below 500 ms:" : "p95 end to end below 1 s:");
    changed["--slo"] = streams ? "ttft:p95<500ms" : "e2e:p95<1s";
  }
  verdict.command = command_with(report, changed);
}

bool passes(const ScenarioResult& result) {
  return level_verdict(result) == LevelVerdict::met && (!result.mlperf || result.mlperf->valid);
}

/// Why a run ends badly.
struct Cause {
  int code;
  const char* what;
  bool (*holds)(const ScenarioResult& result);
  std::string (*detail)(const ScenarioResult& result);
};
std::string no_detail(const ScenarioResult&) { return {}; }
bool is_late(const ScenarioResult& result) { return !result.client.trusted; }
bool is_undecided(const ScenarioResult& result) { return objective_with(result, "undecided") != nullptr; }

/// The gravest first.
constexpr Cause kCauses[] = {
    {kEnvironment, "No request was answered", [](const ScenarioResult& load) { return load.completed == 0; },
     no_detail},
    {kGateFailed, "Too many requests failed", [](const ScenarioResult& load) { return load.too_many_errors; },
     no_detail},
    {kEnvironment, "Unreliable", is_late, [](const ScenarioResult&) { return std::string(": the client was late"); }},
    {kGateFailed, "The MLPerf run is not valid",
     [](const ScenarioResult& load) { return load.mlperf && !load.mlperf->valid; },
     [](const ScenarioResult& load) { return ": " + mlperf_text(*load.mlperf); }},
    {kGateFailed, "SLO missed", [](const ScenarioResult& load) { return objective_with(load, "missed") != nullptr; },
     [](const ScenarioResult& load) { return ": " + objectives_with(load, "missed"); }},
    {kInconclusive, "SLO undecided", is_undecided,
     [](const ScenarioResult& load) { return ": " + objectives_with(load, "undecided"); }},
};

struct Ending {
  int code = kSuccess;
  std::string why;
  const ScenarioResult* load = nullptr;  ///< the first one that the cause holds for
  bool every = false;                    ///< it holds for all of several
};

/// The gravest cause that holds for any load. A search counts by what it found.
Ending ending_of(const LoadReport& report) {
  const std::span<const Cause> all(kCauses);
  const auto& loads = report.scenarios;
  for (const auto& cause : !report.search ? all : all.first(report.search_met ? 1 : all.size() - 1)) {
    const auto found = std::ranges::find_if(loads, cause.holds);
    if (found == loads.end()) continue;
    const bool every = loads.size() > 1 && std::ranges::all_of(loads, cause.holds);
    return {cause.code, cause.what + (every ? " at every load" : at_load(report, *found)) + cause.detail(*found),
            &*found, every};
  }
  if (report.search && !report.search_met) return {kInconclusive, *report.search};
  return {};
}

/// The load that the headline shows: the fastest that passed, of a search the one that confirmed it; null if none.
const ScenarioResult* best_of(const LoadReport& report) {
  const ScenarioResult* best = fastest(report, passes);
  if (!report.search_met || !has_objectives(report)) return best;
  for (const auto& result : report.scenarios) best = passes(result) ? &result : best;
  return best;
}

std::string passed_text(const LoadReport& report, const ScenarioResult& best) {
  if (best.mlperf) return mlperf_text(*best.mlperf) + ".";
  const std::string numbers = numbers_text(best), load = at_load(report, best);
  if (has_objectives(report))
    return (report.search_met ? "Capacity: SLO met" : "SLO met") + load + ": " + numbers + ".";
  return (report.scenarios.size() > 1 ? "Highest rate: " : "") + numbers + load + ".";
}

/// Where no load passed. The highest rate of a client that was late is the least that the server does.
std::string failed_text(const LoadReport& report, const Ending& ending) {
  if (ending.why.empty() && !report.scenarios.empty())
    return "Interrupted: " + numbers_text(report.scenarios.back()) + ".";
  if (ending.load == nullptr || ending.load->completed == 0) return ending.why + ".";
  const bool late = is_late(*ending.load);
  const ScenarioResult& shown = late ? *fastest(report, is_late) : *ending.load;
  return ending.why + (late ? ", so the server may be faster than " : "; ") + numbers_text(shown) +
         (ending.every || &shown != ending.load ? at_load(report, shown) : "") + ".";
}

/// Which objectives the best load meets, and what ended a search above it.
void add_objectives(const LoadReport& report, const ScenarioResult& best, LoadVerdict& verdict) {
  if (!has_objectives(report)) return;
  if (!best.slo.empty()) verdict.why.push_back({"Met: " + objectives_with(best, "met") + "."});
  if (!report.search_met) return;
  for (const auto& result : report.scenarios) {
    const auto level = level_verdict(result);
    if (level != LevelVerdict::missed && level != LevelVerdict::undecided) continue;
    const bool missed = level == LevelVerdict::missed;
    verdict.why.push_back({(missed ? "Missed" : "Undecided") + at_load(report, result) + ": " +
                               objectives_with(result, missed ? "missed" : "undecided") + ".",
                           missed ? Tone::bad : Tone::warning});
    return;
  }
}

/// Where no load passed: how to decide what is undecided, else what to measure instead.
void go_on_unmet(const LoadReport& report, LoadVerdict& verdict) {
  const auto& loads = report.scenarios;
  if (const auto open = std::ranges::find_if(loads, is_undecided); open != loads.end()) {
    for (const auto& outcome : open->slo) {
      if (outcome.verdict != "undecided" || outcome.reason.empty()) continue;
      verdict.why.push_back({outcome.text + ": " + outcome.reason + "."});
      const auto parts = split(outcome.option, ' ');
      if (parts.size() != 2 || !verdict.command.empty()) continue;
      verdict.next = "Measure longer:";
      verdict.command = command_with(report, {{parts[0], parts[1]}});
    }
    if (verdict.command.empty()) go_on(report, verdict);
    return;
  }
  const auto missed =
      std::ranges::find_if(loads, [](const auto& load) { return level_verdict(load) == LevelVerdict::missed; });
  if (missed == loads.end()) return go_on(report, verdict);
  const bool lower = missed->arrivals == "closed" && missed->users > 1;
  verdict.next = lower ? "Measure a lower load:" : "See which requests were slow, one a row:";
  const auto changed = lower ? std::pair{"--num-concurrency", "1"} : std::pair{"--requests-csv", "requests.csv"};
  verdict.command = command_with(report, {changed});
}

void go_on_unanswered(const LoadReport& report, LoadVerdict& verdict) {
  for (const auto& result : report.scenarios) {
    if (result.first_error.empty()) continue;
    verdict.why.push_back({"First error: " + result.first_error, Tone::bad});
    break;
  }
  verdict.next = "Repeat it when the server answers:";
  verdict.command = command_with(report);
}

std::string reliability_text(const LoadReport& report) {
  const auto late = std::ranges::count_if(report.scenarios, [](const auto& result) { return !result.client.trusted; });
  if (late == 0) return " The client was reliable.";
  return fmt::format(" The client was unreliable at {} of {} loads, which are left out.", late,
                     report.scenarios.size());
}

}  // namespace

LevelVerdict level_verdict(const ScenarioResult& result) {
  const auto has = [&](std::string_view verdict) { return objective_with(result, verdict) != nullptr; };
  if (result.interrupted) return LevelVerdict::stopped;
  if (!result.client.trusted) return LevelVerdict::unreliable;
  if (has("missed") || result.too_many_errors) return LevelVerdict::missed;
  return result.completed > 0 && !has("undecided") ? LevelVerdict::met : LevelVerdict::undecided;
}

std::string numbers_text(const ScenarioResult& result) {
  const auto rate = [&](const char* id) { return format_significant(mean_of(result, id), 4); };
  std::string text = rate("request_throughput") + " requests/s";
  if (serving::metric_of(result, "goodput") != nullptr) text += " (goodput " + rate("goodput") + ")";
  if (mean_of(result, "output_throughput") > 0) text += ", " + rate("output_throughput") + " output tokens/s";
  const auto* ttft = serving::metric_of(result, "ttft");
  const auto* latency = ttft != nullptr ? ttft : serving::metric_of(result, "e2e");
  if (latency != nullptr) {
    const std::string p95 = with_interval(serving::percentile_of(*latency, 0.95), *latency);
    text += std::string(latency == ttft ? ", TTFT" : ", end to end") + " p95 " + p95.substr(0, p95.find(" *"));
  }
  if (result.failed > 0) {
    text += ", " + report::format_plural(static_cast<std::size_t>(result.failed), "failed request", "failed requests");
  }
  return text;
}

std::string cause_text(const serving::ClientReport& client) {
  constexpr double kManyOthers = 0.2;
  const std::string cause = client.cause(), busy = format_percent(client.busy_share);
  if (cause.empty()) return {};
  if (cause == "client") return "The client itself was the limit: it was busy " + busy + " of the time.";
  if (client.others_share.value_or(0) >= kManyOthers) {
    return fmt::format(
        "This machine was too busy: other programs used {} of its CPU time, the client was busy only {} of the time.",
        format_percent(*client.others_share), busy);
  }
  return fmt::format(
      "The client was busy only {} of the time, so this machine did not run it in time: other programs, a virtual "
      "machine or power saving delayed it.",
      busy);
}

std::string command_with(const LoadReport& report, const std::map<std::string, std::string>& changed) {
  if (report.options.empty()) return {};
  auto options = report.options;
  for (const char* file : {"--json", "--html", "--requests-csv", "--vllm-json", "--experiment-folder-name",
                           "--experiment-base-dir", "--resume"}) {
    options.erase(file);
  }
  for (const auto& [name, value] : changed) options[name] = {value};
  std::vector<std::string> words{"warpmark", "load", "run"};
  for (const auto& [name, values] : options) {
    for (const auto& value : values) {
      words.push_back(name);
      if (!value.empty()) words.push_back(value);
    }
  }
  return command_line(words);
}

LoadVerdict verdict_of(const LoadReport& report) {
  const Ending ending = ending_of(report);
  const auto* best = best_of(report);
  const bool answered = std::ranges::any_of(report.scenarios, [](const auto& load) { return load.completed > 0; });
  LoadVerdict verdict{.code = ending.code, .reason = ending.why};
  if (ending.code != kSuccess)
    verdict.headline.tone = ending.code == kGateFailed || !answered ? Tone::bad : Tone::warning;
  if (best == nullptr) {
    verdict.headline.text = failed_text(report, ending);
    answered ? go_on_unmet(report, verdict) : go_on_unanswered(report, verdict);
  } else {
    verdict.headline.text =
        (ending.why.empty() ? "" : ending.why + ". ") + passed_text(report, *best) + reliability_text(report);
    add_objectives(report, *best, verdict);
    go_on(report, verdict);
  }
  if (!answered) return verdict;
  if (report.search && ending.why != *report.search) verdict.why.push_back({"Search: " + *report.search + "."});
  if (const auto* late = fastest(report, is_late)) fix_client(*late, report, verdict);
  if (report.options.empty()) show_again(report, verdict);
  return verdict;
}

}  // namespace warpmark::loadtest
