#include "device/host_name.h"

#include <unistd.h>

#include <array>

namespace warpmark::device {

std::string host_name() {
  std::array<char, 256> name{};  // HOST_NAME_MAX is 64 on Linux
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace warpmark::device
