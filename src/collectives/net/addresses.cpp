#include "collectives/net/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>

namespace warpmark::collectives::net {

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
