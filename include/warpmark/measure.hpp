// Measuring a piece of a program, on the CPU or on a stream of a GPU: calls are batched until the timer can resolve
// them, warmed up until they settle, and repeated until the 95 % confidence interval of the median is narrow enough or
// the budget is used up. The timer's own cost is measured and taken off. What disturbed the machine meanwhile is told.
//
//     const auto sorted = warpmark::measure([&] { auto copy = numbers; std::ranges::sort(copy); return copy.size(); });
//     std::puts(warpmark::to_text(sorted.value()).c_str());
//
// Nothing of CUDA is linked: libwarpmark_cuda.so is loaded where there is a GPU, and uses its primary context, as
// CUDA's runtime does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <warpmark/result.hpp>

namespace warpmark::v0 {

/// The compiler must take it that `value` is used here: without it, work whose result nobody reads is left out.
template <typename T>
inline void do_not_optimize(const T& value) {
  if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(void*)) {
    asm volatile("" : : "r,m"(value) : "memory");
  } else {
    asm volatile("" : : "m"(value) : "memory");
  }
}

/// ... and that all memory may be read and written here.
inline void clobber_memory() { asm volatile("" : : : "memory"); }

/// An estimate and its 95 % confidence interval. Without one (too few samples) low and high are NaN.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct MeasureOptions {
  std::string name = "callable";
  double budget_s = 1;       ///< most time for sampling
  double precision = 0.005;  ///< stop when the interval is within this ratio of the median
  std::int64_t most_samples = 1000;
  double warmup_s = 0.5;  ///< most time for warming up
  double bytes = 0;       ///< that one call moves; 0: no bandwidth
  double flops = 0;       ///< that one call computes; 0: no rate
  /// Asked after the timed calls: is what they computed right? A wrong result has no speed.
  std::function<bool()> is_right{};
};

struct Measurement {
  std::string name;
  std::string device;                 ///< "cpu", "cuda:0"
  std::string outcome;                ///< "passed"; "unreliable": the machine was disturbed; "failed": is_right said no
  std::string reason;                 ///< why it is not "passed"
  std::vector<double> samples_s;      ///< seconds for one call, in the order taken; empty if "failed"
  std::int64_t calls_per_sample = 1;  ///< above 1: a sample is the mean of so many calls
  Estimate median_s;
  double mean_s = 0;
  double stdev_s = 0;
  double min_s = 0;
  double first_call_s = 0;  ///< the very first call: allocation, code generation, page faults
  std::optional<Estimate> bytes_per_s;
  std::optional<Estimate> flops_per_s;
  bool converged = false;  ///< the interval is as narrow as was asked for
  std::string stopped_because;
  std::vector<std::string> disturbances;  ///< sentences
  std::string json;                       ///< a run of warpmark.results/1, with timer, environment and all the rest
};

/// Calls `times` times what it is given.
struct Calls {
  void (*call)(void* callable, std::int64_t times) = nullptr;
  void* callable = nullptr;
};
/// Enqueues it `times` times on a stream (a cudaStream_t); must not wait.
struct Launches {
  void (*launch)(void* callable, void* stream, std::int64_t times) = nullptr;
  void* callable = nullptr;
};
[[nodiscard]] Result<Measurement> measure_calls(const Calls& calls, const MeasureOptions& options);
[[nodiscard]] Result<Measurement> measure_launches(const Launches& launches, int gpu, const MeasureOptions& options);

/// Seconds of a call on this thread, by the processor's clock. What it returns is taken as used. `callable` must do the
/// same work every time. Usage error for options that make no sense.
template <typename Callable>
[[nodiscard]] Result<Measurement> measure(Callable&& callable, const MeasureOptions& options = {}) {
  using Type = std::remove_reference_t<Callable>;
  const auto call = [](void* object, std::int64_t times) {
    Type& function = *static_cast<Type*>(object);
    for (std::int64_t i = 0; i < times; ++i) {
      if constexpr (std::is_void_v<std::invoke_result_t<Type&>>) {
        function();
        clobber_memory();
      } else {
        do_not_optimize(function());
      }
    }
  };
  return measure_calls({call, const_cast<void*>(static_cast<const void*>(std::addressof(callable)))}, options);
}

/// Seconds of what `callable(stream)` enqueues, by CUDA events on that stream, with the cost of launching hidden behind
/// earlier work. `stream` is a cudaStream_t as void*. Environment error where there is no GPU, saying what is missing.
template <typename Callable>
[[nodiscard]] Result<Measurement> measure_on_gpu(Callable&& callable, const MeasureOptions& options = {}, int gpu = 0) {
  using Type = std::remove_reference_t<Callable>;
  const auto launch = [](void* object, void* stream, std::int64_t times) {
    Type& function = *static_cast<Type*>(object);
    for (std::int64_t i = 0; i < times; ++i) function(stream);
  };
  return measure_launches({launch, const_cast<void*>(static_cast<const void*>(std::addressof(callable)))}, gpu,
                          options);
}

/// A few lines for people: median with interval, rates, what disturbed.
[[nodiscard]] std::string to_text(const Measurement& measurement);

}  // namespace warpmark::v0
