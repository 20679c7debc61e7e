// What a verb shows of its result, in the format that was asked for, on the terminal, in files and by its exit code.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/options.h"
#include "base/result.h"
#include "model/comparison.h"
#include "model/report.h"
#include "report/draw/format.h"
#include "report/formats/render.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// As `context.out` shows it.
[[nodiscard]] report::RenderOptions render_options(const Context& context);

/// --format, or "text". Usage error unless it is one of `formats`.
[[nodiscard]] Result<std::string> format_of(const ParsedOptions& options,
                                            const std::vector<std::string>& formats = {"text", "md", "html", "json"});

/// 1 for worse, 3 for inconclusive, 5 for unreliable, else 0.
[[nodiscard]] int exit_code_of(Verdict verdict);

/// A result as a report and as JSON, which is made where it is asked for.
[[nodiscard]] report::Shown shown_as(std::function<Json()> json, Report report);

/// Prints it. Usage error for a format that it does not have.
[[nodiscard]] Status show(Context& context, const report::Shown& shown, const std::string& format,
                          bool details = false);

/// Into a file, as wide as a page. Usage error as above.
[[nodiscard]] Status write_as(const std::filesystem::path& path, const report::Shown& shown, const std::string& format);

inline constexpr OptionSpec kHtmlOption{"--html", "FILE", "write the report as an HTML page"};

/// Into --json FILE, where it is given.
[[nodiscard]] Status write_json(const ParsedOptions& options, const Json& json);

/// Into --json FILE and --html FILE.
[[nodiscard]] Status write_named_files(const ParsedOptions& options, const report::Shown& shown);

/// Prints lines of text, wrapped as report::wrap_lines() does.
void print_lines(Context& context, const std::string& text);

/// A table that is the whole answer, as --format says: text (default) or json, which --json FILE writes too.
[[nodiscard]] Status show_table(Context& context, const ParsedOptions& options, const std::string& title,
                                const Table& table);

/// As write_named_files, and into --out DIR as <name>.json, report.md and report.html.
[[nodiscard]] Status write_report(const ParsedOptions& options, const std::string& name, const report::Shown& shown);

// What a step of a GitHub workflow says besides its output: annotations, and the summary of the job.

/// Annotations go to stderr, where GitHub reads them too, so that stdout is the comment alone. The comment is added to
/// the file that GITHUB_STEP_SUMMARY names. Environment error if that cannot be written.
[[nodiscard]] Status annotate_step(Context& context, const std::string& annotations, const std::string& comment);

}  // namespace warpmark::apps
