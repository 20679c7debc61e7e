#include "warpmark/terminal/help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"
#include "report/draw/format.h"
#include "report/draw/wrap.h"
#include "session/new_session.h"
#include "warpmark/terminal/every_verb_options.h"

namespace warpmark::apps {
namespace {

std::string option_usage(const OptionSpec& option) {
  const std::string value = option.value;
  return value.empty() ? option.name : fmt::format("{} {}", option.name, value);
}

std::string usage_line(const Command& command) {
  std::string line = fmt::format("warpmark {} [OPTIONS]", command.id);
  if (const std::string word = command.positional.name; !word.empty()) {
    line += fmt::format(" [{}{}]", word, command.positional.repeatable ? " ..." : "");
  }
  return line;
}

/// Below a first line that begins at column `indent`; keeps the text's own line breaks.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::string result;
  for (const auto& line : split(text, '\n')) {
    for (const auto& part : report::wrap(line, std::max(width, indent + 1) - indent)) {
      result += (result.empty() ? "" : '\n' + std::string(indent, ' ')) + part;
    }
  }
  return result;
}

struct OptionRow {
  const OptionSpec* option;
  std::string help;
};

/// One for each name.
std::vector<OptionRow> rows_of(const Command& command) {
  std::vector<OptionRow> rows;
  for (const auto& option : command.options) {
    const auto help = option_help(option) + (option.use.repeatable ? " (repeatable)" : "");
    if (!rows.empty() && std::string_view(rows.back().option->name) == option.name) {
      rows.back().help += "; " + help;
    } else {
      rows.push_back({&option, help});
    }
  }
  return rows;
}

std::string option_rows(const Command& command, int width) {
  std::size_t name_width = 10;
  for (const auto& option : command.options) name_width = std::max(name_width, option_usage(option).size());
  name_width = std::min<std::size_t>(name_width, 24);
  std::string text;
  for (const auto& row : rows_of(command)) {
    const auto group = std::ranges::find_if(
        command.groups, [&](const auto& one) { return std::string_view(one.first) == row.option->name; });
    if (group != command.groups.end()) text += fmt::format("\n {}\n", group->heading);
    text += help_row(option_usage(*row.option), row.help, name_width, width);
  }
  text += help_row("--help", "show this help", name_width, width);
  return text + "\n" +
         wrapped("Every verb also takes -q (--quiet), -v (--verbose) and --color: warpmark --help",
                 static_cast<std::size_t>(width), 0) +
         "\n";
}

/// What troff would take for its own: backslashes, hyphens (which it would make typographic ones of, that cannot be
/// pasted), and lines that begin with a dot or an apostrophe.
std::string troff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string header(std::string name, const std::string& summary) {
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH \"{}\" 1 \"\" \"warpmark {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", troff(title),
                     session::build_info().version, troff(name), troff(summary));
}

/// Paragraphs are separated by empty lines.
std::string paragraphs(const std::string& text) {
  std::string pages;
  for (const auto& line : split(text, '\n')) pages += line.empty() ? ".PP\n" : troff(line) + "\n";
  return pages;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", tag, troff(text));
}

std::string option_tag(const OptionSpec& option) {
  const std::string value = option.value;
  return fmt::format("\\fB{}\\fR{}", troff(option.name), value.empty() ? "" : " \\fI" + troff(value) + "\\fR");
}

std::string examples_of(const std::string& lines) {
  return lines.empty() ? "" : ".SH EXAMPLES\n.nf\n" + troff(lines) + "\n.fi\n";
}

std::string exit_codes() {
  std::string text = ".SH EXIT STATUS\n";
  text += tagged("0", "success");
  for (int code = kGateFailed; code <= kEnvironment; ++code)
    text += tagged(std::to_string(code), meaning_of_exit(code));
  return text;
}

}  // namespace

std::string help_row(const std::string& name, const std::string& help, std::size_t name_width, int width) {
  const std::size_t indent = name_width + 4;
  return fmt::format("  {:<{}}  {}\n", name, name_width, wrapped(help, static_cast<std::size_t>(width), indent));
}

std::string wrapped_text(const std::string& text, int width) {
  return wrapped(text, static_cast<std::size_t>(width), 0);
}

std::string general_help(int width) {
  std::string text =
      wrapped_text("warpmark measures a machine and says how far its programs are from the limit.", width) +
      "\n\nusage: warpmark VERB [OPTIONS]\n";
  std::string_view group;
  for (std::size_t i = 0; i < commands().size(); ++i) {
    if (group != verb_groups()[i]) text += fmt::format("\n{}\n", group = verb_groups()[i]);
    text += help_row(commands()[i]->id, commands()[i]->summary, 12, width);
  }
  text += "\noptions of every verb\n" + help_row("-h, --help", "show this help, or that of the verb", 15, width);
  for (const auto& option : every_verb_options()) text += help_row(option_usage(option), option.help, 15, width);
  text += help_row("--json [FILE]", "where a verb has a result: write it as JSON; without a file, or as -, to stdout",
                   15, width);
  text += "\nstart with\n  warpmark run\n  warpmark doctor\n";
  return text + help_row("warpmark help WORD", "a concept, an option, a metric, another tool", 20, width);
}

