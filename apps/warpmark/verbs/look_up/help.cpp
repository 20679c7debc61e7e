#include <ostream>

#include "warpmark/command.h"
#include "warpmark/terminal/help_text.h"
#include "warpmark/terminal/man_page.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kHelpOptions[] = {{"--markdown", "", "as the page docs/cli/VERB.md"},
                                       {"--man", "", "as a manual page, for man; without a verb warpmark(1)"}};

Result<int> run_help(Context& context, const ParsedOptions& options) {
  if (options.positionals().empty()) {
    context.out << (options.has("--man") ? man_page() : general_help(context.width));
    return kSuccess;
  }
  const auto& id = options.positionals()[0];
  const Command* command = find_in(commands(), id);
  if (command == nullptr) {
    return usage_error("there is no verb '" + id + "'", "verbs: " + join(ids_of(commands()), ", "));
  }
  if (options.has("--man")) {
    context.out << man_page_of(*command);
    return kSuccess;
  }
  context.out << (options.has("--markdown") ? markdown_of(*command) : help_of(*command, context.width));
  return kSuccess;
}

}  // namespace

extern const Command help_command{
    .id = "help",
    .summary = "explain warpmark or one of its verbs",
    .details = "",
    .options = kHelpOptions,
    .positional = {"VERB", "the verb to explain", false, "<verbs>"},
    .examples = "warpmark help run",
    .run = run_help,
};

}  // namespace warpmark::apps
