// Where processes on other hosts reach this one.
#pragma once

#include <string>
#include <vector>

namespace warpmark::collectives::net {

/// IPv4 and global IPv6 addresses of the interfaces that are up, this machine's own (127.0.0.1) last.
[[nodiscard]] std::vector<std::string> own_addresses();

}  // namespace warpmark::collectives::net
