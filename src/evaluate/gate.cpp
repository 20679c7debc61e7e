#include "evaluate/gate.h"

#include <algorithm>

#include "accuracy/scoring/scores.h"
#include "base/files.h"
#include "evaluate/models/model.h"

namespace warpmark::evaluate {
namespace {

/// The records of a side, as a file has them: of a run that is made, or of one made before.
Result<std::vector<accuracy::Record>> side_records(const LoadedTask& loaded, const GateSide& side,
                                                   const GateOptions& options, const std::filesystem::path& folder,
                                                   const std::function<void(const RunnerProgress&)>& progress) {
  if (!side.answers.empty()) {
    return accuracy::read_records(side.answers.string(), accuracy::Side::output, loaded.task.fields);
  }
  // A gate never takes answers of another run: what stands behind an address may have changed.
  WM_TRY(make_named_folder(folder.parent_path()));
  std::error_code none;
  std::filesystem::remove(folder / "journal.jsonl", none);
  WM_ASSIGN(const auto run, run_task(loaded, side.partner, folder, options.runner, options.seed, progress));
  if (run.asked.interrupted) return environment_error("interrupted");
  return accuracy::parse_records(run.outcome.records.front(), "answers.jsonl", accuracy::Side::output,
                                 loaded.task.fields);
}

}  // namespace

Result<GateSide> gate_side(const std::string& text, const std::string& system) {
  GateSide side;
  side.partner.system = system;
  side.partner.identity = text;
  if (text.starts_with("http://") || text.starts_with("https://")) {
    const auto mark = text.find('#');
    EndpointOptions endpoint;
    WM_ASSIGN(endpoint.url, http::parse_url(text.substr(0, mark)));
    if (mark != std::string::npos) endpoint.model = text.substr(mark + 1);
    side.partner.make = [endpoint]() -> Result<std::unique_ptr<Model>> { return endpoint_model(endpoint); };
  } else if (text.ends_with(".jsonl")) {
    side.answers = text;
  } else if (text.empty()) {
    return usage_error("a side of the gate is empty", "http://HOST/v1#MODEL, a file of answers, or a command");
  } else {
    side.partner.make = [text]() -> Result<std::unique_ptr<Model>> { return command_model(text); };
  }
  return side;
}

Result<GateResult> judge_gate(const accuracy::Examples& examples, const std::vector<accuracy::NamedMetric>& metrics,
                              const GateOptions& options) {
  accuracy::CompareSystemsOptions settings;
  settings.margin = options.margin;
  settings.alpha = options.alpha;
  settings.resample.seed = options.seed;
  GateResult result;
  WM_ASSIGN(result.comparisons, accuracy::compare_systems(examples, metrics, settings));
  const auto any = [&](accuracy::SystemVerdict verdict) {
    return std::any_of(result.comparisons.begin(), result.comparisons.end(),
                       [&](const auto& one) { return one.verdict == verdict; });
  };
  result.answer = any(accuracy::SystemVerdict::worse)       ? GateAnswer::rejected
                  : any(accuracy::SystemVerdict::undecided) ? GateAnswer::undecided
                                                            : GateAnswer::accepted;
  for (std::size_t s = 0; s < examples.systems.size(); ++s) {
    for (const auto& problem : accuracy::problems_of(examples, s)) {
      result.problems.push_back(examples.systems[s] + ": " + problem);
    }
  }
  return result;
}

Result<GateResult> task_gate(const LoadedTask& loaded, const GateSide& base, const GateSide& changed,
                             const GateOptions& options, const std::function<void(const RunnerProgress&)>& progress) {
  WM_ASSIGN(const auto metrics, accuracy::metrics_named({loaded.task.metrics.front()}, {}));
  std::vector<accuracy::SystemRecords> systems;
  for (const GateSide* side : {&base, &changed}) {
    const bool is_base = side == &base;
    WM_ASSIGN(auto records,
              side_records(loaded, *side, options, options.folder / (is_base ? "base" : "new"), progress));
    const std::string path = side->answers.empty() ? side->partner.system : side->answers.string();
    systems.push_back({side->partner.system, path, std::move(records)});
  }
  WM_ASSIGN(const auto examples, accuracy::join_examples({loaded.data}, std::move(systems), loaded.task.fields));
  return judge_gate(examples, metrics, options);
}

}  // namespace warpmark::evaluate
