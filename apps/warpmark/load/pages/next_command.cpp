#include "warpmark/load/pages/next_command.h"

#include <algorithm>

#include "base/text.h"

namespace warpmark::apps {
namespace {

constexpr std::string_view kResultFiles[] = {
    "--json",   "--html", "--requests-csv", "--vllm-json", "--experiment-folder-name", "--experiment-base-dir",
    "--resume", "--out"};

}  // namespace

NextCommand::NextCommand(std::string_view command) {
  parts_.emplace_back();
  const auto words = words_of_line(command);  // as command_line() wrote it
  for (const auto& word : words.ok() ? *words : split(command, ' ')) {
    if (!word.starts_with("--")) {
      parts_.back().values.push_back(word);
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
    words.insert(words.end(), part.values.begin(), part.values.end());
  }
  return command_line(words);
}

}  // namespace warpmark::apps
