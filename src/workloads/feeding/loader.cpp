// loader: batches made of samples in files, by threads that work ahead of who takes the batches, as the processes of a
// DataLoader do: pictures decoded from JPEG or already decoded, words from text or from a binary file.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "stats/sampled_metric.h"
#include "workloads/feeding/passes.h"
#include "workloads/feeding/samples.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

constexpr std::size_t kAhead = 2;  // batches of a worker that wait to be taken, as DataLoader's prefetch_factor

constexpr ParamSpec kParams[] = {
    {"form", ParamKind::text, "jpeg", "pictures as JPEG files or decoded; words as text or as a binary file",
     "jpeg|arrays|text|binary"},
    {"samples", ParamKind::integer, "256", "of a pass; each comes once, at random"},
    {"batch", ParamKind::integer, "32", "samples of a batch"},
    {"workers", ParamKind::integer, "2", "threads that make batches ahead; 0 is who takes them, when he needs one"},
    {"side", ParamKind::integer, "224", "of the pictures of a batch"},
    {"width", ParamKind::integer, "500", "of the JPEG files"},
    {"height", ParamKind::integer, "375", "of the JPEG files"},
    {"words", ParamKind::integer, "1024", "of a sample of text"},
    {"step", ParamKind::number, "0", "seconds of the step that a batch is for: how much of loading it hides"},
    {"folder", ParamKind::path, "", "where the files are made; empty is the folder for temporary files"},
};

SampleShape shape_in(const Params& params) {
  const auto size = [&](const char* name) { return static_cast<int>(params.integer(name)); };
  return {.form = params.text("form"),
          .samples = static_cast<std::size_t>(params.integer("samples")),
          .width = size("width"),
          .height = size("height"),
          .side = size("side"),
          .words = static_cast<std::size_t>(params.integer("words"))};
}

/// bytes: of the batches that a pass makes.
Result<Cost> cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"samples", "batch", "side", "width", "height", "words"}));
  WM_TRY(require_at_least(params, 0, {"workers"}));
  for (const char* side : {"side", "width", "height"}) {
    if (params.integer(side) > 8192) return usage_error(std::string(side) + " is up to 8192");
  }
  if (params.integer("words") > (1 << 20)) return usage_error("words are up to 2^20");
  if (params.integer("workers") > 1024) return usage_error("workers are up to 1024");
  if (params.integer("samples") > 1'000'000 || params.integer("samples") % params.integer("batch") != 0) {
    return usage_error(
        fmt::format("{} samples do not make whole batches of {}", params.integer("samples"), params.integer("batch")),
        "samples are a multiple of the batch, up to 1000000");
  }
  if (!(params.number("step") >= 0)) return usage_error("step is not negative");
  const SampleShape shape = shape_in(params);
  const double bytes = static_cast<double>(shape.samples) * static_cast<double>(shape.sample_bytes());
  if (bytes > 1e12) return usage_error("the batches of a pass are more than 1 TB", "fewer samples, or a smaller side");
  return Cost{.flops = 0,
              .bytes = bytes,
              .footprint_bytes = static_cast<std::int64_t>(bytes),
              .flop_type = "",
              .link = shape.is_picture() ? "pictures" : "words",
              .rate = "bandwidth"};
}

device::Support supports(const measure::Workload& /*self*/, const DeviceInfo& device, const Params& /*params*/) {
  if (device.backend != "cpu") return device::Support::no("samples are read by processors", "--device cpu");
  return device::Support::yes();
}

std::vector<Overrides> cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  if (device.backend != "cpu") return {};
  return {{{"form", "jpeg"}}, {{"form", "arrays"}}, {{"form", "text"}}, {{"form", "binary"}}};
}

