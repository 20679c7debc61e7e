#include "analyze/needless/streaming_kernels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace warpmark::analyze {

namespace {

constexpr double kBeyondCaches = 64e6;  // B; the second-level cache of an H100 has 50 MB
// Of the bandwidth of a data centre's GPU of the generation (NVIDIA's data sheets of V100, A100, H100 and B200: 0.9, 2,
// 3.35 and 8 TB/s). What is written in place or read from neighbours too moves twice that and more.
constexpr double kSurelyBound = 0.3;

double bandwidth_of(const Timeline& timeline) {
  int newest = 0;
  for (const GpuInfo& gpu : timeline.gpus) newest = std::max(newest, gpu.compute_major);
  return newest >= 10 ? 8e12 : newest == 9 ? 3.35e12 : newest == 8 ? 2e12 : 0.9e12;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool drop_word(std::string_view& text, std::string_view word) {
  if (text.starts_with(word)) return text = trimmed(text.substr(word.size())), true;
  if (text.ends_with(word)) return text = trimmed(text.substr(0, text.size() - word.size())), true;
  return false;
}

/// Of what a parameter points to: 0 if it is no pointer, nothing if it points to no number.
std::optional<int> pointee_bytes(std::string_view parameter) {
  constexpr std::pair<std::string_view, int> kNumbers[] = {{"char", 1},
                                                           {"signed char", 1},
                                                           {"unsigned char", 1},
                                                           {"bool", 1},
                                                           {"short", 2},
                                                           {"unsigned short", 2},
                                                           {"half", 2},
                                                           {"nv_bfloat16", 2},
                                                           {"int", 4},
                                                           {"uint", 4},
                                                           {"float", 4},
                                                           {"unsigned int", 4},
                                                           {"long", 8},
                                                           {"unsigned long", 8},
                                                           {"double", 8},
                                                           {"half2", 4},
                                                           {"uchar4", 4},
                                                           {"nv_bfloat162", 4},
                                                           {"int2", 8},
                                                           {"float2", 8},
                                                           {"float3", 12},
                                                           {"int4", 16},
                                                           {"float4", 16},
                                                           {"double2", 16},
                                                           {"uint2", 8},
                                                           {"uint4", 16},
                                                           {"long long", 8},
                                                           {"double4", 32},
                                                           {"unsigned long long", 8}};
  parameter = trimmed(parameter);
  (void)drop_word(parameter, "const");
  (void)drop_word(parameter, "__restrict__");
  if (!parameter.ends_with('*')) return 0;
  parameter = trimmed(parameter.substr(0, parameter.size() - 1));
  (void)drop_word(parameter, "const");
  (void)drop_word(parameter, "__");
  const auto* const found = std::ranges::find(kNumbers, parameter, &std::pair<std::string_view, int>::first);
  return found == std::end(kNumbers) ? std::nullopt : std::optional(found->second);
}

/// Where the parameter list of a demangled function begins; npos if there is none.
std::size_t parameters_of(std::string_view name) {
  if (!name.ends_with(')')) return std::string_view::npos;
  int depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

}  // namespace

int bytes_a_thread(std::string_view kernel_name) {
  std::size_t begin = parameters_of(kernel_name);
  if (begin == std::string_view::npos) return 0;
  int bytes = 0, depth = 0;
  for (std::size_t at = begin; at < kernel_name.size(); ++at) {
    const char c = kernel_name[at];
    depth += c == '<' || c == '(' ? 1 : c == '>' ? -1 : 0;
    const bool last = at + 1 == kernel_name.size();
    if (!last && c == ')') --depth;
    if (!last && (c != ',' || depth > 0)) continue;
    const auto one = pointee_bytes(kernel_name.substr(begin, at - begin));
    if (!one) return 0;
    bytes += *one;
    begin = at + 1;
  }
  return bytes;
}

std::vector<std::uint64_t> find_streaming_kernels(const Timeline& timeline, const WorkList& list) {
  std::vector<int> bytes;  // a thread, by name; -1: not looked at yet
  bytes.assign(timeline.names.size(), -1);
  const double least_rate = kSurelyBound * bandwidth_of(timeline) * 1e-9;  // B/ns
  const EventColumns& events = timeline.events;
  std::vector<std::uint64_t> threads(list.works.size(), 0);
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    const GpuWork& work = list.works[i];
    if (work.category != Category::other || work.op != kNoEvent) continue;
    if (events.kind[work.event] != EventKind::kernel) continue;
    int& each = bytes[events.name[work.event]];
    if (each < 0) each = bytes_a_thread(timeline.name_of(work.event));
    const LaunchShape& shape = timeline.launch_shapes[events.detail[work.event]];
    std::uint64_t count = 1;
    for (int axis = 0; axis < 3; ++axis) count *= std::uint64_t{shape.grid[axis]} * shape.block[axis];
    const double moved = static_cast<double>(count) * each;
    if (moved >= kBeyondCaches && moved >= least_rate * static_cast<double>(work.end - work.start)) threads[i] = count;
  }
  return threads;
}

}  // namespace warpmark::analyze
