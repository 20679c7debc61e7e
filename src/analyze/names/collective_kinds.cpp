#include "analyze/names/collective_kinds.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "analyze/names/words.h"
#include "base/text.h"

namespace warpmark::analyze {

std::string standard_collective(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    const char lower = ascii_lower(c);
    if (lower >= 'a' && lower <= 'z') letters += lower;
  }
  constexpr std::array<std::pair<std::string_view, const char*>, 9> kKinds{{{"allreduce", "all_reduce"},
                                                                            {"allgather", "all_gather"},
                                                                            {"reducescatter", "reduce_scatter"},
                                                                            {"alltoall", "alltoall"},
                                                                            {"broadcast", "broadcast"},
                                                                            {"scatter", "scatter"},
                                                                            {"gather", "gather"},
                                                                            {"reduce", "reduce"},
                                                                            {"sendrecv", "sendrecv"}}};
  for (const auto& [part, kind] : kKinds) {
    if (letters.find(part) != std::string::npos) return kind;
  }
  return "";
}

double element_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, double>, 16> kTypes{{{"Float", 4},
                                                                        {"BFloat16", 2},
                                                                        {"Half", 2},
                                                                        {"Double", 8},
                                                                        {"Int", 4},
                                                                        {"Long", 8},
                                                                        {"Short", 2},
                                                                        {"Byte", 1},
                                                                        {"Char", 1},
                                                                        {"Bool", 1},
                                                                        {"Float8_e4m3fn", 1},
                                                                        {"Float8_e5m2", 1},
                                                                        {"float", 4},
                                                                        {"half", 2},
                                                                        {"bfloat16", 2},
                                                                        {"double", 8}}};
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& one) { return one.first == type; });
  return found == kTypes.end() ? 0 : found->second;
}

bool is_narrow_type(std::string_view type) { return contains_any(type, {"half", "bfloat16", "float8"}); }

// NCCL user guide, "Point-to-point communication": one kernel sends what ncclSend and ncclRecv post, and an all-to-all
// is a group of these.
bool names_message(std::string_view kernel) { return contains_any(kernel, {"sendrecv"}); }

bool names_exchange_of_all(std::string_view name) { return contains_any(name, {"alltoall", "all_to_all", "all2all"}); }

bool names_all_reduce_of_engines(std::string_view kernel) {
  return contains_any(kernel, {"cross_device_reduce", "allreduce_fusion", "oneshotallreduce", "twoshotallreduce",
                               "custom_all_reduce", "customallreduce"});
}

}  // namespace warpmark::analyze
