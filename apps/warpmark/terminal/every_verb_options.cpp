#include "warpmark/terminal/every_verb_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kCommon[] = {
    {"-q, --quiet", "", "print the headline, the verdicts and errors only: no progress, no notes"},
    {"-v, --verbose", "", "text: also show what other formats fold away"},
    {"-V, --version", "", "version, git revision and what is built in"},
    {"--color", "WHEN", "auto (default: on a terminal, unless NO_COLOR is set), always, never", false,
     "auto always never"},
};

/// A word of other tools and of documents. `meant` is an option, which is suggested to verbs that have it, or a
/// sentence.
struct Word {
  const char* word;
  const char* meant;
  const char* verb = "";  ///< this one alone
};

constexpr Word kWords[] = {
    {"--json", "a recording is the result; its analysis: warpmark analyze profile.wmrec --json", "profile"},
    {"--json", "it serves metrics and has no result of its own; stored results: warpmark report last --json",
     "exporter"},
    {"--json", "it serves pages and JSON at /api, and has no result; stored results: warpmark report last --json",
     "dashboard"},
    {"--json", "it converts profiles and has no result: --to chrome writes JSON", "convert"},
    {"--json", "it writes data and has no result: name the file with --out", "generate"},
    {"--json", "it answers in its own protocol, which is JSON-RPC", "mcp"},
    {"--json", "it prints a script for a shell and has no result", "completion"},
    {"--run", "--measure", "accept"},
    {"--all", "--measure", "report"},
    {"--sweep", "--saturate", "load"},
    {"--sweep", "--measured-links", "plan"},
    {"--out", "--predictions", "eval"},
    {"--profile", "--record", "scale"},
    {"--profile", "--oci-profile", "load"},
    {"--baseline", "--against", "collective"},
    {"--output", "--json", "eval"},
    {"--output-file", "--json", "eval"},
    {"-o", "--json", "eval"},
    {"--html", "scores have no page of their own: warpmark report last --html FILE", "eval"},
    {"--bottleneck", "it lists all bottlenecks; --top N limits them, --json writes them", "analyze"},
    {"--bottlenecks", "it lists all bottlenecks; --top N limits them, --json writes them", "analyze"},
    {"--concurrency", "--num-concurrency", "load"},
    {"--users", "--num-concurrency", "load"},
    {"--url", "--api-base"},
    {"--url", "--endpoint"},
    {"--base-url", "--api-base"},
    {"--base-url", "--endpoint"},
    {"-n", "--rounds"},
    {"--n", "--rounds"},
    {"--repeat", "--rounds"},
    {"--output", "--out"},
    {"--output", "--json"},
    {"--output-file", "--out"},
    {"--output-file", "--json"},
    {"-o", "--out"},
    {"-o", "--json"},
    {"--export-json", "--json"},
    {"--save", "--json"},
    {"--benchmark_out", "--json"},
    {"--results", "--run"},
    {"--results", "give the file as an argument: warpmark report results.json"},
    {"--command", "write the command after two dashes, as in: -- python train.py"},
    {"--cmd", "write the command after two dashes, as in: -- python train.py"},
    {"--script", "write the command after two dashes, as in: -- python train.py"},
    {"--bottlenecks", "to see them: warpmark analyze FILE; to start from them: warpmark optimize ANALYSIS.json -- CMD"},
    {"--model-config", "optimize starts the program as it is: write its command after two dashes"},
    {"--commit-sha", "--commit"},
    {"--commit-sha", "the commit is read from git; 'warpmark history import FILE --commit ID' names another"},
    {"--optimized", "write both commands: warpmark validate 'BEFORE' 'AFTER'"},
    {"--target", "--goal"},
    {"--runs", "--rounds"},
    {"--iterations", "--rounds"},
    {"--iters", "--rounds"},
    {"--repetitions", "--rounds"},
    {"--min-runs", "--rounds"},
    {"--time", "--budget"},
    {"--max-time", "--budget"},
    {"--gpus", "--device"},
    {"--gpu", "--device"},
    {"--num-gpus", "--gpus"},
    {"--num-gpus", "--device"},
    {"--tolerance", "--threshold"},
    {"--tolerance", "--rtol"},
    {"--html", "--out"},
    {"--csv", "warpmark history export last --format csv"},
};

}  // namespace

std::span<const OptionSpec> every_verb_options() { return kCommon; }
const char* long_name(const OptionSpec& option) { return std::strstr(option.name, "--"); }

std::vector<Synonym> option_synonyms(const Command& command) {
  std::vector<Synonym> synonyms;
  for (const auto& [word, meant, verb] : kWords) {
    const std::string_view only = verb;
    if (only.empty() || only == command.id) synonyms.push_back({word, meant});
  }
  for (const Command* other : commands()) {
    for (const auto& option : other->options) {
      synonyms.push_back({option.name, fmt::format("it is an option of {}; more: warpmark help {}",
                                                   verbs_with(option.name), option.name)});
    }
  }
  return synonyms;
}

std::string verbs_with(std::string_view option) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> verbs;
  for (const Command* command : commands()) {
    const bool has = std::ranges::any_of(command->options, [&](const OptionSpec& one) { return one.name == option; });
    if (has) verbs.emplace_back(command->id);
  }
  const std::size_t more = verbs.size() - std::min(verbs.size(), kShown);
  verbs.resize(verbs.size() - more);
  return join(verbs, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

Result<CommonOptions> take_every_verb_options(std::vector<std::string>& words) {
  CommonOptions common;
  std::vector<std::string> rest;
  auto word = words.begin();
  for (; word != words.end() && *word != "--"; ++word) {
    if (*word == "-q" || *word == "--quiet") {
      common.quiet = true;
    } else if (*word == "-v" || *word == "--verbose") {
      common.verbose = true;
    } else if (*word == "-V" || *word == "--version") {
      common.version = true;
    } else if (*word == "--color" || word->starts_with("--color=")) {
      const bool apart = *word == "--color";
      if (apart && (word + 1 == words.end() || *(word + 1) == "--")) {
        return usage_error("option '--color' needs a value", "--color auto, always or never");
      }
      common.color = apart ? *++word : word->substr(std::string("--color=").size());
      if (common.color != "auto" && common.color != "always" && common.color != "never") {
        return usage_error("--color cannot be '" + common.color + "'", "--color auto, always or never");
      }
    } else {
      rest.push_back(*word);
    }
  }
  rest.insert(rest.end(), word, words.end());
  words = std::move(rest);
  return common;
}

}  // namespace warpmark::apps
