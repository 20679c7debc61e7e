#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>

#include "accuracy/columns.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "report/draw/table.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr const char* kAllcloseSchema = "warpmark.allclose/1";

constexpr OptionSpec kAllcloseOptions[] = {
    {"--rtol", "R", "allowed share of the reference (default 1e-3); COLUMN=R for the columns a glob names", true},
    {"--atol", "A", "absolute tolerance, in addition (default 1e-3); COLUMN=A for the columns a glob names", true},
    {"--exact", "COLUMN", "columns (globs) that must be equal: keys, predictions",
     to<&accuracy::AllcloseOptions::exact>},
    {"--key", "COLUMN", "match rows by this column instead of by their order"},
    {"--equal-nan", "", "NaN equals NaN; else it equals nothing", to<&accuracy::AllcloseOptions::equal_nan>},
    {"--worst", "N", "how many of the worst offenders to list a column",
     to<&accuracy::AllcloseOptions::most_offenders>.within({0, 1000})},
    {"--json", "[FILE]", "write the result as JSON (warpmark.allclose/1)"},
};

Result<double> tolerance_from(const std::string& option, const std::string& text) {
  WM_ASSIGN(const double value, parse_number(text));
  if (!(value >= 0)) return usage_error(option + " must not be negative");
  return value;
}

/// Values of --rtol or --atol: one for all, and one for columns. Absent ones of a column keep the value for all.
Status read_tolerances(const ParsedOptions& options, accuracy::AllcloseOptions& result) {
  using Member = double accuracy::Tolerance::*;
  const std::pair<std::string, Member> kinds[] = {{"--rtol", &accuracy::Tolerance::relative},
                                                  {"--atol", &accuracy::Tolerance::absolute}};
  for (const auto& [option, member] : kinds) {
    for (const auto& text : options.all(option)) {
      if (text.find('=') != std::string::npos) continue;
      WM_ASSIGN(result.tolerance.*member, tolerance_from(option, text));
    }
  }
  for (const auto& [option, member] : kinds) {
    for (const auto& text : options.all(option)) {
      const auto equals = text.rfind('=');
      if (equals == std::string::npos) continue;
      const std::string glob = text.substr(0, equals);
      auto& columns = result.by_column;
      auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& item) { return item.first == glob; });
      if (found == columns.end()) found = columns.insert(columns.end(), {glob, result.tolerance});
      WM_ASSIGN(found->second.*member, tolerance_from(option, text.substr(equals + 1)));
    }
  }
  return {};
}

Result<accuracy::AllcloseOptions> allclose_options(const ParsedOptions& options) {
  WM_ASSIGN(auto result, read_options<accuracy::AllcloseOptions>(options));
  WM_TRY(read_tolerances(options, result));
  return result;
}

/// A glob that names no column would silently check nothing.
Status check_globs(const accuracy::AllcloseOptions& options, const accuracy::Columns& columns) {
  std::vector<std::string> globs = options.exact, names;
  for (const auto& [glob, tolerance] : options.by_column) globs.push_back(glob);
  for (const auto& column : columns) names.push_back(column.name);
  for (const auto& glob : globs) {
    const bool any = std::any_of(names.begin(), names.end(), [&](const auto& name) { return glob_match(glob, name); });
    if (any) continue;
    const auto meant = nearest(glob, names);
    return usage_error("there is no column '" + glob + "' in the reference",
                       meant.empty() ? "columns: " + join(names, ", ") : "did you mean '" + meant + "'?");
  }
  return {};
}

std::string number_text(double value) { return fmt::format("{:.3g}", value); }

Table table_of(const std::vector<accuracy::ColumnResult>& results) {
  Table table{{{"column"},
               {"values", Align::right},
               {"wrong", Align::right},
               {"largest difference", Align::right},
               {"relative", Align::right, 1},
               {""}},
              {}};
  for (const auto& result : results) {
    table.rows.push_back({{result.name},
                          {std::to_string(result.n)},
                          {result.problem.empty() ? std::to_string(result.mismatches) : ""},
                          {result.problem.empty() ? number_text(result.max_absolute) : ""},
                          {result.problem.empty() ? number_text(result.max_relative) : ""},
                          {result.ok()              ? "ok"
                           : result.problem.empty() ? "differs"
                                                    : result.problem,
                           result.ok() ? Tone::good : Tone::bad}});
  }
  return table;
}

