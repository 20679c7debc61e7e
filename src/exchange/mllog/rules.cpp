#include "exchange/mllog/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace warpmark::exchange {
namespace {

constexpr MlPerfBenchmark kBenchmarks[] = {
    {"resnet", 5, 1, 0.759, true},        {"bert", 10, 1, 0.72, true},
    {"dlrm", 5, 1, 0.8025, true},         {"dlrm_dcnv2", 10, 1, 0.80275, true},
    {"gpt3", 3, 1, 2.69, false},          {"llama31_405b", 3, 1, 5.6, false},
    {"llama31_8b", 10, 1, 3.3, false},    {"llama2_70b_lora", 10, 1, 0.925, false},
    {"flux1", 10, 1, 0.586, false},       {"rgat", 10, 1, 0.72, true},
    {"unet3d", 40, 4, 0.908, true},       {"ssd", 5, 1, 0.34, true},
    {"retinanet", 5, 1, 0.34, true},      {"rnnt", 10, 1, 0.058, false},
    {"maskrcnn", 5, 1, 0, true},  // two targets, of boxes and of masks
    {"gpt_oss_20b", 10, 1, 3.34, false},  {"deepseekv3_671b", 3, 1, 3.6, false},
    {"gnn", 10, 1, 0.72, true},            // rgat in version 4.0
    {"stable_diffusion", 10, 1, 0, true},  // two targets, FID and CLIP
};

enum class Times { one, some };
struct Required {
  const char* key;
  Times times;
};
constexpr Required kRequired[] = {{"submission_benchmark", Times::one},
                                  {"submission_org", Times::one},
                                  {"submission_platform", Times::one},
                                  {"submission_division", Times::one},
                                  {"cache_clear", Times::some},
                                  {"init_start", Times::some},
                                  {"init_stop", Times::one},
                                  {"run_start", Times::one},
                                  {"run_stop", Times::one},
                                  {"eval_accuracy", Times::some},
                                  {"train_samples", Times::one},
                                  {"eval_samples", Times::one},
                                  {"gradient_accumulation_steps", Times::one},
                                  {"global_batch_size", Times::one},
                                  {"seed", Times::some},
                                  {"opt_name", Times::one},
                                  {"opt_base_learning_rate", Times::one}};

constexpr double kMinuteMs = 60e3;

class LogJudge {
 public:
  explicit LogJudge(std::span<const MlLogEvent> events) : events_(events) {}

  MlLogTraining judge() {
    for (const auto& event : events_) {
      ++counts_[event.key];
      if (event.key == "submission_division") text(event, training_.division);
      if (event.key == "submission_benchmark") text(event, training_.benchmark);
    }
    for (const auto& event : events_) look_at(event);
    require_counts();
    if (start_ && stop_) training_.seconds = (stop_->time_ms - start_->time_ms) * 1e-3;
    require_quality();
    return std::move(training_);
  }

 private:
  void fault(const MlLogEvent* at, std::string what) {
    training_.faults.push_back({at == nullptr ? 0 : at->line, std::move(what)});
  }
  void text(const MlLogEvent& event, std::string& into) {
    if (event.value.is_string()) into = event.value.get<std::string>();
  }
  static std::optional<double> number(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
  }

  void look_at(const MlLogEvent& event) {
    const std::string& key = event.key;
    if (event.time_ms < last_ms_ - 1) fault(&event, key + " is earlier than the line before it");
    last_ms_ = std::max(last_ms_, event.time_ms);
    if (key.starts_with("submission_")) submission(event);
    if (key == "init_start" || key == "init_stop" || key == "run_start" || key == "run_stop") phase(event);
    if (key.starts_with("epoch_") || key.starts_with("block_") || key.starts_with("eval_")) interval(event);
    if (key == "gradient_accumulation_steps" || key == "global_batch_size") {
      if (!event.value.is_number() || !(event.value.get<double>() > 0)) fault(&event, key + " is not above 0");
      if (key == "global_batch_size" && event.value.is_number()) training_.batch = event.value.get<double>();
    }
    if ((key == "train_samples" || key == "eval_samples") && !event.value.is_number()) {
      fault(&event, key + " is no number");
    }
  }

  void submission(const MlLogEvent& event) {
    if (!event.value.is_string() || event.value.get<std::string>().empty()) {
      return fault(&event, event.key + " is empty");
    }
    if (event.key == "submission_division" && training_.division != "closed" && training_.division != "open") {
      fault(&event, "submission_division is '" + training_.division + "', not closed or open");
    }
    if (event.key == "submission_benchmark" && training_.division == "closed" &&
        mlperf_benchmark(training_.benchmark) == nullptr) {
      fault(&event, "'" + training_.benchmark + "' is no benchmark of the closed division");
    }
  }

