// What the machine and the store are doing now, once a second, for all that listen.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "model/fields/fields_fwd.h"
#include "model/machine_state.h"
#include "monitor/sampler.h"
#include "store/store.h"

namespace warpmark::watch {

struct LiveOptions {
  std::filesystem::path root = "/";  ///< of /proc
  std::string host;
  monitor::GpuSource gpus;
  std::function<Result<std::unique_ptr<store::Store>>()> open_store;
  double interval_s = 1;
};

/// A session that may be under way.
struct LiveSession {
  store::SessionSummary session;
};

struct StoreState {
  bool up = false;
  std::optional<std::string> problem, hint;
  std::vector<LiveSession> sessions;  ///< the newest first
};

struct LivePage {
  std::string time;  ///< UTC
  MachineState machine;
  std::optional<StoreState> store;
};
extern const RecordOf<LivePage> kLivePage;  ///< "warpmark.live/1"

class Live {
 public:
  /// `listened` is asked each second: while nobody listens nothing is measured. `notify` is given the document
  /// ("warpmark.live/1") in one line, from a thread of this.
  Live(LiveOptions options, std::function<bool()> listened, std::function<void(const std::string&)> notify);
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

 private:
  void watch_machine();
  /// Apart, as a locked database must not hold up the machine's values.
  void watch_store();
  [[nodiscard]] bool pause();

  LiveOptions options_;
  std::function<bool()> listened_;
  std::function<void(const std::string&)> notify_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::optional<StoreState> stored_;  ///< the newest
  std::thread machine_, store_;
};

}  // namespace warpmark::watch
