#include "workloads/memory/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

constexpr std::int64_t kBytesPerThread = 128 * 1024;
constexpr std::int64_t kSmallest = 4096;

/// Bytes of one cache level that all cores together have.
std::int64_t whole_level(const DeviceInfo& device, const CacheLevel& cache) {
  return cache.bytes * std::max(1, device.compute_units / std::max(1, cache.shared_by));
}

std::vector<std::int64_t> curve_of_sizes(const DeviceInfo& device, int arrays) {
  std::vector<std::int64_t> sizes;
  const auto add = [&](std::int64_t size) { sizes.push_back(std::max(kSmallest, size / 4096 * 4096)); };
  for (const auto& cache : device.caches) {
    // Half of a level. Small launches run on one thread, which has one instance of the level to itself.
    const bool one_thread = cache.bytes / 2 < 2 * kBytesPerThread;
    add((one_thread ? cache.bytes : whole_level(device, cache)) / 2 / arrays);
  }
  const std::int64_t last_level = std::max<std::int64_t>(device.last_level_cache_bytes, 1 << 20);
  add(8 * last_level);
  const std::vector<std::int64_t> fixed = sizes;
  for (std::int64_t size = kSmallest; size < 8 * last_level; size *= 8) {
    const bool covered = std::any_of(fixed.begin(), fixed.end(),
                                     [&](std::int64_t other) { return other < 2 * size && size < 2 * other; });
    if (!covered || size == kSmallest) add(size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace

Result<Cost> stream_cost(const Params& params, const StreamWork& work) {
  WM_TRY(require_at_least(params, 4, {"size"}));
  const std::int64_t size = params.integer("size");
  if (size % 4 != 0) {
    return usage_error(fmt::format("size is {} bytes, but must be a multiple of 4, the bytes of an f32", size),
                       fmt::format("--set size={}", size / 4 * 4));
  }
  WM_ASSIGN(const std::int64_t bytes, product_of({{"arrays", work.arrays}, {"size", size}}));
  const std::int64_t elements = size / 4;
  return Cost{.flops = work.flops_per_element * static_cast<double>(elements),
              .bytes = static_cast<double>(bytes),
              .footprint_bytes = bytes,
              .flop_type = "f32",
              .link = "",
              .rate = "bandwidth"};
}

std::vector<Overrides> stream_cases(const DeviceInfo& device, int arrays) {
  std::vector<Overrides> cases;
  for (const std::int64_t size : curve_of_sizes(device, arrays)) {
    const bool hot = arrays * size <= 2 * device.last_level_cache_bytes;
    cases.push_back({{"size", std::to_string(size)}, {"mode", hot ? "hot" : "cold"}});
  }
  return cases;
}

StreamPlan plan_stream(const measure::PrepareOptions& options, int arrays) {
  const std::int64_t size = options.params.integer("size");
  const std::int64_t footprint = arrays * size;
  const std::int64_t threads = std::clamp<std::int64_t>(footprint / kBytesPerThread, 1, omp_get_max_threads());
  const double touched = static_cast<double>(footprint) * static_cast<double>(options.sets);
  const bool past_cache = touched > static_cast<double>(options.device.info().last_level_cache_bytes);
  return {*stream_kernels().front(), static_cast<int>(threads), past_cache,
          static_cast<std::size_t>(size) / sizeof(float)};
}

std::vector<std::pair<std::string, std::string>> notes_of(const StreamPlan& plan, bool stores) {
  std::vector<std::pair<std::string, std::string>> notes{{"threads", std::to_string(plan.threads)},
                                                         {"instructions", plan.kernels.instructions}};
  if (stores) notes.emplace_back("stores", plan.past_cache ? "non-temporal" : "ordinary");
  return notes;
}

Part part_of(std::size_t elements, int index, int threads) {
  const std::size_t blocks = (elements + kSumBlock - 1) / kSumBlock;
  const auto boundary = [&](int i) {
    return std::min(elements, blocks * static_cast<std::size_t>(i) / static_cast<std::size_t>(threads) * kSumBlock);
  };
  return {boundary(index), boundary(index + 1) - boundary(index)};
}

double count_different(std::span<const float> out, std::span<const float> reference) {
  WM_CHECK(out.size() == reference.size());
  std::int64_t different = 0;
#pragma omp parallel for schedule(static) reduction(+ : different)
  for (std::size_t i = 0; i < out.size(); ++i) {
    different += std::bit_cast<std::uint32_t>(out[i]) != std::bit_cast<std::uint32_t>(reference[i]) ? 1 : 0;
  }
  return static_cast<double>(different);
}

}  // namespace warpmark::workloads
