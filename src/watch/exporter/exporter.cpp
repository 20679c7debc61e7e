#include "watch/exporter/exporter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "watch/exporter/stored.h"

namespace warpmark::watch {

Exporter::Exporter(const ExporterOptions& options)
    : gpus_(options.gpus, options.host),
      host_(options.root),
      running_folder_(options.running_folder),
      open_store_(options.open_store),
      store_stamp_(options.store_stamp) {}

/// Reading the store is more than half of what a scrape costs, and it seldom changes.
const std::vector<Family>& Exporter::stored() {
  std::string stamp = store_stamp_ ? store_stamp_() : std::string();
  if (!stamp.empty() && stamp == stored_stamp_) return stored_;
  const auto judged = verdicts_.judged();
  stored_ = stored_families(open_store_, &verdicts_);
  const bool more_to_judge = verdicts_.judged() != judged;
  stored_stamp_ = more_to_judge ? std::string() : std::move(stamp);
  return stored_;
}

std::vector<Family> Exporter::families() {
  const std::int64_t now_ns = monotonic_ns();
  std::vector<Family> all = gpus_.families(now_ns);
  std::ranges::move(host_.families(now_ns), std::back_inserter(all));
  std::ranges::move(peers_.families(now_ns), std::back_inserter(all));
  if (open_store_) std::ranges::copy(stored(), std::back_inserter(all));
  if (!running_folder_.empty()) {
    std::ranges::move(running_families(store::running_sessions(running_folder_)), std::back_inserter(all));
  }
  return all;
}

std::string Exporter::text(TextFormat format) { return render_families(families(), format); }

Answer Exporter::answer(const Asked& asked) {
  if (asked.path == "/") return {.body = "warpmark exporter: the metrics are at /metrics\n"};
  if (asked.path != "/metrics") return {.status = 404, .body = "nothing is here; the metrics are at /metrics\n"};
  const bool open = asked.accept.find("application/openmetrics-text") != std::string::npos;
  const auto format = open ? TextFormat::open_metrics : TextFormat::prometheus;
  return {.type = content_type_of(format), .body = text(format)};
}

}  // namespace warpmark::watch
