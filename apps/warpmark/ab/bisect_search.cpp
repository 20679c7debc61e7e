#include "warpmark/ab/bisect_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "device/machine.h"
#include "session/new_session.h"
#include "store/location.h"
#include "validate/commands/command_experiment.h"
#include "validate/compare/compare_run.h"
#include "validate/guard/bisect.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/progress.h"

namespace warpmark::apps {
namespace {

/// Worktrees go with the object; those that a killed process left in `folder` are taken over.
class ProjectRevisions final : public validate::Revisions {
 public:
  ProjectRevisions(Context& context, validate::CommandSpec spec, std::vector<Commit> commits,
                   std::filesystem::path folder)
      : context_(context), spec_(std::move(spec)), commits_(std::move(commits)), folder_(std::move(folder)) {}
  Result<measure::Experiment*> prepare(std::size_t index) override;

 private:
  struct Built {
    std::unique_ptr<Worktree> tree;
    std::unique_ptr<validate::CommandExperiment> experiment;
    std::optional<Error> failure;
  };
  Context& context_;
  validate::CommandSpec spec_;
  std::vector<Commit> commits_;
  std::filesystem::path folder_;
  std::map<std::size_t, Built> built_;
};

/// A folder with a journal a step and a file a skipped commit. Held by one process at a time.
class FolderLog final : public validate::BisectLog {
 public:
  /// With `fresh` what is there is removed. Environment error if another process holds it or it cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<FolderLog>> open(std::filesystem::path folder, std::string identity,
                                                               bool fresh);
  Result<std::vector<validate::AbSample>> begin(const std::string& step) override;
  Status append(const validate::AbSample& sample) override;
  Result<std::optional<std::string>> skipped(const std::string& sha) override;
  Status skip(const std::string& sha, const std::string& reason) override;

  /// Runs found so far.
  [[nodiscard]] std::size_t known() const { return known_; }
  /// The bisection is over: removes the folder.
  void remove();

 private:
  FolderLog(std::filesystem::path folder, std::string identity, validate::Journal lock)
      : folder_(std::move(folder)), identity_(std::move(identity)), lock_(std::move(lock)) {}
  std::filesystem::path folder_;
  std::string identity_;
  validate::Journal lock_;
  std::optional<validate::Journal> step_;
  std::size_t known_ = 0;
};

/// Said before what may be minutes of silence.
void announce(Context& context, const Commit& commit, bool builds) {
  if (context.err_is_terminal) context.err << "\r\x1b[K";
  context.err << (builds ? "building " : "checking out ") << commit.sha.substr(0, 10) << " " << commit.subject
              << std::endl;
}

using Histories = std::map<std::string, std::vector<validate::CommitResult>>;

/// Ratios to a reference, which are quieter, if at least half of the results have them; of several references the one
/// that most have; else the metric itself.
std::vector<validate::CommitResult> best_history(const Histories& found, const std::string& metric) {
  std::vector<validate::CommitResult> best;
  if (const auto plain = found.find(metric); plain != found.end()) best = plain->second;
  const std::size_t enough = best.size() / 2;
  bool ratio = false;
  for (const auto& [id, points] : found) {
    if (validate::metric_of_ratio(id) != metric) continue;
    if (points.size() < (ratio ? best.size() + 1 : enough)) continue;
    best = points;
    ratio = true;
  }
  return best;
}

Result<measure::Experiment*> ProjectRevisions::prepare(std::size_t index) {
  Built& built = built_[index];
  if (built.failure) return *built.failure;
  if (built.experiment) return built.experiment.get();
  const Commit& commit = commits_[index];
  announce(context_, commit, !spec_.build.empty());
  WM_ASSIGN(built.tree, Worktree::create(commit.sha, folder_ / commit.sha.substr(0, 16)));
  if (!built.tree->built()) {
    const auto made = validate::build(spec_, built.tree->directory(), &context_.interrupted);
    if (!made.ok()) {
      Error error{made.error().kind, "it cannot be built: " + made.error().what, made.error().hint};
      built.tree.reset();
      if (!context_.interrupted) built.failure = error;
      return error;
    }
    WM_TRY(built.tree->mark_built());
  }
  built.experiment = std::make_unique<validate::CommandExperiment>(
      spec_, validate::CommandOptions{.directory = built.tree->directory(), .interrupted = &context_.interrupted});
  return built.experiment.get();
}

Result<std::unique_ptr<FolderLog>> FolderLog::open(std::filesystem::path folder, std::string identity, bool fresh) {
  WM_TRY(make_folder(folder));
  WM_ASSIGN(auto lock, validate::Journal::open((folder / "lock.jsonl").string(), identity, "lock", false));
  if (fresh) {
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
      const auto name = entry.path().filename().string();
      if (name != "lock.jsonl") std::filesystem::remove_all(entry.path(), failure);
    }
  }
  return std::unique_ptr<FolderLog>(new FolderLog(std::move(folder), std::move(identity), std::move(lock)));
}

