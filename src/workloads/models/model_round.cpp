#include "workloads/models/model_round.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "workers/model_worker.h"
#include "workloads/models/model_shape.h"

namespace warpmark::workloads {
namespace {

namespace fs = std::filesystem;
using workers::ModelWorker;
using workers::RecordKind;

constexpr double kHelloDeadline_s = 180;    // importing PyTorch from a cold disk
constexpr double kPrepareDeadline_s = 600;  // a large network, drawn on one core
constexpr double kStepDeadline_s = 600;     // compiling happens in the first step
constexpr double kClocksAgree = 0.01;       // our window and the sum of the worker's steps
constexpr double kMessage_s = 0.01;         // and what two messages may take on a busy machine
constexpr double kWindow_s = 0.1;           // least length of a window
constexpr std::int64_t kMostSteps = 1000;
constexpr std::int64_t kLearnSteps = 24;  // after these the loss has fallen
constexpr const char* kPhases[] = {"data", "h2d", "forward", "backward", "optimizer"};

struct Folder {
  fs::path path;
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

struct Steps {
  double seconds = 0;  ///< of one step, by the worker's clock between two synchronizations
  std::vector<double> losses;
};

Result<double> number(const Json& answer, const char* name) {
  const auto found = answer.find(name);
  if (found == answer.end() || !found->is_number()) {
    return data_error(fmt::format("the worker's answer has no number '{}'", name));
  }
  return found->get<double>();
}

std::string field(const Json& answer, const char* name) {
  const auto found = answer.find(name);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

class ModelRound {
 public:
  ModelRound(const measure::Case& what, const device::Device& device, const measure::RoundOptions& options, Run& run)
      : what_(what), device_(device), options_(options), run_(run) {}

  Status measure() {
    const auto& params = what_.params;
    WM_ASSIGN(run_.cost, what_.workload->cost(*what_.workload, params));
    if (const auto s = what_.workload->supports(*what_.workload, device_.info(), params); !s.available) {
      return unsupported_error(s.reason, s.hint);
    }
    WM_ASSIGN(shape_, model_shape(what_.workload->id, params.text("preset"), params.integer("batch"),
                                  params.integer("length")));
    train_ = params.text("pass") == "train";
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
  Status start() {
    std::string name = (fs::temp_directory_path() / "warpmark-model-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return environment_error("cannot make a folder for the worker: " + name);
    folder_.path = name;
    WM_TRY(workers::write_model_worker(folder_.path));
    WM_ASSIGN(worker_, ModelWorker::start({.words = {what_.params.text("python"), "-u",
                                                     (folder_.path / "warpmark_worker.py").string()},
                                           .printed = folder_.path / "printed.txt",
                                           .interrupted = options_.interrupted}));
    WM_ASSIGN(const Json hello, worker_->ask({{"ask", "hello"}}, kHelloDeadline_s));
    if (hello.value("protocol", Json()) != workers::kModelProtocol) {
      return data_error("the worker speaks another version of the protocol");
    }
    note("torch",
         fmt::format("{} (CUDA {}) of {}", field(hello, "torch"),
                     field(hello, "cuda").empty() ? "none" : field(hello, "cuda"), field(hello, "executable")));
    return tell_places(hello);
  }

  /// Several versions on the path: the one that was imported counts, and the others are named.
  Status tell_places(const Json& hello) {
    const auto places = hello.find("places");
    if (places == hello.end() || !places->is_array() || places->size() < 2) return {};
    std::string others;
    for (const auto& place : *places) {
      if (!place.is_string() || place == hello.value("imported", Json())) continue;
      others += (others.empty() ? "" : ", ") + place.get<std::string>();
    }
    note("other torch on the path", others + "; measured was " + field(hello, "imported"));
    return {};
  }

  Status start_and_measure() {
    WM_TRY(start());
    WM_TRY(prepare());
    WM_ASSIGN(const Steps first, window(1));
    losses_ = first.losses;
    WM_ASSIGN(const double steady, settle());
    WM_TRY(sample(steady));
    WM_TRY(learn());
    run_.outcome = Outcome::passed;
    add_rates();
    WM_TRY(phases(steady));
    run_.metrics.push_back(measure::metric_of("first_step", "s", Better::lower, {first.seconds}));
    WM_TRY(check());
    return conclude();
  }

  Json knobs() const {
    const auto& p = what_.params;
    Json knobs = Json::object();
    if (p.text("channels_last") == "yes") knobs["channels_last"] = "yes";
    if (p.text("checkpoint") == "yes") knobs["checkpoint.blocks"] = "yes";
    if (p.text("compile") != "no") knobs["compile"] = p.text("compile");
    if (p.text("optimizer") != "default") knobs["optimizer.implementation"] = p.text("optimizer");
    const auto& precision = p.text("precision");
    if (precision == "bf16" || precision == "fp16") knobs["precision.autocast"] = precision;
    return knobs;
  }

  Status prepare() {
    Json config = Json::object();
    for (const auto& [name, value] : shape_.sizes) config[name] = value;
    if (!shape_.rows.empty()) config["rows"] = shape_.rows;
    const auto& p = what_.params;
    WM_ASSIGN(const Json answer, worker_->ask({{"ask", "prepare"},
                                               {"model", what_.workload->id},
                                               {"config", config},
                                               {"batch", shape_.batch},
                                               {"pass", p.text("pass")},
                                               {"precision", p.text("precision")},
                                               {"accumulate", p.integer("accumulate")},
                                               {"device", device_.info().id},
                                               {"seed", static_cast<std::int64_t>(options_.seed % 1'000'000'007)},
                                               {"rate", 1e-3},
                                               {"knobs", knobs()}},
                                              kPrepareDeadline_s));
    WM_ASSIGN(const double parameters, number(answer, "parameters"));
    WM_ASSIGN(const double flops, number(answer, "forward_flops"));
    WM_ASSIGN(ignorance_, number(answer, "ignorance"));
    const double expected = shape_.forward_flops * static_cast<double>(shape_.batch);
    if (parameters != static_cast<double>(shape_.parameters) || flops != expected) {
      return data_error(
          fmt::format("the worker's network has {:.0f} parameters and {:.0f} FLOP a forward pass, expected "
                      "{} and {:.0f}",
                      parameters, flops, shape_.parameters, expected));
    }
    note("parameters", fmt::format("{}", shape_.parameters));
    note("attention", "counted in full");
    return {};
  }

  /// `count` steps without marks, told by both clocks.
  Result<Steps> window(std::int64_t count) {
    const std::int64_t asked = monotonic_ns();
    WM_ASSIGN(const Json answer, worker_->ask({{"ask", "run"}, {"steps", count}, {"phases", false}}, kStepDeadline_s));
    const std::int64_t answered = monotonic_ns();
    WM_ASSIGN(const double begin, number(answer, "begin_ns"));
    WM_ASSIGN(const double end, number(answer, "end_ns"));
    WM_ASSIGN(const auto records, worker_->records());
    Steps steps;
    std::int64_t seen = 0, last = static_cast<std::int64_t>(begin);
    bool ordered = true;
    for (const auto& record : records) {
      if (record.kind == static_cast<std::int64_t>(RecordKind::step)) {
        ordered = ordered && record.step == seen && record.time_ns >= last;
        last = record.time_ns;
        ++seen;
      }
      if (record.kind == static_cast<std::int64_t>(RecordKind::loss)) steps.losses.push_back(record.value);
    }
    const double ours = static_cast<double>(answered - asked) * 1e-9, theirs = (end - begin) * 1e-9;
    if (seen != count || static_cast<std::int64_t>(steps.losses.size()) != count) {
      doubt(fmt::format("the worker was asked for {} steps and noted {} with {} losses", count, seen,
                        steps.losses.size()));
    } else if (!ordered || begin < static_cast<double>(asked) || end > static_cast<double>(answered) || theirs <= 0) {
      doubt("the worker's times of steps lie outside of the window in which they were asked for");
    } else if (ours - theirs > kClocksAgree * ours + kMessage_s) {
      doubt(fmt::format("the worker says {:.4g} s for steps that took {:.4g} s by our clock", theirs, ours));
    }
    steps.seconds = theirs / static_cast<double>(std::max<std::int64_t>(count, 1));
    return steps;
  }

  /// Windows until two in a row agree, or the cap.
  Result<double> settle() {
    const std::int64_t begin = monotonic_ns();
    double before = 0;
    std::int64_t steps = 1;
    for (int i = 0;; ++i) {
      WM_ASSIGN(const Steps now, window(steps));
      run_.warmup.launches += steps;
      run_.warmup.seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
      losses_.insert(losses_.end(), now.losses.begin(), now.losses.end());
      const double moved = before > 0 ? std::abs(now.seconds / before - 1) : 1;
      run_.warmup.settled = moved < 0.05 && i > 1;
      run_.warmup.reason = run_.warmup.settled ? fmt::format("two windows within {:.2g} %", moved * 100)
                                               : fmt::format("stopped at the cap of {:.3g} s", options_.warmup.cap_s);
      before = now.seconds;
      steps = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(kWindow_s / std::max(before, 1e-6))), 1,
                                       kMostSteps);
      if (run_.warmup.settled || run_.warmup.seconds > options_.warmup.cap_s) return before;
    }
  }

  Status sample(double steady) {
    const auto count =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(kWindow_s / steady)), 1, kMostSteps);
    run_.timing = {"worker's clock between synchronizations", 1e-9, 0, count, 1};
    measure::StoppingRule rule(options_.stopping);
    const std::int64_t begin = monotonic_ns();
    while (!rule.done()) {
      WM_ASSIGN(const Steps now, window(count));
      losses_.insert(losses_.end(), now.losses.begin(), now.losses.end());
      rule.add(now.seconds, static_cast<double>(monotonic_ns() - begin) * 1e-9);
    }
    run_.stopped_because = rule.reason();
    run_.converged = rule.converged();
    run_.metrics.push_back(measure::metric_of("time", "s", Better::lower, rule.samples()));
    return {};
  }

  /// Steps that nobody times, where the timed ones were too few for the loss to fall.
  Status learn() {
    const auto done = static_cast<std::int64_t>(losses_.size());
    if (!train_ || done >= kLearnSteps) return {};
    WM_ASSIGN(const Steps more, window(kLearnSteps - done));
    losses_.insert(losses_.end(), more.losses.begin(), more.losses.end());
    return {};
  }

  void add_rates() {
    const std::vector<double> seconds = run_.metrics.front().samples;
    const auto rate = [&](const char* id, const char* unit, double work) {
      std::vector<double> rates;
      for (const double s : seconds) rates.push_back(work / s);
      run_.metrics.push_back(measure::metric_of(id, unit, Better::higher, std::move(rates)));
    };
    const double samples = static_cast<double>(shape_.batch * what_.params.integer("accumulate"));
    rate("flop_rate", "FLOP/s", run_.cost.flops);
    rate("samples_rate", "1/s", samples);
    if (shape_.tokens > 0) rate("tokens_rate", "1/s", samples * static_cast<double>(shape_.tokens));
  }

  Status phases(double steady) {
    const auto count = std::clamp<std::int64_t>(static_cast<std::int64_t>(kWindow_s / steady), 6, kMostSteps);
    WM_ASSIGN(const Json answer, worker_->ask({{"ask", "run"}, {"steps", count}, {"phases", true}}, kStepDeadline_s));
    (void)answer;
    WM_ASSIGN(const auto records, worker_->records());
    std::map<std::int64_t, std::vector<double>> parts;
    std::vector<double> whole(static_cast<std::size_t>(count), 0.0), sums = whole;
    for (const auto& record : records) {
      if (record.step < 0 || record.step >= count) return data_error("the worker notes a step that nobody asked for");
      const auto step = static_cast<std::size_t>(record.step);
      const auto phase = record.kind - static_cast<std::int64_t>(RecordKind::first_phase);
      if (record.kind == static_cast<std::int64_t>(RecordKind::whole)) whole[step] = record.value;
      if (phase < 0 || phase >= static_cast<std::int64_t>(std::size(kPhases))) continue;
      parts[phase].push_back(record.value);
      sums[step] += record.value;
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (!(std::abs(sums[i] - whole[i]) <= kClocksAgree * whole[i])) {
        doubt(fmt::format("the phases of a step add up to {:.4g} s, the step took {:.4g} s", sums[i], whole[i]));
      }
    }
    for (auto& [phase, seconds] : parts) {
      run_.metrics.push_back(measure::metric_of(std::string("phase.") + kPhases[phase], "s", Better::lower, seconds));
    }
    return {};
  }

  Status check() {
    WM_ASSIGN(const Json answer, worker_->ask({{"ask", "check"}}, kPrepareDeadline_s));
    const auto& precision = what_.params.text("precision");
    if (answer.contains("error") && answer["error"].is_number()) {
      const bool exact = precision == "f32";
      run_.error = ErrorCheck{
          answer["error"].get<double>(), exact ? 1e-3 : 3e-2,
          exact && train_ ? "relative error of the loss and of the gradient's length" : "relative error of the loss",
          "the same step in fp64"};
      if (!(run_.error->value <= run_.error->tolerance)) {
        fail(fmt::format("a step differs from fp64 by {:.3g}, tolerance {:.3g}", run_.error->value,
                         run_.error->tolerance));
      }
    } else {
      note("reference", "too large for a copy in fp64; the loss alone was checked");
    }
    for (const double loss : losses_) {
      if (!std::isfinite(loss)) return fail(fmt::format("a loss is {}", loss)), Status();
    }
    const double first = losses_.front();
    if (!(std::abs(first - ignorance_) <= 0.15 * ignorance_ + 0.1)) {
      fail(fmt::format("the first loss is {:.4g}; a network that knows nothing has {:.4g}", first, ignorance_));
    }
    constexpr std::size_t kLast = 4;
    if (train_ && losses_.size() >= kLast) {
      double last = 0;
      for (std::size_t i = losses_.size() - kLast; i < losses_.size(); ++i) last += losses_[i] / kLast;
      note("loss", fmt::format("{:.4g} at first, {:.4g} after {} steps", first, last, losses_.size()));
      if (!(last < first)) fail(fmt::format("the loss did not fall: {:.4g}, then {:.4g}", first, last));
    }
    return {};
  }

  /// Memory, and whether the knobs held: a case whose knob did nothing would be another case than it says.
  Status conclude() {
    WM_ASSIGN(const Json state, worker_->ask({{"ask", "state"}}, kPrepareDeadline_s));
    if (const auto memory = state.find("memory"); memory != state.end() && memory->is_object()) {
      for (const auto& [name, bytes] : memory->items()) {
        if (bytes.is_number()) {
          run_.metrics.push_back(measure::metric_of("memory." + name, "B", Better::lower, {bytes.get<double>()}));
        }
      }
    }
    if (const auto told = state.find("knobs"); told != state.end() && told->is_array()) {
      for (const auto& knob : *told) {
        if (!knob.is_object() || knob.value("in_force", Json()) == true) continue;
        return unsupported_error("the knob " + field(knob, "id") + " is not in force: " + field(knob, "said"),
                                 "leave it out");
      }
    }
    if (run_.outcome == Outcome::failed) run_.metrics.clear();
    if (run_.outcome == Outcome::passed && !doubt_.empty()) {
      run_.outcome = Outcome::mistrusted;
      run_.reason = doubt_;
      run_.hint = "measure again on a quiet machine; if it stays, the worker is wrong about its own time";
    }
    return {};
  }

  void fail(std::string reason) {
    if (run_.outcome == Outcome::failed) return;
    run_.outcome = Outcome::failed;
    run_.reason = std::move(reason);
    run_.hint = "the speed of a wrong step means nothing and is not shown";
  }
  void doubt(std::string why) {
    if (doubt_.empty()) doubt_ = std::move(why);
  }
  void note(const char* name, std::string text) { run_.notes.emplace_back(name, std::move(text)); }

  const measure::Case& what_;
  const device::Device& device_;
  const measure::RoundOptions& options_;
  Run& run_;
  Folder folder_;  ///< outlives the worker
  std::unique_ptr<ModelWorker> worker_;
  ModelShape shape_;
  bool train_ = true;
  double ignorance_ = 0;
  std::vector<double> losses_;
  std::string doubt_;
};

}  // namespace

Status measure_model(const measure::Case& what, device::Device& device, const measure::RoundOptions& options,
                     Run& run) {
  return ModelRound(what, device, options, run).measure();
}

}  // namespace warpmark::workloads
