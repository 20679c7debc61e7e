// conv2d: 2D convolution as in neural networks (a cross-correlation), y[n,k,p,q] = sum over c,i,j of
// x[n, c, p * stride + i - pad, q * stride + j - pad] * w[k,c,i,j], and its two gradients.
#include <fmt/format.h>

#include <array>

#include "workloads/conv2d/conv2d_cpu.h"
#include "workloads/cuda_bridge.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

constexpr ParamSpec kConv2dParams[] = {
    {"n", ParamKind::integer, "64", "images"},
    {"c", ParamKind::integer, "64", "input channels"},
    {"h", ParamKind::integer, "56", "image height"},
    {"w", ParamKind::integer, "56", "image width"},
    {"k", ParamKind::integer, "64", "output channels"},
    {"r", ParamKind::integer, "3", "kernel height and width"},
    {"stride", ParamKind::integer, "1", "step of the kernel"},
    {"pad", ParamKind::integer, "-1", "zeros on each side; -1 is r/2"},
    {"layout", ParamKind::text, "nchw", "order of the tensors' axes", "nchw|nhwc"},
    {"pass", ParamKind::text, "forward", "result, or gradient of the images or of the weights",
     "forward|backward_data|backward_weights"},
    {"dtype", ParamKind::text, "f32", "type of all tensors", "f32|tf32|f16|bf16"},
};

/// flops = 2 n k p q c r r for every pass: each product of an output, an input and a weight counts as a multiplication
/// and an addition, those with padding zeros included, as is usual. bytes: of the three tensors, each pass reads two
/// and writes the third.
Result<Cost> conv2d_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_ASSIGN(const ConvShape shape, conv_shape(params));
  WM_ASSIGN(const std::int64_t flops, product_of({{"2", 2},
                                                  {"n", shape.n},
                                                  {"k", shape.k},
                                                  {"p", shape.p},
                                                  {"q", shape.q},
                                                  {"c", shape.c},
                                                  {"r", shape.r},
                                                  {"r", shape.r}}));
  const std::int64_t elements = shape.input_elements() + shape.weight_elements() + shape.output_elements();
  WM_ASSIGN(const std::int64_t bytes, product_of({{"elements", elements}, {"bytes", element_bytes(shape.dtype)}}));
  return Cost{.flops = static_cast<double>(flops),
              .bytes = static_cast<double>(bytes),
              .footprint_bytes = bytes,
              .flop_type = shape.dtype,
              .link = "",
              .rate = "flop_rate"};
}

std::vector<Overrides> conv2d_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  struct Layer {
    const char *c, *size, *k, *r;
  };
  constexpr std::array kLayers{Layer{"64", "56", "64", "3"}, Layer{"256", "56", "64", "1"},
                               Layer{"128", "28", "128", "3"}, Layer{"512", "28", "128", "1"}};
  const bool gpu = device.backend == "cuda";
  const std::vector<const char*> types = gpu ? std::vector{"f32", "tf32", "f16", "bf16"} : std::vector{"f32", "bf16"};
  std::vector<Overrides> cases;
  for (const char* type : types) {
    for (const auto& layer : kLayers) {
      for (const char* layout : {"nchw", "nhwc"}) {
        for (const char* pass : {"forward", "backward_data", "backward_weights"}) {
          cases.push_back({{"n", "64"},
                           {"c", layer.c},
                           {"h", layer.size},
                           {"w", layer.size},
                           {"k", layer.k},
                           {"r", layer.r},
                           {"layout", layout},
                           {"pass", pass},
                           {"dtype", type}});
        }
      }
    }
  }
  return cases;
}

ConvPass pass_of(const std::string& text) {
  if (text == "forward") return ConvPass::forward;
  return text == "backward_data" ? ConvPass::backward_data : ConvPass::backward_weights;
}

}  // namespace

Result<ConvShape> conv_shape(const Params& params) {
  WM_TRY(require_at_least(params, 1, {"n", "c", "h", "w", "k", "r", "stride"}));
  WM_TRY(require_at_least(params, -1, {"pad"}));
  const auto value = [&](const char* name) { return params.integer(name); };
  ConvShape shape{.n = value("n"),
                  .c = value("c"),
                  .h = value("h"),
                  .w = value("w"),
                  .k = value("k"),
                  .r = value("r"),
                  .stride = value("stride"),
                  .pad = value("pad")};
  shape.channels_last = params.text("layout") == "nhwc";
  shape.pass = pass_of(params.text("pass"));
  shape.dtype = params.text("dtype");
  if (shape.pad < 0) shape.pad = shape.r / 2;
  if (shape.pad >= shape.r) {
    return usage_error(
        fmt::format("pad is {}, but must be below r={}: outputs would see only padding", shape.pad, shape.r),
        fmt::format("set pad to {} or less", shape.r - 1));
  }
  if (shape.r > shape.h + 2 * shape.pad || shape.r > shape.w + 2 * shape.pad) {
    return usage_error(fmt::format("a kernel of r={} does not fit an image of h={} w={} with pad={}", shape.r, shape.h,
                                   shape.w, shape.pad),
                       "set r lower, or h, w or pad higher");
  }
  shape.p = (shape.h + 2 * shape.pad - shape.r) / shape.stride + 1;
  shape.q = (shape.w + 2 * shape.pad - shape.r) / shape.stride + 1;
  const Factor n{"n", shape.n};
  const Factor c{"c", shape.c};
  const Factor k{"k", shape.k};
  // Four tensors' worth of 16 bytes an element fit 2^62 when each product does with the factor 64.
  const Factor room{"64", 64};
  WM_TRY(product_of({n, c, {"h", shape.h}, {"w", shape.w}, room}));
  WM_TRY(product_of({k, c, {"r", shape.r}, {"r", shape.r}, room}));
  WM_TRY(product_of({n, k, {"p", shape.p}, {"q", shape.q}, room}));
  return shape;
}

extern const measure::Workload kConv2d{
    .id = "conv2d",
    .summary = "2D convolution and its gradients",
    .params = kConv2dParams,
    .cost = conv2d_cost,
    .supports = supports_by_backend<conv2d_supports_cpu>,
    .prepare = prepare_by_backend<conv2d_prepare_cpu>,
    .cases = conv2d_cases,
    .default_mode = Mode::hot,
};

}  // namespace warpmark::workloads
