// collate: sequences of many lengths put into batches that are as long as their longest one; what is left is padding,
// on which a network works for nothing. Buckets put neighbours in length together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "base/clock.h"
#include "stats/random.h"
#include "workloads/feeding/passes.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

constexpr std::int64_t kPadding = -1;

constexpr ParamSpec kCollateParams[] = {
    {"samples", ParamKind::integer, "8192", "sequences of a pass, in an order of chance"},
    {"batch", ParamKind::integer, "32", "sequences of a batch"},
    {"median", ParamKind::integer, "128", "median of the lengths, which are log-normal"},
    {"spread", ParamKind::number, "0.7", "standard deviation of their logarithm; 0: all are the median"},
    {"longest", ParamKind::integer, "1024", "what is longer is cut to that"},
    {"bucket", ParamKind::integer, "1", "batches whose sequences are sorted by length together; 1: as they come"},
};

/// Lengths by the number of a sequence: the same in every round. The order in which they come, and with it what batches
/// waste, differs by the seed.
std::vector<std::int64_t> lengths_of(const Params& params) {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(params.integer("samples")));
  const double median = static_cast<double>(params.integer("median"));
  for (auto& length : lengths) {
    // Box and Muller 1958: the standard library's distributions differ from one library to the other.
    const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
    const double v = static_cast<double>(random() >> 11) * 0x1p-53;
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
    const double drawn = std::round(median * std::exp(params.number("spread") * normal));
    length = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(drawn, 1e9)), 1, params.integer("longest"));
  }
  return lengths;
}

/// bytes: each word is read and written once; padding is the overhead that is measured.
Result<Cost> collate_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"samples", "batch", "median", "longest", "bucket"}));
  const double spread = params.number("spread");
  if (!(spread >= 0) || spread > 5) return usage_error("spread is from 0 to 5");
  if (params.integer("samples") > 1'000'000 || params.integer("samples") % params.integer("batch") != 0) {
    return usage_error(
        fmt::format("{} sequences do not make whole batches of {}", params.integer("samples"), params.integer("batch")),
        "samples are a multiple of the batch, up to 1000000");
  }
  if (params.integer("longest") > (1 << 20)) return usage_error("longest is up to 2^20");
  const auto lengths = lengths_of(params);
  const auto words = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  return Cost{.flops = 0,
              .bytes = 16 * static_cast<double>(words),
              .footprint_bytes = 16 * words,
              .flop_type = "",
              .link = "",
              .rate = "bandwidth"};
}

device::Support supports_collate(const measure::Workload& /*self*/, const DeviceInfo& device,
                                 const Params& /*params*/) {
  if (device.backend != "cpu") return device::Support::no("batches are put together by processors", "--device cpu");
  return device::Support::yes();
}

std::vector<Overrides> collate_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  if (device.backend != "cpu") return {};
  return {{{"bucket", "1"}}, {{"bucket", "32"}}};
}

