#include "warpmark/profiles/profile_inputs.h"

#include <map>
#include <memory>
#include <system_error>

#include "base/files.h"
#include "base/text.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestSource = 16 << 20;

/// "b/train.py" in the folder, for "/a/b/train.py"; empty if not even "train.py" is there.
fs::path found_below(const fs::path& folder, const fs::path& path) {
  std::vector<fs::path> parts(path.begin(), path.end());
  std::error_code none;
  for (std::size_t first = 0; first < parts.size(); ++first) {
    fs::path candidate = folder;
    for (std::size_t i = first; i < parts.size(); ++i) candidate /= parts[i].relative_path();
    if (fs::is_regular_file(candidate, none)) return candidate;
  }
  return {};
}

}  // namespace

Result<analyze::SourceText> source_lines(const std::string& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none)) {
    return usage_error("--source names " + folder + ", which is no folder", "name the folder that holds the program");
  }
  using Files = std::map<std::string, std::vector<std::string>, std::less<>>;
  auto files = std::make_shared<Files>();
  return analyze::SourceText([files, folder](std::string_view file, std::int64_t line) -> std::string {
    auto known = files->find(file);
    if (known == files->end()) {
      const fs::path path = found_below(folder, fs::path(std::string(file)));
      const auto text = path.empty() ? Result<std::string>(std::string()) : read_file(path, kLargestSource);
      known = files->emplace(std::string(file), split(text.ok() ? *text : "", '\n')).first;
    }
    if (line < 1 || static_cast<std::size_t>(line) > known->second.size()) return {};
    return std::string(trim(known->second[static_cast<std::size_t>(line - 1)]));
  });
}

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
