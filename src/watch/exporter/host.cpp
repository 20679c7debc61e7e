#include "watch/exporter/host.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "device/cpu/proc.h"

namespace warpmark::watch {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<double> number_of(std::string_view text) {
  const auto number = parse_number(text);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

}  // namespace

std::map<std::string, InterfaceBytes> parse_net_dev(std::string_view text) {
  std::map<std::string, InterfaceBytes> found;
  for (const auto& line : split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;  // the two lines of the header
    const auto fields = words_of(std::string_view(line).substr(colon + 1));
    if (fields.size() < 9) continue;  // 8 of what was received, then what was sent
    const auto received = number_of(fields[0]), sent = number_of(fields[8]);
    if (received && sent) found[std::string(trim(std::string_view(line).substr(0, colon)))] = {*received, *sent};
  }
  return found;
}

std::vector<Family> HostSample::families(std::int64_t monotonic_ns) {
  std::vector<Family> out;
  add_processors(out);
  add_memory(out);
  add_pressure(out);
  add_interfaces(out, monotonic_ns);
  last_ns_ = monotonic_ns;
  return out;
}

void HostSample::add_processors(std::vector<Family>& out) {
  const auto cpus = monitor::parse_cpu_ticks(proc_.read("stat"));
  if (!cpus.empty()) {
    out.push_back(
        {"warpmark_host_cpus", "Hardware threads.", FamilyType::gauge, {{{}, static_cast<double>(cpus.size()) - 1}}});
    Family ratio{
        "warpmark_host_cpu_utilization_ratio", "Share of all CPUs' time since the last look.", FamilyType::gauge, {}};
    if (cpus.size() == cpus_.size() && cpus[0].all > cpus_[0].all) {
      const double busy = static_cast<double>(cpus[0].busy - cpus_[0].busy);
      ratio.samples = {{{}, std::clamp(busy / static_cast<double>(cpus[0].all - cpus_[0].all), 0.0, 1.0)}};
    }
    if (rates_) out.push_back(std::move(ratio));
    const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
    out.push_back({"warpmark_cpu_seconds_total",
                   "Time of all CPUs, since boot.",
                   FamilyType::counter,
                   {{{{"mode", "busy"}}, static_cast<double>(cpus[0].busy) * tick_s},
                    {{{"mode", "idle"}}, static_cast<double>(cpus[0].all - cpus[0].busy) * tick_s}}});
  }
  cpus_ = cpus;
  if (const auto load = device::parse_load_average(proc_.read("loadavg"))) {
    out.push_back({"warpmark_host_load1", "Load average of one minute.", FamilyType::gauge, {{{}, *load}}});
  }
}

void HostSample::add_memory(std::vector<Family>& out) {
  const auto memory = device::parse_meminfo(proc_.read("meminfo"));
  const auto add = [&](const char* name, const char* help, std::optional<std::int64_t> bytes) {
    if (bytes) out.push_back({name, help, FamilyType::gauge, {{{}, static_cast<double>(*bytes)}}});
  };
  add("warpmark_host_memory_bytes", "Memory of the host.", memory.total_bytes);
  add("warpmark_host_memory_available_bytes", "Memory that programs can get without swapping.", memory.available_bytes);
}

/// Pressure stall information: docs.kernel.org/accounting/psi.html. A kernel without it has no such files.
void HostSample::add_pressure(std::vector<Family>& out) {
  Family family{"warpmark_host_pressure_ratio",
                "Share of the last 10 s in which some or all tasks waited for it.",
                FamilyType::gauge,
                {}};
  for (const char* resource : {"cpu", "memory", "io"}) {
    for (const auto& line : split(proc_.read((std::string("pressure/") + resource).c_str()), '\n')) {
      const auto words = words_of(line);
      constexpr std::string_view kTenSeconds = "avg10=";
      if (words.size() < 2 || !words[1].starts_with(kTenSeconds)) continue;
      const auto percent = number_of(words[1].substr(kTenSeconds.size()));
      if (percent) {
        family.samples.push_back({{{"resource", resource}, {"tasks", std::string(words[0])}}, *percent / 100});
      }
    }
  }
  out.push_back(std::move(family));
}

void HostSample::add_interfaces(std::vector<Family>& out, std::int64_t monotonic_ns) {
  const auto now = parse_net_dev(proc_.read("net/dev"));
  Family received{"warpmark_network_received_bytes_total", "Bytes received by the interface.", FamilyType::counter, {}};
  Family sent{"warpmark_network_sent_bytes_total", "Bytes sent by the interface.", FamilyType::counter, {}};
  Family in{
      "warpmark_network_received_bytes_per_second", "The same, a second since the last look.", FamilyType::gauge, {}};
  Family to{"warpmark_network_sent_bytes_per_second", "The same, a second since the last look.", FamilyType::gauge, {}};
  const double elapsed_s = last_ns_ == 0 ? 0 : static_cast<double>(monotonic_ns - last_ns_) * 1e-9;
  for (const auto& [name, bytes] : now) {
    const Labels labels = {{"interface", name}};
    received.samples.push_back({labels, bytes.received});
    sent.samples.push_back({labels, bytes.sent});
    const auto before = interfaces_.find(name);
    // A counter that went back belongs to another interface of the same name.
    if (elapsed_s <= 0 || before == interfaces_.end() || bytes.received < before->second.received ||
        bytes.sent < before->second.sent) {
      continue;
    }
    in.samples.push_back({labels, (bytes.received - before->second.received) / elapsed_s});
    to.samples.push_back({labels, (bytes.sent - before->second.sent) / elapsed_s});
  }
  interfaces_ = now;
  for (auto* family : {&received, &sent}) out.push_back(std::move(*family));
  if (!rates_) return;
  for (auto* family : {&in, &to}) out.push_back(std::move(*family));
}

std::vector<Family> PeerSample::families(std::int64_t monotonic_ns) {
  auto found = source_();
  if (!found.ok()) return {};
  if (!options_.loopback) std::erase_if(*found, [](const TcpConnection& one) { return one.loopback; });
  const double elapsed_s = last_ns_ == 0 ? 0 : static_cast<double>(monotonic_ns - last_ns_) * 1e-9;
  auto peers = device::peer_bytes_between(before_, *found);
  before_ = std::move(*found);
  last_ns_ = monotonic_ns;
  std::map<std::string, Total> totals;
  for (const auto& peer : peers) {
    Total& total = totals[peer.peer] = totals_[peer.peer];
    total.received += static_cast<double>(peer.received);
    total.sent += static_cast<double>(peer.sent);
  }
  totals_ = std::move(totals);
  if (peers.size() > kMostPeers) peers.resize(kMostPeers);
  Family received{"warpmark_network_peer_received_bytes_total",
                  "Bytes received from the peer over TCP, since it has connections.",
                  FamilyType::counter,
                  {}};
  Family sent{"warpmark_network_peer_sent_bytes_total",
              "Bytes that the peer acknowledged over TCP, since it has connections.",
              FamilyType::counter,
              {}};
  Family connections{"warpmark_network_peer_connections", "TCP connections with the peer.", FamilyType::gauge, {}};
  Family in{"warpmark_network_peer_received_bytes_per_second",
            "Bytes received from the peer, a second since the last look.",
            FamilyType::gauge,
            {}};
  Family to{"warpmark_network_peer_sent_bytes_per_second",
            "Bytes that it acknowledged, a second since the last look.",
            FamilyType::gauge,
            {}};
  for (const auto& peer : peers) {
    const Labels labels = {{"peer", peer.peer}};
    connections.samples.push_back({labels, static_cast<double>(peer.connections)});
    received.samples.push_back({labels, totals_[peer.peer].received});
    sent.samples.push_back({labels, totals_[peer.peer].sent});
    if (elapsed_s <= 0) continue;
    in.samples.push_back({labels, static_cast<double>(peer.received) / elapsed_s});
    to.samples.push_back({labels, static_cast<double>(peer.sent) / elapsed_s});
  }
  std::vector<Family> all = {std::move(received), std::move(sent), std::move(connections)};
  if (options_.rates) all.insert(all.end(), {std::move(in), std::move(to)});
  return all;
}

}  // namespace warpmark::watch