Result<std::vector<validate::AbSample>> FolderLog::begin(const std::string& step) {
  step_.reset();
  WM_ASSIGN(auto journal, validate::Journal::open((folder_ / (step + ".jsonl")).string(), identity_, step, false));
  step_.emplace(std::move(journal));
  auto samples = step_->take_samples();
  known_ += samples.size();
  return samples;
}

Status FolderLog::append(const validate::AbSample& sample) {
  WM_CHECK(step_.has_value());
  return step_->append(sample);
}

Result<std::optional<std::string>> FolderLog::skipped(const std::string& sha) {
  const auto path = folder_ / ("skipped-" + sha + ".txt");
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return std::optional<std::string>{};
  WM_ASSIGN(auto reason, read_file(path, 1 << 20));
  return std::optional(std::move(reason));
}

Status FolderLog::skip(const std::string& sha, const std::string& reason) {
  return write_file(folder_ / ("skipped-" + sha + ".txt"), reason);
}

void FolderLog::remove() {
  std::error_code ignored;
  step_.reset();
  std::filesystem::remove_all(folder_, ignored);
}

/// Stored results of the range's commits: of this machine, this command (or `name`, as of `run --name`) and this
/// metric, without uncommitted changes. None without a database.
Result<std::vector<validate::CommitResult>> history_of(const Context& context, const ParsedOptions& options,
                                                       const validate::CommandSpec& spec,
                                                       const std::vector<Commit>& commits, const Machine& machine) {
  WM_ASSIGN(const auto location, store_location(context, options));
  std::error_code missing;
  // To look must not create it.
  if (!store::is_postgres(location) && !std::filesystem::exists(location, missing)) {
    return std::vector<validate::CommitResult>();
  }
  WM_ASSIGN(const auto store, open_store(context, options));
  Params params;
  if (options.has("--name")) {
    params.set("name", options.get("--name"));
  } else {
    params.set("command", command_line(spec.run));
  }
  store::RunQuery query;
  query.workload = "command";
  query.metric = spec.metrics.front().name + "*";
  query.fingerprint = machine.fingerprint;
  query.dirty = false;
  query.limit = 10'000;
  WM_ASSIGN(const auto points, store->find(query));
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < commits.size(); ++i) places[commits[i].sha] = i;
  const std::string wanted = to_text(params);
  std::map<std::string, std::vector<validate::CommitResult>> found;
  for (const auto& point : points) {
    const auto place = places.find(point.commit);
    if (place == places.end() || point.params != wanted) continue;
    if (point.outcome == Outcome::passed && point.median > 0) {
      found[point.metric].push_back({place->second, point.median});
    }
  }
  return best_history(found, spec.metrics.front().name);
}

/// What decides whether an interrupted search is this one. Budgets may change.
std::string project_identity(const validate::CommandSpec& spec, const validate::BisectRequest& request,
                             const Machine& machine) {
  return fmt::format(
      "bisect {} {} build {} run {} effect {} confidence {} alpha {} rounds {} warmup {} seed {} machine {}",
      request.commits.front().sha, request.commits.back().sha, command_line(spec.build), identity_of(spec),
      request.effect, request.confidence, request.alpha, request.rounds, request.warmup_runs, request.seed,
      machine.fingerprint);
}

}  // namespace

Result<Bisection> search_culprit(Context& context, const ParsedOptions& options, validate::CommandSpec spec,
                                 validate::BisectRequest& request, bool fresh) {
  const Machine machine = device::machine_facts();
  const std::string wanted = project_identity(spec, request, machine);
  WM_ASSIGN(const auto state, state_folder(context, options));
  const auto folder = state / ("bisect-" + hash_of(wanted));
  WM_ASSIGN(const auto log, FolderLog::open(folder, wanted, fresh));
  WM_ASSIGN(const auto history, history_of(context, options, spec, request.commits, machine));
  request.prior = validate::prior_from_history(request.commits.size() - 1, history);
  request.interrupted = &context.interrupted;
  StepBar bar(context);
  const std::int64_t began_ns = monotonic_ns();
  request.progress = [&](const std::string& step, std::int64_t runs) {
    // How many runs a search takes is not known before it ends; how much of a budget is used up is.
    const auto used_ms = static_cast<std::int64_t>((monotonic_ns() - began_ns) / 1'000'000);
    const auto budget_ms = static_cast<std::int64_t>(request.budget_s * 1e3);
    bar.update(std::min(used_ms, budget_ms), budget_ms, fmt::format("run {}  {}", runs, step.substr(0, 18)));
  };
  set_grace(60);
  set_crash_messages("\nwarpmark: interrupted; run the same command again to resume\n", "");
  ProjectRevisions revisions(context, std::move(spec), request.commits, folder);
  auto found = validate::run_bisect(request, revisions, *log);
  bar.clear();
  if (!found.ok()) return found.error();
  found->machine = machine;
  found->history_points = request.prior.empty() ? 0 : static_cast<std::int64_t>(history.size());
  found->build = session::build_info();
  // With more builds, rounds or time an undecided search goes on where it was.
  if (found->outcome != BisectOutcome::inconclusive) log->remove();
  return found;
}

}  // namespace warpmark::apps
