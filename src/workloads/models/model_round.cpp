#include "workloads/models/model_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "stats/summary.h"
#include "workloads/models/model_cross_check.h"
#include "workloads/models/model_metrics.h"
#include "workloads/models/model_shape.h"
#include "workloads/models/model_workers.h"

namespace warpmark::workloads {
namespace {

constexpr double kHelloDeadline_s = 180;    // importing PyTorch from a cold disk
constexpr double kPrepareDeadline_s = 600;  // a large network, drawn on one core
constexpr double kStepDeadline_s = 600;     // compiling happens in the first step
constexpr double kWindow_s = 0.1;           // least length of a window
constexpr double kGpuWindow_s = 0.5;        // and on a GPU, whose queue is empty at both ends of a window
constexpr std::int64_t kMostSteps = 1000;
constexpr std::int64_t kRecordsOfStep = 8;  // a step with marks is noted as a whole and phase by phase
constexpr std::int64_t kLearnSteps = 24;    // after these the loss has fallen

class ModelRound {
 public:
  ModelRound(const measure::Case& what, device::Device& device, const measure::RoundOptions& options, Run& run)
      : what_(what), device_(device), options_(options), run_(run), memory_(device) {}

  Status measure() {
    const auto& params = what_.params;
    WM_ASSIGN(run_.cost, what_.workload->cost(*what_.workload, params));
    if (const auto s = what_.workload->supports(*what_.workload, device_.info(), params); !s.available) {
      return unsupported_error(s.reason, s.hint);
    }
    WM_ASSIGN(shape_, model_shape(what_.workload->id, params));
    train_ = params.text("pass") == "train";
    steps_ = params.integer("steps");
    decode_ = params.text("pass") == "decode";
    const Status status = start_and_measure();
    if (!status.ok() && options_.interrupted != nullptr && options_.interrupted->load()) {
      run_.outcome = Outcome::skipped;
      run_.reason = "interrupted";
      run_.metrics.clear();
      return {};
    }
    return status;
  }

 private:
  Status start_and_measure() {
    WM_TRY(start());
    stage("building the network and its batches");
    WM_TRY(prepare());
    if (!what_.params.text("until").empty()) {
      stage("training until " + what_.params.text("until"));
      return measure_quality(what_.params, shape_, options_.number, *workers_, run_);
    }
    stage("first step");
    WM_ASSIGN(const ModelWindow first, window(1));
    stage("warming up");
    memory_.probe();
    workers_->while_waiting([this] { memory_.probe(); });
    WM_ASSIGN(const double steady, settle());
    workers_->while_waiting(nullptr);
    stage("timing steps");
    WM_TRY(sample(steady));
    WM_TRY(learn());
    run_.outcome = Outcome::passed;
    memory_.add_to(run_);
    add_model_rates({what_.params, shape_, device_.info(), static_cast<double>(workers_->ranks()), joules_}, run_);
    stage("timing phases");
    WM_TRY(phases(steady));
    add("first_step", "s", Better::lower, first.seconds);
    stage("checking against fp64");
    WM_TRY(check());
    WM_TRY(conclude());
    if (run_.outcome == Outcome::failed) return {};
    WM_ASSIGN(const auto shapes, traced());
    cross_check();
    workers_.reset();  // in nobody's way from here on
    distrust();
    return shapes ? peak(*shapes) : Status();
  }

  Status start() {
    const std::string& python = what_.params.text("python");
    stage("starting " + python + " and its PyTorch");
    WM_ASSIGN(workers_, ModelWorkers::start({.python = python,
                                             .device = device_.info().id,
                                             .ranks = static_cast<int>(what_.params.integer("ranks")),
                                             .interrupted = options_.interrupted}));
    WM_ASSIGN(const Json hello, workers_->ask({{"ask", "hello"}}, kHelloDeadline_s));
    if (hello.value("protocol", Json()) != workers::kModelProtocol) {
      return data_error("the worker uses another version of the protocol");
    }
    note("torch", fmt::format("{} (CUDA {}) of {}", answered_text(hello, "torch"),
                              answered_text(hello, "cuda").empty() ? "none" : answered_text(hello, "cuda"),
                              answered_text(hello, "executable")));
    if (const auto others = other_torches(hello); !others.empty()) note("other torch on the path", others);
    return {};
  }

