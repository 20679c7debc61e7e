#include "workloads/models/model_roof.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>

#include "base/json.h"
#include "model/run_query.h"
#include "workloads/catalog.h"

namespace warpmark::workloads {
namespace {

constexpr double kAttentionBackward = 2.5;
constexpr std::size_t kMostShapes = 10'000;
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;
constexpr std::int64_t kLeastCopy = 4096;

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

class RoofBuilder {
 public:
  RoofBuilder(std::string precision, device::Device& device, const measure::RoundOptions& options)
      : precision_(std::move(precision)), device_(device), options_(options) {
    options_.stopping = {.half_width = 0.02, .min_samples = 6, .max_samples = 60, .budget_s = 0.03};
    options_.warmup.cap_s = 0.02;
    options_.energy_s = 0;
  }

  Result<ModelRoof> build(const Json& shapes) {
    if (!shapes.is_array() || shapes.size() > kMostShapes) return data_error("the worker's list of shapes is none");
    for (const auto& shape : shapes) {
      if (options_.interrupted != nullptr && options_.interrupted->load()) return environment_error("interrupted");
      if (!shape.is_object()) return data_error("the worker's list of shapes has one that is none");
      WM_TRY(add(shape));
    }
    return roof_;
  }

 private:
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

  /// The best of some ways to do one thing.
  double best(const char* id, const std::vector<Overrides>& ways) {
    Timed best;
    for (const auto& way : ways) {
      const Timed timed = timed_shapes().time(id, way, device_, options_);
      if (timed.seconds && (!best.seconds || *timed.seconds < *best.seconds)) best = timed;
      if (!best.seconds && best.why.empty()) best.why = timed.why;
    }
    if (best.seconds) return *best.seconds;
    ++roof_.untimed;
    if (roof_.why.empty()) roof_.why = best.why;
    return 0;
  }

  Status add(const Json& shape) {
    WM_ASSIGN(const std::int64_t count, size(shape, "count"));
    const std::string kind = word(shape, "kind");
    double seconds = 0;
    ++roof_.shapes;
    const auto note = [&](double& part) {
      part += seconds * static_cast<double>(count);
      roof_.seconds += seconds * static_cast<double>(count);
      return Status();
    };
    if (kind == "gemm") {
      WM_ASSIGN(seconds, gemm(shape, static_cast<double>(count)));
      return note(roof_.product_s);
    }
    if (kind == "conv2d") {
      WM_ASSIGN(seconds, convolution(shape, static_cast<double>(count)));
      return note(roof_.convolution_s);
    }
    if (kind == "attention") {
      WM_ASSIGN(seconds, attention(shape, static_cast<double>(count)));
      return note(roof_.attention_s);
    }
    if (kind == "memory") {
      WM_ASSIGN(seconds, memory(shape));
      return note(roof_.memory_s);
    }
    return data_error("the worker's list has a shape of the kind '" + kind + "'");
  }

  Result<double> gemm(const Json& shape, double count) {
    Overrides sizes;
    double flops = 2;
    for (const char* name : {"m", "n", "k"}) {
      WM_ASSIGN(const auto value, size(shape, name));
      flops *= static_cast<double>(value);
      sizes.emplace_back(name, std::to_string(value));
    }
    roof_.flops += flops * count;
    std::vector<Overrides> ways;
    for (const auto& type : types(shape)) {
      ways.push_back(sizes);
      ways.back().emplace_back("dtype", type);
    }
    return best("gemm", ways);
  }

  Result<double> convolution(const Json& shape, double count) {
    Overrides sizes{{"pass", word(shape, "pass")}};
    std::map<std::string, double> value;
    for (const char* name : {"n", "c", "h", "w", "k", "r", "stride", "pad"}) {
      WM_ASSIGN(const auto number, size(shape, name));
      value[name] = static_cast<double>(number);
      sizes.emplace_back(name, std::to_string(number));
    }
    const auto out = [&](const char* side) {
      return std::floor((value[side] + 2 * value["pad"] - value["r"]) / std::max(1.0, value["stride"])) + 1;
    };
    roof_.flops += 2 * value["n"] * value["c"] * value["k"] * value["r"] * value["r"] * out("h") * out("w") * count;
    std::vector<Overrides> ways;
    for (const auto& type : types(shape)) {
      for (const char* layout : {"nchw", "nhwc"}) {
        ways.push_back(sizes);
        ways.back().emplace_back("dtype", type);
        ways.back().emplace_back("layout", layout);
      }
    }
    return best("conv2d", ways);
  }

  Result<double> attention(const Json& shape, double count) {
    Overrides sizes{{"causal", shape.value("causal", Json()) == true ? "yes" : "no"}};
    std::map<std::string, double> value;
    for (const char* name : {"batch", "heads", "seq", "dim"}) {
      WM_ASSIGN(const auto number, size(shape, name));
      value[name] = static_cast<double>(number);
      sizes.emplace_back(name, std::to_string(number));
    }
    const bool backward = word(shape, "pass") == "backward";
    roof_.flops +=
        (backward ? 2 : 1) * 4 * value["batch"] * value["heads"] * value["seq"] * value["seq"] * value["dim"] * count;
    std::vector<Overrides> ways;
    for (const auto& type : types(shape)) {
      for (const char* way : {"standard", "flash", "cudnn"}) {
        if (device_.info().backend != "cuda" && std::string_view(way) == "cudnn") continue;
        ways.push_back(sizes);
        ways.back().emplace_back("dtype", type == "tf32" ? "f32" : type);
        ways.back().emplace_back("impl", way);
      }
    }
    return best("attention", ways) * (backward ? kAttentionBackward : 1.0);
  }

  /// Bytes at the speed of a copy of about as many; by powers of two, so that few are timed.
  Result<double> memory(const Json& shape) {
    WM_ASSIGN(const auto bytes, size(shape, "bytes"));
    const auto half = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes / 2, kLeastCopy)));
    const double seconds = best("copy", {{{"size", std::to_string(half)}}});
    return seconds * static_cast<double>(bytes) / (2 * static_cast<double>(half));
  }

  std::string precision_;
  device::Device& device_;
  measure::RoundOptions options_;
  ModelRoof roof_;
};

}  // namespace

Result<ModelRoof> model_roof(const Json& shapes, const std::string& precision, device::Device& device,
                             const measure::RoundOptions& options) {
  return RoofBuilder(precision, device, options).build(shapes);
}

}  // namespace warpmark::workloads
