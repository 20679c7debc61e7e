#include "warpmark/session_output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "report/catalog.h"

namespace warpmark::apps {

Status check_outputs(const ParsedOptions& options) {
  if (options.has("--json")) {
    const auto parent = std::filesystem::absolute(options.get("--json")).parent_path();
    if (access(parent.c_str(), W_OK) != 0) {
      return environment_error("cannot write " + options.get("--json") + ": " + std::strerror(errno),
                               "choose a file in a folder that you can write");
    }
  }
  if (options.has("--out")) WM_TRY(make_folder(options.get("--out"), "choose another folder"));
  return {};
}

Status write_session_files(const ParsedOptions& options, const Session& session) {
  const auto write = [&](const std::filesystem::path& path, const char* format) {
    return write_file(path, find_in(report::reporters(), format)->render(session, {.width = 100, .unicode = true}));
  };
  if (options.has("--json")) WM_TRY(write(options.get("--json"), "json"));
  if (!options.has("--out")) return {};
  const std::filesystem::path folder = options.get("--out");
  WM_TRY(write(folder / "results.json", "json"));
  WM_TRY(write(folder / "report.txt", "text"));
  WM_TRY(write(folder / "report.md", "md"));
  return write(folder / "report.html", "html");
}

}  // namespace warpmark::apps