  Status prepare() {
    WM_ASSIGN(const Json answer,
              workers_->prepare(prepare_question(what_.workload->id, what_.params, shape_, options_.seed),
                                kPrepareDeadline_s));
    WM_ASSIGN(const double parameters, answered_number(answer, "parameters"));
    WM_ASSIGN(const double flops, answered_number(answer, "forward_flops"));
    WM_ASSIGN(chance_level_, answered_number(answer, "chance_level"));
    WM_ASSIGN(const double forward_flops, counted_flops(answer));
    const double expected = forward_flops * static_cast<double>(shape_.batch);
    if (parameters != static_cast<double>(shape_.parameters) || flops != expected) {
      return data_error(
          fmt::format("the worker's network has {:.0f} parameters and {:.0f} FLOP a forward pass, expected "
                      "{} and {:.0f}",
                      parameters, flops, shape_.parameters, expected));
    }
    note("parameters", fmt::format("{}", shape_.parameters));
    if (shape_.attention_flops > 0) {
      note("attention", fmt::format("counted in full; causal it is {:.1f} % of the operations less",
                                    50 * shape_.attention_flops / shape_.forward_flops));
    }
    return {};
  }

  /// What the worker's count must be: of a long generation it counts the first words, each of which we know alike.
  Result<double> counted_flops(const Json& answer) const {
    const auto reported = answer.find("counted_words");
    if (!decode_ || reported == answer.end()) return shape_.forward_flops;
    if (!reported->is_number_integer() || *reported < 1 || *reported > shape_.new_tokens) {
      return data_error("the worker counted the operations of unrequested words");
    }
    Params params = what_.params;
    params.set("length", shape_.length());
    params.set("new_tokens", reported->get<std::int64_t>());
    WM_ASSIGN(const ModelShape counted, model_shape(what_.workload->id, params));
    return counted.forward_flops;
  }

  Result<ModelWindow> window(std::int64_t count) {
    WM_ASSIGN(auto window, workers_->window(count, !decode_, kStepDeadline_s));
    if (!(window.seconds > 0)) {
      return data_error(fmt::format("the worker says that {} steps took {:.3g} s each", count, window.seconds));
    }
    doubt(window.doubt);
    losses_.insert(losses_.end(), window.losses.begin(), window.losses.end());
    return window;
  }

  /// Of a fixed number of steps, those that are to come.
  [[nodiscard]] std::int64_t steps_left() const { return steps_ - static_cast<std::int64_t>(losses_.size()); }

