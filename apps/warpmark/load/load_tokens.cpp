// `warpmark load tokens`: how many tokens texts have, by the tokenizer of a model, and how long counting takes.
#include <fmt/format.h>

#include <ostream>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "loadtest/target.h"
#include "model/report.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "serving/tokens/tokenizer.h"
#include "warpmark/load/load.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {

Result<int> load_tokens(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto request, read_options<loadtest::TargetRequest>(options));
  const auto& words = options.positionals();
  if (words.size() < 2 || request.tokenizer.empty()) {
    return usage_error(words.size() < 2 ? "tokens of what?" : "by which tokenizer? --tokenizer FILE",
                       "warpmark load tokens TEXT.txt --tokenizer tokenizer.json");
  }
  if (options.has("--json")) WM_TRY(check_writable(options.get("--json")));
  const auto& name = request.tokenizer;
  WM_ASSIGN(const auto tokenizer, serving::load_tokenizer(name));
  Table table{{{"file"},
               {"bytes", Align::right},
               {"tokens", Align::right},
               {"bytes a token", Align::right},
               {"took", Align::right}},
              {}};
  Json json{{"tokenizer", name}, {"kind", tokenizer->kind()}, {"files", Json::array()}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    WM_ASSIGN(const std::string text, read_file(words[i], std::int64_t{1} << 30));
    const std::int64_t began_ns = monotonic_ns();
    WM_ASSIGN(const auto ids, tokenizer->encode(text));
    const double seconds = static_cast<double>(monotonic_ns() - began_ns) * 1e-9;
    const double each = ids.empty() ? 0 : static_cast<double>(text.size()) / static_cast<double>(ids.size());
    table.rows.push_back({{words[i]},
                          {format_count(static_cast<std::int64_t>(text.size()))},
                          {format_count(static_cast<std::int64_t>(ids.size()))},
                          {format_significant(each, 3)},
                          {format_seconds(seconds)}});
    json["files"].push_back({{"file", words[i]}, {"bytes", text.size()}, {"seconds", seconds}, {"ids", ids}});
  }
  context.out << report::render_table(table, render_options(context)) << std::flush;
  WM_TRY(write_json(options, json));
  return kSuccess;
}

}  // namespace warpmark::apps