class Collating {
 public:
  Collating(const Params& params, std::uint64_t seed)
      : lengths_(lengths_of(params)),
        batch_(static_cast<std::size_t>(params.integer("batch"))),
        bucket_(static_cast<std::size_t>(params.integer("bucket"))),
        order_(lengths_.size()) {
    std::size_t begin = 0;
    for (const auto length : lengths_) {
      begins_.push_back(begin);
      begin += static_cast<std::size_t>(length);
    }
    words_.resize(begin);
    for (std::size_t i = 0; i < begin; ++i) words_[i] = word_at(i);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(seed));
    sorted_ = order_;
    batches_.resize(order_.size() / batch_);
  }

  /// Sorting within buckets is part of it.
  Status pass(double& seconds) {
    const std::int64_t begin = monotonic_ns();
    sorted_ = order_;
    const std::size_t together = bucket_ * batch_;
    for (std::size_t at = 0; bucket_ > 1 && at < sorted_.size(); at += together) {
      std::sort(sorted_.begin() + static_cast<std::ptrdiff_t>(at),
                sorted_.begin() + static_cast<std::ptrdiff_t>(std::min(at + together, sorted_.size())),
                [&](std::size_t a, std::size_t b) { return lengths_[a] < lengths_[b]; });
    }
    for (std::size_t i = 0; i < batches_.size(); ++i) put_together(i);
    seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    return {};
  }

  /// Words that are not where they belong, over all batches; every sequence once.
  [[nodiscard]] double wrong() const {
    double wrong = 0;
    std::vector<int> seen(order_.size(), 0);
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      const std::size_t longest = batches_[b].size() / batch_;
      for (std::size_t row = 0; row < batch_; ++row) {
        const std::size_t sample = sorted_[b * batch_ + row];
        ++seen[sample];
        for (std::size_t i = 0; i < longest; ++i) {
          const bool real = i < static_cast<std::size_t>(lengths_[sample]);
          const std::int64_t right = real ? word_at(begins_[sample] + i) : kPadding;
          wrong += batches_[b][row * longest + i] == right ? 0 : 1;
        }
      }
    }
    for (const int times : seen) wrong += times == 1 ? 0 : 1;
    return wrong;
  }

  [[nodiscard]] double words() const { return static_cast<double>(words_.size()); }
  [[nodiscard]] double places() const {
    double places = 0;
    for (const auto& batch : batches_) places += static_cast<double>(batch.size());
    return places;
  }

 private:
  static std::int64_t word_at(std::size_t i) { return static_cast<std::int64_t>(stats::random_bits(3, i) % 50257); }

  void put_together(std::size_t index) {
    const std::size_t* members = sorted_.data() + index * batch_;
    std::int64_t longest = 0;
    for (std::size_t row = 0; row < batch_; ++row) longest = std::max(longest, lengths_[members[row]]);
    const auto width = static_cast<std::size_t>(longest);
    auto& batch = batches_[index];
    batch.resize(batch_ * width);
    for (std::size_t row = 0; row < batch_; ++row) {
      const auto length = static_cast<std::size_t>(lengths_[members[row]]);
      std::int64_t* to = batch.data() + row * width;
      std::copy_n(words_.data() + begins_[members[row]], length, to);
      std::fill(to + length, to + width, kPadding);
    }
  }

  std::vector<std::int64_t> lengths_;
  std::size_t batch_, bucket_;
  std::vector<std::size_t> order_, sorted_, begins_;
  std::vector<std::int64_t> words_;
  std::vector<std::vector<std::int64_t>> batches_;
};

Status measure_collate(const measure::Case& what, device::Device& device, const measure::RoundOptions& options,
                       Run& run) {
  const auto& params = what.params;
  WM_ASSIGN(run.cost, what.workload->cost(*what.workload, params));
  if (const auto s = supports_collate(*what.workload, device.info(), params); !s.available) {
    return unsupported_error(s.reason, s.hint);
  }
  Collating collating(params, options.seed);
  WM_ASSIGN(const auto passes, time_passes(options, run, [&](double& seconds) { return collating.pass(seconds); }));
  if (passes.empty()) return {};
  const double wrong = collating.wrong();
  if (!record_passes(run, {wrong, 0, "words that are not in their place", "all batches of the last pass"},
                     fmt::format("{:.0f} words are not in their place", wrong), passes)) {
    return {};
  }
  add_rate(run, "bandwidth", "B/s", run.cost.bytes, passes);
  add_rate(run, "samples_rate", "1/s", static_cast<double>(params.integer("samples")), passes);
  add_rate(run, "tokens_rate", "1/s", collating.words(), passes);
  add_samples(run, "wasted", "ratio", Better::lower, {1 - collating.words() / collating.places()});
  return {};
}

}  // namespace

extern const measure::Workload kCollate{
    .id = "collate",
    .summary = "sequences of many lengths put into padded batches",
    .params = kCollateParams,
    .cost = collate_cost,
    .supports = supports_collate,
    .prepare = nullptr,
    .cases = collate_cases,
    .default_mode = Mode::hot,
    .measure = measure_collate,
};

}  // namespace warpmark::workloads