  [[nodiscard]] static std::int64_t steps_in_window(double seconds, std::int64_t least, double window_s = kWindow_s) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(window_s / std::max(seconds, 1e-6))), least,
                                    kMostSteps);
  }
  [[nodiscard]] bool on_several_gpus() const { return device_.info().backend == "cuda" && workers_->ranks() > 1; }
  /// None where it is the first rank's alone, and would be taken for that of all.
  [[nodiscard]] std::optional<double> sensor_of_all(std::string_view id) {
    if (on_several_gpus()) return std::nullopt;
    return read_sensor(device_, id);
  }
  [[nodiscard]] double window_s() const { return device_.info().backend == "cuda" ? kGpuWindow_s : kWindow_s; }

  /// Windows until two in a row agree, or the cap.
  Result<double> settle() {
    const std::int64_t begin = monotonic_ns();
    double before = 0;
    std::int64_t steps = 1;
    for (int i = 0;; ++i) {
      WM_ASSIGN(const ModelWindow now, window(steps));
      run_.warmup.launches += steps;
      run_.warmup.seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
      const double moved = before > 0 ? std::abs(now.seconds / before - 1) : 1;
      run_.warmup.settled = moved < 0.05 && i > 1;
      run_.warmup.reason = run_.warmup.settled ? fmt::format("two windows within {:.2g} %", moved * 100)
                                               : fmt::format("stopped at the cap of {:.3g} s", options_.warmup.cap_s);
      before = now.seconds;
      steps = steps_in_window(before, 1);
      if (steps_ > 0 && steps_left() <= steps_ / 2 + steps) return before;
      if (run_.warmup.settled || run_.warmup.seconds > options_.warmup.cap_s) return before;
    }
  }

  Status sample(double steady) {
    const auto count = steps_in_window(steady, 1, window_s());
    run_.timing = {"worker's clock between synchronizations", 1e-9, 0, count, 1};
    measure::StoppingRule rule(options_.stopping);
    const auto energy = sensor_of_all("energy");
    const std::int64_t begin = monotonic_ns();
    while (steps_ > 0 ? steps_left() > 0 : !rule.done()) {
      WM_ASSIGN(const ModelWindow now, window(steps_ > 0 ? std::min(count, steps_left()) : count));
      rule.add(now.seconds, static_cast<double>(monotonic_ns() - begin) * 1e-9);
    }
    sampled_s_ = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    if (steps_ == 0) run_.stop_cause = rule.cause();
    run_.stopped_because = steps_ > 0 ? fmt::format("{} steps, as asked", steps_) : rule.reason();
    run_.converged = rule.converged();
    run_.metrics.push_back(stats::sampled_metric("time", "s", Better::lower, rule.samples()));
    if (steps_ > 0) add("loss", "", Better::lower, losses_.back());
    if (const auto after = sensor_of_all("energy"); energy && after && *after > *energy) {
      const auto steps = static_cast<double>(count) * static_cast<double>(rule.samples().size());
      joules_ = (*after - *energy) / steps;
      add("energy", "J", Better::lower, *joules_);
    }
    if (on_several_gpus()) note("gpu_memory", "of the first rank's GPU; energy and utilization are not read");
    if (const auto busy = sensor_of_all("utilization")) add("gpu_utilization", "ratio", Better::higher, *busy);
    memory_.poll_last();
    return {};
  }

  /// Steps that nobody times, where the timed ones were too few for the loss to fall.
  Status learn() {
    const auto done = static_cast<std::int64_t>(losses_.size());
    if (!train_ || steps_ > 0 || done >= kLearnSteps) return {};
    WM_TRY(window(kLearnSteps - done));
    return {};
  }

  Status phases(double steady) {
    const auto count = phase_steps({.step_s = steady,
                                    .room_s = std::min(sampled_s_, options_.stopping.budget_s),
                                    .least = steps_in_window(steady, decode_ ? 2 : 6),  // a generation has many words
                                    .most = workers::kMostRecords / (shape_.new_tokens + kRecordsOfStep)});
    WM_ASSIGN(auto phases, workers_->phases(count, kStepDeadline_s));
    doubt(phases.doubt);
    add_phases(std::move(phases), run_);
    return {};
  }

  Status check() {
    WM_ASSIGN(const Json answer, workers_->ask({{"ask", "check"}}, kPrepareDeadline_s));
    const auto& precision = what_.params.text("precision");
    if (answer.contains("error") && answer["error"].is_number()) {
      const bool exact = precision == "f32";
      const char* norm = "relative error of the loss";
      if (exact && train_) norm = "relative error of the loss and of the gradient";
      if (decode_) norm = "relative error of the logits by way of the cache";
      run_.error = ErrorCheck{answer["error"].get<double>(), exact ? 1e-2 : 3e-2, norm,
                              decode_ ? "fp64 without a cache" : "the same step in fp64"};
      if (!(run_.error->value <= run_.error->tolerance)) {
        fail(fmt::format("a step differs from fp64 by {:.3g}, tolerance {:.3g}", run_.error->value,
                         run_.error->tolerance));
      }
    } else {
      note("reference", "too large for a copy in fp64; the loss alone was checked");
    }
    if (decode_) {
      WM_ASSIGN(const double differing, answered_number(answer, "differing"));
      if (differing > 0) fail(fmt::format("{:.0f} words differ from those without a cache", differing));
      return {};
    }
    check_losses();
    return {};
  }

  void check_losses() {
    const LossVerdict verdict = judged_losses({losses_, chance_level_, train_});
    if (!verdict.seen.empty()) note("loss", verdict.seen);
    if (!verdict.fault.empty()) fail(verdict.fault);
  }

  /// Memory, and whether the knobs held: a case whose knob did nothing would be another case than it says.
  Status conclude() {
    WM_ASSIGN(const Json state, workers_->ask({{"ask", "state"}}, kPrepareDeadline_s));
    if (const auto memory = state.find("memory"); memory != state.end() && memory->is_object()) {
      for (const auto& [name, bytes] : memory->items()) {
        if (bytes.is_number()) add("memory." + name, "B", Better::lower, bytes.get<double>());
      }
    }
    if (const auto reported = state.find("knobs"); reported != state.end() && reported->is_array()) {
      for (const auto& knob : *reported) {
        if (!knob.is_object() || knob.value("in_force", Json()) == true) continue;
        return unsupported_error(
            "the knob " + answered_text(knob, "id") + " is not in force: " + answered_text(knob, "said"),
            "leave it out");
      }
    }
    if (run_.outcome == Outcome::failed) run_.metrics.clear();
    return {};
  }

  /// What the recorder saw of some more steps, against what the worker says of them.
  void cross_check() {
    if (device_.info().backend != "cuda") return;
    stage("recording steps");
    const WorkerReport heard = second_cross_check(*workers_, what_.params, run_.metrics.front().summary.median);
    doubt(heard.doubt);
    note("cross-check", heard.note);
  }

  void distrust() {
    if (run_.outcome != Outcome::passed || doubt_.empty()) return;
    run_.outcome = Outcome::unreliable;
    run_.reason = doubt_;
    run_.hint = "measure again on a quiet machine; if it stays, the worker is wrong about its own time";
  }

  /// The shapes of a step's kernels; none where nobody wants a peak, or cannot have one.
  Result<std::optional<Json>> traced() {
    if (what_.params.text("peak") == "no" || decode_) return std::optional<Json>();
    stage("tracing a step for its peak");
    WM_ASSIGN(const Json answer, workers_->ask({{"ask", "shapes"}}, kPrepareDeadline_s));
    return std::optional<Json>(answer.value("shapes", Json()));
  }

  /// What this machine does at best for the kernels of the step.
  Status peak(const Json& shapes) {
    const auto ranks = static_cast<double>(what_.params.integer("ranks"));
    WM_ASSIGN(auto peak, model_peak(shapes, what_.params.text("precision"), what_.params.text("peak") == "full",
                                    device_, options_));
    const double expected = run_.cost.flops / (device_.info().backend == "cuda" ? 1 : ranks);
    if (peak.flops < 0.6 * expected || peak.flops > 1.01 * expected) {
      note("peak", fmt::format("none: the traced shapes have {:.3g} FLOP, the step has {:.3g}", peak.flops, expected));
      return {};
    }
    if (device_.info().backend != "cuda") peak.seconds *= ranks;  // they share the processors
    add("peak_time", "s", Better::lower, peak.seconds);
    std::vector<double> shares;
    for (const double s : run_.metrics.front().samples) shares.push_back(peak.seconds / s);
    run_.metrics.push_back(stats::sampled_metric("peak_share", "ratio", Better::higher, std::move(shares)));
    const auto part = [&](double seconds) { return 100 * seconds * ranks / std::max(peak.seconds, 1e-12); };
    note("peak", fmt::format("{} shapes: products {:.0f} %, convolutions {:.0f} %, attention {:.0f} %, memory {:.0f} %",
                             peak.shapes, part(peak.product_s), part(peak.convolution_s), part(peak.attention_s),
                             part(peak.memory_s)));
    if (peak.scaled > 0) {
      note("peak timed",
           fmt::format("{:.3g} % of the operations and bytes; the rest counts as much as what is like it, "
                       "--set peak=full times all",
                       100 * (1 - peak.scaled)));
    }
    if (peak.untimed > 0) note("peak lacks", fmt::format("{} shapes, first {}", peak.untimed, peak.why));
    return {};
  }

  void stage(const std::string& what) const {
    if (options_.stage) options_.stage(what);
  }
  void add(std::string id, const char* unit, Better better, double value) {
    run_.metrics.push_back(stats::sampled_metric(std::move(id), unit, better, {value}));
  }
  void fail(std::string reason) {
    if (run_.outcome == Outcome::failed) return;
    run_.outcome = Outcome::failed;
    run_.reason = std::move(reason);
    run_.hint = "the speed of a wrong step means nothing and is not shown";
  }
  void doubt(const std::string& why) {
    if (doubt_.empty()) doubt_ = why;
  }
  void note(const char* name, std::string text) { run_.notes.emplace_back(name, std::move(text)); }

  const measure::Case& what_;
  device::Device& device_;
  const measure::RoundOptions& options_;
  Run& run_;
  std::unique_ptr<ModelWorkers> workers_;
  ModelShape shape_;
  DeviceMemory memory_;
  double sampled_s_ = 0;  ///< that timing took
  bool train_ = true;
  bool decode_ = false;
  double chance_level_ = 0;
  std::optional<double> joules_;  ///< of a step
  std::vector<double> losses_;    ///< of all steps but those with marks, in their order
  std::int64_t steps_ = 0;        ///< above 0: so many
  std::string doubt_;
};

}  // namespace

Status measure_model(const measure::Case& what, device::Device& device, const measure::RoundOptions& options,
                     Run& run) {
  return ModelRound(what, device, options, run).measure();
}

}  // namespace warpmark::workloads
