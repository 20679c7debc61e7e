#include "warpmark/terminal/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"
#include "warpmark/sessions/build_info.h"

namespace warpmark::apps {
namespace {

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
                     build_info().version, troff(name), troff(summary));
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
  for (const auto& option : command.options) {
    text += tagged(option_tag(option), std::string(option.help) + (option.repeatable ? " (repeatable)" : ""));
  }
  text += tagged("\\fB\\-\\-help\\fR", "show help");
  return text + exit_codes() + examples_of(command.examples) + ".SH SEE ALSO\n\\fBwarpmark\\fR(1)\n";
}

}  // namespace warpmark::apps
