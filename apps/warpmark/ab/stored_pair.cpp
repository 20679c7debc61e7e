#include "warpmark/ab/stored_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/json.h"
#include "base/text.h"
#include "exchange/import.h"
#include "model/run_query.h"

namespace warpmark::apps {

Result<std::optional<Comparison>> measured_together(store::Store& store, const Session& a, const Session& b) {
  WM_ASSIGN(const auto kept, store.documents({.kind = "compare", .session = a.id, .before = {}}));
  for (const auto& entry : kept) {
    WM_ASSIGN(const auto document, store.document(a.id, entry.index));
    WM_ASSIGN(const auto json, parse_json(document.text, entry.kind));
    auto comparison = comparison_from_json(json);
    if (!comparison.ok()) continue;  // of another version
    if (comparison->session_a == a.id && comparison->session_b == b.id) return std::optional(std::move(*comparison));
  }
  return std::optional<Comparison>();
}

Status warn_of_other_order(const Context& context, store::Store& store, const Session& a, const Session& b) {
  WM_ASSIGN(const auto measured, measured_together(store, b, a));
  if (!measured) return {};
  context.err << fmt::format("One comparison measured both, in pairs. To see its result:\n  warpmark compare {} {}\n",
                             b.id, a.id);
  return {};
}

void warn_of_files(const Context& context, const Session& a, const Session& b, const Comparison& comparison,
                   const std::vector<std::string>& words) {
  if (a.machine.fingerprint == kUnknownMachine) {
    context.err << "The files do not name their machine; they are compared as if it were the same one.\n";
  }
  const bool single = std::ranges::all_of(comparison.metrics, [](const auto& one) { return one.a.size() < 2; });
  const bool one_process =
      std::ranges::any_of(b.runs, [](const Run& run) { return !note_text(run, exchange::kOneProcess).empty(); });
  if (single && words.size() == 2) {
    context.err << fmt::format(
        "Each file has one value, which is one round. To judge the values alone:\n"
        "  warpmark check --results {} --baseline {} --threshold 5%\n",
        shell_quote(words[1]), shell_quote(words[0]));
  } else if (one_process) {
    context.err << "All rounds of a file are of one process: differences between processes are not included.\n";
  }
  if (overall(comparison) != Verdict::inconclusive) return;
  for (const exchange::Format* format : exchange::formats()) {
    if (format->more_rounds == nullptr || !b.id.starts_with(std::string(format->id) + "-")) continue;
    context.err << fmt::format("To measure more rounds: {}\n", format->more_rounds);
  }
}

}  // namespace warpmark::apps
