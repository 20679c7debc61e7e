// The part of ProgramRuns that starts runs together, which then take their turns.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "optimize/apply/program_runs.h"
#include "workers/hooked_program.h"

namespace warpmark::optimize {
/// Runs that started together. Those whose turn was have no question any more.
struct ProgramRuns::Batch {
  std::vector<Expected> runs;
  std::unique_ptr<workers::GatedRuns> gated;
  double start_share_s = 0;

  [[nodiscard]] std::size_t find(const std::string& question) const {
    return static_cast<std::size_t>(std::ranges::find(runs, question, &Expected::question) - runs.begin());
  }
};

std::int64_t ProgramRuns::waiting() const {
  if (!batch_) return 0;
  return std::ranges::count_if(batch_->runs, [](const Expected& one) { return !one.question.empty(); });
}

void ProgramRuns::end_batch() {
  if (!batch_) return;
  spent_s_ += static_cast<double>(waiting()) * batch_->start_share_s;
  turn_s_ = 0;
  batch_.reset();
}

void ProgramRuns::expect(std::vector<std::pair<Settings, RunOptions>> runs) {
  end_batch();
  expected_.clear();
  for (auto& [settings, options] : runs) {
    auto question = question_of(settings, options);
    expected_.push_back({std::move(settings), std::move(options), std::move(question)});
  }
}

Result<std::optional<Json>> ProgramRuns::execute_expected(const std::string& question) {
  if (!batch_ || batch_->find(question) == batch_->runs.size()) {
    end_batch();
    // A copy of the folder is of one run, and so are files in which settings stand.
    const bool asked = std::ranges::find(expected_, question, &Expected::question) != expected_.end();
    if (together_ < 2 || !places_.original.empty() || !asked) return std::optional<Json>{};
    WM_TRY(start_batch(question));
    if (!batch_) return std::optional<Json>{};
  }
  return take_turn(batch_->find(question));
}

Status ProgramRuns::start_batch(const std::string& question) {
  auto batch = std::make_shared<Batch>();
  // Pairs stay together, also behind a single run.
  const auto all = static_cast<int>(expected_.size());
  const int most = all > together_ ? together_ - all % 2 : all;
  while (static_cast<int>(batch->runs.size()) < most) {
    batch->runs.push_back(std::move(expected_.front()));
    expected_.pop_front();
  }
  const auto size = batch->runs.size();
  if (size < 2 || batch->find(question) == size) return {};
  std::vector<workers::HookedCommand> commands;
  double deadline_s = 0;
  for (const auto& one : batch->runs) {
    WM_ASSIGN(auto command, command_for(one.settings, one.options));
    commands.push_back(std::move(command));
    deadline_s = std::max(deadline_s, one.options.deadline_s);
  }
  if (progress) progress(fmt::format("{} runs that start together", size));
  const auto began_ns = monotonic_ns();
  batch->gated = std::make_unique<workers::GatedRuns>(std::move(commands), places_.hook,
                                                      places_.scratch.string() + ".together", interrupted_);
  batch->gated->await_all(std::min(deadline_s, left_s()));
  batch->start_share_s = static_cast<double>(monotonic_ns() - began_ns) * 1e-9 / static_cast<double>(size);
  batch_ = std::move(batch);
  // What does not stand at its gate never waits, failed, or waits for something that another one holds.
  for (std::size_t i = 0; i < size; ++i) {
    if (batch_->gated->waits(i)) continue;
    give_up_batch(i);
    break;
  }
  return {};
}

/// What a run met beside the others (a port, a file, too little memory) tells nothing: it runs by itself, and so does
/// what was expected with it. Where all were the original, nothing is started together any more.
void ProgramRuns::give_up_batch(std::size_t i) {
  const auto original = [](const Expected& one) { return one.settings.empty(); };
  if (original(batch_->runs[i]) && std::ranges::all_of(batch_->runs, original)) together_ = 1;
  expected_.clear();
  end_batch();
}

Result<std::optional<Json>> ProgramRuns::take_turn(std::size_t i) {
  auto& expected = batch_->runs[i];
  if (progress) progress(text_of(expected.settings));
  expected.question.clear();
  begin_turn();
  const auto one = batch_->gated->turn(i, std::min(expected.options.deadline_s, left_s()));
  [[maybe_unused]] const auto whole = gpus_.end(0);
  if (!one.run.ok()) return one.run.error();
  const bool exited = one.run->ending == workers::Ending::exited;
  if (exited && one.run->output.exit_code != 0) {
    spent_s_ += batch_->start_share_s + one.turn_s;
    give_up_batch(i);
    return std::optional<Json>{};
  }
  // What the budget cut is forgotten.
  if (!exited && left_s() <= 0) return std::optional<Json>{};
  Json answer = answer_of(*one.run, one.turn_s, one.run->output.cpu_s - one.cpu_before_s);
  turn_s_ = std::max(turn_s_, one.turn_s);
  const double cost_s = batch_->start_share_s + one.turn_s;
  answer["cost_s"] = cost_s;
  if (!expected.options.plan.sync_phases) share_s_ = cost_s;
  return std::optional<Json>(std::move(answer));
}

int most_together(const ProgramRun& baseline, int wanted, double available_bytes, int cpus) {
  constexpr double kPart = 0.8;
  constexpr double kContext = 1 << 30;  // that a process takes of a GPU next to PyTorch's own pool: 0.5 to 0.8 GB seen
  if (baseline.report.world > 1 || !baseline.report.window) return 1;
  double most = std::min<double>(wanted, cpus);
  if (baseline.host_bytes > 0) most = std::min(most, kPart * available_bytes / baseline.host_bytes);
  if (baseline.report.total_bytes > 0) {
    most = std::min(most, kPart * static_cast<double>(baseline.report.total_bytes) /
                              (static_cast<double>(baseline.report.reserved_bytes) + kContext));
  }
  return std::max(1, static_cast<int>(most) / 2 * 2);
}

}  // namespace warpmark::optimize
