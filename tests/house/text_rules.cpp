#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <regex>

#include "base/result.h"
#include "base/text.h"
#include "house/rules.h"

namespace warpmark::house {
namespace {

constexpr std::size_t kFileLines = 400;
constexpr std::size_t kHeaderLines = 150;
constexpr std::size_t kFunctionLines = 75;  // "about 70"
constexpr std::size_t kKernelLines = 100;   // a GPU kernel keeps its tiles in the registers of one function
constexpr std::size_t kColumns = 120;

struct Ban {
  const char* pattern;
  const char* instead;
  bool (*applies)(const std::string& path);
};

bool everywhere(const std::string&) { return true; }
/// README and the pages that are not records.
bool plain(const std::string& path) {
  return path == "README.md" ||
         (path.starts_with("docs/") && path.ends_with(".md") && !path.starts_with("docs/results/"));
}
/// All but recorded results and their history.
bool in_words(const std::string& path) {
  return !path.starts_with("docs/results/") && !path.starts_with("tests/") && !path.starts_with("bench/") &&
         !path.starts_with("corpus/") && !path.starts_with("fuzz/") && !path.starts_with("shared/");
}
bool in_product(const std::string& path) { return path.starts_with("src/") || path.starts_with("apps/"); }
bool below_apps(const std::string& path) { return path.starts_with("src/"); }
bool may_not_branch_on_the_build(const std::string& path) {
  return in_product(path) && path.find("/module/") == std::string::npos && !path.ends_with(".cu") &&
         !path.ends_with(".cuh");
}

// Searched in code, that is without comments and literals.
constexpr std::array kCodeBans{
    Ban{R"(\b(class|struct|union|enum|using|namespace)\s+(class\s+)?\w*([mM]anager|[hH]elpers?|[uU]tils?|[iI]mpl)\b)",
        "name what it is or does; these words say nothing", everywhere},
    Ban{R"(\b(std::)?(exit|quick_exit)\s*\()", "return an error; only apps/ decides how the process ends", below_apps},
    Ban{R"(\bstd::(cout|cerr|clog)\b|\b(printf|puts|putchar)\s*\()",
        "return the text or write to a sink; only apps/ prints", below_apps},
    Ban{R"(\busing\s+namespace\s+std\b)", "write std::", everywhere},
    Ban{R"(\bcatch\s*\(\s*\.\.\.\s*\))", "catch what the library documents", in_product},
    Ban{R"(\bthrow\b)", "return a Result or a Status", in_product},
    Ban{R"(\b(\w+_)?(told|tells?|beside|claims?|claimed|claimants?|afterwards|ignorance|testimony|)"
        R"(handed_on|last_words)(_\w*)?\b|\b\w*(Told|Beside|Claim|Testimony|Afterwards)\w*\b)",
        "write the field's word: reported, notify, next_to, attribute, chance_level, stage_output, crash_message",
        in_product},
    Ban{R"(^\s*#\s*(if|ifdef|ifndef|elif)\b)",
        "choose the file in cmake/; an absent part is a descriptor that says why", may_not_branch_on_the_build},
};

// Searched in the whole text. Each pattern is spelled so that it does not find itself.
constexpr std::array kTextBans{
    Ban{R"((^|[^a-zA-Z])(cures?|cured|curing|mend(ed|ing|s)?|foretells?|foretold|)"
        R"(needless|blamed?|journeys?|hopeless|witness(es)?)($|[^a-zA-Z]))",
        "write the field's word: fix, predicted, redundant, attributed, report, stopped early, cross-check", in_words},
    Ban{R"((^|[^-\w])(as fast|beside|tells|told|roofs?)\b)", "write the field's word: Nx speedup, next to, shows, peak",
        plain},
    Ban{R"(\.(what|hint|reason|stopped_because|failure|problem|cause|help|use|fix|note)\.)"
        R"((find|rfind|starts_with|ends_with|contains|substr)\([^'])",
        "texts are for people: decide by a code or an enumeration (ErrorCode)", in_product},
    Ban{R"(\b(TODO|FIXME)\b[:( ])", "do it now or leave it out", everywhere},
    Ban{R"((^|[\s"'`(=])/(work|root)/)", "no paths of somebody's machine", everywhere},
    Ban{R"(\b[\w-]+\.pkg\.dev\b|registry\.npmjs)", "no package registry's host", everywhere},
};

// Searched in the sentences of string literals.
constexpr std::array kSentenceBans{
    Ban{R"((^|[^-\w])(beside|tells?|told|telling|whom|set against|comes? along|fewest|goes on|go on|gone on|)"
        R"(anew|whoever|nothing of|changes? of level|by hand|given up|taken for|afterwards|mistrusted|as asked for)\b)",
        "write the field's word: next to, shows, peak, compared with, resumes, change point", in_product},
    Ban{R"(\b(so many \w+|(times|twice) as fast|there is nothing to|[Mm]ost (time|runs|steps|bytes))\b)",
        "write: N steps, Nx faster, maximum time", in_product},
};

std::string place(const SourceFile& file, std::size_t line) { return file.path + ":" + std::to_string(line) + ": "; }

template <std::size_t N>
Violations find_bans(const SourceFile& file, const std::string& text, const std::array<Ban, N>& bans) {
  Violations violations;
  for (const auto& ban : bans) {
    if (!ban.applies(file.path)) continue;
    const RE2 pattern(std::string("(?m)") + ban.pattern);
    WM_CHECK(pattern.ok());
    re2::StringPiece match;
    std::size_t from = 0;
    while (pattern.Match(text, from, text.size(), RE2::UNANCHORED, &match, 1)) {
      const auto at = static_cast<std::size_t>(match.data() - text.data());
      const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
      violations.push_back(place(file, static_cast<std::size_t>(line)) + "'" + std::string(match) +
                           "': " + ban.instead);
      from = at + match.size();
    }
  }
  return violations;
}

bool is_public_header(const std::string& path) { return path.ends_with(".h") && !path.starts_with("tests/"); }

std::size_t function_limit(const std::string& path) {
  return path.ends_with(".cu") || path.ends_with(".cuh") ? kKernelLines : kFunctionLines;
}

/// Blanks preprocessor lines, whose braces need not match.
std::string without_preprocessor(const std::string& code) {
  std::string result;
  bool continued = false;
  for (const auto& line : lines_of(code)) {
    const auto first = line.find_first_not_of(" \t");
    const bool directive = continued || (first != std::string::npos && line[first] == '#');
    continued = directive && line.ends_with('\\');
    result += (directive ? std::string() : line) + "\n";
  }
  return result;
}

/// "template <typename T>" says nothing about whether a function or a class follows.
std::string without_template_head(std::string head) {
  while (head.starts_with("template")) {
    int depth = 0;
    std::size_t at = head.find('<');
    if (at == std::string::npos) break;
    for (; at < head.size(); ++at) {
      if (head[at] == '<') ++depth;
      if (head[at] == '>' && --depth == 0) break;
    }
    head = std::string(trim(head.substr(std::min(at + 1, head.size()))));
  }
  return head;
}

/// Whether the block after `head` is a function's body. Namespaces and types are looked into, initializers are data.
enum class Block { function, scope, data };
Block kind_of(const std::string& raw_head) {
  static const std::regex scope(
      R"(^(inline\s+)?(namespace|class|struct|union|enum|extern|public|private|protected)\b)");
  static const std::regex access(R"(^(public|private|protected)\s*:\s*)");
  std::string head = std::regex_replace(std::string(trim(raw_head)), access, "");
  head = without_template_head(head);
  if (std::regex_search(head, scope) && head.find(")") == std::string::npos) return Block::scope;
  if (head.find('(') == std::string::npos) return Block::data;
  return Block::function;
}

}  // namespace

Violations check_lengths(const SourceFile& file) {
  Violations violations;
  const auto lines = lines_of(file.text);
  const std::size_t limit = is_public_header(file.path) ? kHeaderLines : kFileLines;
  if (lines.size() > limit) {
    violations.push_back(file.path + ": " + std::to_string(lines.size()) + " lines, more than " +
                         std::to_string(limit) + "; it holds two ideas, make two files");
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (display_width(lines[i]) > kColumns) violations.push_back(place(file, i + 1) + "longer than 120 columns");
  }
  return violations;
}

Violations check_function_lengths(const SourceFile& file) {
  Violations violations;
  const std::string code = without_preprocessor(code_only(file.text));
  struct Open {
    Block kind;
    std::size_t line;
  };
  std::vector<Open> open;
  std::string head;
  std::size_t line = 1, head_line = 1;
  int inside_function = 0;
  for (const char c : code) {
    if (c == '\n') ++line;
    if (c == '{') {
      const Block kind = inside_function > 0 ? Block::function : kind_of(head);
      if (kind == Block::function) ++inside_function;
      open.push_back({kind, head_line});
    } else if (c == '}' && !open.empty()) {
      const Open block = open.back();
      open.pop_back();
      if (block.kind == Block::function && --inside_function == 0 &&
          line - block.line + 1 > function_limit(file.path)) {
        violations.push_back(place(file, block.line) + "a function of " + std::to_string(line - block.line + 1) +
                             " lines; push ifs up and loops down into named steps");
      }
    }
    if (c == '{' || c == '}' || c == ';') {
      head.clear();
    } else {
      if (trim(head).empty()) head_line = line;
      head += c;
    }
  }
  return violations;
}

Violations check_banned_code(const SourceFile& file) { return find_bans(file, code_only(file.text), kCodeBans); }

Violations check_banned_text(const SourceFile& file) { return find_bans(file, file.text, kTextBans); }

Violations check_banned_sentences(const SourceFile& file) {
  return find_bans(file, sentences_only(file.text), kSentenceBans);
}

Violations check_header_opening(const SourceFile& file) {
  if (file.text.starts_with("//") || file.text.starts_with("/*")) return {};
  return {place(file, 1) + "open with a few lines: what it is, which method, its source"};
}

}  // namespace warpmark::house
