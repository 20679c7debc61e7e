#include "collectives/net/facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::collectives::net {
namespace {

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

}  // namespace

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
