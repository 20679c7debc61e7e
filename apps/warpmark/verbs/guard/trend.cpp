#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "device/machine.h"
#include "report/build/trend.h"
#include "report/formats/render.h"
#include "validate/guard/trend.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kTrendOptions[] = {
    {"--branch", "NAME", "only results of this branch (default main, or all branches without it); 'all' for all"},
    {"--threshold", "RATIO", "smallest change point that is marked", to<&validate::TrendOptions::threshold>},
    {"--since", "DATE|REV", "only from here on: a date (2026-11-01, when it was measured) or a git revision"},
    {"--until", "DATE|REV", "only up to here, this day or revision included"},
    {"--last", "N", "newest sessions of each series", to<&validate::TrendOptions::last>.within({1, 100'000})},
    {"--this-machine", "", "only results of machines like this one"},
    {"--dirty", "", "also results with uncommitted changes", to<&validate::TrendOptions::dirty>},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
    {"--json", "[FILE]", "also write the series as JSON (warpmark.trend/1)"},
    kHtmlOption,
    {"--out", "DIR", "also write trend.json, trend.md, trend.html and a chart of each series"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or ~/.local/share/warpmark/warpmark.db)"},
};

/// Whether a text begins as dates do: 2026-11-01, perhaps with a time.
bool is_date(const std::string& text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == kShape.size()) return text.substr(i) == "Z";
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return false;
  }
  return true;
}

/// Whether there is such a day, of a text that is_date.
bool is_day(const std::string& text) {
  const auto number = [&](std::size_t from, std::size_t count) { return std::stoi(text.substr(from, count)); };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  return day.ok();
}

Result<validate::TrendBound> bound_of(const ParsedOptions& options, const char* name) {
  validate::TrendBound bound{.text = options.get(name), .date = {}, .commit = {}, .ancestors = {}};
  if (bound.text.empty()) return bound;
  if (is_date(bound.text)) {
    if (!is_day(bound.text)) return usage_error(std::string(name) + ": there is no day " + bound.text.substr(0, 10));
    bound.date = bound.text;
    return bound;
  }
  auto commit = find_commit(bound.text);
  if (!commit.ok()) {
    const bool inside = check_repository().ok();
    return usage_error(std::string(name) + " " + bound.text +
                           (inside ? " is neither a date nor a revision"
                                   : " is not a date, and this folder is not in a git repository"),
                       "such as 2026-11-01, 2026-11-01T18:00, v1.2 or HEAD~20");
  }
  bound.commit = commit->sha;
  WM_ASSIGN(bound.ancestors, ancestors_of(bound.commit));
  return bound;
}

Result<validate::TrendOptions> trend_options_of(const ParsedOptions& options) {
  WM_ASSIGN(auto wanted, read_options<validate::TrendOptions>(options));
  if (options.positionals().size() > 1) return usage_error("give one pattern", "warpmark trend 'time'");
  if (!options.positionals().empty()) wanted.metrics = options.positionals().front();
  if (options.has("--branch")) wanted.branch = options.get("--branch") == "all" ? "" : options.get("--branch");
  WM_ASSIGN(wanted.since, bound_of(options, "--since"));
  WM_ASSIGN(wanted.until, bound_of(options, "--until"));
  if (options.has("--this-machine")) wanted.fingerprint = device::machine_facts().fingerprint;
  wanted.order = order_of_commits(wanted.branch.value_or("main"));
  return wanted;
}

report::Shown shown_trend(const Trend& trend, bool unicode) {
  auto shown = shown_as([&trend] { return to_json(trend); }, report::build_report(trend, unicode));
  shown.forms.push_back({"html", [&trend] { return report::render_trend_html(trend); }});
  return shown;
}

Status write_trend_files(const std::filesystem::path& folder, const Trend& trend, const report::Shown& shown) {
  WM_TRY(make_named_folder(folder));
  WM_TRY(write_as(folder / "trend.json", shown, "json"));
  WM_TRY(write_as(folder / "trend.md", shown, "md"));
  WM_TRY(write_as(folder / "trend.html", shown, "html"));
  for (std::size_t i = 0; i < trend.series.size(); ++i) {
    WM_TRY(write_file(folder / fmt::format("trend-{}.svg", i), report::render_trend_svg_file(trend.series[i])));
  }
  return {};
}

Result<int> run_trend(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto wanted, trend_options_of(options));
  WM_ASSIGN(const auto format, format_of(options));
  WM_TRY(check_outputs(options));
  WM_ASSIGN(const auto store, open_to_read(context, options));
  WM_ASSIGN(auto trend, validate::trend_of(*store, wanted));
  trend.command = command_line_of(context);
  WM_TRY(show(context, shown_trend(trend, format == "md" || context.unicode), format));
  if (!options.has("--json") && !options.has("--html") && !options.has("--out")) return kSuccess;
  const auto in_files = shown_trend(trend, true);
  WM_TRY(write_named_files(options, in_files));
  if (options.has("--out")) WM_TRY(write_trend_files(options.get("--out"), trend, in_files));
  return kSuccess;
}

}  // namespace

extern const Command trend_command{
    .id = "trend",
    .summary = "show metrics over the commits of a branch, with change points",
    .details =
        "Shows every series of the store, or those that the pattern matches, with change points (commit, size, p), "
        "machine changes, and the prediction interval of the next session. A pattern matches a metric ('time') or "
        "\"benchmark metric\" ('gemm*time'). A slow drift without a single responsible commit is reported as a slope "
        "with an interval.\n"
        "\n"
        "Results of different machines are never compared. Where one machine replaces another, the chart is marked; "
        "where several alternate, each is a series of its own.",
    .options = kTrendOptions,
    .positional = {"GLOB", "metrics to show (default all)", true, ""},
    .examples =
        "warpmark trend\n"
        "warpmark trend time --since v1.2\n"
        "warpmark trend --since 2026-10-01 --until 2026-10-31 --format md > october.md\n"
        "warpmark trend 'gemm*flop_rate' --format html > trend.html\n"
        "warpmark trend --branch all --out trend/",
    .run = run_trend,
};

}  // namespace warpmark::apps
