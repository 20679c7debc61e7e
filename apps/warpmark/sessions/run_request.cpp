#include "warpmark/sessions/run_request.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kOptions[] = {
    {"--suite", "NAME", "suite to run: quick (default), full, node, or a YAML file", false, "<suites>"},
    {"--device", "DEVICE", "cpu, cuda, cuda:N or all (default)", false, "<devices>"},
    {"--set", "K=V", "set a parameter in every selected case that has it; mode=cold|hot|graph too", true},
    {"--sweep", "K=A,B,..", "measure every value of a parameter; several sweeps multiply", true},
    {"--until", "GOAL", "models: train to accuracy>=X, loss<=X or auc>=X, and measure the time to it"},
    {"--goal", "METRIC>=VALUE", "exit with 1 where a median misses it, as samples_rate>=5000, gpu_utilization>=85%",
     true},
    {"--budget", "TIME", "time for the whole session, such as 60s; 0 is without limit"},
    {"--rounds", "N", "rounds over all cases (default 3, of commands 10); samples of a case are spread over them"},
    {"--precision", "RATIO", "stop a case when the 95 % interval of its median is within this (default 0.5%)"},
    {"--seed", "N", "seed of the random inputs (default 1)"},
    {"--json", "[FILE]", "write the results as JSON (warpmark.results/1)", false, "<files>"},
    kHtmlOption,
    {"--out", "DIR", "write report.txt, report.md, report.html and results.json into a folder", false, "<files>"},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json, google-benchmark", false,
     "<reporters>"},
    {"--db", "FILE|URL", "database for the results (default: WARPMARK_DB or your own file)", false, "<files>"},
    {"--no-store", "", "do not store the results"},
    {"--no-ceilings", "", "do not measure the limits that the selected cases need; no % of peak then"},
    {"--plugin", "LIB.so", "also offer the workloads of a shared library (docs/plugins.md)", true, "<files>"},
    {"--resume", "SESSION", "resume an interrupted session: an id, or last", false, "<runs>"},
    {"--strict", "", "exit with 5 if a result is unreliable"},
    {"--project", "FILE", "measure the command of a project file by its metrics (docs/validate.md)", false, "<files>"},
    {"--name", "NAME", "commands: what the series is called in the history, instead of the command itself"},
    {"--warmup", "N", "commands: runs before the first round, discarded (default 1)"},
    {"--timeout", "TIME", "commands: maximum time for one run (default 10m, or as the project says)"},
    {"--shell", "", "commands: run with /bin/sh -c"},
    {"--reference", "REV", "commands: measure this revision next to it in every round; stores the ratios too"},
    {"--no-reference", "", "commands: without the reference that the project names"},
};

Result<std::pair<std::string, std::string>> key_and_value(const std::string& option, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return usage_error(option + " " + text + " is not of the form name=value",
                       option == "--set" ? "such as --set dtype=f32" : "such as --sweep m=1024,2048");
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Status apply_numbers(const ParsedOptions& options, session::SessionOptions& session) {
  if (options.has("--budget")) {
    WM_ASSIGN(session.budget_s, parse_duration_s(options.get("--budget")));
  }
  if (options.has("--precision")) {
    WM_ASSIGN(session.stopping.half_width, parse_ratio(options.get("--precision")));
    if (session.stopping.half_width <= 0) return usage_error("--precision must be above 0", "such as --precision 0.5%");
  }
  if (options.has("--rounds")) {
    WM_ASSIGN(const auto rounds, parse_integer(options.get("--rounds")));
    if (rounds < 1 || rounds > 100) return usage_error("--rounds must be 1 to 100, not " + options.get("--rounds"));
    session.rounds = static_cast<int>(rounds);
  }
  if (options.has("--seed")) {
    WM_ASSIGN(const auto seed, parse_integer(options.get("--seed")));
    session.seed = static_cast<std::uint64_t>(seed);
  }
  return {};
}

}  // namespace

const std::span<const OptionSpec> kRunOptions = kOptions;
const PositionalSpec kRunPositional{"NAME|GLOB",
                                    "workloads to run (`warpmark list workloads`); all of a suite if none; or -- CMD",
                                    true, "<workloads>"};

Result<workloads::SuiteEntry> overrides_of(const ParsedOptions& options) {
  workloads::SuiteEntry entry;
  for (const auto& text : options.all("--set")) {
    WM_ASSIGN(auto pair, key_and_value("--set", text));
    entry.set.push_back(std::move(pair));
  }
  if (options.has("--until")) entry.set.emplace_back("until", options.get("--until"));
  for (const auto& text : options.all("--sweep")) {
    WM_ASSIGN(auto pair, key_and_value("--sweep", text));
    auto values = split(pair.second, ',');
    if (std::any_of(values.begin(), values.end(), [](const auto& value) { return value.empty(); })) {
      return usage_error("--sweep " + text + " has an empty value", "such as --sweep m=1024,2048");
    }
    entry.sweep.emplace_back(pair.first, std::move(values));
  }
  return entry;
}

Result<RunRequest> run_request(const ParsedOptions& options) {
  RunRequest request;
  WM_ASSIGN(const auto overrides, overrides_of(options));
  request.device = options.get("--device", "all");
  request.plugins = options.all("--plugin");
  request.ceilings = !options.has("--no-ceilings");
  if (!options.positionals().empty()) {
    if (options.has("--suite")) return usage_error("give workloads or --suite, not both");
    for (const auto& name : options.positionals()) {
      workloads::SuiteEntry entry = overrides;
      entry.workload = name;
      request.entries.push_back(std::move(entry));
    }
  } else {
    request.suite_name = options.get("--suite", "quick");
    WM_ASSIGN(auto suite, workloads::load_suite(request.suite_name));
    request.session.budget_s = suite.budget_s;
    request.session.rounds = suite.rounds;
    request.session.stopping.half_width = suite.half_width;
    for (auto& entry : suite.entries) {
      entry.set.insert(entry.set.end(), overrides.set.begin(), overrides.set.end());
      entry.sweep.insert(entry.sweep.end(), overrides.sweep.begin(), overrides.sweep.end());
    }
    request.entries = std::move(suite.entries);
    request.commands = std::move(suite.commands);
  }
  WM_TRY(apply_numbers(options, request.session));
  return request;
}

}  // namespace warpmark::apps
