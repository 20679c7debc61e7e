#include "warpmark/command.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <ostream>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "base/untrusted/read_fields.h"
#include "store/location.h"
#include "warpmark/terminal/every_verb_options.h"
#include "warpmark/terminal/help_text.h"
#include "warpmark/terminal/standard_output.h"
#include "warpmark/terminal/topics.h"
#include "warpmark/terminal/user_config.h"

namespace warpmark::apps {
namespace {

int print_error(Context& context, const Error& error) {
  context.err << error_text(error, context.err_is_terminal ? context.width : 0);
  return exit_code_of(error);
}

/// What the word is about first, `warpmark nccl`; then a typing error.
Error unknown_verb(const std::string& word) {
  const std::string what = "there is no verb '" + word + "'";
  const auto ids = ids_of(commands());
  if (const Topic* topic = find_topic(word); topic != nullptr) {
    return usage_error(what, fmt::format("did you mean '{}'? more: warpmark help {}", first_command(*topic), word));
  }
  if (const auto meant = nearest(word, ids); !meant.empty()) {
    return usage_error(what, "did you mean 'warpmark " + meant + "'?");
  }
  return usage_error(what, "verbs: " + join(ids, ", "));
}

/// "'x' is not a whole number" becomes "--rounds: 'x' is not a whole number".
Error with_its_option(Error error, const Command& command, const ParsedOptions& options) {
  for (const auto& option : command.options) {
    for (const auto& value : options.all(option.name)) {
      const std::string quoted = "'" + value + "' ";
      if (value.empty() || error.what.compare(0, quoted.size(), quoted) != 0) continue;
      error.what = std::string(option.name) + ": " + error.what;
      return error;
    }
  }
  return error;
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

/// Words after the verb, with what the user's file adds; both are part of the command line that results record. Options
/// of every verb that the file has go into `common`, unless they were given.
Result<std::vector<std::string>> own_words_of(const Command& command, std::vector<std::string> own, Context& given,
                                              CommonOptions& common) {
  if (command.own_words != nullptr) {
    WM_ASSIGN(own, command.own_words(given, own));
  }
  WM_ASSIGN(auto added, configured_words(given, command, own));
  WM_ASSIGN(const auto configured, take_every_verb_options(added));
  common.quiet = common.quiet || configured.quiet;
  common.verbose = common.verbose || configured.verbose;
  if (common.color.empty()) common.color = configured.color;
  own.insert(own.begin(), added.begin(), added.end());
  given.words.insert(given.words.begin() + 1, added.begin(), added.end());
  return own;
}

Context with_streams(const Context& given, std::ostream& out, std::ostream& err) {
  return {.out = out,
          .err = err,
          .out_is_terminal = given.out_is_terminal,
          .err_is_terminal = given.err_is_terminal,
          .color = given.color,
          .unicode = given.unicode,
          .verbose = given.verbose,
          .quiet = given.quiet,
          .width = given.width,
          .whole_tables = given.whole_tables,
          .environment = given.environment,
          .interrupted = given.interrupted,
          .words = given.words,
          .collect = given.collect};
}

/// With standard output kept for what --json or --html write.
Result<int> run_without_text(const Command& command, Context& given, const ParsedOptions& options) {
  std::ostream nothing(nullptr);
  auto context = with_streams(given, nothing, given.err);
  context.out_is_terminal = context.color = false;
  auto code = run_to_an_error(command, context, options);
  given.why = std::move(context.why);
  return code;
}

/// No exit code without its reason in one line.
void show_exit(Context& given, const std::string& why, int code) {
  const std::string meaning = meaning_of_exit(code);
  if (!meaning.empty()) given.err << fmt::format("exit code {}: {}\n", code, why.empty() ? meaning : why);
}

Result<int> run_verb(const Command& command, std::vector<std::string> own, CommonOptions common, Context& given) {
  WM_ASSIGN(own, own_words_of(command, std::move(own), given, common));
  std::ostream nothing(nullptr);
  auto context = with_streams(given, given.out, common.quiet ? nothing : given.err);
  if (common.quiet) context.err_is_terminal = false;
  if (common.color == "always" || common.color == "never") context.color = common.color == "always";
  context.verbose = common.verbose;
  context.quiet = common.quiet;
  WM_ASSIGN(auto options, parse_options(command.options, command.positional, own, option_synonyms(command)));
  if (options.has("--help")) {
    context.out << help_of(command, context.width);
    return kSuccess;
  }
  WM_ASSIGN(const auto output, StandardOutput::redirect(options));
  auto code =
      output.redirects() ? run_without_text(command, context, options) : run_to_an_error(command, context, options);
  WM_TRY(output.print(given.out));
  if (!code.ok()) code = with_its_option(code.error(), command, options);
  // What was cut short has no result; whoever pressed Ctrl-C wanted that, and it is no fault of the machine.
  if (!code.ok() && context.interrupted) {
    (void)print_error(given, code.error());
    return static_cast<int>(kInterrupted);
  }
  given.out.flush();
  if (code.ok()) show_exit(given, context.why, *code);
  return code;
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

const char* meaning_of_exit(int code) {
  switch (code) {
    case kGateFailed: return "a result is wrong or worse, or a gate failed";
    case kUsage: return "usage or bad input";
    case kInconclusive: return "inconclusive: too little data, or too much noise, to decide";
    case kAccuracyRejected: return "rejected for its accuracy";
    case kEnvironment: return "unreliable: the environment gave no valid measurement";
    default: return "";
  }
}

int exit_because(Context& context, int code, std::string why) {
  if (code != kSuccess) context.why = std::move(why);
  return code;
}

int command_exit_code(Context& context, int code) { return exit_because(context, code, "exit code of the command"); }

std::string command_line_of(const Context& context) {
  return context.words.empty() ? "warpmark" : "warpmark " + command_line(context.words);
}

int run_command_line(Context& given) {
  const auto& words = given.words;
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    (words.empty() ? given.err : given.out) << general_help(given.width);
    return words.empty() ? kUsage : kSuccess;
  }
  std::vector<std::string> all = words;
  const auto common = take_every_verb_options(all);
  if (!common.ok()) return print_error(given, common.error());
  if (common->version) {
    given.out << version_text();
    return kSuccess;
  }
  if (all.empty()) return print_error(given, usage_error("there is no verb", "warpmark --help lists them"));
  const Command* command = find_in(commands(), all[0]);
  if (command == nullptr) return print_error(given, unknown_verb(all[0]));
  const auto code = run_verb(*command, {all.begin() + 1, all.end()}, *common, given);
  return code.ok() ? *code : print_error(given, code.error());
}

}  // namespace warpmark::apps
