// embedding_cache: lookups in many tables that are in the host's memory, as those of recommenders are where they do not
// fit a GPU's; the rows asked for most often are held in the GPU's own memory, and the set of them is chosen anew now
// and then. On a CPU the held rows are an array of its own: hit rates are the same there.
#include <fmt/format.h>

#include <vector>

#include "base/clock.h"
#include "workloads/cuda_bridge.h"
#include "workloads/feeding/cached_lookups.h"
#include "workloads/feeding/passes.h"
#include "workloads/feeding/row_cache.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

constexpr ParamSpec kEmbeddingCacheParams[] = {
    {"tables", ParamKind::integer, "26", "tables; a sum is of rows of one"},
    {"rows", ParamKind::integer, "100000", "rows of each table"},
    {"dim", ParamKind::integer, "128", "numbers of a row"},
    {"bags", ParamKind::integer, "4096", "samples of a batch: sums of each table"},
    {"lookups", ParamKind::integer, "1", "rows of one sum"},
    {"skew", ParamKind::number, "1.05", "exponent of Zipf's law; 0 is even"},
    {"dtype", ParamKind::text, "f32", "type of the tables; sums are f32", "f32|f16"},
    {"cache", ParamKind::number, "0.1", "share of all rows that is held near"},
    {"refresh", ParamKind::integer, "0", "batches between two choices of the rows held; 0 is one choice before all"},
    {"drift", ParamKind::number, "0", "share of the rows whose popularity changes in a pass"},
    {"batches", ParamKind::integer, "32", "batches of a pass"},
};

/// bytes: of a pass, each row that is asked for read once with its number and its place, each sum written once.
Result<Cost> embedding_cache_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"tables", "rows", "dim", "bags", "lookups", "batches"}));
  WM_TRY(require_at_least(params, 0, {"refresh"}));
  if (!(params.number("skew") >= 0) || params.number("skew") > 10) return usage_error("skew is from 0 to 10");
  if (!(params.number("cache") >= 0) || params.number("cache") > 1) return usage_error("cache is from 0 to 1");
  if (!(params.number("drift") >= 0) || params.number("drift") > 1) return usage_error("drift is from 0 to 1");
  const Factor tables{"tables", params.integer("tables")}, dim{"dim", params.integer("dim")};
  const Factor bags{"bags", params.integer("bags")}, batches{"batches", params.integer("batches")};
  const Factor lookups{"lookups", params.integer("lookups")};
  const Factor element{"bytes", element_bytes(params.text("dtype"))};
  WM_ASSIGN(const auto rows, product_of({tables, {"rows", params.integer("rows")}}));
  if (rows >= (std::int64_t{1} << 31)) return usage_error("the tables have less than 2^31 rows together");
  WM_ASSIGN(const auto table_bytes, product_of({tables, {"rows", params.integer("rows")}, dim, element}));
  WM_ASSIGN(const auto read, product_of({batches, bags, tables, lookups, dim, element}));
  WM_ASSIGN(const auto numbers, product_of({batches, bags, tables, lookups, {"bytes", 8}}));
  WM_ASSIGN(const auto written, product_of({batches, bags, tables, dim, {"bytes", 4}}));
  WM_ASSIGN(const auto flops, product_of({batches, bags, tables, lookups, dim}));
  return Cost{.flops = static_cast<double>(flops),
              .bytes = static_cast<double>(read + numbers + written),
              .footprint_bytes = table_bytes,
              .flop_type = "f32",
              .link = "",
              .rate = "bandwidth"};
}

std::vector<Overrides> embedding_cache_cases(const measure::Workload& /*self*/, const DeviceInfo& /*device*/) {
  return {{{"cache", "0.01"}}, {{"cache", "0.1"}}, {{"cache", "0.5"}}, {{"cache", "1"}}};
}

/// What happened besides the time; the same in every pass.
struct PassFacts {
  double lookups = 0, hits = 0, choices = 0, brought_in = 0;
};

