#include "analyze/names/matrix_units.h"

#include <algorithm>

#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

// Peaks in TFLOP/s, dense: data sheets of NVIDIA H100 and V100 (T4: 8.1 to 65), and of AMD Instinct MI100, MI250X
// (MI210: half), MI300X and MI355X, "Peak Single Precision Matrix (FP32)" and "Peak Half Precision Matrix (FP16)".
constexpr MatrixUnits kNone = {.any = false};
constexpr MatrixUnits kHopper = {.left_in_tf32 = 67.0F / 495, .left_in_16_bits = 67.0F / 990};
constexpr MatrixUnits kVolta = {.take_bf16 = false, .left_in_16_bits = 15.7F / 125};
constexpr MatrixUnits kMi100 = {.take_fp32 = true, .left_in_16_bits = 46.1F / 184.6F};
constexpr MatrixUnits kMi200 = {.take_fp32 = true, .left_in_16_bits = 95.7F / 383};
constexpr MatrixUnits kMi300 = {
    .take_fp32 = true, .left_in_tf32 = 163.4F / 653.7F, .left_in_16_bits = 163.4F / 1307.4F};
constexpr MatrixUnits kMi350 = {.take_fp32 = true, .left_in_16_bits = 157.3F / 2516.6F};
// Radeon RX 7900 XTX: 61.4 to 122.8.
constexpr MatrixUnits kRadeon = {.left_in_16_bits = 61.4F / 122.8F};

MatrixUnits of_amd(const GpuInfo& gpu) {
  const auto is = [&gpu](std::initializer_list<std::string_view> words) { return contains_any(gpu.name, words); };
  if (is({"mi100", "gfx908"})) return kMi100;
  if (is({"mi210", "mi250", "gfx90a"})) return kMi200;
  if (is({"mi350", "mi355", "gfx95"}) || (gpu.compute_major == 9 && gpu.compute_minor == 5)) return kMi350;
  if (is({"mi300", "mi308", "mi325", "gfx94"}) || (gpu.compute_major == 9 && gpu.compute_minor == 4)) return kMi300;
  return is({"rx 7", "rx 9", "pro w7", "gfx11", "gfx12"}) || gpu.compute_major > 10 ? kRadeon : kNone;
}

/// Turing without tensor cores: TU116 and TU117, which have the compute capability of those with them (NVIDIA Turing
/// Tuning Guide and product pages of the GTX 16 series, MX450, MX550 and T400 to T2000).
bool is_turing_without(std::string_view name) {
  return contains_any(name,
                      {"gtx 16", "mx450", "mx550", " t400", " t500", " t550", " t600", " t1000", " t1200", " t2000"});
}

}  // namespace

MatrixUnits matrix_units_of(const Timeline& timeline, int device) {
  if (timeline.gpus.empty()) return kHopper;
  const auto found = std::ranges::find(timeline.gpus, device, &GpuInfo::index);
  return matrix_units_of(found == timeline.gpus.end() ? timeline.gpus.front() : *found);
}

MatrixUnits matrix_units_of(const GpuInfo& gpu) {
  if (contains_any(gpu.name, {"amd ", "radeon", "instinct", "gfx"})) return of_amd(gpu);
  if (gpu.compute_major == 0 || gpu.compute_major > 7) return kHopper;
  return gpu.compute_major < 7 || is_turing_without(gpu.name) ? kNone : kVolta;
}

}  // namespace warpmark::analyze
