#include "watch/exporter/exporter.h"

#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "watch/exporter/stored.h"

namespace warpmark::watch {

Exporter::Exporter(const ExporterOptions& options)
    : host_name_(options.host),
      version_(options.version),
      revision_(options.revision),
      gpus_(options.gpus, options.host, options.poll),
      host_(options.root, options.rates),
      peers_({.rates = options.rates}),
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

/// Also what client libraries of Prometheus tell of the process that they are in.
std::vector<Family> Exporter::of_itself(std::int64_t began_ns) {
  std::vector<Family> all;
  if (!version_.empty()) {
    all.push_back({"warpmark_build_info",
                   "1; the labels say which warpmark this is.",
                   FamilyType::gauge,
                   {{{{"version", version_}, {"revision", revision_}, {"Hostname", host_name_}}, 1}}});
  }
  const auto add = [&](const char* name, const char* help, FamilyType type, double value) {
    all.push_back({name, help, type, {{{}, value}}});
  };
  add("warpmark_exporter_scrapes_total", "Scrapes since the exporter started.", FamilyType::counter,
      static_cast<double>(++looks_));
  add("warpmark_exporter_scrape_duration_seconds", "Time that this scrape took.", FamilyType::gauge,
      static_cast<double>(monotonic_ns() - began_ns) * 1e-9);
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    add("process_cpu_seconds_total", "User and system time of the exporter.", FamilyType::counter,
        seconds(used.ru_utime) + seconds(used.ru_stime));
  }
  return all;
}

std::vector<Family> Exporter::families() {
  const std::lock_guard guard(looking_);
  const std::int64_t now_ns = monotonic_ns();
  std::vector<Family> all = gpus_.families();
  std::ranges::move(host_.families(now_ns), std::back_inserter(all));
  std::ranges::move(peers_.families(now_ns), std::back_inserter(all));
  if (open_store_) std::ranges::copy(stored(), std::back_inserter(all));
  if (!running_folder_.empty()) {
    std::ranges::move(running_families(store::running_sessions(running_folder_)), std::back_inserter(all));
    std::ranges::move(heartbeat_families(running_folder_), std::back_inserter(all));
  }
  std::ranges::move(of_itself(now_ns), std::back_inserter(all));
  return all;
}

std::string Exporter::text(TextFormat format) { return render_families(families(), format); }

Answer Exporter::answer(const Asked& asked) {
  if (asked.path == "/healthz") return {.body = "ok\n"};
  if (asked.path == "/") return {.body = "warpmark exporter: the metrics are at /metrics\n"};
  if (asked.path != "/metrics") return {.status = 404, .body = "nothing is here; the metrics are at /metrics\n"};
  const bool open = asked.accept.find("application/openmetrics-text") != std::string::npos;
  const auto format = open ? TextFormat::open_metrics : TextFormat::prometheus;
  return {.type = content_type_of(format), .body = text(format)};
}

}  // namespace warpmark::watch
