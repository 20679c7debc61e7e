// No dead hint: every command of warpmark that a message, a page or a document names has a verb that exists and options
// that this verb takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "warpmark/command.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "warpmark ";
const std::set<std::string> kCommon{"--help", "--version", "--quiet", "--verbose", "--color", "-q", "-v", "-V", "-h"};

bool is_word(char c) { return is_digit(c) || c == '_' || c == '-' || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'); }

/// Where the text of one command may end: the quote of a literal, of code in Markdown, or the rest of a pipeline.
std::string_view command_at(std::string_view line, std::size_t at) {
  auto text = line.substr(at);
  for (const std::string_view end : {"`", "\\n", "\"", " | ", " && ", " > ", "; ", " -- ", "</", ") ", ", ", "'"}) {
    text = text.substr(0, text.find(end));
  }
  return text;
}

std::string option_in(std::string_view word) {
  while (!word.empty() && !is_word(word.front())) word.remove_prefix(1);  // "[--json" of a usage line
  if (!word.starts_with("--") || word.size() < 4) return {};
  std::size_t end = 2;
  while (end < word.size() && is_word(word[end])) ++end;
  return std::string(word.substr(0, end));
}

class Hints {
 public:
  void check_file(const fs::path& path) {
    const auto text = read_file(path);
    ASSERT_TRUE(text.ok()) << path;
    int number = 0;
    for (const auto& line : split(*text, '\n')) check_line(path, ++number, line);
  }
  [[nodiscard]] int checked() const { return checked_; }

 private:
  void check_line(const fs::path& path, int number, std::string_view line) {
    for (std::size_t at = 0; (at = line.find(kName, at)) != std::string_view::npos; at += kName.size()) {
      if (at > 0 && (is_word(line[at - 1]) || line[at - 1] == '/')) continue;
      const bool meant = at > 0 && (line[at - 1] == '"' || line[at - 1] == '`');
      check_command(fs::relative(path, WARPMARK_SOURCE_DIR).string() + ":" + std::to_string(number),
                    command_at(line, at + kName.size()), meant);
    }
  }

  void check_command(const std::string& place, std::string_view text, bool meant) {
    const auto words = split(text, ' ');
    if (words.empty() || words[0].empty()) return;
    std::string verb = words[0];
    while (!verb.empty() && !is_word(verb.back())) verb.pop_back();
    const Command* command = find_in(commands(), verb);
    if (command == nullptr) {
      // Prose goes on with any word; a quoted command does not.
      const bool looks_like_verb = meant && words.size() > 1 && words[1].starts_with("--");
      EXPECT_FALSE(looks_like_verb) << place << ": there is no verb " << verb;
      return;
    }
    ++checked_;
    if (command->own_words != nullptr) return;  // it takes the command lines of other tools
    for (const auto& word : words) {
      const auto option = option_in(word);
      if (option.empty() || kCommon.contains(option)) continue;
      const bool known = std::any_of(command->options.begin(), command->options.end(),
                                     [&](const OptionSpec& spec) { return spec.name == option; });
      EXPECT_TRUE(known) << place << ": warpmark " << verb << " has no option " << option;
    }
  }

  int checked_ = 0;
};

TEST(Hints, name_verbs_and_options_that_exist) {
  const fs::path root = WARPMARK_SOURCE_DIR;
  const std::set<std::string> kinds{".cpp", ".h", ".ts", ".md", ".yaml", ".yml", ".py", ".service"};
  Hints hints;
  hints.check_file(root / "README.md");
  for (const char* folder : {"src", "apps", "docs", "examples", "monitoring", "acceptance", "suites", "python"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const bool results = entry.path().string().find("/docs/results/") != std::string::npos;  // of their day
      if (entry.is_regular_file() && !results && kinds.contains(entry.path().extension().string())) {
        hints.check_file(entry.path());
      }
    }
  }
  EXPECT_GT(hints.checked(), 300);
}

}  // namespace
}  // namespace warpmark::apps
