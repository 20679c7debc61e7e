// Stacks of a program that is no Python program, taken where its threads call CUDA: return addresses, unwound by the
// tables that exceptions use (.eh_frame), which code has with and without frame pointers. They are written as lines of
// JSON beside the recording, as the sampler of Python stacks writes its own (workers/hook/_warpmark_stacks.py), and get
// their names when the program has ended (profile/collectors/recording_parts.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace warpmark::profile::module {

enum class StackPhase : char { recording = 'R', probing = 'P', off = '0' };

/// Tells the sampler of Python stacks in this process (workers/hook/_warpmark_stacks.py) when records are taken: a
/// letter into the pipe that it sleeps on.
/// From one thread. Without a sampler (no Python, or not asked for) nothing happens.
class StackSignal {
 public:
  StackSignal() = default;
  ~StackSignal();
  StackSignal(const StackSignal&) = delete;
  StackSignal& operator=(const StackSignal&) = delete;

  void notify(StackPhase phase);

 private:
  int pipe_ = -1;
};

class NativeStacks {
 public:
  static constexpr std::size_t kMostDepth = 48;

  /// Reads WARPMARK_STACKS, and whether this process runs Python. `cupti` is any function of CUPTI's, whose frames are
  /// left out.
  void prepare(const void* cupti);
  /// A recorded window begins: what was written before is thrown away. Or what is seen is not kept.
  void begin(bool keep);
  void end();

  /// From any thread, as it enters a call. Calls that wait or move data are looked at as long as that costs a thread
  /// less than 1 % of its time; launches, which are many, where that leaves room. True if the stack was taken.
  bool enters(bool launches, std::int64_t now_ns);
  /// A call whose stack was taken has ended, and tells nothing of what follows.
  void leaves(std::int64_t now_ns);

  /// Writes what was seen. From one thread.
  void drain();

 private:
  struct Sample {
    std::int64_t time_ns = 0;
    std::int64_t thread = 0;
    std::size_t depth = 0;  ///< 0: nothing is known from now on
    std::array<std::uintptr_t, kMostDepth> addresses{};
  };
  struct Module {
    std::uintptr_t begin = 0, end = 0, base = 0;
    std::string path;
    int number = -1;
    bool of_recorder = false;
  };

  void add(const Sample& sample);
  void write(const Sample& sample);
  [[nodiscard]] std::int64_t frame(std::uintptr_t address);
  [[nodiscard]] const Module* module_of(std::uintptr_t address);
  void list_modules();

  std::string path_;  ///< of the lines; empty: nothing is looked at
  std::uintptr_t cupti_ = 0;
  std::atomic<bool> on_{false};
  std::atomic<bool> keep_{false};
  std::mutex mutex_;
  std::vector<Sample> samples_;

  // Of the thread that drains.
  std::FILE* file_ = nullptr;
  std::vector<Module> modules_;
  int modules_written_ = 0;
  std::map<std::uintptr_t, std::int64_t> frames_;
  std::map<std::vector<std::int64_t>, std::int64_t> stacks_;
};

}  // namespace warpmark::profile::module
