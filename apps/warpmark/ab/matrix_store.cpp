#include "warpmark/ab/matrix_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/result.h"
#include "base/text.h"
#include "model/run_query.h"
#include "session/new_session.h"
#include "store/keep.h"
#include "validate/commands/command_experiment.h"
#include "validate/commands/command_runs.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {
namespace {

/// The same when a matrix that was killed while storing goes on: from the piece's first sample and the matrix's own id.
std::string variant_session_id(const Run& first, const Matrix& matrix, std::size_t piece) {
  return fmt::format("{}-{}m{}", session::id_stamp(first.started), matrix.id.substr(0, 6),
                     piece == 0 ? "" : std::to_string(piece + 1));
}

Params params_of(const validate::MatrixSpec& spec, const validate::VariantSpec& variant) {
  Params params;
  params.set("matrix", spec.name);
  for (std::size_t axis = 0; axis < spec.axes.size(); ++axis) {
    params.set(spec.axes[axis].name, spec.axes[axis].values[variant.choice[axis]].label);
  }
  return params;
}

/// One Run of what succeeded; of the failures where nothing did.
Run run_of(std::span<const validate::AbSample> samples, std::size_t variant) {
  std::vector<Run> good, bad;
  for (const auto& sample : samples) {
    if (static_cast<std::size_t>(sample.slot.variant) != variant) continue;
    (is_measured(sample.run.outcome) ? good : bad).push_back(sample.run);
  }
  Run run = validate::merge_command_rounds(good.empty() ? bad : good);
  if (!good.empty() && !bad.empty()) {
    run.notes.emplace_back(
        "failures", fmt::format("{} of {} runs failed: {}", bad.size(), bad.size() + good.size(), bad.back().reason));
  }
  return run;
}

std::vector<Run> variant_runs_of(const validate::MatrixSpec& spec, const Matrix& matrix,
                                 std::span<const validate::AbSample> samples, const std::string& session) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < spec.variants.size(); ++i) {
    const bool any = std::any_of(samples.begin(), samples.end(), [&](const auto& sample) {
      return static_cast<std::size_t>(sample.slot.variant) == i;
    });
    if (!any) continue;
    Run run = run_of(samples, i);
    run.index = static_cast<std::int64_t>(i);
    run.id = fmt::format("{}.{}", session, i);
    run.params = params_of(spec, spec.variants[i]);
    run.seed = matrix.seed;
    run.stopped_because = matrix.stopped_because;
    run.repro = command_line(spec.variants[i].command.run);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

Result<std::string> store_matrix(const Context& context, const ParsedOptions& options, const validate::MatrixSpec& spec,
                                 const Matrix& matrix, std::span<const validate::AbSample> samples,
                                 std::span<const std::size_t> ends) {
  WM_CHECK(!ends.empty() && ends.back() <= samples.size());
  WM_ASSIGN(const auto store, open_store(context, options));
  Session session = session::new_session(command_line_of(context));
  std::size_t begin = 0;
  for (std::size_t piece = 0; piece < ends.size(); ++piece) {
    const auto part = samples.subspan(begin, ends[piece] - begin);
    WM_CHECK(!part.empty());
    begin = ends[piece];
    session.id = variant_session_id(part.front().run, matrix, piece);
    session.started = part.front().run.started;
    session.complete = true;
    session.runs = variant_runs_of(spec, matrix, part, session.id);
    WM_ASSIGN([[maybe_unused]] const auto kept, store::keep_session(*store, session));
  }
  WM_TRY(store::attach_report(*store, session.id, to_json(matrix), matrix.name));
  return session.id;
}

}  // namespace warpmark::apps
