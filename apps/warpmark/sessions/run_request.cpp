#include "warpmark/sessions/run_request.h"

#include <algorithm>

#include "base/text.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using session::SessionOptions;

constexpr OptionUse kForWorkloads = OptionUse().in("workloads");

constexpr OptionSpec kOptions[] = {
    {"--suite", "NAME", "suite to run: quick (default), full, node, or a YAML file", kForWorkloads, "<suites>"},
    {"--device", "DEVICE", "cpu, cuda, cuda:N or all", to<&RunRequest::device>.in("workloads")},
    {"--set", "K=V", "set a parameter in every selected case that has it; mode=cold|hot|graph too", true},
    {"--sweep", "K=A,B,..", "measure every value of a parameter; several sweeps multiply", true},
    {"--until", "GOAL", "models: train to accuracy>=X, loss<=X or auc>=X, and measure the time to it"},
    {"--goal", "METRIC>=VALUE", "exit with 1 where a median misses it, as samples_rate>=5000, gpu_utilization>=85%",
     true},
    {"--budget", "TIME", "time for the whole session, such as 60s; 0 is without limit", to<&SessionOptions::budget_s>},
    {"--rounds", "N", "rounds over all cases, of commands 10; samples of a case are spread over them",
     to<&SessionOptions::rounds>.within({1, 100})},
    {"--precision", "RATIO", "stop a case when the 95 % interval of its median is within this (default 0.5%)",
     kForWorkloads},
    {"--seed", "N", "seed of the random inputs", to<&SessionOptions::seed>},
    {"--json", "[FILE]", "write the results as JSON (warpmark.results/1)"},
    kHtmlOption,
    {"--out", "DIR", "write report.txt, report.md, report.html and results.json into a folder"},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json, google-benchmark", false,
     "<reporters>"},
    {"--db", "FILE|URL", "database for the results (default: WARPMARK_DB or your own file)"},
    {"--no-store", "", "do not store the results"},
    {"--no-ceilings", "", "do not measure the limits that the selected cases need; no % of peak then",
     to<&RunRequest::ceilings>.in("workloads")},
    {"--plugin", "LIB.so", "also offer the workloads of a shared library (docs/plugins.md)",
     to<&RunRequest::plugins>.in("workloads"), "<files>"},
    {"--resume", "SESSION", "resume an interrupted session: an id, or last", kForWorkloads},
    {"--strict", "", "exit with 5 if a result is unreliable"},
    {"--project", "FILE", "measure the command of a project file by its metrics (docs/validate.md)"},
    {"--name", "NAME", "what the series is called in the history, instead of the command itself", of("commands")},
    {"--warmup", "N", "runs before the first round, discarded (default 1)", of("commands")},
    {"--timeout", "TIME", "maximum time for one run (default 10m, or as the project says)", of("commands")},
    {"--shell", "", "run with /bin/sh -c", of("commands")},
    {"--reference", "REV", "measure this revision next to it in every round; stores the ratios too", of("commands")},
    {"--no-reference", "", "without the reference that the project names", of("commands")},
};

Result<std::pair<std::string, std::string>> key_and_value(const std::string& option, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return usage_error(option + " " + text + " is not of the form name=value",
                       option == "--set" ? "such as --set dtype=f32" : "such as --sweep m=1024,2048");
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
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
  WM_ASSIGN(auto request, read_options<RunRequest>(options));
  WM_ASSIGN(const auto overrides, overrides_of(options));
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
  WM_TRY(read_options(options, request.session, request.session.stopping));
  return request;
}

}  // namespace warpmark::apps
