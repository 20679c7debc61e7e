// Datasheets of cards that no other test measures, held against what their figures come from: cores and clocks, the bus
// of the memory, and how many times as fast tensor cores are in each type.
#include "device/datasheet.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace warpmark::device {
namespace {

/// As the vendor and databases of GPUs list them.
struct Card {
  const char* id;
  double cores;     ///< of FP32
  double boost_hz;  ///< at which the vendor states rates
  double bus_bits;
  double pin_rate;    ///< bits a second
  double f64_of_f32;  ///< rates as multiples of others; 0: the sheet leaves it out
  double f16_of_f32;  ///< by tensor cores, accumulating in FP32
  double lanes_rate;  ///< PCIe, B/s; 0: none
  double nvlink;      ///< B/s, each direction
  double power_w;
  double memory_bytes;
};

constexpr double kGen3 = 16e9, kGen4 = 32e9, kGen5 = 64e9;  // 16 lanes, each direction

constexpr Card kCards[] = {
    {"t4", 2560, 1.590e9, 256, 10.0e9, 1.0 / 32, 8, kGen3, 0, 70, 16e9},
    {"l40s", 18176, 2.520e9, 384, 18.0e9, 0, 3.953, kGen4, 0, 350, 48e9},
    {"rtx-4090", 16384, 2.520e9, 384, 21.0e9, 1.0 / 64, 2, kGen4, 0, 450, 24e9},
    {"rtx-5090", 21760, 2.407e9, 512, 28.0e9, 1.0 / 64, 2, kGen5, 0, 575, 32e9},
    // 148 multiprocessors; the rates of tensor cores are stated at a clock of their own, and rounded.
    {"b100", 18944, 1.60e9, 8192, 8.0e9, 0.5, 29.2, kGen5, 900e9, 700, 192e9},
    {"b200", 18944, 1.98e9, 8192, 8.0e9, 0.5, 30, kGen5, 900e9, 1000, 180e9},
    {"gb200", 18944, 2.112e9, 8192, 8.0e9, 0.5, 31.25, 0, 900e9, 1200, 186e9},
};

double rate(const Datasheet& sheet, const char* type) {
  const auto found = sheet.peak_rate.find(type);
  return found == sheet.peak_rate.end() ? 0 : found->second;
}

TEST(Datasheet, follows_from_cores_clock_and_bus) {
  const auto sheets = built_in_datasheets();
  for (const Card& card : kCards) {
    const Datasheet* sheet = find_datasheet(sheets, card.id);
    ASSERT_NE(sheet, nullptr) << card.id;
    const double f32 = 2 * card.cores * card.boost_hz;  // a fused multiply-add is two operations
    EXPECT_NEAR(rate(*sheet, "f32") / f32, 1, 0.02) << card.id;
    EXPECT_NEAR(rate(*sheet, "f64") / f32, card.f64_of_f32, 0.01) << card.id;
    EXPECT_NEAR(rate(*sheet, "f16") / rate(*sheet, "f32"), card.f16_of_f32, 0.03 * card.f16_of_f32) << card.id;
    EXPECT_NEAR(sheet->memory_bandwidth / (card.bus_bits / 8 * card.pin_rate), 1, 0.03) << card.id;
    EXPECT_EQ(sheet->pcie_bandwidth, card.lanes_rate) << card.id;
    EXPECT_EQ(sheet->nvlink_bandwidth, card.nvlink) << card.id;
    EXPECT_EQ(sheet->power_w, card.power_w) << card.id;
    EXPECT_EQ(sheet->memory_bytes, card.memory_bytes) << card.id;
  }
}

/// AMD's white paper counts operations per clock of one of 304 compute units, at 2.1 GHz.
TEST(Datasheet, of_cdna3_follows_from_compute_units_and_clock) {
  const auto sheets = built_in_datasheets();
  const Datasheet& sheet = *find_datasheet(sheets, "mi300x");
  for (const auto& [type, per_clock] : std::initializer_list<std::pair<const char*, double>>{
           {"f64", 256}, {"f32", 256}, {"tf32", 1024}, {"f16", 2048}, {"bf16", 2048}, {"fp8", 4096}, {"int8", 4096}}) {
    EXPECT_NEAR(rate(sheet, type) / (304 * per_clock * 2.1e9), 1, 0.001) << type;
  }
  EXPECT_NEAR(sheet.memory_bandwidth / (8192 / 8 * 5.2e9), 1, 0.01);
  EXPECT_EQ(datasheet_of_device(sheets, "AMD Instinct MI300X OAM"), &sheet);
}

/// The rack of 72 GPUs is published as a whole.
TEST(Datasheet, of_blackwell_ultra_is_its_share_of_the_rack) {
  const auto sheets = built_in_datasheets();
  const Datasheet& rack = *find_datasheet(sheets, "gb300");
  EXPECT_NEAR(72 * rate(rack, "fp8"), 360e15, 1e12);
  EXPECT_NEAR(72 * rate(rack, "f16"), 180e15, 1e12);
  EXPECT_NEAR(72 * rack.memory_bandwidth, 576e12, 1e9);
  EXPECT_NEAR(2 * 72 * rack.nvlink_bandwidth, 130e12, 1e12);
  const Datasheet& board = *find_datasheet(sheets, "b300");
  EXPECT_NEAR(2 * 8 * rate(board, "fp8"), 72e15, 1e12) << "with sparsity, as the board's table has it";
  EXPECT_NEAR(8 * rate(board, "f32"), 600e12, 1e9);
  EXPECT_NEAR(8 * rate(board, "f64"), 10e12, 1e9);
  EXPECT_EQ(datasheet_of_device(sheets, "NVIDIA B300 SXM6 AC"), &board);
  EXPECT_EQ(datasheet_of_device(sheets, "NVIDIA GB300"), &rack);
}

/// Half the width, twice the rate; a doubled figure of 2:4 sparsity would stand out.
TEST(Datasheet, has_tensor_rates_that_double_with_each_halving_of_the_type) {
  const auto sheets = built_in_datasheets();
  for (const Card& card : kCards) {
    const Datasheet& sheet = *find_datasheet(sheets, card.id);
    const double f16 = rate(sheet, "f16");
    if (sheet.peak_rate.contains("bf16")) {
      EXPECT_EQ(rate(sheet, "bf16"), f16) << card.id;
    }
    if (sheet.peak_rate.contains("tf32")) {
      EXPECT_NEAR(f16 / rate(sheet, "tf32"), 2, 0.05) << card.id;
    }
    if (sheet.peak_rate.contains("fp8")) {
      EXPECT_NEAR(rate(sheet, "fp8") / f16, 2, 0.06) << card.id;
    }
    // Consumer cards accumulate 16 bits in FP32 at half the rate, and integers at the whole one.
    const double of_f16 = std::string_view(card.id).starts_with("rtx") ? 4 : 2;
    EXPECT_NEAR(rate(sheet, "int8") / f16, of_f16, 0.06) << card.id;
  }
}

}  // namespace
}  // namespace warpmark::device
