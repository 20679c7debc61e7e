// embedding: rows of a table gathered by number and added up bag by bag, as DLRM's tables and torch's EmbeddingBag
// (sum). Row numbers follow Zipf's law, as those of users and words do: row i is asked for with odds 1 / (i + 1)^skew.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/float_types.h"
#include "workloads/cuda_bridge.h"
#include "workloads/feeding/cached_lookups.h"
#include "workloads/set_memory.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

using device::Stream;
enum EmbeddingArray : std::size_t { kTable, kEmbeddingRows, kSums };

constexpr ParamSpec kEmbeddingParams[] = {
    {"rows", ParamKind::integer, "1000000", "rows of the table"},
    {"dim", ParamKind::integer, "128", "numbers of a row"},
    {"bags", ParamKind::integer, "8192", "sums that are made, as the samples of a batch"},
    {"lookups", ParamKind::integer, "26", "rows of one sum"},
    {"skew", ParamKind::number, "1.05", "exponent of Zipf's law; 0 is even"},
    {"dtype", ParamKind::text, "f32", "type of the table; sums are f32", "f32|f16"},
};

/// bytes: each row that is asked for is read once, its number too, each sum written once. Rows that come again may be
/// in a cache: the bandwidth can then exceed the memory's. FLOPs: an addition for each number of a row.
Result<Cost> embedding_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"rows", "dim", "bags", "lookups"}));
  if (!(params.number("skew") >= 0) || params.number("skew") > 10) return usage_error("skew is from 0 to 10");
  if (params.integer("rows") > (std::int64_t{1} << 31)) return usage_error("rows are up to 2^31");
  const Factor element{"bytes", element_bytes(params.text("dtype"))};
  const Factor dim{"dim", params.integer("dim")}, bags{"bags", params.integer("bags")};
  const Factor lookups{"lookups", params.integer("lookups")};
  WM_ASSIGN(const auto table, product_of({{"rows", params.integer("rows")}, dim, element}));
  WM_ASSIGN(const auto read, product_of({bags, lookups, dim, element}));
  WM_ASSIGN(const auto numbers, product_of({bags, lookups, {"bytes", 8}}));
  WM_ASSIGN(const auto written, product_of({bags, dim, {"bytes", 4}}));
  WM_ASSIGN(const auto flops, product_of({bags, lookups, dim}));
  return Cost{.flops = static_cast<double>(flops),
              .bytes = static_cast<double>(read + numbers + written),
              .footprint_bytes = table + numbers + written,
              .flop_type = "f32",
              .link = "",
              .rate = "bandwidth"};
}

std::vector<Overrides> embedding_cases(const measure::Workload& /*self*/, const DeviceInfo& /*device*/) {
  return {{{"dtype", "f32"}}, {{"dtype", "f16"}}};
}

class EmbeddingOnCpu final : public measure::Prepared {
 public:
  EmbeddingOnCpu(EmbeddingShape shape, SetMemory memory) : shape_(shape), memory_(std::move(memory)) {}

  Status launch(Stream /*stream*/, std::size_t set) override {
    const auto numbers = memory_.array<std::int64_t>(set, kEmbeddingRows);
    const auto sums = memory_.array<float>(set, kSums);
#pragma omp parallel for schedule(static)
    for (std::size_t bag = 0; bag < shape_.bags; ++bag) {
      float* sum = sums.data() + bag * shape_.dim;
      std::fill_n(sum, shape_.dim, 0.0F);
      for (std::size_t i = 0; i < shape_.lookups; ++i) {
        add_row(set, static_cast<std::size_t>(numbers[bag * shape_.lookups + i]), sum);
      }
    }
    return {};
  }

  Status poison() override {
    memory_.poison(kSums);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const auto numbers = memory_.array<std::int64_t>(set, kEmbeddingRows);
    const auto sums = memory_.array<float>(set, kSums);
    double apart = 0, whole = 0;
    for (std::size_t bag = 0; bag < shape_.bags; ++bag) {
      for (std::size_t d = 0; d < shape_.dim; ++d) {
        double right = 0;
        for (std::size_t i = 0; i < shape_.lookups; ++i) {
          right += value(set, static_cast<std::size_t>(numbers[bag * shape_.lookups + i]), d);
        }
        const double difference = static_cast<double>(sums[bag * shape_.dim + d]) - right;
        apart += difference * difference;
        whole += right * right;
      }
    }
    return ErrorCheck{std::sqrt(apart / whole), 1e-5, "relative Frobenius norm", "sums in fp64, all bags"};
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return {different_rows(memory_.array<std::int64_t>(0, kEmbeddingRows))};
  }

 private:
  void add_row(std::size_t set, std::size_t row, float* sum) const {
    if (shape_.narrow) {
      const auto* from = memory_.array<std::uint16_t>(set, kTable).data() + row * shape_.dim;
      for (std::size_t d = 0; d < shape_.dim; ++d) sum[d] += f16_to_float(from[d]);
    } else {
      const auto* from = memory_.array<float>(set, kTable).data() + row * shape_.dim;
      for (std::size_t d = 0; d < shape_.dim; ++d) sum[d] += from[d];
    }
  }
  [[nodiscard]] double value(std::size_t set, std::size_t row, std::size_t d) const {
    if (shape_.narrow) {
      return static_cast<double>(f16_to_float(memory_.array<std::uint16_t>(set, kTable)[row * shape_.dim + d]));
    }
    return static_cast<double>(memory_.array<float>(set, kTable)[row * shape_.dim + d]);
  }

  EmbeddingShape shape_;
  SetMemory memory_;
};

Result<std::unique_ptr<measure::Prepared>> prepare_embedding_cpu(const measure::PrepareOptions& options) {
  const EmbeddingShape shape = embedding_shape(options.params);
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets,
                                         std::array{shape.rows * shape.row_bytes(), shape.bags * shape.lookups * 8,
                                                    shape.bags * shape.dim * 4}));
  for (std::size_t set = 0; set < options.sets; ++set) {
    const auto seed = array_seed(options.seed, set, kTable);
    if (shape.narrow) {
      fill_random_f16(memory.array<std::uint16_t>(set, kTable), seed);
    } else {
      fill_random(memory.array<float>(set, kTable), seed);
    }
    fill_zipf(memory.array<std::int64_t>(set, kEmbeddingRows), shape.rows, options.params.number("skew"),
              array_seed(options.seed, set, kEmbeddingRows));
  }
  memory.poison(kSums);
  return std::unique_ptr<measure::Prepared>(std::make_unique<EmbeddingOnCpu>(shape, std::move(memory)));
}

}  // namespace

extern const measure::Workload kEmbedding{
    .id = "embedding",
    .summary = "rows of a table gathered and added up, by Zipf's law",
    .params = kEmbeddingParams,
    .cost = embedding_cost,
    .supports = supports_by_backend<supports_every_cpu>,
    .prepare = prepare_by_backend<prepare_embedding_cpu>,
    .cases = embedding_cases,
    .default_mode = Mode::hot,
};

}  // namespace warpmark::workloads
