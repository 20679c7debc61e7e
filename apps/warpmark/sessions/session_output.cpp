#include "warpmark/sessions/session_output.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "exchange/import.h"
#include "report/formats/catalog.h"
#include "report/formats/render.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {

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
