#include "warpmark/ab/bisect_project.h"

#include <ostream>

#include "base/files.h"
#include "base/text.h"
#include "store/location.h"
#include "validate/commands/command_experiment.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {
namespace {

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

}  // namespace

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

}  // namespace warpmark::apps
