// Names and layout of the details: xla/backends/profiler/gpu/cupti_collector.cc and xla/tsl/profiler/utils/
// xplane_schema.cc (github.com/openxla/xla).
#include "profile/readers/chrome/xla_rows.h"

#include <algorithm>
#include <array>

#include "profile/readers/text/decimal.h"
#include "profile/readers/text/key_table.h"

namespace warpmark::profile {
namespace {

enum class XlaKey : std::uint8_t {
  none,
  kernel,
  memcpy,
  memset,
  alloc,
  free,
  residency,
  step,
  correlation,
  graph,
  framework
};
using XlaKeyEntry = KeyEntry<XlaKey>;

constexpr KeyTable kXlaKeys{
    std::array{XlaKeyEntry{"kernel_details", XlaKey::kernel}, XlaKeyEntry{"memcpy_details", XlaKey::memcpy},
               XlaKeyEntry{"Memset_details", XlaKey::memset}, XlaKeyEntry{"memset_details", XlaKey::memset},
               XlaKeyEntry{"memalloc_details", XlaKey::alloc}, XlaKeyEntry{"MemFree_details", XlaKey::free},
               XlaKeyEntry{"MemoryResidency_details", XlaKey::residency}, XlaKeyEntry{"step_num", XlaKey::step},
               XlaKeyEntry{"correlation_id", XlaKey::correlation}, XlaKeyEntry{"cuda_graph_id", XlaKey::graph},
               XlaKeyEntry{"_src", XlaKey::framework}, XlaKeyEntry{"long_name", XlaKey::framework},
               XlaKeyEntry{"tf_op", XlaKey::framework}, XlaKeyEntry{"hlo_op", XlaKey::framework},
               XlaKeyEntry{"hlo_module", XlaKey::framework}}};

/// From behind the opening quote to the closing one, or to the end.
std::size_t quote_end(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2U : 1U;
  return std::min(at, text.size());
}

/// Behind a list or an object that begins at `at`.
std::size_t nested_end(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size(); ++at) {
    if (text[at] == '"') at = quote_end(text, at + 1);
    if (at >= text.size()) break;
    if (text[at] == '[' || text[at] == '{') ++depth;
    if ((text[at] == ']' || text[at] == '}') && --depth == 0) return at + 1;
  }
  return text.size();
}

/// Calls take(key, value) for each member of an object of well-formed JSON.
template <typename Take>
void each_argument(std::string_view object, Take&& take) {
  constexpr std::string_view kAround = " \t\r\n,:";
  for (std::size_t at = 1; at < object.size();) {
    const std::size_t key = object.find('"', at);
    if (key == std::string_view::npos) return;
    const std::size_t key_end = quote_end(object, key + 1);
    std::size_t value = object.find_first_not_of(kAround, std::min(key_end + 1, object.size()));
    if (value == std::string_view::npos) return;
    const bool quoted = object[value] == '"';
    const bool nested = object[value] == '{' || object[value] == '[';
    value += quoted ? 1 : 0;
    const std::size_t end = quoted   ? quote_end(object, value)
                            : nested ? nested_end(object, value)
                                     : std::min(object.find_first_of(",} \t\r\n", value), object.size());
    take(object.substr(key + 1, key_end - key - 1), object.substr(value, end - value));
    at = quoted ? end + 1 : end;
  }
}

/// Calls take(word, value) for "word:value word:value".
template <typename Take>
void each_detail(std::string_view details, Take&& take) {
  while (!details.empty()) {
    const std::string_view one = details.substr(0, details.find(' '));
    details.remove_prefix(std::min(one.size() + 1, details.size()));
    const auto colon = one.find(':');
    if (colon != std::string_view::npos) take(one.substr(0, colon), one.substr(colon + 1));
  }
}

std::int64_t number_or_odd(std::string_view text, bool& odd) {
  const auto number = parse_integer(text);
  odd = odd || !number || *number < 0;
  return std::max<std::int64_t>(number.value_or(0), 0);
}

std::uint32_t count_or_odd(std::string_view text, bool& odd) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(number_or_odd(text, odd), UINT32_MAX));
}

/// "4096,1,1"
void set_extent(std::uint32_t (&target)[3], std::string_view list, bool& odd) {
  for (std::uint32_t& one : target) {
    const std::string_view text = list.substr(0, list.find(','));
    one = count_or_odd(text, odd);
    list.remove_prefix(std::min(text.size() + 1, list.size()));
  }
}

