// Lookups in tables that are in the host's memory, with some rows held in memory that is nearer: on a GPU its own, and
// the rest is read over the link by the kernel itself; on a CPU an array of its own. Which rows are held is decided
// elsewhere (row_cache.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "measure/workload.h"
#include "model/params.h"
#include "workloads/feeding/row_cache.h"

namespace warpmark::workloads {

struct CachedShape {
  std::size_t tables, rows, dim, bags, lookups, batches;
  bool narrow;
  double ratio;
  [[nodiscard]] std::size_t all_rows() const { return tables * rows; }
  [[nodiscard]] std::size_t row_bytes() const { return dim * (narrow ? 2 : 4); }
  [[nodiscard]] std::size_t sums() const { return bags * tables; }               ///< of a batch, `dim` numbers each
  [[nodiscard]] std::size_t numbers() const { return bags * tables * lookups; }  ///< rows that a batch asks for
  [[nodiscard]] std::size_t held() const {
    return ratio >= 1 ? all_rows() : static_cast<std::size_t>(ratio * static_cast<double>(all_rows()));
  }
};

[[nodiscard]] inline CachedShape cached_shape(const Params& params) {
  const auto size = [&](const char* name) { return static_cast<std::size_t>(params.integer(name)); };
  return {size("tables"),
          size("rows"),
          size("dim"),
          size("bags"),
          size("lookups"),
          size("batches"),
          params.text("dtype") == "f16",
          params.number("cache")};
}

/// launch(stream, b) is batch b: sums[bag, table] of its rows. Nothing is held at first. check(b) compares the sums of
/// the last launch, which was of batch b, with sums in fp64 from the tables themselves.
class CachedLookups : public measure::Prepared {
 public:
  /// The rows that batch b asks for, bag by bag, table by table; row i of table t is t * rows + i. Before launch(b).
  virtual Status take_batch(std::span<const std::int32_t> numbers) = 0;
  /// Brings rows in and drives others out, after the launches so far.
  virtual Status hold(std::span<const RowEntry> entries) = 0;
  virtual Status hold_nothing() = 0;
  /// Enqueues counting what batch b asks for.
  virtual Status count(std::size_t batch) = 0;
  /// Of each row, how often it was counted since the last call; valid until the next one. Waits for the launches.
  virtual Result<std::span<const std::uint32_t>> take_counts() = 0;
  /// Rows of batch b that are held now. Waits.
  virtual Result<std::uint64_t> hits(std::size_t batch) = 0;
};

/// In this process's memory, by all processors.
[[nodiscard]] Result<std::unique_ptr<measure::Prepared>> cached_lookups_on_cpu(const measure::PrepareOptions& options);

/// Batches of lookups in several tables, by Zipf's law: what recommenders ask of their embeddings (26 tables of
/// categories in the Criteo data and MLPerf's DLRM).
struct LookupLaw {
  double skew = 1;   ///< row of rank i is asked for with odds 1 / (i + 1)^skew
  double drift = 0;  ///< this share of a table's rows changes places with others in a pass, pair by pair
  std::uint64_t seed = 0;
};

/// Rows of batch `batch`, as CachedLookups::take_batch takes them. Pure.
[[nodiscard]] std::vector<std::int32_t> lookup_batch(const CachedShape& shape, const LookupLaw& law, std::size_t batch);

/// Share of the lookups that hit where of each table the `held_of_each` rows with the highest odds are there: what a
/// cache that knew the odds would reach.
[[nodiscard]] double zipf_hit_rate(double rows, double held_of_each, double skew);

struct EmbeddingShape {
  std::size_t rows, dim, bags, lookups;
  bool narrow;
  [[nodiscard]] std::size_t row_bytes() const { return dim * (narrow ? 2 : 4); }
};

[[nodiscard]] inline EmbeddingShape embedding_shape(const Params& params) {
  const auto size = [&](const char* name) { return static_cast<std::size_t>(params.integer(name)); };
  return {size("rows"), size("dim"), size("bags"), size("lookups"), params.text("dtype") == "f16"};
}

/// Numbers by Zipf's law, by the inverse of its continuous form (Devroye, Non-Uniform Random Variate Generation, 1986,
/// chapter X.6 has the exact one; the tables here are long, and the difference is in the first rows).
inline void fill_zipf(std::span<std::int64_t> numbers, std::size_t rows, double skew, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double most = static_cast<double>(rows) + 1;
  for (auto& number : numbers) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    double x = 0;
    if (std::abs(skew - 1) < 1e-9) {
      x = std::exp(u * std::log(most));
    } else {
      x = std::pow(1 + u * (std::pow(most, 1 - skew) - 1), 1 / (1 - skew));
    }
    number = std::clamp<std::int64_t>(static_cast<std::int64_t>(x) - 1, 0, static_cast<std::int64_t>(rows) - 1);
  }
}

/// A note: how many different rows were asked for.
[[nodiscard]] inline std::pair<std::string, std::string> different_rows(std::span<const std::int64_t> numbers) {
  std::vector<std::int64_t> different(numbers.begin(), numbers.end());
  std::sort(different.begin(), different.end());
  const auto end = std::unique(different.begin(), different.end());
  return {"rows", std::to_string(end - different.begin()) + " different ones of " + std::to_string(numbers.size())};
}

}  // namespace warpmark::workloads
