#include "warpmark/profiles/profile_inputs.h"

#include <system_error>

namespace warpmark::apps {

Status check_not_an_input(const std::filesystem::path& output, const std::vector<std::string>& named,
                          const ProfileSession& session) {
  std::vector<std::string> inputs = named;
  for (const Timeline& rank : session.ranks) inputs.push_back(rank.source);
  for (const auto& input : inputs) {
    std::error_code none;
    const bool is_file = std::filesystem::is_regular_file(input, none);
    if (is_file && std::filesystem::equivalent(input, output, none)) {
      return usage_error(output.string() + " is an input and would be overwritten", "name another file");
    }
  }
  return {};
}

}  // namespace warpmark::apps
