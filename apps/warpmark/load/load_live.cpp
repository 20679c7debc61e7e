#include "warpmark/load/load_live.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "loadtest/live_numbers.h"
#include "report/draw/chart_text.h"
#include "report/draw/format.h"

namespace warpmark::apps {
namespace {

using loadtest::Buckets;
using loadtest::entries_in;
using loadtest::ranked_s;

std::string quantile_text(const Buckets& buckets, double p) {
  const std::int64_t n = entries_in(buckets);
  if (n == 0) return "-";
  return format_seconds(ranked_s(buckets, static_cast<std::int64_t>(p * static_cast<double>(n - 1)) + 1));
}

double per_second(std::int64_t count, double elapsed_s) {
  return elapsed_s > 0 ? static_cast<double>(count) / elapsed_s : 0;
}

void cut(std::string& text, std::size_t columns) {
  while (display_width(text) > columns) {
    do text.pop_back();
    while ((static_cast<unsigned char>(text.empty() ? 0 : text.back()) & 0xC0) == 0x80);
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.pop_back();
  }
}

std::string title_line(const LoadView& view, std::size_t columns) {
  std::string right =
      view.load.steps > 1 ? fmt::format("load {} of {}", view.load.step, view.load.steps) : std::string();
  std::string left = view.load.title;
  if (right.size() + 2 < columns) cut(left, columns - right.size() - 2);
  const std::size_t used = display_width(left) + right.size();
  return left + std::string(used < columns ? columns - used : 1, ' ') + right;
}

/// After its time a load waits for the last answers.
std::string time_text(const LoadView& view) {
  if (!(view.load.duration_s > 0)) return fmt::format("{:.0f} s", view.elapsed_s);
  if (view.elapsed_s < view.load.duration_s)
    return fmt::format("{:.0f} s of {:.0f} s", view.elapsed_s, view.load.duration_s);
  return fmt::format("{:.0f} s done, waiting for answers", view.load.duration_s);
}

/// By whichever limit is nearer: time or requests.
std::string progress_bar(const LoadView& view, const serving::LiveCounters& live, std::size_t columns) {
  const auto ended = live.completed.load() + live.failed.load();
  double share = view.load.duration_s > 0 ? view.elapsed_s / view.load.duration_s : 0;
  if (view.load.most_requests > 0) {
    share = std::max(share, static_cast<double>(ended) / static_cast<double>(view.load.most_requests));
  }
  std::string right = " " + time_text(view);
  if (view.load.most_requests > 0) right += fmt::format(", {} of {}", ended, view.load.most_requests);
  const std::size_t room = columns > right.size() + 12 ? columns - right.size() - 2 : 10;
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(room));
  return "[" + std::string(filled, '#') + std::string(room - filled, '.') + "]" + right;
}

std::vector<double> last_of(const std::vector<double>& values, std::size_t most) {
  const std::size_t from = values.size() > most ? values.size() - most : 0;
  return {values.begin() + static_cast<std::ptrdiff_t>(from), values.end()};
}

/// How many fall into equal parts, on a logarithmic scale, of the range between p1 and p99.9.
std::string shape(const Buckets& buckets, std::size_t parts) {
  const std::int64_t n = entries_in(buckets);
  if (n < 2) return {};
  const auto at = [&](double p) {
    return ranked_s(buckets, static_cast<std::int64_t>(p * static_cast<double>(n - 1)) + 1);
  };
  const double low = std::log(std::max(at(0.01), 1e-9)), high = std::log(std::max(at(0.999), 1e-9));
  if (!(high > low + 1e-9)) return {};
  std::vector<double> counts(parts);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto count = buckets[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    const double place = (std::log(std::max(serving::Histogram::middle_of(i) * 1e-9, 1e-9)) - low) / (high - low);
    if (place < 0 || place > 1) continue;
    counts[std::min(static_cast<std::size_t>(place * static_cast<double>(parts)), parts - 1)] += count;
  }
  return report::sparkline(counts);
}

std::string error_counts(const serving::LiveCounters& live) {
  std::string text;
  for (std::size_t i = 0; i < live.faults.size(); ++i) {
    const auto count = live.faults[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", serving::name_of(static_cast<serving::Fault>(i)), count);
  }
  return text;
}

}  // namespace

std::vector<std::string> dashboard_lines(const LoadView& view, const serving::LiveCounters& live, int width,
                                         bool unicode) {
  const auto columns = static_cast<std::size_t>(std::max(width, 40));
  std::vector<std::string> lines{title_line(view, columns), progress_bar(view, live, columns)};
  const auto done = live.completed.load(), failed = live.failed.load();
  lines.push_back(fmt::format("requests  {} done, {} failed, {} under way  {:.4g}/s", format_count(done),
                              format_count(failed), format_count(live.in_flight.load()),
                              per_second(done, view.elapsed_s)));
  lines.push_back(fmt::format("tokens    in {:.4g}/s  out {:.4g}/s  {}",
                              per_second(live.input_tokens.load(), view.elapsed_s),
                              per_second(live.output_tokens.load(), view.elapsed_s),
                              report::sparkline(last_of(view.output_rate, columns > 60 ? columns - 50 : 10))));
  lines.push_back("               p50        p90        p99  distribution");
  const std::pair<const char*, const Buckets*> rows[] = {
      {"TTFT", &live.ttft}, {"token gap", &live.gaps}, {"end to end", &live.e2e}};
  for (const auto& [name, buckets] : rows) {
    lines.push_back(fmt::format("{:<10}{:>9}  {:>9}  {:>9}  {}", name, quantile_text(*buckets, 0.5),
                                quantile_text(*buckets, 0.9), quantile_text(*buckets, 0.99),
                                shape(*buckets, columns > 54 ? columns - 46 : 8)));
  }
  if (failed > 0) lines.push_back("errors    " + error_counts(live));
  for (auto& line : lines) {
    if (!unicode) line = report::to_ascii(line);
    cut(line, columns);
  }
  return lines;
}

std::string progress_text(const LoadView& view, const serving::LiveCounters& live) {
  std::string text = time_text(view);
  const auto done = live.completed.load(), failed = live.failed.load();
  text += fmt::format("  {} done", format_count(done));
  if (view.load.most_requests > 0) text += fmt::format(" of {}", format_count(view.load.most_requests));
  if (failed > 0) text += fmt::format(", {} failed", failed);
  return text + fmt::format(", {} under way  {:.4g} requests/s  {:.4g} tokens/s  TTFT p50 {} p99 {}",
                            live.in_flight.load(), per_second(done, view.elapsed_s),
                            per_second(live.output_tokens.load(), view.elapsed_s), quantile_text(live.ttft, 0.5),
                            quantile_text(live.ttft, 0.99));
}

std::string redraw(const std::vector<std::string>& lines, std::size_t drawn) {
  std::string text;
  if (drawn > 0) text = fmt::format("\x1b[{}A\r", drawn);
  for (const auto& line : lines) text += line + "\x1b[K\n";
  if (drawn <= lines.size()) return text;
  for (std::size_t i = lines.size(); i < drawn; ++i) text += "\x1b[K\n";
  return text + fmt::format("\x1b[{}A", drawn - lines.size());
}

LoadDashboard::LoadDashboard(Context& context, loadtest::RunningLoad load)
    : context_(context), view_{.load = std::move(load)}, began_ns_(monotonic_ns()) {}

void LoadDashboard::show(const serving::LiveCounters& live) {
  const std::int64_t now_ns = monotonic_ns(), every_ns = context_.err_is_terminal ? 500'000'000 : 10'000'000'000;
  const std::int64_t last_ns = std::max(shown_ns_, began_ns_);
  if (now_ns - last_ns < every_ns) return;
  view_.elapsed_s = static_cast<double>(now_ns - began_ns_) * 1e-9;
  const std::int64_t tokens = live.output_tokens.load();
  view_.output_rate.push_back(static_cast<double>(tokens - tokens_before_) /
                              (static_cast<double>(now_ns - last_ns) * 1e-9));
  tokens_before_ = tokens;
  shown_ns_ = now_ns;
  if (!context_.err_is_terminal) {
    context_.err << progress_text(view_, live) << '\n' << std::flush;
    return;
  }
  draw(live);
}

void LoadDashboard::draw(const serving::LiveCounters& live) {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  const int width = (known ? size.ws_col : context_.width) - 1;
  auto lines = dashboard_lines(view_, live, width, context_.unicode);
  // More lines than the window has cannot be drawn over.
  if (known && lines.size() + 1 >= size.ws_row) lines.resize(1);
  context_.err << redraw(lines, drawn_) << std::flush;
  drawn_ = lines.size();
}

void LoadDashboard::clear() {
  context_.err << redraw({}, drawn_) << std::flush;
  drawn_ = 0;
}

}  // namespace warpmark::apps
