#include "report/draw/wrap.h"

#include <algorithm>
#include <array>

#include "base/result.h"
#include "base/text.h"

namespace warpmark::report {
namespace {

/// "ms", "%)" or "GB/s,": what belongs to the number before it.
bool is_unit(std::string_view word) {
  word = word.substr(0, word.find_last_not_of(").,;:") + 1);
  constexpr std::array<std::string_view, 17> kUnits{"%",  "s",   "ms",  "µs",  "us",   "ns",   "B",    "kB", "MB",
                                                    "GB", "KiB", "MiB", "GiB", "MB/s", "GB/s", "TB/s", "TiB"};
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

/// Between blanks; a number and its unit are one word where the line is wide enough for it.
std::vector<std::string> words_of(std::string_view text, std::size_t width) {
  std::vector<std::string> words;
  for (std::string& word : split(text, ' ')) {
    const bool number = !words.empty() && !words.back().empty() && is_digit(words.back().back());
    if (number && is_unit(word) && display_width(words.back()) + 1 + display_width(word) <= width) {
      words.back() += ' ' + word;
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

/// Lines of words, each line but the last with `joint` at its end and each but the first with `indent` before it.
std::vector<std::string> filled(const std::vector<std::string>& words, std::size_t width, std::string_view joint,
                                std::string_view indent) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  bool begins = true;  // a line takes its first word whatever its width
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t length = display_width(words[i]), end = i + 1 < words.size() ? joint.size() : 0;
    if (!begins && used + 1 + length + end > width) {
      lines.back().erase(lines.back().find_last_not_of(' ') + 1);
      lines.back() += joint;
      lines.emplace_back(indent);
      used = indent.size();
      begins = true;
    }
    if (!begins) lines.back() += ' ', ++used;
    lines.back() += words[i];
    used += length;
    begins = begins && words[i].empty();
  }
  return lines;
}

bool has_columns(std::string_view line) {
  if (line.starts_with('#')) return true;
  const auto gap = line.find("  ");
  return gap != std::string_view::npos && line.substr(line.find_first_not_of(' ', gap)).front() != '#';
}

/// Between blanks outside of quotes; an option and its value are one word where the line is wide enough for both.
std::vector<std::string> shell_words(std::string_view line, std::size_t width) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    }
    if (c == ' ' && quote == 0) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  for (std::size_t i = 0; i + 1 < words.size();) {
    const bool value = words[i].starts_with("--") && words[i].size() > 2 && !words[i + 1].starts_with('-') &&
                       words[i].find_first_of("= ") == std::string::npos;
    if (!value || display_width(words[i]) + display_width(words[i + 1]) + 1 > width / 2) {
      ++i;
      continue;
    }
    words[i] += ' ' + words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return words;
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  WM_CHECK(width > 0);
  return filled(words_of(text, width), width, "", "");
}

std::string wrap_lines(std::string_view text, std::size_t width) {
  std::string out;
  for (const auto& line : split(text.ends_with('\n') ? text.substr(0, text.size() - 1) : text, '\n')) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const auto rest = std::string_view(line).substr(indent);
    const std::size_t room = width - std::min(indent, width - 1);
    const bool command = indent > 0 && rest.starts_with("warpmark ");
    for (const auto& part : command ? wrap_code(rest, room) : wrap(rest, room)) {
      out += line.substr(0, indent) + part + '\n';
    }
  }
  return out;
}

std::vector<std::string> wrap_code(std::string_view line, std::size_t width) {
  WM_CHECK(width > 0);
  const std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
  if (display_width(line) <= width || has_columns(line.substr(indent.size()))) return {std::string(line)};
  std::vector<std::string> words = shell_words(line.substr(indent.size()), width);
  std::vector<std::string> lines;
  const auto comment = std::find(words.begin(), words.end(), "#");
  if (comment != words.end()) {
    const std::vector<std::string> text(comment + 1, words.end());
    for (const auto& part : wrap(join(text, " "), width - std::min(indent.size() + 2, width - 1))) {
      lines.push_back(indent + "# " + part);
    }
    words.erase(comment, words.end());
    while (!words.empty() && words.back().empty()) words.pop_back();
  }
  for (const auto& part : filled(words, width - std::min(indent.size(), width - 1), " \\", "    ")) {
    lines.push_back(indent + part);
  }
  return lines;
}

}  // namespace warpmark::report
