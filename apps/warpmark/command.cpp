#include "warpmark/command.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <ostream>
#include <system_error>

#include "base/json.h"
#include "base/text.h"
#include "base/untrusted/read_fields.h"
#include "store/location.h"
#include "warpmark/terminal/help_text.h"

namespace warpmark::apps {
namespace {

int print_error(Context& context, const Error& error) {
  context.err << error_text(error, context.err_is_terminal ? context.width : 0);
  return exit_code_of(error);
}

Error unknown_verb(const std::string& word) {
  const auto ids = ids_of(commands());
  const auto meant = nearest(word, ids);
  return usage_error("there is no verb '" + word + "'",
                     meant.empty() ? "verbs: " + join(ids, ", ") : "did you mean 'warpmark " + meant + "'?");
}

/// What a library throws and no reader expected ends the verb like any other error; what it stored before is safe in
/// the database.
Result<int> run_to_an_error(const Command& command, Context& context, const ParsedOptions& options) {
  const std::string verb = "'warpmark " + std::string(command.id) + "'";
  try {
    return command.run(context, options);
  } catch (const std::bad_alloc&) {
    return environment_error("there is not enough memory for " + verb,
                             "free some memory, lift the limit (ulimit -v), or ask for less at once");
  } catch (const std::system_error& refused) {
    const bool limit = refused.code() == std::errc::resource_unavailable_try_again;
    return environment_error("the system refused what " + verb + " needs: " + refused.code().message(),
                             limit ? "end other processes, or raise the limits: ulimit -u, ulimit -n" : "");
  } catch (const std::exception& unexpected) {
    return internal_error(verb + " met an error that it does not know: " + without_library_names(unexpected.what()),
                          "this is a fault of warpmark: report the command and its input");
  }
}

}  // namespace

int exit_code_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::usage:
    case ErrorKind::data: return kUsage;
    case ErrorKind::environment:
    case ErrorKind::unsupported: return kEnvironment;
    case ErrorKind::internal: return kEnvironment;
  }
  return kEnvironment;
}

std::string command_line_of(const Context& context) {
  std::string line = "warpmark";
  for (const auto& word : context.words) line += " " + shell_quote(store::hide_password(word));
  return line;
}

int run_command_line(Context& context) {
  const auto& words = context.words;
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    (words.empty() ? context.err : context.out) << general_help(context.width);
    return words.empty() ? kUsage : kSuccess;
  }
  if (words[0] == "--version") {
    context.out << version_text();
    return kSuccess;
  }
  const Command* command = find_in(commands(), words[0]);
  if (command == nullptr) return print_error(context, unknown_verb(words[0]));
  std::vector<std::string> own(words.begin() + 1, words.end());
  if (command->own_words != nullptr) {
    auto translated = command->own_words(context, own);
    if (!translated.ok()) return print_error(context, translated.error());
    own = std::move(*translated);
  }
  const auto options = parse_options(command->options, command->positional, own);
  if (!options.ok()) return print_error(context, options.error());
  if (options->has("--help")) {
    context.out << help_of(*command, context.width);
    return kSuccess;
  }
  const auto code = run_to_an_error(*command, context, *options);
  if (code.ok()) return *code;
  const int failed = print_error(context, code.error());
  // What was cut short has no result; that is the wish of whoever pressed Ctrl-C and no fault of the machine.
  return context.interrupted ? static_cast<int>(kInterrupted) : failed;
}

}  // namespace warpmark::apps
