// Records one process through CUPTI: takes its buffers, follows the schedule, writes the recording, all in a thread of
// its own. No lock is held while CUPTI is called, as CUPTI calls back under locks of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profile/module/call_log.h"
#include "profile/module/cupti_library.h"
#include "profile/module/launch_history.h"
#include "profile/module/ranges.h"
#include "profile/module/records.h"
#include "profile/module/schedule.h"
#include "profile/module/stacks/native_stacks.h"
#include "profile/recording/writer.h"

namespace warpmark::profile::module {

struct RecorderOptions {
  std::string folder;  ///< the recording is <folder>/<process id>.wmrec
  std::string cupti;   ///< path of the library; empty looks for it
  ScheduleOptions schedule;
  bool graph_nodes = true;  ///< a record for each node of a CUDA graph, not one for the whole graph
  bool memory = false;      ///< CUPTI's records of allocations and releases
  bool waits = false;       ///< CUPTI's records of synchronization: they cost much
};

/// The value of a variable by its name; empty where there is none. Valid until the next call.
using Setting = std::function<const char*(const char*)>;

/// From WARPMARK_RECORD_*; false if this process is not to be recorded.
[[nodiscard]] bool read_options(const Setting& setting, RecorderOptions& options);

class Recorder {
 public:
  /// Made when CUDA starts, or for a part of a program, one after the other, and never destroyed: CUPTI may call back
  /// until the end.
  explicit Recorder(RecorderOptions options) : options_(std::move(options)) {}

  /// Nothing is thrown or printed; what goes wrong is in the recording's metadata.
  void start();
  /// Writes what is left. Called when the program ends; later calls do nothing.
  void stop();
  [[nodiscard]] bool is_running() const { return !stopping_.load() && !concluded_.load(); }
  /// Before start(): takes over as CUPTI's only subscriber from one that does not run any more.
  void succeed(const Recorder& earlier) { subscriber_ = earlier.subscriber_; }

  // Called by CUPTI, from any thread.
  void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
  void take_buffer(std::uint8_t* buffer, std::size_t valid_bytes);
  void launches(std::uint64_t what, std::int64_t now_ns) { history_.add(what, now_ns); }
  /// Calls are recorded now.
  [[nodiscard]] bool is_logging() const {
    return logging_.load(std::memory_order_relaxed) && !Capture::instance().has_ended();
  }
  void call_ends(const CallRecord& call);
  [[nodiscard]] NativeStacks& stacks_of_calls() { return native_stacks_; }

 private:
  struct Filled {
    std::uint8_t* buffer;
    std::size_t valid_bytes;
  };

  void run();
  struct Problem {
    std::string id;    ///< recording/format.h
    std::string text;  ///< empty: there is none
  };
  void give_up(const Problem& problem);
  [[nodiscard]] Progress progress();
  void enter(Phase phase);
  void settle();
  void flush_if_due();
  void end_window(bool recorded);
  void mark(const char* key);
  void subscribe(bool launches, bool others);
  [[nodiscard]] bool is_subscribed();
  void rest();
  void collect(bool on);
  void drain();
  void describe_process();
  void describe_cupti();
  void forget_start_up();
  void conclude();
  void mark_done() const;
  void describe_cost();
  void describe_problem();
  void write_problem(const Problem& problem);

  RecorderOptions options_;
  CuptiLibrary cupti_;
  recording::RecordingWriter writer_;
  RecordTranslator translator_{cupti_, writer_};
  Schedule schedule_{ScheduleOptions{}};
  CUpti_SubscriberHandle subscriber_ = nullptr;
  CallLog calls_;
  std::atomic<bool> logging_{false};
  std::atomic<std::uint32_t> last_call_{0};  ///< the highest correlation of those that were logged
  LaunchHistory history_;
  std::int64_t begin_ns_ = 0;
  std::int64_t flushed_ns_ = 0;   ///< or the phase began
  std::int64_t switched_ns_ = 0;  ///< records, or off
  StepFinder steps_;
  StackSignal stacks_;  ///< of Python
  NativeStacks native_stacks_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> concluded_{false};  ///< all that was asked for is written
  std::int64_t owner_ = 0;              ///< process id; a forked child inherits this object and must not touch the file
  bool collecting_ = false;
  bool outlived_ = false;  ///< work of the recorded window may not have been fetched yet
  bool recorded_ = false;  ///< a window was recorded, or is
  bool probed_ = false;    ///< what comes now is thrown away
  bool probing_ = false;   ///< collecting what is thrown away, to see what collecting costs
  Problem problem_;        ///< why CUPTI was given up
  std::string refused_;    ///< kinds of records that CUPTI would not enable, and why
  std::mutex mutex_;       ///< guards the two lists
  std::vector<Filled> filled_;
  std::vector<std::uint8_t*> free_;
  std::thread thread_;
};

// A recorder that sleeps within its program: it touches nothing of CUPTI until `warpmark profile --pid` asks for a
// recording. The request is a file FOLDER/PID.wake, renamed into place, of lines NAME=VALUE: the variables that a
// recorder which is awake finds in its environment. The Python hook reads the same file (_warpmark_dormant.py).

using Request = std::map<std::string, std::string, std::less<>>;

/// Lines without a "=" are left out.
[[nodiscard]] Request parse_request(const std::string& text);

/// Calls `record` from a thread of its own for each request to this process; ten looks a second, for as long as the
/// program runs. One that came before CUDA was loaded counts; --dormant removes leftovers.
void await_requests(std::string folder, std::function<void(const Request&)> record);

}  // namespace warpmark::profile::module
