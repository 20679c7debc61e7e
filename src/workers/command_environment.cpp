#include "workers/command_environment.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "base/command_line.h"

namespace warpmark::workers {
namespace {

constexpr std::string_view kPath = "PYTHONPATH=";

std::string base_name(const std::string& word) { return std::filesystem::path(word).filename().string(); }

/// Assignments of env follow its options and precede the program.
void keep_in_env(std::vector<std::string>& words, std::size_t env, const std::string& hook_folder,
                 const NamedValues& variables) {
  std::size_t i = env + 1;
  bool clears = false;
  for (; i < words.size() && words[i].starts_with('-'); ++i) {
    if (words[i] == "-i" || words[i] == "-" || words[i] == "--ignore-environment") clears = true;
    if (words[i] == "-u" || words[i] == "-C") ++i;  // with a value
  }
  const auto first = i;
  bool sets_path = false;
  for (; i < words.size() && words[i].find('=') != std::string::npos; ++i) {
    if (!words[i].starts_with(kPath)) continue;
    sets_path = true;
    words[i] = std::string(kPath) + hook_folder + ":" + words[i].substr(kPath.size());
  }
  if (!clears) return;
  for (const auto& [name, value] : variables) {
    if (name + "=" == kPath && sets_path) continue;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(std::min(first, words.size())), name + "=" + value);
  }
}

void keep_in_shell(std::string& text, const std::string& hook_folder) {
  const auto quoted = command_line({hook_folder}) + ":";
  for (std::size_t at = text.find(kPath); at != std::string::npos; at = text.find(kPath, at + kPath.size())) {
    const bool assigns = at == 0 || std::string_view(" \t\n;&|(").find(text[at - 1]) != std::string_view::npos;
    if (assigns) text.insert(at + kPath.size(), quoted);
  }
}

}  // namespace

std::vector<std::string> keep_variables(std::vector<std::string> words, const std::string& hook_folder,
                                        const NamedValues& variables) {
  constexpr std::size_t kLaunchers = 4;  // words before env, as those of taskset
  for (std::size_t i = 0; i < std::min(words.size(), kLaunchers); ++i) {
    const auto name = base_name(words[i]);
    if (name == "env") {
      keep_in_env(words, i, hook_folder, variables);
      return words;
    }
    if ((name == "sh" || name == "bash" || name == "dash") && i + 2 < words.size() && words[i + 1] == "-c") {
      keep_in_shell(words[i + 2], hook_folder);
      return words;
    }
  }
  return words;
}

}  // namespace warpmark::workers
