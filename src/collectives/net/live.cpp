#include "collectives/net/live.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>

#include "base/files.h"
#include "base/json.h"
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

std::int64_t number_in(const std::filesystem::path& path) {
  const auto number = parse_integer(trim(first_line(path)));
  return number.ok() && *number > 0 ? *number : 0;
}

std::uint64_t count_in(const std::filesystem::path& path) { return static_cast<std::uint64_t>(number_in(path)); }

std::string driver_of(const std::filesystem::path& folder) {
  std::error_code ignored;
  const auto target = std::filesystem::read_symlink(folder / "device" / "driver", ignored);
  return ignored ? "" : target.filename().string();
}

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

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
    derived("polls", "", [](const TrafficLog& log) { return log.polls(); }).within(kNonNegative),
    derived("interfaces", "", kNamedInterface, [](const TrafficLog& log) { return named(log.interfaces()); }),
    derived("peers", "", kNamedPeer, [](const TrafficLog& log) { return named(log.peers()); }),
};

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
  ++polls_;
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
  report.subtitle = fmt::format("{} in {} looks", format_seconds(seconds_), polls_);
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

constexpr RecordOf<TrafficLog> kTrafficLog{
    "traffic",
    "Result of `warpmark net live`: sums in bytes, peaks in B/s over a look, speed in B/s (0 if the interface does not "
    "report it), round trips in s.",
    kTrafficLogFields, "warpmark.net_live/1"};

Json TrafficLog::to_json() const { return write(kTrafficLog, *this); }

std::vector<Interface> interfaces(const std::filesystem::path& root) {
  std::vector<Interface> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    const auto& folder = entry->path();
    if (!std::filesystem::exists(folder / "mtu", error)) continue;
    Interface one{.name = folder.filename().string(), .state = first_line(folder / "operstate")};
    one.driver = driver_of(folder);
    one.mtu = static_cast<int>(number_in(folder / "mtu"));
    one.speed = static_cast<double>(number_in(folder / "speed")) * 1e6 / 8;
    one.received_bytes = count_in(folder / "statistics" / "rx_bytes");
    one.sent_bytes = count_in(folder / "statistics" / "tx_bytes");
    for (const char* side : {"rx", "tx"}) {
      one.errors += count_in(folder / "statistics" / (std::string(side) + "_errors"));
      one.dropped += count_in(folder / "statistics" / (std::string(side) + "_dropped"));
    }
    found.push_back(std::move(one));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

std::string interface_of(const std::string& address) {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, FreeInterfaces> list(raw);
  for (const ifaddrs* item = list.get(); item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr) continue;
    const int family = item->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, 128> text{};
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(item->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) continue;
    if (address == text.data()) return item->ifa_name;
  }
  return {};
}

std::vector<Traffic> traffic_between(const std::vector<Interface>& before, const std::vector<Interface>& after,
                                     double seconds) {
  std::vector<Traffic> traffic;
  for (const auto& now : after) {
    const auto then =
        std::find_if(before.begin(), before.end(), [&](const auto& item) { return item.name == now.name; });
    if (then == before.end() || !(seconds > 0)) continue;
    // A counter that fell belongs to an interface that came anew.
    const auto rate = [&](std::uint64_t from, std::uint64_t to) {
      return to >= from ? static_cast<double>(to - from) / seconds : 0;
    };
    traffic.push_back({now.name, rate(then->received_bytes, now.received_bytes), rate(then->sent_bytes, now.sent_bytes),
                       rate(then->errors + then->dropped, now.errors + now.dropped), now.speed});
  }
  return traffic;
}

std::vector<std::pair<std::string, std::string>> network_environment(const char* (*environment)(const char* name)) {
  std::vector<std::pair<std::string, std::string>> set;
  for (const char* name :
       {"NCCL_SOCKET_IFNAME", "NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_NET", "NCCL_NET_GDR_LEVEL", "NCCL_P2P_DISABLE",
        "NCCL_SHM_DISABLE", "NCCL_DEBUG", "NCCL_NVLS_ENABLE", "GLOO_SOCKET_IFNAME", "OMPI_MCA_btl",
        "OMPI_MCA_btl_tcp_if_include", "UCX_NET_DEVICES", "UCX_TLS"}) {
    if (const char* value = environment(name)) set.emplace_back(name, value);
  }
  return set;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {"127.0.0.1"};
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address = nullptr;
    if (one->ifa_addr->sa_family == AF_INET) {
      address = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      const auto* six = &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(six) == 0) address = six;
    }
    if (address != nullptr && ::inet_ntop(one->ifa_addr->sa_family, address, text.data(), text.size()) != nullptr) {
      addresses.emplace_back(text.data());
    }
  }
  ::freeifaddrs(list);
  addresses.emplace_back("127.0.0.1");
  return addresses;
}

}  // namespace warpmark::collectives::net
