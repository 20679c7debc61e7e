// A process that trains or runs a model for us: it is asked over a socket pair and notes times in shared memory. It is
// asked with deadlines and never trusted; it and all it started end with the object.
//
// A line of JSON each way. Memory: two 64-bit numbers (version, records), then records of kind, step, nanoseconds of
// CLOCK_MONOTONIC_RAW and a double (src/workers/models/warpmark_worker.py).
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/processes/reaper.h"
#include "base/result.h"

namespace warpmark::workers {

inline constexpr int kModelProtocol = 1;

enum class RecordKind : std::int64_t { step = 0, loss = 1, whole = 2, first_phase = 8 };

/// Phases in the order of their records, from RecordKind::first_phase on.
inline constexpr const char* kModelPhases[] = {"data",      "h2d",           "forward", "backward",
                                               "optimizer", "communication", "prefill", "token"};

/// That the worker's memory holds, about.
inline constexpr std::int64_t kMostRecords = 130'000;

struct RingRecord {
  std::int64_t kind = 0;
  std::int64_t step = 0;
  std::int64_t time_ns = 0;
  double value = 0;
};

/// The worker's and the knobs' Python files in a folder, which is made. Environment error if it cannot be written.
[[nodiscard]] Status write_model_worker(const std::filesystem::path& folder);

class ModelWorker {
 public:
  struct Options {
    std::vector<std::string> words;        ///< the program, found on PATH
    std::filesystem::path printed;         ///< file that takes what it prints
    std::vector<std::string> variables{};  ///< NAME=VALUE, before those of ours
    const std::atomic<bool>* interrupted = nullptr;
  };
  /// Environment error if it cannot be started.
  [[nodiscard]] static Result<std::unique_ptr<ModelWorker>> start(const Options& options);
  ModelWorker(const ModelWorker&) = delete;
  ModelWorker& operator=(const ModelWorker&) = delete;
  ~ModelWorker();

  /// Asks and waits. What the worker refuses comes back as the error it names. Environment error where it died, was
  /// interrupted or did not answer in time, with the end of what it printed; data error where the answer is no JSON or
  /// answers something else.
  [[nodiscard]] Result<Json> ask(Json question, double deadline_s);

  /// The two halves of ask(), for workers that answer together.
  [[nodiscard]] Status post(Json question);
  [[nodiscard]] Result<Json> answer(double deadline_s);
  /// Whether something came, or the worker went, within so long: answer() will not wait for nothing.
  [[nodiscard]] bool has_answer(double wait_s) const;

  /// What the last question left in the memory. Data error where the memory contradicts itself.
  [[nodiscard]] Result<std::vector<RingRecord>> records() const;

 private:
  ModelWorker() = default;
  [[nodiscard]] Result<std::string> line(double deadline_s, const std::string& asked);
  [[nodiscard]] Error gone(const std::string& asked);
  [[nodiscard]] std::string crash_message() const;

  Options options_;
  std::optional<Reaped> process_;
  int socket_ = -1;
  void* memory_ = nullptr;
  std::string rest_;
  std::string asked_;
  std::int64_t number_ = 0;
};

}  // namespace warpmark::workers
