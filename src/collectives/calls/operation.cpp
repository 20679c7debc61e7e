#include "collectives/calls/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::collectives {
namespace {

constexpr CollectiveInfo kAllReduce{
    Collective::all_reduce, "all_reduce", "all_reduce_perf", "every rank gets the reduction of all", true, false, true};
constexpr CollectiveInfo kAllGather{
    Collective::all_gather, "all_gather", "all_gather_perf", "every rank gets what each has", false, false, true};
constexpr CollectiveInfo kReduceScatter{Collective::reduce_scatter,
                                        "reduce_scatter",
                                        "reduce_scatter_perf",
                                        "each rank gets its part of the reduction",
                                        true,
                                        false,
                                        true};
constexpr CollectiveInfo kBroadcast{
    Collective::broadcast, "broadcast", "broadcast_perf", "every rank gets what the root has", false, true, true};
constexpr CollectiveInfo kReduce{
    Collective::reduce, "reduce", "reduce_perf", "the root gets the reduction of all", true, true, true};
constexpr CollectiveInfo kAlltoall{
    Collective::alltoall, "alltoall", "alltoall_perf", "each rank sends another part to each", false, false, false};
constexpr CollectiveInfo kGather{
    Collective::gather, "gather", "gather_perf", "the root gets what each has", false, true, true};
constexpr CollectiveInfo kScatter{
    Collective::scatter, "scatter", "scatter_perf", "each rank gets its part from the root", false, true, true};
constexpr CollectiveInfo kSendrecv{Collective::sendrecv,
                                   "sendrecv",
                                   "sendrecv_perf",
                                   "each rank sends to the next and receives from the one before",
                                   false,
                                   false,
                                   false};

constexpr std::array<const CollectiveInfo*, 9> kCollectives{
    &kAllReduce, &kAllGather, &kReduceScatter, &kBroadcast, &kReduce, &kAlltoall, &kGather, &kScatter, &kSendrecv};

struct TypeName {
  DataType type;
  const char* name;
  const char* nccl_tests;
  std::size_t bytes;
};
constexpr std::array<TypeName, 8> kTypes{{{DataType::f64, "f64", "double", 8},
                                          {DataType::f32, "f32", "float", 4},
                                          {DataType::f16, "f16", "half", 2},
                                          {DataType::bf16, "bf16", "bfloat16", 2},
                                          {DataType::int8, "int8", "int8", 1},
                                          {DataType::uint8, "uint8", "uint8", 1},
                                          {DataType::int32, "int32", "int32", 4},
                                          {DataType::int64, "int64", "int64", 8}}};

constexpr auto kOps = in_order(ReduceOp::avg, "sum", "prod", "min", "max", "avg");

const TypeName& row_of(DataType type) {
  const auto row = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& item) { return item.type == type; });
  WM_CHECK(row != kTypes.end());
  return *row;
}

}  // namespace

Catalog<CollectiveInfo> collectives() { return kCollectives; }

const CollectiveInfo& info_of(Collective kind) {
  const auto found =
      std::find_if(kCollectives.begin(), kCollectives.end(), [&](const auto* item) { return item->kind == kind; });
  WM_CHECK(found != kCollectives.end());
  return **found;
}

Result<Collective> parse_collective(std::string_view text) {
  if (text == "all_to_all") return Collective::alltoall;
  for (const auto* item : kCollectives) {
    if (text == item->id || text == item->program) return item->kind;
  }
  const auto ids = ids_of(collectives());
  const auto meant = nearest(text, ids);
  return usage_error(fmt::format("there is no collective '{}'", text),
                     meant.empty() ? "collectives: " + join(ids, ", ") : "did you mean '" + meant + "'?");
}

std::size_t size_of(DataType type) { return row_of(type).bytes; }
const char* name_of(DataType type) { return row_of(type).name; }
const char* nccl_tests_name(DataType type) { return row_of(type).nccl_tests; }

Result<DataType> parse_data_type(std::string_view text) {
  for (const auto& row : kTypes) {
    if (text == row.name || text == row.nccl_tests) return row.type;
  }
  return usage_error(fmt::format("there is no data type '{}'", text),
                     "types: f64 (double), f32 (float), f16 (half), bf16 (bfloat16), int8, uint8, int32, int64");
}

const char* name_of(ReduceOp op) { return name_in(kOps, static_cast<std::int64_t>(op)); }

Result<ReduceOp> parse_reduce_op(std::string_view text) {
  if (const auto op = value_in(kOps, text)) return static_cast<ReduceOp>(*op);
  return usage_error(fmt::format("there is no reduction '{}'", text), "reductions: sum, prod, min, max, avg");
}

Counts counts_of(Collective kind, std::int64_t bytes, DataType type, int ranks) {
  WM_CHECK(ranks > 0 && bytes >= 0);
  const auto element = static_cast<std::int64_t>(size_of(type));
  const std::int64_t count = bytes / element;
  // What is split among ranks is cut so that each part starts on a 16-byte boundary.
  const std::int64_t part = (count / ranks) & -(16 / element);
  Counts counts;
  switch (kind) {
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::sendrecv: counts = {count, count, count, 0}; break;
    case Collective::all_gather:
    case Collective::gather: counts = {part, part, part * ranks, 0}; break;
    case Collective::reduce_scatter:
    case Collective::scatter: counts = {part, part * ranks, part, 0}; break;
    case Collective::alltoall: counts = {part, part * ranks, part * ranks, 0}; break;
  }
  counts.bytes = std::max(counts.send, counts.receive) * element;
  return counts;
}

double algorithm_bytes(Collective kind, const Counts& counts, DataType type, int ranks) {
  const double parameter = static_cast<double>(counts.parameter) * static_cast<double>(size_of(type));
  switch (kind) {
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::sendrecv: return parameter;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter: return parameter * ranks;
  }
  return 0;
}

double bus_factor(Collective kind, int ranks) {
  const double n = ranks;
  switch (kind) {
    case Collective::all_reduce: return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter: return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::sendrecv: return 1;
  }
  return 0;
}

Result<std::vector<std::int64_t>> sizes_of(const SizeRange& range) {
  constexpr std::size_t kMost = 10'000;
  if (range.from < 1 || range.to < range.from) {
    return usage_error(fmt::format("there are no sizes from {} to {} bytes", range.from, range.to),
                       "-b is the smallest size, -e the largest");
  }
  if (!(range.factor > 1) && range.step < 1 && range.to > range.from) {
    return usage_error("sizes must grow: the factor is above 1, or the step above 0", "such as -f 2");
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = range.from; size <= range.to;) {
    if (sizes.size() == kMost) return usage_error("more than 10000 sizes", "use a larger factor or step");
    sizes.push_back(size);
    if (range.to == range.from) break;
    const std::int64_t next =
        range.factor > 1 ? std::max<std::int64_t>(size + 1, std::llround(static_cast<double>(size) * range.factor))
                         : size + range.step;
    size = next;
  }
  return sizes;
}

Result<std::int64_t> parse_size(std::string_view text) {
  const std::string given(text);
  std::string spelled = given;
  if (!spelled.empty() && std::string_view("kKmMgG").find(spelled.back()) != std::string_view::npos) {
    spelled.back() = static_cast<char>(std::toupper(static_cast<unsigned char>(spelled.back())));
    spelled += "i";
  }
  auto bytes = parse_bytes(spelled);
  if (!bytes.ok()) return usage_error("'" + given + "' is no size", "such as 8, 64K, 32M, 4G (powers of 1024)");
  return bytes;
}

}  // namespace warpmark::collectives
