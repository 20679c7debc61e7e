#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/result.h"
#include "measure/round.h"
#include "model/run_query.h"
#include "validate/compare/compare_run.h"
#include "validate/matrix/matrix.h"

namespace warpmark::validate {
namespace {

class MatrixRunner {
 public:
  MatrixRunner(std::size_t variants, const std::function<Result<Run>(std::size_t)>& run, const MatrixOptions& options,
               const MatrixEvents& events)
      : run_(run), options_(options), events_(events), failures_(variants, 0) {}

  Result<MatrixRuns> run(std::vector<AbSample> known) {
    begin_s_ = now_s();
    known_ = std::move(known);
    if (known_.empty()) warm_up();
    for (std::int64_t round = 0; round < options_.rounds; ++round) {
      if (budget_is_over()) {
        result_.stopped_because = fmt::format("the budget of {:.3g} s was used up", options_.budget_s);
        return std::move(result_);
      }
      WM_TRY(run_round(round));
      if (interrupted()) {
        result_.stopped_because = "interrupted";
        return std::move(result_);
      }
    }
    if (next_known_ < known_.size()) return data_error("there are more runs than the matrix has");
    result_.complete = true;
    result_.stopped_because = fmt::format("all {} rounds were run", options_.rounds);
    return std::move(result_);
  }

 private:
  [[nodiscard]] double now_s() const {
    return events_.clock_s ? events_.clock_s() : static_cast<double>(monotonic_ns()) * 1e-9;
  }
  [[nodiscard]] bool interrupted() const { return options_.interrupted != nullptr && options_.interrupted->load(); }
  [[nodiscard]] bool budget_is_over() const {
    return options_.budget_s > 0 && next_known_ >= known_.size() && now_s() - begin_s_ >= options_.budget_s;
  }
  [[nodiscard]] int variants() const { return static_cast<int>(failures_.size()); }

  void warm_up() {
    for (std::int64_t i = 0; i < options_.warmup_runs; ++i) {
      for (std::size_t variant = 0; variant < failures_.size() && !interrupted(); ++variant) {
        // A failure here says nothing yet: the first counted run tells it again.
        (void)run_(variant).ok();
      }
    }
  }

  Status run_round(std::int64_t round) {
    std::vector<int> order;
    for (const int variant : shuffled(variants(), options_.seed, round)) {
      if (failures_[static_cast<std::size_t>(variant)] < kMostFailures) order.push_back(variant);
    }
    for (std::size_t i = 0; i < order.size() && !interrupted(); ++i) {
      WM_TRY(run_slot({.variant = order[i], .round = round, .ends_round = i + 1 == order.size()}));
    }
    return {};
  }

  Status run_slot(const Slot& slot) {
    if (next_known_ < known_.size()) {
      auto& sample = known_[next_known_];
      if (sample.slot.variant != slot.variant || sample.slot.round != slot.round) {
        return data_error(fmt::format("run {} is of another plan", next_known_), "start over with --fresh");
      }
      ++next_known_;
      take(std::move(sample));
      return {};
    }
    auto run = run_(static_cast<std::size_t>(slot.variant));
    if (interrupted()) return {};  // the run was ended by Ctrl-C; what is complete counts
    AbSample sample{slot, run.ok() ? std::move(*run) : failed(run.error())};
    if (events_.sample_done) WM_TRY(events_.sample_done(sample));
    take(std::move(sample));
    return {};
  }

  static Run failed(const Error& error) {
    Run run;
    run.workload = "command";
    run.device = "host";
    run.rounds = 1;
    run.started = format_utc(wall_clock_s());
    return measure::failed_run(std::move(run), error);
  }

  void take(AbSample sample) {
    if (!is_measured(sample.run.outcome)) ++failures_[static_cast<std::size_t>(sample.slot.variant)];
    result_.samples.push_back(std::move(sample));
    if (events_.progress) {
      events_.progress(static_cast<std::int64_t>(result_.samples.size()), options_.rounds * variants());
    }
  }

  const std::function<Result<Run>(std::size_t)>& run_;
  const MatrixOptions& options_;
  const MatrixEvents& events_;
  std::vector<std::int64_t> failures_;
  std::vector<AbSample> known_;
  std::size_t next_known_ = 0;
  MatrixRuns result_;
  double begin_s_ = 0;
};

}  // namespace

Result<MatrixRuns> run_matrix(std::size_t variants, const std::function<Result<Run>(std::size_t)>& run,
                              const MatrixOptions& options, std::vector<AbSample> known, const MatrixEvents& events) {
  WM_CHECK(variants >= 1 && options.rounds >= 1);
  return MatrixRunner(variants, run, options, events).run(std::move(known));
}

}  // namespace warpmark::validate
