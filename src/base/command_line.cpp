#include "base/command_line.h"

#include "base/text.h"

namespace warpmark {

std::string command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

}  // namespace warpmark
