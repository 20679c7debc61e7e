#include "warpmark/terminal/every_verb_options.h"

#include <algorithm>
#include <cstring>

namespace warpmark::apps {
namespace {

constexpr OptionSpec kCommon[] = {
    {"-q, --quiet", "", "print results and errors only: no progress, no notes"},
    {"-v, --verbose", "", "text: also show what other formats fold away"},
    {"-V, --version", "", "version, git revision and what is built in"},
    {"--color", "WHEN", "auto (default: on a terminal, unless NO_COLOR is set), always, never", false,
     "auto always never"},
};

constexpr Synonym kSynonyms[] = {
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
std::span<const Synonym> option_synonyms() { return kSynonyms; }

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
