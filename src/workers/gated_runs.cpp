#include "workers/gated_runs.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
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

class Gated {
 public:
  Gated(HookedCommand command, const fs::path& hook, const fs::path& folder) : folder_(folder) {
    command.plan.gate = gate().string();
    command.deadline_s = 365 * 86400.0;  // whoever leads the turns ends it
    command.interrupted = &stop_;
    thread_ = std::thread([this, command = std::move(command), hook] {
      const Status made = make_folder(gate());
      result_ = made.ok() ? run_hooked(command, hook, folder_ / "run") : Result<HookedRun>(made.error());
      ended_.store(true);
    });
  }
  ~Gated() {
    stop();
    if (thread_.joinable()) thread_.join();
  }
  Gated(Gated&&) = delete;
  Gated& operator=(Gated&&) = delete;

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
    GatedRun gated{.run = std::move(*result_), .waited = waits(), .turn_s = turn_s};
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

/// Until all wait or have ended; what has done neither by the deadline is killed in its turn.
void await_all(const std::deque<Gated>& all, const GatedOptions& options) {
  const double until_s = seconds_now() + std::min(options.deadline_s, options.all_s);
  const auto stands = [](const Gated& one) { return one.ended() || one.waits(); };
  while (!std::all_of(all.begin(), all.end(), stands) && seconds_now() < until_s &&
         !(options.interrupted != nullptr && options.interrupted->load())) {
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

std::vector<GatedRun> run_gated(std::vector<HookedCommand> commands, const fs::path& hook, const fs::path& scratch,
                                const GatedOptions& options) {
  const double began_s = seconds_now();
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  std::deque<Gated> all;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    all.emplace_back(std::move(commands[i]), hook, scratch / std::to_string(i));
  }
  await_all(all, options);
  std::vector<GatedRun> runs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Gated& one = all[i];
    const bool has_turn = one.waits() && !one.ended();
    const double turn_s = has_turn ? seconds_now() : began_s;
    if (options.before_turn) options.before_turn(i);
    const Status gone = has_turn ? one.go() : Status();
    if (!gone.ok()) one.stop();
    const double gone_s = seconds_now() - began_s;
    one.await_end(std::min(has_turn ? options.deadline_s : options.deadline_s - gone_s, options.all_s - gone_s),
                  options.interrupted);
    runs.push_back(one.take(options.deadline_s, seconds_now() - turn_s));
    if (!gone.ok()) runs.back().run = gone.error();
    if (options.after_turn) options.after_turn(i, runs.back());
  }
  all.clear();
  fs::remove_all(scratch, ignored);
  return runs;
}

}  // namespace warpmark::workers