  /// init_start, init_stop, run_start, run_stop: in this order.
  void phase(const MlLogEvent& event) {
    const auto after = [&](const MlLogEvent* before, const char* name) {
      if (before == nullptr) fault(&event, event.key + " comes before " + name);
    };
    if (event.key == "init_start") {
      if (init_stop_ != nullptr || start_ != nullptr) fault(&event, "init_start comes after init_stop or run_start");
      if (init_start_ == nullptr) init_start_ = &event;
    } else if (event.key == "init_stop") {
      after(init_start_, "init_start");
      if (start_ != nullptr) fault(&event, "init_stop comes after run_start");
      init_stop_ = &event;
      const double allowed = training_.division == "open" ? 240 : 30;
      const double took = init_start_ == nullptr ? 0 : (event.time_ms - init_start_->time_ms) / kMinuteMs;
      if (took >= allowed) {
        fault(&event, fmt::format("initialization took {:.1f} minutes, {:.0f} are allowed", took, allowed));
      }
    } else if (event.key == "run_start") {
      after(init_stop_, "init_stop");
      start_ = &event;
    } else {
      after(start_, "run_start");
      stop_ = &event;
      const auto status = event.metadata.find("status");
      if (status == event.metadata.end() || (*status != "success" && *status != "aborted")) {
        fault(&event, "run_stop has no status of success or aborted");
      }
      training_.converged = status != event.metadata.end() && *status == "success";
    }
  }

  void interval(const MlLogEvent& event) {
    const std::string& key = event.key;
    if (key == "eval_samples") return;
    if (start_ == nullptr && (key == "block_start" || key == "epoch_start"))
      fault(&event, key + " comes before run_start");
    const auto epoch = number(event.metadata, "epoch_num"), samples = number(event.metadata, "samples_count");
    if (key.starts_with("block_")) {
      const auto first = number(event.metadata, "first_epoch_num"), count = number(event.metadata, "epoch_count");
      if (!samples && !(key == "block_stop" ? first : count)) {
        fault(&event, key + " has neither samples_count nor epochs in its metadata");
      }
      if (key == "block_start" && count && (!first || !(*count > 0))) {
        fault(&event, "block_start needs first_epoch_num, and an epoch_count above 0");
      }
      return;
    }
    if (!epoch && !samples) fault(&event, key + " has neither epoch_num nor samples_count in its metadata");
    if (key != "eval_accuracy" || !event.value.is_number()) return;
    if (stop_ != nullptr) return;  // what is evaluated afterwards is not what the training ended by
    training_.quality = event.value.get<double>();
    training_.in_samples = !epoch;
    training_.to_converge = epoch ? epoch : samples;
    reached_ = reached_ || reaches(*training_.quality);
    largest_ = std::max(largest_, *training_.quality);
  }

  [[nodiscard]] bool reaches(double quality) const {
    const auto* benchmark = mlperf_benchmark(training_.benchmark);
    if (benchmark == nullptr || benchmark->target == 0) return true;
    if (benchmark->higher) return quality >= benchmark->target && quality <= 1;  // all of them are ratios
    return quality <= benchmark->target && quality > 0;
  }

  void require_counts() {
    for (const auto& [key, times] : kRequired) {
      const int count = counts_[key];
      if (count == 0) fault(nullptr, std::string("there is no ") + key);
      if (count > 1 && times == Times::one) fault(nullptr, fmt::format("there are {} of {}, not one", count, key));
    }
    if (counts_["epoch_start"] + counts_["block_start"] == 0)
      fault(nullptr, "there is neither epoch_start nor block_start");
    if (counts_["epoch_stop"] + counts_["block_stop"] == 0)
      fault(nullptr, "there is neither epoch_stop nor block_stop");
    if (counts_["eval_start"] == 0 && counts_["block_start"] == 0) fault(nullptr, "there is no eval_start");
    if (counts_["eval_stop"] == 0 && counts_["block_stop"] == 0) fault(nullptr, "there is no eval_stop");
  }

  void require_quality() {
    const auto* benchmark = mlperf_benchmark(training_.benchmark);
    if (!training_.converged || reached_ || benchmark == nullptr || benchmark->target == 0) return;
    std::string what = "run_stop says success, but no eval_accuracy is ";
    what += benchmark->higher ? fmt::format("at least {} and at most 1", benchmark->target)
                              : fmt::format("above 0 and at most {}", benchmark->target);
    if (benchmark->higher && largest_ > 1) what += fmt::format("; {} is no ratio, perhaps a percentage", largest_);
    fault(stop_, std::move(what));
  }

  std::span<const MlLogEvent> events_;
  MlLogTraining training_;
  std::map<std::string, int> counts_;
  const MlLogEvent* init_start_ = nullptr;
  const MlLogEvent* init_stop_ = nullptr;
  const MlLogEvent* start_ = nullptr;
  const MlLogEvent* stop_ = nullptr;
  double last_ms_ = 0;
  double largest_ = 0;  // eval_accuracy
  bool reached_ = false;
};

}  // namespace

const MlPerfBenchmark* mlperf_benchmark(const std::string& id) {
  const auto found = std::find_if(std::begin(kBenchmarks), std::end(kBenchmarks),
                                  [&](const MlPerfBenchmark& known) { return known.id == id; });
  return found == std::end(kBenchmarks) ? nullptr : &*found;
}

MlLogTraining judge_mllog(std::span<const MlLogEvent> events) { return LogJudge(events).judge(); }

}  // namespace warpmark::exchange
