#include "collectives/net/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/json.h"
#include "base/quantity.h"
#include "collectives/mpi/mpi_module_api.h"
#include "device/host_name.h"
#include "stats/summary.h"

namespace warpmark::collectives::net {
namespace {

constexpr int kSmall = 8;
constexpr int kLarge = 4 << 20;

Status checked(const MpiModule& module, int code) {
  if (code == 0) return {};
  std::array<char, 256> text{};
  module.error_text(code, text.data(), static_cast<int>(text.size()));
  return environment_error(std::string("MPI: ") + text.data());
}

/// Seconds of messages there and back, as the first of the two sees them.
Result<std::vector<double>> ping(const MpiModule& module, int other, bool first, int bytes, int count) {
  std::vector<char> message(static_cast<std::size_t>(bytes), 'w');
  std::vector<double> seconds;
  for (int i = 0; i < count + 2; ++i) {
    const std::int64_t begin = monotonic_ns();
    if (first) WM_TRY(checked(module, module.send(message.data(), bytes, other)));
    WM_TRY(checked(module, module.receive(message.data(), bytes, other)));
    if (!first) WM_TRY(checked(module, module.send(message.data(), bytes, other)));
    if (i >= 2) seconds.push_back(static_cast<double>(monotonic_ns() - begin) * 1e-9);
  }
  return seconds;
}

/// The middle one, of two the better: of three hosts, each of the two healthy ones has one pair with the slow one.
double middle_of_own(std::vector<double> values, bool more_is_better) {
  std::sort(values.begin(), values.end());
  return values[more_is_better ? values.size() / 2 : (values.size() - 1) / 2];
}

}  // namespace

Result<Pairs> measure_pairs() {
  WM_ASSIGN(const auto* module, mpi_module());
  WM_ASSIGN(const auto bootstrap, mpi_bootstrap());
  Pairs pairs;
  WM_ASSIGN(pairs.hosts, gather_texts(*bootstrap, device::host_name()));
  const int own = bootstrap->process();
  for (int a = 0; a < bootstrap->processes(); ++a) {
    for (int b = a + 1; b < bootstrap->processes(); ++b) {
      WM_TRY(bootstrap->barrier());
      std::array<double, 2> mine{};
      if (own == a || own == b) {
        WM_ASSIGN(const auto small, ping(*module, own == a ? b : a, own == a, kSmall, 200));
        WM_ASSIGN(const auto large, ping(*module, own == a ? b : a, own == a, kLarge, 15));
        mine = {stats::median(small) / 2, 2.0 * kLarge / stats::median(large)};
      }
      WM_ASSIGN(const auto all, bootstrap->all_gather(mine));
      const auto at = static_cast<std::size_t>(a) * 2;
      pairs.results.push_back({a, b, all[at], all[at + 1]});
    }
  }
  if (own != 0) pairs.results.clear();
  return pairs;
}

std::vector<SlowHost> slow_hosts(const Pairs& pairs) {
  std::vector<SlowHost> slow;
  if (pairs.hosts.size() < 3) return slow;  // of two hosts, neither can be told from the other
  for (int rank = 0; rank < static_cast<int>(pairs.hosts.size()); ++rank) {
    std::vector<double> own, others, own_latency, other_latency;
    for (const auto& pair : pairs.results) {
      const bool is_own = pair.a == rank || pair.b == rank;
      (is_own ? own : others).push_back(pair.bandwidth);
      (is_own ? own_latency : other_latency).push_back(pair.latency_s);
    }
    const SlowHost host{rank, middle_of_own(own, true), stats::median(others), middle_of_own(own_latency, false),
                        stats::median(other_latency)};
    if (host.bandwidth < 0.8 * host.usual || host.latency_s > 2 * host.usual_latency_s) slow.push_back(host);
  }
  return slow;
}

Json to_json(const Pairs& pairs) {
  Json json{
      {"schema", "warpmark.net_pairs/1"}, {"hosts", pairs.hosts}, {"pairs", Json::array()}, {"slow", Json::array()}};
  for (const auto& pair : pairs.results) {
    json["pairs"].push_back({{"a", pair.a}, {"b", pair.b}, {"latency", pair.latency_s}, {"bandwidth", pair.bandwidth}});
  }
  for (const auto& host : slow_hosts(pairs)) {
    json["slow"].push_back({{"rank", host.rank}, {"bandwidth", host.bandwidth}, {"usual", host.usual}});
  }
  return json;
}

Result<Pairs> pairs_from_json(const Json& json) {
  try {
    Pairs pairs{json.at("hosts").get<std::vector<std::string>>(), {}};
    for (const auto& item : json.at("pairs")) {
      pairs.results.push_back({item.at("a").get<int>(), item.at("b").get<int>(), item.at("latency").get<double>(),
                               item.at("bandwidth").get<double>()});
      const auto& last = pairs.results.back();
      const auto hosts = static_cast<int>(pairs.hosts.size());
      if (last.a < 0 || last.b < 0 || last.a >= hosts || last.b >= hosts) return data_error("a pair names no host");
    }
    return pairs;
  } catch (const nlohmann::json::exception& error) {
    return data_error(std::string("the pairs do not read: ") + error.what());
  }
}

Report build_report(const Pairs& pairs) {
  Report report;
  report.title = fmt::format("{} hosts, all pairs", pairs.hosts.size());
  const auto slow = slow_hosts(pairs);
  Section verdict{"Verdict", {}, false, false};
  for (const auto& host : slow) {
    const bool by_rate = host.bandwidth < 0.8 * host.usual;
    verdict.blocks.push_back(
        Paragraph{fmt::format("{} (rank {}) is slow: {} where the others have {}",
                              pairs.hosts[static_cast<std::size_t>(host.rank)], host.rank,
                              by_rate ? format_si(host.bandwidth, "B/s") : format_seconds(host.latency_s),
                              by_rate ? format_si(host.usual, "B/s") : format_seconds(host.usual_latency_s)),
                  Tone::bad});
  }
  if (slow.empty()) {
    verdict.blocks.push_back(Paragraph{pairs.hosts.size() < 3 ? "Two hosts do not tell which of them is slow."
                                                              : "No host is slower than the others."});
  }
  report.sections.push_back(std::move(verdict));
  Table table;
  table.columns = {{"pair"}, {"hosts"}, {"latency", Align::right}, {"bandwidth", Align::right}};
  for (const auto& pair : pairs.results) {
    table.rows.push_back(
        {{fmt::format("{} - {}", pair.a, pair.b)},
         {pairs.hosts[static_cast<std::size_t>(pair.a)] + ", " + pairs.hosts[static_cast<std::size_t>(pair.b)]},
         {format_seconds(pair.latency_s)},
         {format_si(pair.bandwidth, "B/s")}});
  }
  report.sections.push_back({"Pairs", {std::move(table)}, false, false});
  return report;
}

}  // namespace warpmark::collectives::net
