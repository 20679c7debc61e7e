#include <ostream>

#include "warpmark/command.h"
#include "warpmark/terminal/help_text.h"

namespace warpmark::apps {
namespace {

Result<int> run_completion(Context& context, const ParsedOptions& options) {
  const auto& shells = options.positionals();
  if (shells.empty()) return usage_error("which shell?", "warpmark completion bash, zsh or fish");
  if (shells[0] == "bash") {
    context.out << bash_completion();
  } else if (shells[0] == "zsh") {
    context.out << zsh_completion();
  } else if (shells[0] == "fish") {
    context.out << fish_completion();
  } else {
    return usage_error("there is no completion for '" + shells[0] + "'", "shells: bash, zsh, fish");
  }
  return kSuccess;
}

}  // namespace

extern const Command completion_command{
    .id = "completion",
    .summary = "print the completion script of a shell",
    .details = "Source it from your shell's start-up file, or store it where the shell looks for completions.",
    .options = {},
    .positional = {"bash|zsh|fish", "the shell", false, "bash zsh fish"},
    .examples =
        "source <(warpmark completion bash)\nwarpmark completion zsh > ~/.zfunc/_warpmark\n"
        "warpmark completion fish > ~/.config/fish/completions/warpmark.fish",
    .run = run_completion,
};

}  // namespace warpmark::apps
