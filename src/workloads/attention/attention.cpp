// attention: O = softmax(Q K^T / sqrt(dim)) V for each head. `standard` keeps the seq x seq scores in memory, `flash`
// never does (Dao, Fu, Ermon, Rudra, Re, "FlashAttention", NeurIPS 2022).

#include "workloads/attention/attention_cpu.h"
#include "workloads/cuda_bridge.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

constexpr ParamSpec kAttentionParams[] = {
    {"batch", ParamKind::integer, "8", "sequences"},
    {"heads", ParamKind::integer, "16", "heads of each"},
    {"seq", ParamKind::integer, "1024", "queries, and keys"},
    {"dim", ParamKind::integer, "64", "numbers in a query, key or value"},
    {"causal", ParamKind::text, "no", "query i sees keys 0 to i only", "no|yes"},
    {"dtype", ParamKind::text, "f32", "type of Q, K, V and the result", "f32|f16|bf16"},
    {"impl", ParamKind::text, "flash", "scores in memory, fused, or cuDNN's", "standard|flash|cudnn"},
};

/// flops = 4 * dim for each pair of a query and a key it sees: a product and a sum in Q K^T and in P V. There are seq^2
/// pairs a head, seq (seq + 1) / 2 with causal=yes. The softmax' operations are not counted. bytes: Q, K and V read
/// once, O written once, whatever the implementation moves besides.
Result<Cost> attention_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_ASSIGN(const AttentionShape shape, attention_shape(params));
  const double seq = static_cast<double>(shape.seq);
  const double pairs = shape.causal ? seq * (seq + 1) / 2 : seq * seq;
  const std::int64_t bytes = 4 * shape.elements() * element_bytes(shape.dtype);
  return Cost{.flops = 4 * static_cast<double>(shape.dim) * pairs * static_cast<double>(shape.matrices()),
              .bytes = static_cast<double>(bytes),
              .footprint_bytes = bytes,
              .flop_type = shape.dtype,
              .link = "",
              .rate = "flop_rate"};
}

std::vector<Overrides> attention_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  const bool gpu = device.backend == "cuda";
  const std::vector<const char*> lengths =
      gpu ? std::vector{"512", "1024", "2048", "4096"} : std::vector{"512", "1024"};
  const std::vector<const char*> types = gpu ? std::vector{"f16", "bf16", "f32"} : std::vector{"f32"};
  const std::vector<const char*> ways =
      gpu ? std::vector{"standard", "flash", "cudnn"} : std::vector{"standard", "flash"};
  std::vector<Overrides> cases;
  for (const char* type : types) {
    for (const char* way : ways) {
      for (const char* causal : {"no", "yes"}) {
        for (const char* length : lengths) {
          cases.push_back({{"seq", length}, {"causal", causal}, {"dtype", type}, {"impl", way}});
        }
      }
    }
  }
  return cases;
}

}  // namespace

Result<AttentionShape> attention_shape(const Params& params) {
  WM_TRY(require_at_least(params, 1, {"batch", "heads", "seq", "dim"}));
  const AttentionShape shape{.batch = params.integer("batch"),
                             .heads = params.integer("heads"),
                             .seq = params.integer("seq"),
                             .dim = params.integer("dim"),
                             .causal = params.text("causal") == "yes",
                             .dtype = params.text("dtype")};
  const Factor batch{"batch", shape.batch};
  const Factor heads{"heads", shape.heads};
  const Factor seq{"seq", shape.seq};
  const Factor dim{"dim", shape.dim};
  WM_TRY(product_of({batch, heads, seq, dim, {"bytes", 16}}));
  WM_TRY(product_of({batch, heads, seq, seq, {"bytes", 4}}));
  WM_TRY(product_of({batch, heads, seq, seq, dim, {"4", 4}}));
  return shape;
}

extern const measure::Workload kAttention{
    .id = "attention",
    .summary = "softmax(Q K^T) V, standard and fused",
    .params = kAttentionParams,
    .cost = attention_cost,
    .supports = supports_by_backend<attention_supports_cpu>,
    .prepare = prepare_by_backend<attention_prepare_cpu>,
    .cases = attention_cases,
    .default_mode = Mode::hot,
};

}  // namespace warpmark::workloads
