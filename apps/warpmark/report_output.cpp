#include "warpmark/report_output.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "report/render.h"

namespace warpmark::apps {

report::RenderOptions render_options(const Context& context) {
  return {.width = context.width, .color = context.color, .unicode = context.unicode};
}

Result<std::string> format_of(const ParsedOptions& options, const std::vector<std::string>& formats) {
  const std::string format = options.get("--format", "text");
  if (std::find(formats.begin(), formats.end(), format) != formats.end()) return format;
  return usage_error("there is no format '" + format + "'", "formats: " + join(formats, ", "));
}

int exit_code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::mistrusted: return kEnvironment;
    case Verdict::worse: return kGateFailed;
    case Verdict::inconclusive: return kInconclusive;
    case Verdict::different:
    case Verdict::better:
    case Verdict::same: return kSuccess;
  }
  return kInconclusive;
}

std::string rendered(const Shown& shown, const std::string& format, const report::RenderOptions& options) {
  if (format == "json") return dump_json(shown.json()) + "\n";
  return report::render(shown.report, format, options);
}

Status write_report(const ParsedOptions& options, const std::string& name, const Shown& shown) {
  if (options.has("--json")) WM_TRY(write_file(options.get("--json"), rendered(shown, "json")));
  if (!options.has("--out")) return {};
  const std::filesystem::path folder = options.get("--out");
  WM_TRY(make_named_folder(folder));
  WM_TRY(write_file(folder / (name + ".json"), rendered(shown, "json")));
  WM_TRY(write_file(folder / "report.md", rendered(shown, "md")));
  return write_file(folder / "report.html", rendered(shown, "html"));
}

}  // namespace warpmark::apps
