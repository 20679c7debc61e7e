#include "workloads/models/model_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "model/run_query.h"
#include "workloads/catalog.h"

namespace warpmark::workloads {
namespace {

constexpr double kAttentionBackward = 2.5;
constexpr std::size_t kMostShapes = 10'000;
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;
constexpr std::int64_t kLeastCopy = 4096;
constexpr double kLeastShare = 0.005;  // of all operations; what is less is not timed
constexpr double kMostSpent_s = 10;    // on timing, in a round

/// The time of one launch, or why there is none.
struct Timed {
  std::optional<double> seconds;
  std::string why;
};

/// What was timed in this process: a limit does not change from round to round, and timing all of them takes seconds.
class TimedShapes {
 public:
  Timed time(const char* id, const Overrides& overrides, device::Device& device, const measure::RoundOptions& options) {
    const auto* workload = find_in(catalog(), std::string_view(id));
    WM_CHECK(workload != nullptr);
    const auto params = resolve_params(workload->params, overrides);
    if (!params.ok()) return {std::nullopt, params.error().what};
    const std::string key = device.info().id + " " + id + " " + to_text(*params);
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const Run run = measure::measure_round({workload, device.info().id, *params, Mode::hot}, device, options);
    Timed timed;
    const auto* time = metric_of(run, "time");
    if (is_measured(run.outcome) && time != nullptr) {
      timed.seconds = time->summary.median;
    } else {
      timed.why = std::string(id) + " " + to_text(*params) + ": " + run.reason;
    }
    if (run.outcome != Outcome::skipped) known_[key] = timed;
    return timed;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Timed> known_;
};

TimedShapes& timed_shapes() {
  static TimedShapes shapes;
  return shapes;
}

/// One entry of the list: what it is, how much it is, and the ways in which our workloads may do it.
struct Entry {
  std::string like;   ///< entries of one name have about one rate: kind and pass
  double work = 0;    ///< of all its launches: FLOPs, or bytes of memory traffic
  double count = 1;   ///< launches in a step
  double factor = 1;  ///< of the time of what is timed in its place
  const char* workload = nullptr;
  std::vector<Overrides> ways;
  double share = 0;               ///< of the operations of all, or of the bytes of all
  std::optional<double> seconds;  ///< of all its launches
  bool untimed = false;           ///< no way worked
  [[nodiscard]] bool is_memory() const { return like == "memory"; }
};

class PeakBuilder {
 public:
  PeakBuilder(std::string precision, bool full, device::Device& device, const measure::RoundOptions& options)
      : precision_(std::move(precision)), full_(full), device_(device), options_(options) {
    options_.stopping = {.half_width = 0.02, .min_samples = 6, .max_samples = 60, .budget_s = 0.03};
    options_.warmup.cap_s = 0.02;
    options_.energy_s = 0;
    options_.check = false;  // results of these workloads are checked where they are benchmarks themselves
    options_.stage = nullptr;
    stage_ = options.stage;
  }

  Result<ModelPeak> build(const Json& shapes) {
    if (!shapes.is_array() || shapes.size() > kMostShapes) return data_error("the worker's list of shapes is damaged");
    for (const auto& shape : shapes) {
      if (!shape.is_object()) return data_error("the worker's list of shapes has a damaged entry");
      WM_TRY(add(shape));
    }
    weigh();
    const std::int64_t begin = monotonic_ns();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (options_.interrupted != nullptr && options_.interrupted->load()) return environment_error("interrupted");
      const double spent_s = static_cast<double>(monotonic_ns() - begin) * 1e-9;
      if (stage_) stage_(fmt::format("timing {} shapes of the peak, {} done", entries_.size(), i));
      if (full_ || is_worth_timing(entries_[i], spent_s)) time(entries_[i]);
    }
    sum_up();
    return peak_;
  }

 private:
  /// Shares, and the heaviest first.
  void weigh() {
    double flops = 0, bytes = 0;
    for (const auto& entry : entries_) (entry.is_memory() ? bytes : flops) += entry.work;
    for (auto& entry : entries_) entry.share = entry.work / std::max(entry.is_memory() ? bytes : flops, 1.0);
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.share > b.share; });
    peak_.shapes = static_cast<std::int64_t>(entries_.size());
  }