class CachedPasses {
 public:
  CachedPasses(CachedLookups& lookups, device::Device& device, const Params& params, std::uint64_t seed)
      : lookups_(lookups),
        device_(device),
        shape_(cached_shape(params)),
        refresh_(static_cast<std::size_t>(params.integer("refresh"))),
        law_{params.number("skew"), params.number("drift"), seed},
        first_(shape_.all_rows(), shape_.held()),
        now_(first_) {}

  /// Draws the batches, and chooses the first rows from as many others that came before.
  Status prepare() {
    std::vector<std::uint32_t> counted(shape_.all_rows(), 0);
    const LookupLaw before{law_.skew, 0, ~law_.seed};
    for (std::size_t batch = 0; batch < shape_.batches; ++batch) {
      for (const std::int32_t row : lookup_batch(shape_, before, batch)) ++counted[static_cast<std::size_t>(row)];
      WM_TRY(lookups_.take_batch(lookup_batch(shape_, law_, batch)));
    }
    (void)first_.choose(counted);
    return {};
  }

  Status pass(double& seconds) {
    WM_TRY(begin_again());
    WM_TRY(lookups_.poison());
    WM_TRY(device_.synchronize());
    double choosing = 0;
    const std::int64_t begin = monotonic_ns();
    for (std::size_t batch = 0; batch < shape_.batches; ++batch) {
      WM_TRY(lookups_.launch(device_.stream(), batch));
      WM_TRY(after(batch, nullptr, &choosing));
    }
    WM_TRY(device_.synchronize());
    seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    choosing_.push_back(choosing);
    return {};
  }

  /// The sums that the last pass left, then a pass without a clock: all sums of all batches, and what hit.
  Result<ErrorCheck> check(PassFacts& facts) {
    WM_ASSIGN(ErrorCheck worst, lookups_.check(shape_.batches - 1));
    WM_TRY(begin_again());
    for (std::size_t batch = 0; batch < shape_.batches; ++batch) {
      WM_TRY(lookups_.poison());
      WM_ASSIGN(const auto hits, lookups_.hits(batch));
      facts.hits += static_cast<double>(hits);
      facts.lookups += static_cast<double>(shape_.numbers());
      WM_TRY(lookups_.launch(device_.stream(), batch));
      WM_ASSIGN(const ErrorCheck error, lookups_.check(batch));
      if (!(error.value <= worst.value)) worst = error;
      WM_TRY(after(batch, &facts, nullptr));
    }
    return worst;
  }

  [[nodiscard]] const CachedShape& shape() const { return shape_; }
  /// Seconds of each pass, the first of them the warm-up's, in which rows were chosen and brought in.
  [[nodiscard]] const std::vector<double>& choosing() const { return choosing_; }

 private:
  Status begin_again() {
    now_ = first_;
    WM_TRY(lookups_.hold_nothing());
    WM_TRY(lookups_.take_counts());
    return lookups_.hold(first_.contents());
  }

  /// Counting, and after every `refresh` batches the choice.
  Status after(std::size_t batch, PassFacts* facts, double* choosing) {
    if (refresh_ == 0) return {};
    WM_TRY(lookups_.count(batch));
    if ((batch + 1) % refresh_ != 0 || batch + 1 == shape_.batches) return {};
    WM_TRY(device_.synchronize());  // what is still under way is no part of choosing
    const std::int64_t begin = monotonic_ns();
    WM_ASSIGN(const auto counted, lookups_.take_counts());
    const auto entries = now_.choose(counted);
    WM_TRY(lookups_.hold(entries));
    WM_TRY(device_.synchronize());
    if (choosing != nullptr) *choosing += static_cast<double>(monotonic_ns() - begin) * 1e-9;
    if (facts != nullptr) {
      facts->choices += 1;
      facts->brought_in += static_cast<double>(entries.size());
    }
    return {};
  }

  CachedLookups& lookups_;
  device::Device& device_;
  CachedShape shape_;
  std::size_t refresh_;
  LookupLaw law_;
  RowCache first_, now_;
  std::vector<double> choosing_;
};

