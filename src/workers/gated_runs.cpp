#include "workers/gated_runs.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/files.h"

namespace warpmark::workers {
namespace {

namespace fs = std::filesystem;

constexpr auto kLook = std::chrono::milliseconds(2);

double seconds_now() { return static_cast<double>(monotonic_ns()) * 1e-9; }

}  // namespace

/// The process, and the thread that waits for it.
class GatedRuns::One {
 public:
  One(HookedCommand command, const fs::path& hook, const fs::path& folder) : folder_(folder) {
    command.plan.gate = gate().string();
    command.deadline_s = 365 * 86400.0;  // whoever leads the turns ends it
    command.interrupted = &stop_;
    thread_ = std::thread([this, command = std::move(command), hook] {
      const Status made = make_folder(gate());
      result_ = made.ok() ? run_hooked(command, hook, folder_ / "run") : Result<HookedRun>(made.error());
      ended_.store(true);
    });
  }
  ~One() {
    stop();
    if (thread_.joinable()) thread_.join();
  }
  One(One&&) = delete;
  One& operator=(One&&) = delete;

  [[nodiscard]] bool ended() const { return ended_.load(); }
  [[nodiscard]] bool waits() const {
    std::error_code ignored;
    return fs::exists(gate() / "ready", ignored);
  }
  [[nodiscard]] Status go() { return write_file(gate() / "go", ""); }
  void stop() { stop_.store(true); }
  /// Until it has ended, but no longer than this; then it is killed.
  void await_end(double deadline_s, const std::atomic<bool>* interrupted) {
    const double until_s = seconds_now() + deadline_s;
    while (!ended()) {
      late_ = late_ || seconds_now() > until_s;
      if (late_ || (interrupted != nullptr && interrupted->load())) stop();
      std::this_thread::sleep_for(kLook);
    }
    thread_.join();
  }
  [[nodiscard]] GatedRun take(double deadline_s, double turn_s) {
    GatedRun gated{.run = std::move(*result_), .turn_s = turn_s};
    gated.cpu_before_s = std::strtod(first_line(gate() / "ready").c_str(), nullptr);
    if (late_ && !gated.run.ok()) {
      HookedRun timed_out;
      timed_out.ending = Ending::timed_out;
      timed_out.output.wall_s = deadline_s;
      gated.run = std::move(timed_out);
    }
    return gated;
  }

 private:
  [[nodiscard]] fs::path gate() const { return folder_ / "gate"; }

  fs::path folder_;
  std::atomic<bool> stop_ = false, ended_ = false;
  bool late_ = false;
  std::optional<Result<HookedRun>> result_;
  std::thread thread_;
};

GatedRuns::GatedRuns(std::vector<HookedCommand> commands, const fs::path& hook, fs::path scratch,
                     const std::atomic<bool>* interrupted)
    : scratch_(std::move(scratch)), interrupted_(interrupted), began_s_(seconds_now()) {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
  for (auto& command : commands) {
    all_.push_back(std::make_unique<One>(std::move(command), hook, scratch_ / std::to_string(all_.size())));
  }
}

GatedRuns::~GatedRuns() {
  for (const auto& one : all_) one->stop();
  all_.clear();
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

void GatedRuns::await_all(double most_s) {
  const double until_s = seconds_now() + most_s;
  const auto stands = [](const auto& one) { return one->ended() || one->waits(); };
  while (!std::all_of(all_.begin(), all_.end(), stands) && seconds_now() < until_s &&
         !(interrupted_ != nullptr && interrupted_->load())) {
    std::this_thread::sleep_for(kLook);
  }
}

bool GatedRuns::waits(std::size_t i) const { return all_[i]->waits() && !all_[i]->ended(); }

GatedRun GatedRuns::turn(std::size_t i, double deadline_s) {
  One& one = *all_[i];
  const bool has_turn = one.waits() && !one.ended();
  const double turn_s = has_turn ? seconds_now() : began_s_;
  const Status gone = has_turn ? one.go() : Status();
  if (!gone.ok()) one.stop();
  one.await_end(has_turn ? deadline_s : 0, interrupted_);
  GatedRun run = one.take(deadline_s, seconds_now() - turn_s);
  if (!gone.ok()) run.run = gone.error();
  return run;
}

}  // namespace warpmark::workers