/// Batches in order, each in one of some slots; a slot is filled again when its batch was taken.
class Loading {
 public:
  Loading(const SampleFiles& files, const SampleShape& shape, const Params& params, std::uint64_t seed)
      : files_(files),
        sample_bytes_(shape.sample_bytes()),
        batch_(static_cast<std::size_t>(params.integer("batch"))),
        workers_(static_cast<std::size_t>(params.integer("workers"))),
        order_(shape.samples) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(seed));
    slots_.resize(std::min(batches(), std::max<std::size_t>(1, kAhead * workers_)));
    for (auto& slot : slots_) slot.resize(batch_ * sample_bytes_);
  }

  Status pass(double& seconds) {
    for (auto& slot : slots_) std::fill(slot.begin(), slot.end(), std::byte{0xFF});
    next_ = taken_ = 0;
    ready_.assign(batches(), false);
    fault_.reset();
    std::vector<std::unique_ptr<SampleReader>> readers;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, workers_); ++i) {
      WM_ASSIGN(auto reader, files_.reader());
      readers.push_back(std::move(reader));
    }
    const std::int64_t begin = monotonic_ns();
    if (workers_ == 0) {
      for (std::size_t batch = 0; batch < batches(); ++batch) WM_TRY(fill(*readers.front(), batch));
    } else {
      std::vector<std::thread> threads;
      for (auto& reader : readers) threads.emplace_back([this, &reader] { work(*reader); });
      take_all();
      for (auto& thread : threads) thread.join();
    }
    seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    if (fault_) return *fault_;
    return {};
  }

  /// Over the batches that the slots still hold: the last ones.
  [[nodiscard]] double difference() const {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t batch = batches() - slots_.size(); batch < batches(); ++batch) {
      for (std::size_t i = 0; i < batch_; ++i, ++count) {
        const std::span<const std::byte> whole = slots_[batch % slots_.size()];
        sum += files_.difference(order_[batch * batch_ + i], whole.subspan(i * sample_bytes_, sample_bytes_));
      }
    }
    mean_ = sum / static_cast<double>(count);
    return sum;
  }
  [[nodiscard]] double mean_difference() const {
    (void)difference();
    return mean_;
  }
  [[nodiscard]] std::size_t batches() const { return order_.size() / batch_; }

 private:
  Status fill(SampleReader& reader, std::size_t batch) {
    const std::span<std::byte> slot = slots_[batch % slots_.size()];
    for (std::size_t i = 0; i < batch_; ++i) {
      WM_TRY(reader.read(order_[batch * batch_ + i], slot.subspan(i * sample_bytes_, sample_bytes_)));
    }
    return {};
  }

  void work(SampleReader& reader) {
    for (std::size_t batch = next_++; batch < batches(); batch = next_++) {
      {
        std::unique_lock lock(mutex_);
        wait(lock, [&] { return fault_ || batch < taken_ + slots_.size(); });
        if (fault_) return;
      }
      const Status filled = fill(reader, batch);
      const std::lock_guard lock(mutex_);
      if (!filled.ok()) fault_ = filled.error();
      ready_[batch] = true;
      changed_.notify_all();
    }
  }

  /// condition_variable::wait is in newer C++ libraries only.
  template <typename Done>
  void wait(std::unique_lock<std::mutex>& lock, Done done) {
    while (!changed_.wait_for(lock, std::chrono::seconds(1), done)) {
    }
  }

  void take_all() {
    for (std::size_t batch = 0; batch < batches(); ++batch) {
      std::unique_lock lock(mutex_);
      wait(lock, [&] { return fault_ || ready_[batch]; });
      if (fault_) return;
      taken_ = batch + 1;
      changed_.notify_all();
    }
  }

  const SampleFiles& files_;
  std::size_t sample_bytes_, batch_, workers_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<std::byte>> slots_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t taken_ = 0;
  std::vector<bool> ready_;
  std::optional<Error> fault_;
  mutable double mean_ = 0;
};

ErrorCheck check_of(const Loading& loading, const SampleShape& shape) {
  if (!shape.is_picture()) {
    return {loading.difference(), 0, "words that differ", "the words of the last batches"};
  }
  // JPEG of quality 90 with half the resolution of colours; arrays are rounded to 8 bits once.
  const double tolerance = shape.form == "jpeg" ? 0.05 : 0.003;
  return {std::sqrt(loading.mean_difference()), tolerance, "root of mean squares of pixels in [0, 1]",
          "the last batches from pictures that were never compressed"};
}

Status measure_loader(const measure::Case& what, device::Device& device, const measure::RoundOptions& options,
                      Run& run) {
  const auto& params = what.params;
  WM_ASSIGN(run.cost, what.workload->cost(*what.workload, params));
  if (const auto s = supports(*what.workload, device.info(), params); !s.available) {
    return unsupported_error(s.reason, s.hint);
  }
  const SampleShape shape = shape_in(params);
  WM_ASSIGN(const auto files, SampleFiles::make(shape, params.text("folder")));
  Loading loading(*files, shape, params, options.seed);
  WM_ASSIGN(const auto passes, time_passes(options, run, [&](double& seconds) { return loading.pass(seconds); }));
  if (passes.empty()) return {};
  const ErrorCheck error = check_of(loading, shape);
  if (!record_passes(run, error,
                     fmt::format("batches are not what the files hold: {} is {:.3g}", error.norm, error.value),
                     passes)) {
    return {};
  }
  const auto batches = static_cast<double>(loading.batches());
  add_rate(run, "samples_rate", "1/s", static_cast<double>(shape.samples), passes);
  add_rate(run, "bandwidth", "B/s", run.cost.bytes, passes);
  std::vector<double> batch_times, hidden;
  const double step = params.number("step");
  for (const double s : passes) {
    batch_times.push_back(s / batches);
    hidden.push_back(params.integer("workers") == 0 ? 0 : std::min(1.0, step * batches / s));
  }
  run.metrics.push_back(stats::sampled_metric("batch_time", "s", Better::lower, std::move(batch_times)));
  if (step > 0) run.metrics.push_back(stats::sampled_metric("hidden", "ratio", Better::higher, std::move(hidden)));
  run.notes.emplace_back("files", fmt::format("{:.4g} MB, {:.4g} kB a sample", files->bytes() * 1e-6,
                                              files->bytes() * 1e-3 / static_cast<double>(shape.samples)));
  return {};
}

}  // namespace

extern const measure::Workload kLoader{
    .id = "loader",
    .summary = "batches of pictures or words, read from files by workers",
    .params = kParams,
    .cost = cost,
    .supports = supports,
    .prepare = nullptr,
    .cases = cases,
    .default_mode = Mode::hot,
    .measure = measure_loader,
};

}  // namespace warpmark::workloads
