#include "warpmark/load/load_live.h"

#include <fmt/format.h>

#include <ostream>

#include "base/clock.h"
#include "base/quantity.h"
#include "base/text.h"
#include "stats/order_statistics.h"

namespace warpmark::apps {
namespace {

using Buckets = std::array<std::atomic<std::uint32_t>, serving::Histogram::kBuckets>;

std::int64_t entries_in(const Buckets& buckets) {
  std::int64_t n = 0;
  for (const auto& bucket : buckets) n += bucket.load(std::memory_order_relaxed);
  return n;
}

/// The value with this rank, from 1.
double ranked_s(const Buckets& buckets, std::int64_t rank) {
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    rank -= buckets[i].load(std::memory_order_relaxed);
    if (rank <= 0) return serving::Histogram::middle_of(i) * 1e-9;
  }
  return 0;
}

std::string quantile_text(const Buckets& buckets, double p) {
  const std::int64_t n = entries_in(buckets);
  if (n == 0) return "-";
  return format_seconds(ranked_s(buckets, static_cast<std::int64_t>(p * static_cast<double>(n - 1)) + 1));
}

}  // namespace

LoadLine::LoadLine(Context& context, const serving::Traffic& traffic)
    : context_(context), traffic_(traffic), began_ns_(monotonic_ns()) {}

void LoadLine::show(const serving::LiveCounters& live) {
  const std::int64_t now_ns = monotonic_ns(), every_ns = context_.err_is_terminal ? 500'000'000 : 10'000'000'000;
  if (now_ns - std::max(shown_ns_, began_ns_) < every_ns) return;
  shown_ns_ = now_ns;
  const double elapsed_s = static_cast<double>(now_ns - began_ns_) * 1e-9;
  const auto done = live.completed.load(), failed = live.failed.load();
  std::string text = fmt::format("{:.0f} s", elapsed_s);
  if (traffic_.duration_s > 0) text += fmt::format(" of {:.0f}", traffic_.duration_s);
  text += fmt::format("  {} done", format_count(done));
  if (traffic_.most_requests > 0) text += fmt::format(" of {}", format_count(traffic_.most_requests));
  if (failed > 0) text += fmt::format(", {} failed", failed);
  text +=
      fmt::format(", {} under way  {:.4g}/s  {:.4g} tokens/s", live.in_flight.load(),
                  static_cast<double>(done) / elapsed_s, static_cast<double>(live.output_tokens.load()) / elapsed_s);
  text += fmt::format("  TTFT p50 {} p99 {}", quantile_text(live.ttft, 0.5), quantile_text(live.ttft, 0.99));
  if (!context_.err_is_terminal) {
    context_.err << text << '\n' << std::flush;
    return;
  }
  const auto width = static_cast<std::size_t>(context_.width > 1 ? context_.width - 1 : 79);
  while (display_width(text) > width) {
    do text.pop_back();
    while ((static_cast<unsigned char>(text.empty() ? 0 : text.back()) & 0xC0) == 0x80);
  }
  context_.err << '\r' << text << "\x1b[K" << std::flush;
  drawn_ = true;
}

void LoadLine::clear() {
  if (drawn_) context_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

bool precise_enough(const serving::LiveCounters& live, const std::string& what, double share) {
  const Buckets& buckets = what.starts_with("ttft") ? live.ttft : live.e2e;
  const double p = what.ends_with("p99") ? 0.99 : 0.5;
  const std::int64_t n = entries_in(buckets);
  constexpr std::int64_t kLeast = 30;
  if (n < kLeast) return false;
  const auto ranks = stats::quantile_ranks(n, p, 0.95);
  if (!ranks) return false;
  const double value = ranked_s(buckets, static_cast<std::int64_t>(p * static_cast<double>(n - 1)) + 1);
  return ranked_s(buckets, ranks->high) - ranked_s(buckets, ranks->low) < 2 * share * value;
}

}  // namespace warpmark::apps
