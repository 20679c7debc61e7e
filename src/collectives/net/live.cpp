#include "collectives/net/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/units.h"
#include "model/fields/fields.h"

namespace warpmark::collectives::net {
namespace {

std::uint64_t counter_in(const std::filesystem::path& path) {
  const auto number = parse_integer(trim(first_line(path)));
  return number.ok() && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

/// "100 Gb/sec (4X EDR)" in B/s.
double rate_in(const std::filesystem::path& path) {
  const auto text = first_line(path);
  const auto number = parse_number(text.substr(0, text.find(' ')));
  return number.ok() ? *number * 1e9 / 8 : 0;
}

}  // namespace

std::vector<PeerTraffic> peer_traffic_between(const std::vector<device::TcpConnection>& before,
                                              const std::vector<device::TcpConnection>& after, double seconds,
                                              const std::map<std::string, std::string>& interface_of_address) {
  if (!(seconds > 0)) return {};
  std::vector<PeerTraffic> traffic;
  for (const auto& peer : device::peer_bytes_between(before, after)) {
    const auto interface = interface_of_address.find(peer.local);
    traffic.push_back({peer.peer, interface == interface_of_address.end() ? "" : interface->second, peer.connections,
                       static_cast<double>(peer.received) / seconds, static_cast<double>(peer.sent) / seconds,
                       static_cast<double>(peer.retransmits) / seconds, peer.round_trip_s});
  }
  return traffic;
}

std::vector<Interface> infiniband_ports(const std::filesystem::path& root) {
  std::vector<Interface> found;
  std::error_code error;
  for (std::filesystem::directory_iterator device(root, error), end; !error && device != end; device.increment(error)) {
    std::error_code none;
    for (std::filesystem::directory_iterator port(device->path() / "ports", none); !none && port != end;
         port.increment(none)) {
      const auto counters = port->path() / "counters";
      Interface one{.name = device->path().filename().string() + "/" + port->path().filename().string()};
      one.state = first_line(port->path() / "state");
      one.driver = "infiniband";
      one.speed = rate_in(port->path() / "rate");
      // In units of four bytes (InfiniBand Architecture Specification, PortCounters).
      one.received_bytes = 4 * counter_in(counters / "port_rcv_data");
      one.sent_bytes = 4 * counter_in(counters / "port_xmit_data");
      one.errors = counter_in(counters / "port_rcv_errors") + counter_in(counters / "symbol_error");
      one.dropped = counter_in(counters / "port_xmit_discards");
      found.push_back(std::move(one));
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

void TrafficLog::add_to(Sum& sum, double received, double sent, double seconds) {
  sum.received += received * seconds;
  sum.sent += sent * seconds;
  sum.peak_received = std::max(sum.peak_received, received);
  sum.peak_sent = std::max(sum.peak_sent, sent);
}

void TrafficLog::add(const std::vector<Traffic>& interfaces, const std::vector<PeerTraffic>& peers, double seconds) {
  seconds_ += seconds;
  ++looks_;
  for (const auto& one : interfaces) {
    auto& sum = interfaces_[one.name];
    add_to(sum, one.received, one.sent, seconds);
    sum.errors += one.errors * seconds;
    sum.speed = one.speed;
  }
  for (const auto& one : peers) {
    auto& sum = peers_[one.host];
    add_to(sum, one.received, one.sent, seconds);
    sum.errors += one.retransmits * seconds;
    sum.round_trip_s = std::max(sum.round_trip_s, one.round_trip_s);
    sum.interface = one.interface;
  }
}

Report TrafficLog::report() const {
  Report report;
  report.title = "Traffic";
  report.subtitle = fmt::format("{} in {} looks", format_seconds(seconds_), looks_);
  const auto bits = [](double bytes) { return format_si(bytes * 8, "bit/s"); };
  Table interfaces;
  interfaces.columns = {{"interface"},
                        {"received", Align::right},
                        {"sent", Align::right},
                        {"peak in", Align::right},
                        {"peak out", Align::right},
                        {"errors", Align::right, 1},
                        {"used at peak", Align::right, 2}};
  for (const auto& [name, sum] : interfaces_) {
    if (sum.received + sum.sent <= 0) continue;
    const double used = sum.speed > 0 ? std::max(sum.peak_received, sum.peak_sent) / sum.speed : -1;
    interfaces.rows.push_back({{name},
                               {format_bytes(sum.received)},
                               {format_bytes(sum.sent)},
                               {bits(sum.peak_received)},
                               {bits(sum.peak_sent)},
                               {fmt::format("{:.0f}", sum.errors)},
                               {used < 0 ? "-" : format_percent(used)}});
  }
  report.sections.push_back({"Interfaces", {std::move(interfaces)}, false, false});
  Table peers;
  peers.columns = {{"peer"},
                   {"interface"},
                   {"received", Align::right},
                   {"sent", Align::right},
                   {"peak in", Align::right},
                   {"peak out", Align::right},
                   {"retransmits", Align::right, 1},
                   {"round trip", Align::right, 2}};
  std::vector<std::pair<std::string, Sum>> busiest(peers_.begin(), peers_.end());
  std::stable_sort(busiest.begin(), busiest.end(), [](const auto& a, const auto& b) {
    return a.second.received + a.second.sent > b.second.received + b.second.sent;
  });
  for (const auto& [host, sum] : busiest) {
    if (sum.received + sum.sent <= 0) continue;
    peers.rows.push_back({{host},
                          {sum.interface.empty() ? "-" : sum.interface},
                          {format_bytes(sum.received)},
                          {format_bytes(sum.sent)},
                          {bits(sum.peak_received)},
                          {bits(sum.peak_sent)},
                          {fmt::format("{:.0f}", sum.errors)},
                          {format_seconds(sum.round_trip_s)}});
  }
  report.sections.push_back({"Peers, TCP", {std::move(peers)}, false, false});
  return report;
}

namespace {

using Sum = TrafficLog::Sum;

struct NamedSum {
  std::string name;
  Sum sum;
};

constexpr Field kSumFields[] = {
    field<&Sum::received>("received").within(kNonNegative),
    field<&Sum::sent>("sent").within(kNonNegative),
    field<&Sum::peak_received>("peak_received").within(kNonNegative),
    field<&Sum::peak_sent>("peak_sent").within(kNonNegative),
};
constexpr RecordOf<Sum> kSum{"sum", "", kSumFields};

constexpr Field kNamedInterfaceFields[] = {
    field<&NamedSum::name>("name"),
    inlined<&NamedSum::sum>(kSum),
    field<&NamedSum::sum, &Sum::errors>("errors").within(kNonNegative),
    field<&NamedSum::sum, &Sum::speed>("speed").within(kNonNegative),
};
constexpr RecordOf<NamedSum> kNamedInterface{"interface", "", kNamedInterfaceFields};

constexpr Field kNamedPeerFields[] = {
    field<&NamedSum::name>("name"),
    inlined<&NamedSum::sum>(kSum),
    field<&NamedSum::sum, &Sum::errors>("retransmits").within(kNonNegative),
    field<&NamedSum::sum, &Sum::round_trip_s>("round_trip").within(kNonNegative),
    field<&NamedSum::sum, &Sum::interface>("interface").unless_empty(),
};
constexpr RecordOf<NamedSum> kNamedPeer{"peer", "", kNamedPeerFields};

std::vector<NamedSum> named(const std::map<std::string, Sum>& sums) {
  std::vector<NamedSum> all;
  for (const auto& [name, sum] : sums) all.push_back({name, sum});
  return all;
}

constexpr Field kTrafficLogFields[] = {
    derived("seconds", "", [](const TrafficLog& log) { return log.seconds(); }).within(kNonNegative),
    derived("looks", "", [](const TrafficLog& log) { return log.looks(); }).within(kNonNegative),
    derived("interfaces", "", kNamedInterface, [](const TrafficLog& log) { return named(log.interfaces()); }),
    derived("peers", "", kNamedPeer, [](const TrafficLog& log) { return named(log.peers()); }),
};

}  // namespace

constexpr RecordOf<TrafficLog> kTrafficLog{
    "traffic",
    "Result of `warpmark net live`: sums in bytes, peaks in B/s over a look, speed in B/s (0 if the interface does not "
    "report it), round trips in s.",
    kTrafficLogFields, "warpmark.net_live/1"};

Json TrafficLog::to_json() const { return write(kTrafficLog, *this); }

}  // namespace warpmark::collectives::net