std::string help_of(const Command& command, int width) {
  std::string text = fmt::format("{}\n\nusage: {}\n\n", command.summary, usage_line(command));
  if (const std::string details = command.details; !details.empty()) {
    text += wrapped(details, static_cast<std::size_t>(width), 0) + "\n\n";
  }
  if (const std::string word = command.positional.name; !word.empty()) {
    text += "arguments\n" + help_row(word, command.positional.help, 10, width) + "\n";
  }
  text += "options\n" + option_rows(command, width);
  if (const std::string examples = command.examples; !examples.empty()) {
    text += "\nexamples\n";
    for (const auto& line : split(examples, '\n')) {
      for (const auto& part : report::wrap_code(line, static_cast<std::size_t>(std::max(width, 40)) - 2)) {
        text += "  " + part + "\n";
      }
    }
  }
  return text;
}

std::string markdown_of(const Command& command) {
  std::string text = fmt::format("# warpmark {}\n\n{}\n\n    {}\n\n", command.id, command.summary, usage_line(command));
  if (const std::string details = command.details; !details.empty()) text += details + std::string("\n\n");
  const auto escaped = [](std::string cell) {
    for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
    return cell;
  };
  text += "| argument or option | meaning |\n| --- | --- |\n";
  if (const std::string word = command.positional.name; !word.empty()) {
    text += fmt::format("| `{}` | {} |\n", escaped(word), escaped(command.positional.help));
  }
  for (const auto& [option, help] : rows_of(command)) {
    text += fmt::format("| `{}` | {} |\n", escaped(option_usage(*option)), escaped(help));
  }
  text += "| `--help` | show this help |\n";
  if (const std::string examples = command.examples; !examples.empty()) {
    text += "\nExamples:\n\n";
    for (const auto& line : split(examples, '\n')) text += "    " + line + "\n";
  }
  return text + "\nExit codes: [exit-codes.md](exit-codes.md).\n";
}

std::string version_text() {
  const Build build = session::build_info();
  std::string text =
      fmt::format("warpmark {} ({}{})\n", build.version, build.git_sha, build.git_dirty ? ", modified" : "");
  text += fmt::format("built with {}, {}\n", build.compiler, build.type);
  text += "built in: " + join(build.features, ", ") + "\n";
  return text;
}

std::string error_text(const Error& error, int width) {
  constexpr std::size_t kMost = 4000;  // bytes: a file may hold a key or a command of megabytes
  const auto fitted = [&](const std::string& text, std::size_t indent) {
    std::string shown = report::without_controls(text);
    if (shown.size() > kMost) {
      std::size_t end = kMost;
      while ((static_cast<unsigned char>(shown[end]) & 0xC0U) == 0x80) --end;
      shown.replace(end, std::string::npos, " ...");
    }
    return width > 0 ? wrapped(shown, static_cast<std::size_t>(width), indent) : shown;
  };
  std::string text = fitted("warpmark: " + error.what, 0) + '\n';
  if (!error.hint.empty()) text += "  " + fitted(error.hint, 2) + '\n';
  return text;
}

std::string man_page() {
  std::string text = header("warpmark", "measure a machine and GPU programs, say what they lose and what fixing gains");
  text += ".SH SYNOPSIS\n\\fBwarpmark\\fR \\fIVERB\\fR [\\fIOPTIONS\\fR]\n.SH VERBS\n";
  for (const Command* command : commands()) {
    text += tagged("\\fBwarpmark\\-" + troff(command->id) + "\\fR(1)", command->summary);
  }
  text += exit_codes();
  text += ".SH ENVIRONMENT\n" + tagged("\\fBWARPMARK_DB\\fR", "database of results: a file or a postgresql:// URL");
  text +=
      ".SH FILES\n" + tagged("\\fI~/.local/share/warpmark/warpmark.db\\fR", "results, unless --db names another file");
  return text + examples_of("warpmark run\nwarpmark doctor");
}

std::string man_page_of(const Command& command) {
  const std::string id = command.id, word = command.positional.name;
  std::string text = header("warpmark-" + id, command.summary);
  text += fmt::format(".SH SYNOPSIS\n\\fBwarpmark {}\\fR [\\fIOPTIONS\\fR]", troff(id));
  if (!word.empty()) text += fmt::format(" [\\fI{}{}\\fR]", troff(word), command.positional.repeatable ? " ..." : "");
  text += "\n";
  if (const std::string details = command.details; !details.empty()) text += ".SH DESCRIPTION\n" + paragraphs(details);
  text += ".SH OPTIONS\n";
  if (!word.empty()) text += tagged("\\fI" + troff(word) + "\\fR", command.positional.help);
  for (const auto& [option, help] : rows_of(command)) text += tagged(option_tag(*option), help);
  text += tagged("\\fB\\-\\-help\\fR", "show help");
  return text + exit_codes() + examples_of(command.examples) + ".SH SEE ALSO\n\\fBwarpmark\\fR(1)\n";
}

}  // namespace warpmark::apps
