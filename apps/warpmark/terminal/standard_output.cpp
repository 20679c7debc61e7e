#include "warpmark/terminal/standard_output.h"

#include <stdlib.h>

#include <utility>

#include "base/files.h"

namespace warpmark::apps {

Result<StandardOutput> StandardOutput::redirect(ParsedOptions& options) {
  StandardOutput output;
  const bool json = options.get("--json") == "-", html = options.get("--html") == "-";
  if (!json && !html) return output;
  if (json && html) return usage_error("--json and --html cannot both go to standard output", "name a file for one");
  std::error_code none;
  std::string name = (std::filesystem::temp_directory_path(none) / "warpmark-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return environment_error("cannot make a temporary folder as " + name, "set TMPDIR to a folder that you can write");
  }
  output.folder_ = name;
  options.replace(json ? "--json" : "--html", (output.folder_ / "output").string());
  return output;
}

StandardOutput::StandardOutput(StandardOutput&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

StandardOutput::~StandardOutput() {
  std::error_code none;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, none);
}

Status StandardOutput::print(std::ostream& out) const {
  std::error_code none;
  const auto file = folder_ / "output";
  if (folder_.empty() || !std::filesystem::exists(file, none)) return {};
  WM_ASSIGN(const auto text, read_file(file));
  out << text << std::flush;
  return {};
}

}  // namespace warpmark::apps