  /// The heaviest of its like in any case. Copies come in few sizes and take next to nothing.
  [[nodiscard]] bool is_worth_timing(const Entry& entry, double spent_s) const {
    const bool first = std::none_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
      return other.like == entry.like && (other.seconds || other.untimed);
    });
    return first || entry.is_memory() || (entry.share >= kLeastShare && spent_s < kMostSpent_s);
  }

  void time(Entry& entry) {
    Timed best;
    for (const auto& way : entry.ways) {
      const Timed timed = timed_shapes().time(entry.workload, way, device_, options_);
      if (timed.seconds && (!best.seconds || *timed.seconds < *best.seconds)) best = timed;
      if (!best.seconds && best.why.empty()) best.why = timed.why;
      if (best.seconds && takes_first(entry)) break;
    }
    if (best.seconds) {
      entry.seconds = *best.seconds * entry.factor * entry.count;
      return;
    }
    entry.untimed = true;
    ++peak_.untimed;
    if (peak_.why.empty()) peak_.why = best.why;
  }

  /// GPUs have units for narrow types, which no way without them beats.
  [[nodiscard]] bool takes_first(const Entry& entry) const {
    return device_.info().backend == "cuda" && entry.like.find("attention") == std::string::npos;
  }

  /// What was not timed, at the rate of its like.
  void sum_up() {
    std::map<std::string, std::pair<double, double>> timed;  // work and seconds, by likeness
    for (const auto& entry : entries_) {
      if (!entry.seconds) continue;
      timed[entry.like].first += entry.work;
      timed[entry.like].second += *entry.seconds;
    }
    double shares = 0;
    for (const auto& entry : entries_) {
      const auto& [work, seconds] = timed[entry.like];
      double mine = entry.seconds.value_or(0);
      if (!entry.seconds && !entry.untimed && work > 0) {
        mine = seconds * entry.work / work;
        peak_.scaled += entry.share;
      }
      shares += entry.share;
      part_of(entry.like) += mine;
      peak_.seconds += mine;
    }
    peak_.scaled /= std::max(shares, 1e-12);
  }

  double& part_of(const std::string& like) {
    if (like == "memory") return peak_.memory_s;
    if (like == "gemm") return peak_.product_s;
    return like.starts_with("conv2d") ? peak_.convolution_s : peak_.attention_s;
  }

  static Result<std::int64_t> size(const Json& shape, const char* name) {
    const auto found = shape.find(name);
    if (found == shape.end() || !found->is_number_integer() || *found < 0 || *found > kMostSize) {
      return data_error(fmt::format("a shape of the worker has no size '{}'", name));
    }
    return found->get<std::int64_t>();
  }
  static std::string word(const Json& shape, const char* name) {
    const auto found = shape.find(name);
    return found != shape.end() && found->is_string() ? found->get<std::string>() : "";
  }

  /// Types of one kind that a library may take: a narrow one that is not there is done in f32.
  [[nodiscard]] std::vector<std::string> types(const Json& shape) const {
    const std::string type = word(shape, "dtype");
    if (type == "f32" && precision_ == "tf32") return {"tf32", "f32"};
    if (type == "bf16" || type == "f16") return {type, "f32"};
    return {type.empty() ? "f32" : type};
  }

  Status add(const Json& shape) {
    WM_ASSIGN(const std::int64_t count, size(shape, "count"));
    const std::string kind = word(shape, "kind");
    Entry entry;
    entry.like = kind;
    entry.count = static_cast<double>(count);
    if (kind == "gemm") {
      WM_TRY(gemm(shape, entry));
    } else if (kind == "conv2d") {
      WM_TRY(convolution(shape, entry));
    } else if (kind == "attention") {
      WM_TRY(attention(shape, entry));
    } else if (kind == "memory") {
      WM_TRY(memory(shape, entry));
    } else {
      return data_error("the worker's list has a shape of the kind '" + kind + "'");
    }
    if (!entry.is_memory()) peak_.flops += entry.work;
    entries_.push_back(std::move(entry));
    return {};
  }

  Status gemm(const Json& shape, Entry& entry) const {
    Overrides sizes;
    entry.workload = "gemm";
    entry.work = 2 * entry.count;
    for (const char* name : {"m", "n", "k"}) {
      WM_ASSIGN(const auto value, size(shape, name));
      entry.work *= static_cast<double>(value);
      sizes.emplace_back(name, std::to_string(value));
    }
    for (const auto& type : types(shape)) {
      entry.ways.push_back(sizes);
      entry.ways.back().emplace_back("dtype", type);
    }
    return {};
  }

  Status convolution(const Json& shape, Entry& entry) const {
    Overrides sizes{{"pass", word(shape, "pass")}};
    entry.workload = "conv2d";
    entry.like += " " + word(shape, "pass");
    std::map<std::string, double> value;
    for (const char* name : {"n", "c", "h", "w", "k", "r", "stride", "pad"}) {
      WM_ASSIGN(const auto number, size(shape, name));
      value[name] = static_cast<double>(number);
      sizes.emplace_back(name, std::to_string(number));
    }
    const auto out = [&](const char* side) {
      return std::floor((value[side] + 2 * value["pad"] - value["r"]) / std::max(1.0, value["stride"])) + 1;
    };
    entry.work = 2 * value["n"] * value["c"] * value["k"] * value["r"] * value["r"] * out("h") * out("w") * entry.count;
    for (const auto& type : types(shape)) {
      // Units for narrow types want the channels last; where only the first way counts, that is it.
      for (const char* layout : {"nhwc", "nchw"}) {
        entry.ways.push_back(sizes);
        entry.ways.back().emplace_back("dtype", type);
        entry.ways.back().emplace_back("layout", layout);
      }
    }
    return {};
  }

  Status attention(const Json& shape, Entry& entry) const {
    Overrides sizes{{"causal", shape.value("causal", Json()) == true ? "yes" : "no"}};
    entry.workload = "attention";
    entry.like += " " + word(shape, "pass");
    std::map<std::string, double> value;
    for (const char* name : {"batch", "heads", "seq", "dim"}) {
      WM_ASSIGN(const auto number, size(shape, name));
      value[name] = static_cast<double>(number);
      sizes.emplace_back(name, std::to_string(number));
    }
    const bool backward = word(shape, "pass") == "backward";
    entry.work = (backward ? 2 : 1) * 4 * value["batch"] * value["heads"] * value["seq"] * value["seq"] * value["dim"] *
                 entry.count;
    if (backward) entry.factor = kAttentionBackward;
    for (const auto& type : types(shape)) {
      for (const char* way : {"standard", "flash", "cudnn"}) {
        if (device_.info().backend != "cuda" && std::string_view(way) == "cudnn") continue;
        entry.ways.push_back(sizes);
        entry.ways.back().emplace_back("dtype", type == "tf32" ? "f32" : type);
        entry.ways.back().emplace_back("impl", way);
      }
    }
    return {};
  }

  /// Bytes at the speed of a copy of about as many; by powers of two, so that few are timed.
  Status memory(const Json& shape, Entry& entry) const {
    WM_ASSIGN(const auto bytes, size(shape, "bytes"));
    const auto half = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes / 2, kLeastCopy)));
    entry.workload = "copy";
    entry.work = static_cast<double>(bytes) * entry.count;
    entry.factor = static_cast<double>(bytes) / (2 * static_cast<double>(half));
    entry.ways = {{{"size", std::to_string(half)}}};
    return {};
  }

  std::string precision_;
  bool full_;
  device::Device& device_;
  measure::RoundOptions options_;
  std::function<void(const std::string&)> stage_;
  std::vector<Entry> entries_;
  ModelPeak peak_;
};

}  // namespace

Result<ModelPeak> model_peak(const Json& shapes, const std::string& precision, bool full, device::Device& device,
                             const measure::RoundOptions& options) {
  return PeakBuilder(precision, full, device, options).build(shapes);
}

}  // namespace warpmark::workloads
