#include "warpmark/sessions/session_output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "exchange/import.h"
#include "report/formats/catalog.h"
#include "report/formats/render.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {

Status check_writable(const std::filesystem::path& path) {
  if (path.empty()) return usage_error("the name of a file to write is empty", "name a file");
  if (path == "-") {
    return usage_error("'-' cannot be written here", "it is standard output for --json and --html; ./- names a file");
  }
  std::error_code none;
  const auto there = std::filesystem::status(path, none);
  if (std::filesystem::is_directory(there)) {
    return environment_error("cannot write " + path.string() + ": it is a folder", "name a file in it");
  }
  WM_TRY(check_folder_of(path));
  // A file is replaced in its folder, that of what a link names; a device or a pipe is written into.
  std::filesystem::path asked = path;
  if (!std::filesystem::exists(there)) asked = std::filesystem::absolute(path).parent_path();
  if (std::filesystem::is_regular_file(there)) asked = std::filesystem::canonical(path, none).parent_path();
  if (access(asked.c_str(), W_OK) == 0) return {};
  return environment_error("cannot write " + path.string() + ": " + std::strerror(errno),
                           "choose a file in a folder that you can write");
}

Status check_output_folder(const std::filesystem::path& folder) {
  std::error_code none;
  std::filesystem::path asked = folder;
  if (!asked.has_filename()) asked = asked.parent_path();
  const auto there = std::filesystem::status(asked, none);
  if (!std::filesystem::exists(there)) {
    // Whether it can be made is found by making it; it is made again when there is something to put in.
    WM_TRY(make_named_folder(asked));
    std::filesystem::remove(asked, none);
    return {};
  }
  if (!std::filesystem::is_directory(there)) {
    return environment_error("cannot write into " + folder.string() + ": it is no folder", "choose another folder");
  }
  if (access(asked.c_str(), W_OK) == 0) return {};
  return environment_error("cannot write into " + folder.string() + ": " + std::strerror(errno),
                           "choose another folder");
}

Status check_outputs(const ParsedOptions& options) {
  for (const char* file : {"--json", "--html"}) {
    if (options.has(file)) WM_TRY(check_writable(options.get(file)));
  }
  return options.has("--out") ? check_output_folder(options.get("--out")) : Status();
}

Status check_session_format(const std::string& format) {
  auto formats = ids_of(report::reporters());
  for (auto& id : ids_of(report::session_writers())) formats.push_back(std::move(id));
  if (std::find(formats.begin(), formats.end(), format) != formats.end()) return {};
  const auto exported = exchange::writable_formats();
  if (std::find(exported.begin(), exported.end(), format) != exported.end()) {
    return usage_error("there is no format '" + format + "'", "warpmark history export last --format " + format);
  }
  return usage_error("there is no format '" + format + "'", "formats: " + join(formats, ", "));
}

Status write_session_files(const ParsedOptions& options, const Session& session) {
  const auto shown = report::shown_session(session);
  WM_TRY(write_named_files(options, shown));
  if (!options.has("--out")) return {};
  const std::filesystem::path folder = options.get("--out");
  WM_TRY(make_named_folder(folder));
  WM_TRY(write_as(folder / "results.json", shown, "json"));
  WM_TRY(write_as(folder / "report.txt", shown, "text"));
  WM_TRY(write_as(folder / "report.md", shown, "md"));
  return write_as(folder / "report.html", shown, "html");
}

std::string stored_note(const std::string& session_id) {
  return "stored as " + session_id + "; see it again with:\n  warpmark report " + session_id + "\n";
}

}  // namespace warpmark::apps
