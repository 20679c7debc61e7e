// Prints the script that a shell loads, and answers its questions.
#include <ostream>
#include <sstream>

#include "base/text.h"
#include "warpmark/command.h"
#include "warpmark/terminal/completion.h"

namespace warpmark::apps {
namespace {

constexpr const char* kComplete = "complete";

/// The lines of `warpmark list KIND --ids`, with the database of the command line.
std::vector<std::string> listed(Context& context, const std::string& kind, std::span<const std::string> words) {
  std::ostringstream out, err;
  Context quiet{.out = out,
                .err = err,
                .environment = context.environment,
                .interrupted = context.interrupted,
                .words = {"list", kind, "--ids"}};
  for (std::size_t i = 0; kind == "runs" && i + 2 < words.size(); ++i) {
    if (words[i] == "--db") quiet.words.insert(quiet.words.end(), {words[i], words[i + 1]});
    if (words[i].starts_with("--db=")) quiet.words.push_back(words[i]);
  }
  if (run_command_line(quiet) != kSuccess) return {};
  return split(out.str(), '\n');
}

/// A candidate a line, with a tab before its help; ":files" where the shell shall offer files.
void answer(Context& context) {
  const auto line = std::span<const std::string>(context.words).subspan(2);
  const auto words = !line.empty() && line.front() == "--" ? line.subspan(1) : line;
  const auto found = complete(
      words, [&](const std::string& kind, std::span<const std::string> all) { return listed(context, kind, all); });
  for (const auto& [word, help] : found.words) {
    context.out << word;
    if (!help.empty()) context.out << '\t' << help;
    context.out << '\n';
  }
  if (found.files) context.out << ":files\n";
}

/// What is completed may be any words, those of options as well.
Result<std::vector<std::string>> own_completion_words(Context&, std::span<const std::string> words) {
  if (words.empty() || words.front() != kComplete) return std::vector<std::string>(words.begin(), words.end());
  return std::vector<std::string>{kComplete};
}

Result<int> run_completion(Context& context, const ParsedOptions& options) {
  const auto& shells = options.positionals();
  if (shells.empty()) return usage_error("which shell?", "warpmark completion bash");
  if (shells[0] == kComplete) {
    answer(context);
    return kSuccess;
  }
  const auto script = completion_script(shells[0]);
  if (script.empty()) return usage_error("there is no completion for '" + shells[0] + "'", "shells: bash, zsh, fish");
  context.out << script;
  return kSuccess;
}

}  // namespace

extern const Command completion_command{
    .id = "completion",
    .summary = "print the shell completion script",
    .details =
        "Source it from your shell's start-up file, or store it where the shell looks for completions. It completes "
        "verbs, options and their values, files, stored sessions, workloads, metrics and devices. The script asks "
        "`warpmark completion complete -- WORDS...`, so it stays right after an update.",
    .options = {},
    .positional = {"bash|zsh|fish", "the shell", false, "bash zsh fish"},
    .examples =
        "source <(warpmark completion bash)\nwarpmark completion zsh > ~/.zfunc/_warpmark\n"
        "warpmark completion fish > ~/.config/fish/completions/warpmark.fish",
    .run = run_completion,
    .own_words = own_completion_words,
};

}  // namespace warpmark::apps