/// Over the link where rows cross one: those that are not held, and those that are brought in. How much of the rest of
/// the bytes is the memory's is then in cache_bandwidth.
Cost cost_of_pass(Cost cost, const CachedShape& shape, const PassFacts& facts, bool link) {
  const double over = (facts.lookups - facts.hits + facts.brought_in) * static_cast<double>(shape.row_bytes());
  if (!link || over == 0) return cost;
  cost.bytes = over;
  cost.link = "h2d";
  return cost;
}

void add_metrics(Run& run, const CachedPasses& passes, const PassFacts& facts, const std::vector<double>& seconds) {
  const CachedShape& shape = passes.shape();
  const auto row = static_cast<double>(shape.row_bytes());
  add_rate(run, "bandwidth", "B/s", run.cost.bytes, seconds);
  add_rate(run, "lookups_rate", "1/s", facts.lookups, seconds);
  add_rate(run, "cache_bandwidth", "B/s", facts.hits * row, seconds);
  add_rate(run, "host_bandwidth", "B/s", (facts.lookups - facts.hits + facts.brought_in) * row, seconds);
  std::vector<double> batch, choosing;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    batch.push_back(seconds[i] / static_cast<double>(shape.batches));
    choosing.push_back(passes.choosing()[i + 1] / seconds[i]);
  }
  add_samples(run, "batch_time", "s", Better::lower, std::move(batch));
  add_samples(run, "hit_rate", "ratio", Better::higher, {facts.hits / facts.lookups});
  const double each = static_cast<double>(shape.held()) / static_cast<double>(shape.tables);
  add_samples(run, "best_hit_rate", "ratio", Better::higher,
              {zipf_hit_rate(static_cast<double>(shape.rows), each, run.params.number("skew"))});
  if (run.params.integer("refresh") > 0) add_samples(run, "choosing", "ratio", Better::lower, std::move(choosing));
  run.notes.emplace_back("cache", fmt::format("{} of {} rows, {:.4g} of {:.4g} MB", shape.held(), shape.all_rows(),
                                              static_cast<double>(shape.held()) * row * 1e-6,
                                              static_cast<double>(shape.all_rows()) * row * 1e-6));
  if (facts.choices > 0) {
    run.notes.emplace_back("refreshes", fmt::format("{:.0f} in a pass, {:.4g} rows brought in by each", facts.choices,
                                                    facts.brought_in / facts.choices));
  }
}

Status measure_embedding_cache(const measure::Case& what, device::Device& device, const measure::RoundOptions& options,
                               Run& run) {
  WM_ASSIGN(run.cost, what.workload->cost(*what.workload, what.params));
  const bool cuda = device.info().backend == "cuda";
  const auto support = what.workload->supports(*what.workload, device.info(), what.params);
  if (!support.available) return unsupported_error(support.reason, support.hint);
  const measure::PrepareOptions prepare{device, what.params, 1, options.seed};
  WM_ASSIGN(const auto prepared, cuda ? prepare_on_cuda(what.workload->id, prepare) : cached_lookups_on_cpu(prepare));
  // What the module has under this workload's name is one of these.
  CachedPasses passes(static_cast<CachedLookups&>(*prepared), device, what.params, options.seed);
  WM_TRY(passes.prepare());
  WM_ASSIGN(const auto seconds, time_passes(options, run, [&](double& s) { return passes.pass(s); }));
  if (seconds.empty()) return {};
  PassFacts facts;
  WM_ASSIGN(const ErrorCheck error, passes.check(facts));
  if (!record_passes(run, error, fmt::format("wrong sums: {} is {:.3g}", error.norm, error.value), seconds)) return {};
  run.cost = cost_of_pass(run.cost, passes.shape(), facts, cuda);
  add_metrics(run, passes, facts, seconds);
  return {};
}

}  // namespace

extern const measure::Workload kEmbeddingCache{
    .id = "embedding_cache",
    .summary = "rows of many tables in host memory, the popular ones held on the device",
    .params = kEmbeddingCacheParams,
    .cost = embedding_cache_cost,
    .supports = supports_by_backend<supports_every_cpu>,
    .prepare = nullptr,
    .cases = embedding_cache_cases,
    .default_mode = Mode::hot,
    .measure = measure_embedding_cache,
};

}  // namespace warpmark::workloads
