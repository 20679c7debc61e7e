// What a verb shows of its result, in the format that was asked for, on the terminal, in files and by its exit code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/options.h"
#include "base/result.h"
#include "model/comparison.h"
#include "model/report.h"
#include "report/options.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// As `context.out` shows it.
[[nodiscard]] report::RenderOptions render_options(const Context& context);

/// --format, or "text". Usage error unless it is one of `formats`.
[[nodiscard]] Result<std::string> format_of(const ParsedOptions& options,
                                            const std::vector<std::string>& formats = {"text", "md", "html", "json"});

/// 1 for worse, 3 for inconclusive, 5 for mistrusted, else 0.
[[nodiscard]] int exit_code_of(Verdict verdict);

/// A result as data, made where it is asked for, and as a report.
struct Shown {
  std::function<Json()> json;
  Report report;
};

/// `format` is "text", "md", "html" or "json".
[[nodiscard]] std::string rendered(const Shown& shown, const std::string& format,
                                   const report::RenderOptions& options = {});

/// Into --json FILE, and into --out DIR as <name>.json, report.md and report.html.
[[nodiscard]] Status write_report(const ParsedOptions& options, const std::string& name, const Shown& shown);

}  // namespace warpmark::apps
