// The worker processes of one case, one a rank: started, asked together, ended together.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json_fwd.h"
#include "base/result.h"
#include "model/params.h"
#include "workers/model_worker.h"
#include "workloads/models/model_shape.h"

namespace warpmark::workloads {

/// Some steps without marks, told by both clocks.
struct ModelWindow {
  double seconds = 0;  ///< of one step, by the worker's clock between two synchronizations
  std::vector<double> losses;
  std::string doubt;  ///< why the worker's account cannot be true; empty where nothing speaks against it
};

/// Some steps with marks: what each phase took, step by step, in the order of workers::kModelPhases.
struct ModelPhases {
  std::vector<std::pair<std::string, std::vector<double>>> seconds;
  double step_s = 0;  ///< their sum, of a step on average
  std::string doubt;
};

class ModelWorkers {
 public:
  struct Place {
    std::string python;  ///< the interpreter
    std::string device;  ///< of the first rank; rank i has the GPU i further
    int ranks = 1;
    const std::atomic<bool>* interrupted = nullptr;
  };
  /// Starts the Python worker of `python` for every rank. Errors as of ModelWorker::start.
  [[nodiscard]] static Result<std::unique_ptr<ModelWorkers>> start(const Place& place);
  ModelWorkers(const ModelWorkers&) = delete;
  ModelWorkers& operator=(const ModelWorkers&) = delete;
  ~ModelWorkers() = default;

  [[nodiscard]] int ranks() const { return static_cast<int>(workers_.size()); }
  /// Called again and again while answers are awaited, from then on; an empty function ends it.
  void while_waiting(std::function<void()> call) { waiting_ = std::move(call); }
  /// The answer of rank 0, when all have answered; the first error of any.
  [[nodiscard]] Result<Json> ask(const Json& question, double deadline_s);
  /// ask("prepare") with each rank's number, device and meeting place.
  [[nodiscard]] Result<Json> prepare(const Json& question, double deadline_s);
  /// Whether rank 0 says something or is gone within so long, which nobody asked for.
  [[nodiscard]] bool has_answer(double wait_s) const { return workers_.front()->has_answer(wait_s); }
  [[nodiscard]] Result<std::vector<workers::RingRecord>> records() const { return workers_.front()->records(); }
  /// `count` steps; `losses`: each has one.
  [[nodiscard]] Result<ModelWindow> window(std::int64_t count, bool losses, double deadline_s);
  /// `count` steps with marks; the phases of each must add up to it, and all of them to what our clock saw.
  [[nodiscard]] Result<ModelPhases> phases(std::int64_t count, double deadline_s);

 private:
  explicit ModelWorkers(Place place) : place_(std::move(place)) {}
  [[nodiscard]] std::string device_of(int rank) const;
  void call_while_waiting();
  [[nodiscard]] Result<Json> ask_each(const std::vector<Json>& questions, double deadline_s);

  Place place_;
  ScratchFolder folder_;
  std::function<void()> waiting_;
  double longest_wait_s_ = 0;  ///< of a call of it, since the last question: so late an answer may have been seen
  std::vector<std::unique_ptr<workers::ModelWorker>> workers_;
};

/// A number of a worker's answer. Data error without it.
[[nodiscard]] Result<double> answered_number(const Json& answer, const char* name);
/// Several versions of torch on the path: the one that was imported counts, and the others are named. Empty for one.
[[nodiscard]] std::string other_torches(const Json& hello);
/// A text of it; empty without it.
[[nodiscard]] std::string answered_text(const Json& answer, const char* name);

/// The question "prepare", but for what differs between ranks (ModelWorkers::prepare).
[[nodiscard]] Json prepare_question(const std::string& model, const Params& params, const ModelShape& shape,
                                    std::uint64_t seed);

}  // namespace warpmark::workloads
