#include "warpmark/terminal/report_output.h"

#include <algorithm>
#include <fstream>
#include <ostream>
#include <string_view>
#include <utility>
#include <variant>

#include "base/files.h"
#include "base/text.h"
#include "report/draw/table.h"
#include "report/draw/wrap.h"

namespace warpmark::apps {
namespace {

/// "warpmark.table/1": a row is an object with the names of the columns as keys.
Json table_json(const std::string& title, const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string key = table.columns[i].name.empty() ? "note" : table.columns[i].name;
      std::replace(key.begin(), key.end(), ' ', '_');
      object[key] = row[i].text;
    }
    rows.push_back(std::move(object));
  }
  return {{"schema", "warpmark.table/1"}, {"title", title}, {"rows", std::move(rows)}};
}

/// What -q leaves of a report: what it concludes, up to its first table of results, and later warnings. Notes and
/// commands to go on with are quiet paragraphs; a table of facts has no header.
Report headline_of(const Report& report) {
  Section kept;
  bool results_seen = false;
  for (const auto& section : report.sections) {
    if (section.detail) continue;
    for (const auto& block : section.blocks) {
      const auto* paragraph = std::get_if<Paragraph>(&block);
      const auto* table = std::get_if<Table>(&block);
      const bool is_results =
          table != nullptr && std::ranges::any_of(table->columns, [](const auto& one) { return !one.name.empty(); });
      const bool is_toned = paragraph != nullptr && paragraph->tone != Tone::plain && paragraph->tone != Tone::quiet;
      const bool concludes = is_results || (paragraph != nullptr && paragraph->tone == Tone::plain && !paragraph->code);
      if (is_toned || (!results_seen && concludes)) kept.blocks.push_back(block);
      results_seen = results_seen || is_results;
    }
  }
  return {"", "", {std::move(kept)}};
}

}  // namespace

report::RenderOptions render_options(const Context& context) {
  return {
      .width = context.width, .whole_tables = context.whole_tables, .color = context.color, .unicode = context.unicode};
}

Result<std::string> format_of(const ParsedOptions& options, const std::vector<std::string>& formats) {
  const std::string format = options.get("--format", "text");
  if (std::find(formats.begin(), formats.end(), format) != formats.end()) return format;
  return usage_error("there is no format '" + format + "'", "formats: " + join(formats, ", "));
}

int exit_code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::unreliable: return kEnvironment;
    case Verdict::worse: return kGateFailed;
    case Verdict::inconclusive: return kInconclusive;
    case Verdict::different:
    case Verdict::better:
    case Verdict::same: return kSuccess;
  }
  return kInconclusive;
}

report::Shown shown_as(std::function<Json()> json, Report report) {
  return {std::move(report), {{"json", [json = std::move(json)] { return dump_json(json()) + "\n"; }}}};
}

Status show(Context& context, const report::Shown& shown, const std::string& format, bool details) {
  if (context.collect) {
    context.collect(shown);
    return {};
  }
  auto options = render_options(context);
  options.details = details || context.verbose;
  WM_ASSIGN(const auto text, context.quiet&& format == "text"
                                 ? Result<std::string>(report::render(headline_of(shown.report), "text", options))
                                 : report::render(shown, format, options));
  context.out << std::string_view(text).substr(context.quiet ? std::min(text.find_first_not_of('\n'), text.size()) : 0);
  return {};
}

Status write_as(const std::filesystem::path& path, const report::Shown& shown, const std::string& format) {
  WM_ASSIGN(const auto text, report::render(shown, format, {.width = 100, .whole_tables = true, .unicode = true}));
  return write_file(path, text);
}

Status write_json(const ParsedOptions& options, const Json& json) {
  return options.has("--json") ? write_file(options.get("--json"), dump_json(json) + "\n") : Status();
}

Status write_named_files(const ParsedOptions& options, const report::Shown& shown) {
  for (const auto& [option, format] : {std::pair{"--json", "json"}, {"--html", "html"}}) {
    if (options.has(option)) WM_TRY(write_as(options.get(option), shown, format));
  }
  return {};
}

void print_lines(Context& context, const std::string& text) {
  context.out << report::wrap_lines(text, static_cast<std::size_t>(std::max(context.width, 40)));
}

Status show_table(Context& context, const ParsedOptions& options, const std::string& title, const Table& table) {
  WM_ASSIGN(const auto format, format_of(options, {"text", "json"}));
  const auto json = [&] { return dump_json(table_json(title, table)) + "\n"; };
  context.out << (format == "json" ? json() : report::render_table(table, render_options(context)));
  return options.has("--json") ? write_file(options.get("--json"), json()) : Status();
}

Status write_report(const ParsedOptions& options, const std::string& name, const report::Shown& shown) {
  WM_TRY(write_named_files(options, shown));
  if (!options.has("--out")) return {};
  const std::filesystem::path folder = options.get("--out");
  WM_TRY(make_named_folder(folder));
  WM_TRY(write_as(folder / (name + ".json"), shown, "json"));
  WM_TRY(write_as(folder / "report.md", shown, "md"));
  return write_as(folder / "report.html", shown, "html");
}

Status annotate_step(Context& context, const std::string& annotations, const std::string& comment) {
  context.err << annotations;
  const char* summary = context.environment("GITHUB_STEP_SUMMARY");
  if (summary == nullptr || *summary == '\0') return {};
  std::ofstream file(summary, std::ios::app | std::ios::binary);
  file << comment;
  file.flush();
  if (file) return {};
  return environment_error(std::string("cannot write the summary of the job: ") + summary,
                           "unset GITHUB_STEP_SUMMARY, or name a file that can be written");
}

}  // namespace warpmark::apps