CopyKind copy_kind_between(std::string_view source, std::string_view target) {
  const auto on_host = [](std::string_view kind) { return kind == "pageable" || kind == "pinned"; };
  const auto on_device = [](std::string_view kind) { return kind == "device" || kind == "array"; };
  if (on_host(source) && on_device(target)) return CopyKind::host_to_device;
  if (on_device(source) && on_host(target)) return CopyKind::device_to_host;
  if (on_device(source) && on_device(target)) return CopyKind::device_to_device;
  if (on_host(source) && on_host(target)) return CopyKind::host_to_host;
  return CopyKind::unknown;
}

CopyKind copy_kind_named(std::string_view name) {
  if (name.starts_with("MemcpyH2D")) return CopyKind::host_to_device;
  if (name.starts_with("MemcpyD2H")) return CopyKind::device_to_host;
  if (name.starts_with("MemcpyD2D")) return CopyKind::device_to_device;
  if (name.starts_with("MemcpyP2P")) return CopyKind::peer_to_peer;
  return CopyKind::unknown;
}

HostMemory host_memory_named(std::string_view kind) {
  if (kind == "pageable") return HostMemory::pageable;
  if (kind == "pinned") return HostMemory::pinned;
  if (kind.starts_with("managed")) return HostMemory::managed;
  return HostMemory::unknown;
}

}  // namespace

XlaDetails xla_details_of(std::string_view args) {
  XlaDetails details;
  each_argument(args, [&details](std::string_view key, std::string_view value) {
    switch (kXlaKeys.find(key)) {
      case XlaKey::none: break;
      case XlaKey::kernel: details.kernel = value; break;
      case XlaKey::memcpy: details.memcpy = value; break;
      case XlaKey::memset: details.memset = value; break;
      case XlaKey::alloc: details.alloc = value; break;
      case XlaKey::free: details.free = value; break;
      case XlaKey::residency: details.residency = value; break;
      case XlaKey::step: details.step = value; break;
      case XlaKey::correlation: details.correlation = number_or_odd(value, details.odd); break;
      case XlaKey::graph: details.graph = number_or_odd(value, details.odd); break;
      case XlaKey::framework: details.of_framework = true; break;
    }
  });
  return details;
}

void set_kernel_details(std::string_view details, std::int64_t graph, EventArgs& args) {
  std::int64_t shared = 0;
  LaunchShape& shape = args.shape;
  each_detail(details, [&](std::string_view word, std::string_view value) {
    if (word == "regs") shape.registers_per_thread = count_or_odd(value, args.odd);
    if (word == "static_shared" || word == "dynamic_shared") shared += count_or_odd(value, args.odd);
    if (word == "grid") set_extent(shape.grid, value, args.odd);
    if (word == "block") set_extent(shape.block, value, args.odd);
    if (word != "occ_pct") return;
    const double percent = parse_number(value).value_or(-1);
    args.odd = args.odd || percent < 0 || percent > 100;
    if (percent > 0 && percent <= 100) shape.occupancy = static_cast<float>(percent / 100);  // 0: it was not known
  });
  shape.shared_bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(shared, UINT32_MAX));
  shape.graph_id = static_cast<std::uint32_t>(std::min<std::int64_t>(graph, UINT32_MAX));
}

void set_memcpy_details(std::string_view name, std::string_view details, EventArgs& args) {
  std::string_view source, target;
  each_detail(details, [&](std::string_view word, std::string_view value) {
    if (word == "kind_src") source = value;
    if (word == "kind_dst") target = value;
    if (word == "size") args.bytes = number_or_odd(value, args.odd);
  });
  CopyKind kind = copy_kind_named(name);
  if (kind == CopyKind::unknown) kind = copy_kind_between(source, target);
  const bool to_host = kind == CopyKind::device_to_host;
  args.detail = copy_detail(kind, host_memory_named(to_host ? target : source));
}

void set_memory_details(std::string_view details, EventArgs& args) {
  each_detail(details, [&](std::string_view word, std::string_view value) {
    if (word == "num_bytes") args.bytes = number_or_odd(value, args.odd);
  });
}

}  // namespace warpmark::profile
