// What the machine and the store are doing now, once a second, for all that listen.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/json_fwd.h"
#include "base/result.h"
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

class Live {
 public:
  /// `listened` is asked before each look: while nobody listens nothing is looked at. `tell` is given the document
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
  std::string stored_;  ///< the newest look at the store, JSON
  std::thread machine_, store_;
};

}  // namespace warpmark::watch
