#include "warpmark/load/pages/next_command.h"

#include <algorithm>

#include "base/text.h"

namespace warpmark::apps {
namespace {

constexpr std::string_view kResultFiles[] = {
    "--json",   "--html", "--requests-csv", "--vllm-json", "--experiment-folder-name", "--experiment-base-dir",
    "--resume", "--out"};

/// What shell_quote() quoted, as words again.
std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  bool quoted = false, begun = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == ' ' && !quoted) {
      begun = false;
      continue;
    }
    if (!begun) words.emplace_back();
    begun = true;
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == '\\' && !quoted && i + 1 < command.size()) {
      words.back() += command[++i];
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

NextCommand::NextCommand(std::string_view command) {
  parts_.emplace_back();
  for (auto& word : words_of(command)) {
    if (!word.starts_with("--")) {
      parts_.back().values.push_back(std::move(word));
      continue;
    }
    const auto equals = word.find('=');
    parts_.push_back({word.substr(0, equals), {}});
    if (equals != std::string::npos) parts_.back().values.push_back(word.substr(equals + 1));
  }
  std::erase_if(
      parts_, [](const Part& part) { return std::ranges::find(kResultFiles, part.option) != std::end(kResultFiles); });
}

bool NextCommand::has(std::string_view option) const {
  return std::ranges::any_of(parts_, [&](const Part& part) { return part.option == option; });
}

std::string NextCommand::value_of(std::string_view option) const {
  const auto found = std::ranges::find(parts_, option, &Part::option);
  return found == parts_.end() || found->values.empty() ? "" : found->values.front();
}

NextCommand& NextCommand::set(std::string option, std::string value) {
  const auto found = std::ranges::find(parts_, option, &Part::option);
  Part& part = found == parts_.end() ? parts_.emplace_back() : *found;
  part = {std::move(option), {std::move(value)}};
  return *this;
}

std::string NextCommand::text() const {
  std::vector<std::string> words;
  for (const auto& part : parts_) {
    if (!part.option.empty()) words.push_back(part.option);
    for (const auto& value : part.values) words.push_back(shell_quote(value));
  }
  return join(words, " ");
}

}  // namespace warpmark::apps
