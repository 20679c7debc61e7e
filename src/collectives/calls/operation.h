// What a collective is: its names, how many elements each rank sends and receives for a printed size, and the factors
// that turn a time into algorithm and bus bandwidth. Sizes, alignment and factors are those of NVIDIA's nccl-tests
// (PERFORMANCE.md and the .cu file of each test), so that numbers of both tools can be put side by side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/catalog.h"
#include "base/json.h"
#include "base/result.h"
#include "model/fields/fields.h"

namespace warpmark::collectives {

enum class Collective {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  alltoall,
  gather,
  scatter,
  sendrecv
};

enum class DataType { f64, f32, f16, bf16, int8, uint8, int32, int64 };
enum class ReduceOp { sum, prod, min, max, avg };

struct CollectiveInfo {
  Collective kind;
  const char* id;                ///< "all_reduce"
  const char* program;           ///< of nccl-tests: "all_reduce_perf"
  const char* summary;           ///< one line
  bool reduces = false;          ///< has an operation
  bool has_root = false;         ///< data comes from, or goes to, one rank
  bool in_place_checked = true;  ///< nccl-tests prints N/A where the input is destroyed by the output
};

[[nodiscard]] Catalog<CollectiveInfo> collectives();
[[nodiscard]] const CollectiveInfo& info_of(Collective kind);
/// Also the names of nccl-tests' programs, and "alltoall" as "all_to_all". Usage error with a suggestion.
[[nodiscard]] Result<Collective> parse_collective(std::string_view text);

[[nodiscard]] std::size_t size_of(DataType type);
[[nodiscard]] const char* name_of(DataType type);          ///< "f32"
[[nodiscard]] const char* nccl_tests_name(DataType type);  ///< "float"
/// "f32", and nccl-tests' "float". Usage error with the list.
[[nodiscard]] Result<DataType> parse_data_type(std::string_view text);
[[nodiscard]] const char* name_of(ReduceOp op);
[[nodiscard]] Result<ReduceOp> parse_reduce_op(std::string_view text);

/// Elements of one rank for one size.
struct Counts {
  std::int64_t parameter = 0;  ///< the count given to the call: nccl-tests' column "count"
  std::int64_t send = 0;       ///< elements of the send buffer of a rank
  std::int64_t receive = 0;    ///< elements of the receive buffer of a rank
  std::int64_t bytes = 0;      ///< nccl-tests' column "size": the larger buffer
};
[[nodiscard]] Counts counts_of(Collective kind, std::int64_t bytes, DataType type, int ranks);

/// Bytes whose transfer the algorithm bandwidth counts, and what the bus bandwidth multiplies it by.
[[nodiscard]] double algorithm_bytes(Collective kind, const Counts& counts, DataType type, int ranks);
[[nodiscard]] double bus_factor(Collective kind, int ranks);

struct SizeRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  double factor = 0;      ///< above 1: multiplied
  std::int64_t step = 0;  ///< else added
};
/// In ascending order. Usage error for a range without sizes or with more than 10 000.
[[nodiscard]] Result<std::vector<std::int64_t>> sizes_of(const SizeRange& range);

/// Bytes as nccl-tests reads them: K, M and G are powers of 1024 ("64K", "4G"), as are KiB and MiB. Usage error.
[[nodiscard]] Result<std::int64_t> parse_size(std::string_view text);

template <typename Value, auto kText, auto kParse>
constexpr Form kWordForm{[](const void* value) -> Json { return kText(*static_cast<const Value*>(value)); },
                         [](const Json& json, void* value) -> const char* {
                           if (!json.is_string()) return "a text";
                           auto parsed = kParse(json.get_ref<const std::string&>());
                           if (!parsed.ok()) return "one of the words known here";
                           *static_cast<Value*>(value) = *parsed;
                           return nullptr;
                         },
                         R"({"type": "string"})"};

/// An interval as [low, high].
extern const Form kEndsForm;
extern const Form kCollectiveForm;
extern const Form kDataTypeForm;
extern const Form kReduceOpForm;

}  // namespace warpmark::collectives
