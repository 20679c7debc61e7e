// The watch itself: looks at all rules again and again, keeps what it knows in its file, and tells the sinks.
//
// Durations are of a clock that is not set: `for` and repeat_interval neither begin anew nor end at once when somebody
// sets the time. Dates shown, and how old results are, follow the clock of the machine, as the results do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "store/store.h"
#include "watch/alerts/deliver.h"
#include "watch/alerts/rules.h"
#include "watch/alerts/state.h"
#include "watch/exporter/exporter.h"

namespace warpmark::watch {

/// The alert that says that nothing can be said: the store could not be read for five minutes. Goes to all sinks.
inline constexpr const char* kBlindRule = "warpmark-watch-blind";

struct WatchClock {
  std::function<double()> wall_s;
  std::function<std::int64_t()> monotonic_ns;
};

struct WatcherOptions {
  AlertRules rules;
  std::filesystem::path state_file;
  ExporterOptions live;  ///< without a store
  std::function<Result<std::unique_ptr<store::Store>>()> open_store;
  DeliveryOptions delivery;
  std::function<void(const std::string& line)> log;
  WatchClock clock;   ///< the machine's if empty
  bool once = false;  ///< somebody else repeats it: time between two runs counts as watched
};

struct WatchOutcome {
  std::size_t firing = 0;
  std::size_t undelivered = 0;
  std::string blind;  ///< why rules could not be looked at; empty if all could
};

/// One thread; sends from threads of its own.
class Watcher {
 public:
  /// Reads the state. Errors of its file, other than that it is damaged.
  [[nodiscard]] static Result<std::unique_ptr<Watcher>> start(WatcherOptions options);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Until options.delivery.interrupted.
  WatchOutcome run();
  /// One look, and one try for each message that waits.
  WatchOutcome run_once();

  /// The parts of run(), for tests with a clock of their own.
  void probe();
  void notify();   ///< makes the messages that are due, and begins to send
  bool collect();  ///< outcomes of what was sent; whether something is still being sent
  [[nodiscard]] const WatchState& state() const;

 private:
  struct Parts;
  explicit Watcher(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Sends each sink a message that says it is a test; returns the problems by sink, of those that failed.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> send_test(const AlertRules& rules,
                                                                         const std::string& host,
                                                                         const DeliveryOptions& options);

}  // namespace warpmark::watch
