#include "warpmark/load/pages/load_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>

#include "base/text.h"
#include "base/units.h"
#include "report/draw/format.h"
#include "warpmark/command.h"
#include "warpmark/load/load.h"
#include "warpmark/load/pages/load_text.h"

namespace warpmark::apps {
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

/// Of objectives that no load met: the exit code that its headline stands for.
int judge_unmet(const LoadReport& report, LoadVerdict& verdict) {
  const ScenarioResult *missed = nullptr, *open = nullptr;
  for (const auto& result : report.scenarios) {
    const auto level = level_verdict(result);
    if (level == LevelVerdict::missed && missed == nullptr) missed = &result;
    if (level == LevelVerdict::undecided && open == nullptr) open = &result;
  }
  const ScenarioResult* shown = open != nullptr ? open : missed;
  const std::string numbers = numbers_text(*shown) + at_load(report, *shown) + ".";
  if (open == nullptr) {
    verdict.headline = {"SLO missed at every load: " + objectives_with(*shown, "missed") + "; " + numbers, Tone::bad};
    const bool lower = shown->arrivals == "closed" && shown->users > 1;
    verdict.next = lower ? "Measure a lower load:" : "See which requests were slow, one a row:";
    const auto changed = lower ? std::pair{"--num-concurrency", "1"} : std::pair{"--requests-csv", "requests.csv"};
    verdict.command = command_with(report, {changed});
    return kGateFailed;
  }
  verdict.headline = {"SLO undecided: " + objectives_with(*open, "undecided") + "; " + numbers, Tone::warning};
  for (const auto& outcome : open->slo) {
    if (outcome.verdict != "undecided" || outcome.reason.empty()) continue;
    verdict.why.push_back({outcome.text + ": " + outcome.reason + "."});
    const auto parts = split(outcome.option, ' ');
    if (parts.size() != 2 || !verdict.command.empty()) continue;
    verdict.next = "Measure longer:";
    verdict.command = command_with(report, {{parts[0], parts[1]}});
  }
  if (verdict.command.empty()) go_on(report, verdict);
  return kInconclusive;
}

/// The exit code that its headline stands for.
int judge_objectives(const LoadReport& report, LoadVerdict& verdict) {
  const auto is_met = [](const auto& result) { return level_verdict(result) == LevelVerdict::met; };
  const ScenarioResult* best = fastest(report, is_met);
  if (best == nullptr) return judge_unmet(report, verdict);
  if (report.search_met) {  // the last one that met them confirmed it
    for (const auto& result : report.scenarios) best = is_met(result) ? &result : best;
  }
  verdict.headline = {
      (report.search_met ? "Capacity: SLO met" : "SLO met") + at_load(report, *best) + ": " + numbers_text(*best) + ".",
      Tone::good};
  verdict.why.push_back({"Met: " + objectives_with(*best, "met") + "."});
  for (const auto& result : report.scenarios) {
    const auto level = level_verdict(result);
    if (!report.search_met || (level != LevelVerdict::missed && level != LevelVerdict::undecided)) continue;
    const bool missed = level == LevelVerdict::missed;
    verdict.why.push_back({(missed ? "Missed" : "Undecided") + at_load(report, result) + ": " +
                               objectives_with(result, missed ? "missed" : "undecided") + ".",
                           missed ? Tone::bad : Tone::warning});
    break;
  }
  go_on(report, verdict);
  return kSuccess;
}

/// Without a load that a reliable client measured.
LoadVerdict unreliable_verdict(const LoadReport& report, const ScenarioResult& shown) {
  LoadVerdict verdict;
  verdict.headline = {"Unreliable: the client was late, so the server may be faster than " + numbers_text(shown) +
                          at_load(report, shown) + ".",
                      Tone::warning};
  fix_client(shown, report, verdict);
  return verdict;
}

LoadVerdict unanswered_verdict(const LoadReport& report) {
  LoadVerdict verdict{.headline = {"No request was answered.", Tone::bad}, .why = {}, .next = {}, .command = {}};
  for (const auto& result : report.scenarios) {
    if (result.first_error.empty()) continue;
    verdict.why.push_back({"First error: " + result.first_error, Tone::bad});
    break;
  }
  verdict.next = "Repeat it when the server answers:";
  verdict.command = command_with(report);
  return verdict;
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

LoadExit exit_of(const LoadReport& report) {
  const auto because = [&](int code, const char* what, const ScenarioResult& result, const std::string& why = "") {
    return LoadExit{code, what + at_load(report, result) + (why.empty() ? "" : ": " + why)};
  };
  const auto first = [&](auto holds) {
    const auto found = std::ranges::find_if(report.scenarios, holds);
    return found == report.scenarios.end() ? nullptr : &*found;
  };
  const auto* result = first([](const auto& load) { return load.completed == 0; });
  if (result != nullptr) return because(kEnvironment, "No request was answered", *result);
  if (report.search && report.search_met) return {};
  result = first([](const auto& load) { return load.too_many_errors; });
  if (result != nullptr) return because(kGateFailed, "Too many requests failed", *result);
  result = first([](const auto& load) { return !load.client.trusted; });
  if (result != nullptr) return because(kEnvironment, "Unreliable", *result, "the client was late");
  result = first([](const auto& load) { return load.mlperf && !load.mlperf->valid; });
  if (result != nullptr) return because(kGateFailed, "The MLPerf run is INVALID", *result);
  result = first([](const auto& load) { return objective_with(load, "missed") != nullptr; });
  if (result != nullptr) return because(kGateFailed, "SLO missed", *result, objectives_with(*result, "missed"));
  if (report.search) return {kInconclusive, *report.search};
  result = first([](const auto& load) { return objective_with(load, "undecided") != nullptr; });
  if (result != nullptr) return because(kInconclusive, "SLO undecided", *result, objectives_with(*result, "undecided"));
  return {};
}

LoadVerdict verdict_of(const LoadReport& report) {
  const auto* answered = fastest(report, [](const auto&) { return true; });
  if (answered == nullptr) return unanswered_verdict(report);
  const auto* reliable = fastest(report, [](const auto& result) { return result.client.trusted; });
  const LoadExit end = exit_of(report);
  LoadVerdict verdict;
  int shown = kSuccess;
  if (reliable == nullptr) {
    verdict = unreliable_verdict(report, *answered);
    shown = kEnvironment;
  } else if (reliable->mlperf) {
    verdict.headline = {mlperf_text(*reliable->mlperf) + ".", reliable->mlperf->valid ? Tone::good : Tone::bad};
    shown = reliable->mlperf->valid ? kSuccess : kGateFailed;
    go_on(report, verdict);
  } else if (has_objectives(report)) {
    shown = judge_objectives(report, verdict);
  } else {
    verdict.headline = {(report.scenarios.size() > 1 ? "Highest rate: " : "") + numbers_text(*reliable) +
                            at_load(report, *reliable) + ".",
                        Tone::good};
    go_on(report, verdict);
  }
  if (reliable != nullptr) verdict.headline.text += reliability_text(report);
  if (shown != end.code) {
    verdict.headline = {end.why + ". " + verdict.headline.text, end.code == kGateFailed ? Tone::bad : Tone::warning};
  }
  if (reliable == nullptr) return verdict;
  if (report.search) verdict.why.push_back({"Search: " + *report.search + "."});
  for (const auto& result : report.scenarios) {
    if (result.client.trusted || result.completed == 0) continue;
    fix_client(result, report, verdict);
    break;
  }
  if (report.options.empty()) show_again(report, verdict);
  return verdict;
}

}  // namespace warpmark::apps