void print_offenders(std::ostream& out, const std::vector<accuracy::ColumnResult>& results) {
  for (const auto& result : results) {
    for (const auto& offender : result.offenders) {
      out << fmt::format("{}[{}]: {}, must be {}", result.name, offender.index, offender.out, offender.reference);
      out << (std::isfinite(offender.excess) ? fmt::format(" ({:.3g} times the tolerance)\n", offender.excess) : "\n");
    }
  }
}

Json allclose_json(const std::vector<accuracy::ColumnResult>& results, bool ok) {
  Json json{{"schema", kAllcloseSchema}, {"ok", ok}, {"columns", Json::array()}};
  for (const auto& result : results) {
    Json column{{"name", result.name}, {"n", result.n}, {"ok", result.ok()}};
    if (!result.problem.empty()) {
      column["problem"] = result.problem;
    } else {
      column["mismatches"] = result.mismatches;
      column["max_absolute"] = result.max_absolute;
      column["max_relative"] = result.max_relative;
      column["relative_error"] = result.relative_error;
    }
    column["offenders"] = Json::array();
    for (const auto& offender : result.offenders) {
      Json item{{"index", offender.index}, {"reference", offender.reference}, {"out", offender.out}};
      if (std::isfinite(offender.excess)) item["excess"] = offender.excess;
      column["offenders"].push_back(std::move(item));
    }
    json["columns"].push_back(std::move(column));
  }
  return json;
}

Result<int> run_allclose(Context& context, const ParsedOptions& options) {
  const auto& files = options.positionals();
  if (files.size() != 2) return usage_error("two files are needed", "warpmark allclose REFERENCE OUTPUT");
  WM_ASSIGN(const auto settings, allclose_options(options));
  if (options.has("--json")) WM_TRY(check_writable(options.get("--json")));
  WM_ASSIGN(const auto reference, accuracy::read_columns(files[0]));
  WM_ASSIGN(auto out, accuracy::read_columns(files[1]));
  if (options.has("--key")) WM_TRY(accuracy::align_by_key(reference, out, options.get("--key")));
  WM_TRY(check_globs(settings, reference));
  if (std::all_of(reference.begin(), reference.end(), [](const auto& column) { return column.size() == 0; })) {
    return data_error("no rows to compare: " + files[0] + " has no values");
  }
  const auto results = accuracy::allclose(reference, out, settings);
  const bool ok = std::all_of(results.begin(), results.end(), [](const auto& result) { return result.ok(); });
  context.out << report::render_table(table_of(results), render_options(context));
  std::ostringstream offenders;
  print_offenders(offenders, results);
  print_lines(context, offenders.str());
  for (const auto& result : results) {
    if (!result.whole) continue;
    print_lines(context, "Integers must be equal unless a tolerance names them: --atol '" + result.name + "=1'");
    break;
  }
  const std::string key = ok || options.has("--key") ? "" : accuracy::key_in_another_order(reference, out);
  if (!key.empty())
    print_lines(context, fmt::format("The rows have the same {0} in another order: add --key '{0}'", key));
  context.out << (ok ? "The outputs are the same within tolerance.\n" : "The outputs differ.\n");
  WM_TRY(write_json(options, allclose_json(results, ok)));
  if (!ok) context.why = "the outputs differ";
  return ok ? kSuccess : kAccuracyRejected;
}

}  // namespace

extern const Command allclose_command{
    .id = "allclose",
    .summary = "check whether two outputs are equal within a tolerance",
    .details =
        "Compares the columns of tables (.csv, .tsv, .txt), the values of .json by path, and the "
        "arrays of .npy, .npz and .safetensors. A number passes if |out - ref| <= atol + rtol |ref|; NaN never "
        "passes. Text, integer columns (keys, labels) without a tolerance of their own, and the columns of --exact "
        "must be equal. Both sides must have the same columns. Rows are matched by order, or by --key.\n"
        "\n"
        "Exit code 0: equal; 4: different.",
    .options = kAllcloseOptions,
    .positional = {"FILE", "the reference, then the output", true, "<files>"},
    .examples =
        "warpmark allclose ref.tsv out.tsv --exact id --rtol 'score*=1e-2'\n"
        "warpmark allclose ref.txt out.txt --key id\n"
        "warpmark allclose f32.safetensors bf16.safetensors --rtol 1e-2",
    .run = run_allclose,
};

}  // namespace warpmark::apps
