#include "warpmark/ab/compare_store.h"

#include <fmt/format.h>

#include <iterator>

#include "store/keep.h"
#include "validate/commands/command_runs.h"
#include "warpmark/sessions/new_session.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {
namespace {

/// Ids must be the same when a comparison that was killed while storing goes on: from the first sample of its piece and
/// its own id.
std::string session_id(const std::vector<Run>& runs, const Comparison& comparison, char variant, std::size_t piece) {
  return fmt::format("{}-{}{}{}", id_stamp(runs.front().started), comparison.id.substr(0, 6), variant,
                     piece == 0 ? "" : std::to_string(piece + 1));
}

std::vector<Run> runs_of(std::span<const validate::AbSample> samples, int variant) {
  std::vector<Run> runs;
  for (const auto& sample : samples) {
    if (sample.slot.variant != variant) continue;
    runs.push_back(sample.run);
    // The answers of a gate's command are no measurement.
    std::erase_if(runs.back().metrics, [](const Metric& metric) { return validate::is_check_metric(metric.id); });
  }
  return runs;
}

}  // namespace

Result<std::pair<std::string, std::string>> store_variants(const Context& context, const ParsedOptions& options,
                                                           const Variants& variants,
                                                           std::span<const validate::AbSample> samples,
                                                           std::span<const std::size_t> ends,
                                                           const Comparison& comparison) {
  std::pair<std::string, std::string> ids;
  std::unique_ptr<store::Store> store;
  Session session = new_session(context);
  std::size_t begin = 0;
  for (std::size_t piece = 0; piece < ends.size(); ++piece) {
    const auto part = samples.subspan(begin, ends[piece] - begin);
    const std::vector<Run> rounds[] = {runs_of(part, 0), runs_of(part, 1)};
    // Without interleaving a budget may end among the runs of A alone: they go with the next piece.
    if (rounds[0].empty() || rounds[1].empty()) continue;
    begin = ends[piece];
    if (store == nullptr) {
      WM_ASSIGN(store, open_store(context, options));
    }
    for (std::size_t variant = 0; variant < 2; ++variant) {
      session.id = session_id(rounds[variant], comparison, variant == 0 ? 'a' : 'b', piece);
      session.started = rounds[variant].front().started;
      if (variants.worktrees.size() == 2) {
        session.commit = variants.worktrees[variant]->commit();
        session.branch.clear();
        session.dirty = false;
      }
      Run run = validate::merge_command_rounds(rounds[variant]);
      run.index = 0;
      run.id = session.id + ".0";
      run.stopped_because = comparison.stopped_because;
      session.runs = {std::move(run)};
      session.complete = true;
      WM_ASSIGN([[maybe_unused]] const auto kept, store::keep_session(*store, session));
      (variant == 0 ? ids.first : ids.second) = session.id;
    }
  }
  return ids;
}

}  // namespace warpmark::apps
