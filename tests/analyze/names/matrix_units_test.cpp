#include "analyze/names/matrix_units.h"

#include <gtest/gtest.h>

namespace warpmark::analyze {
namespace {

MatrixUnits of(const std::string& gpu, int major, int minor) {
  Timeline timeline;
  timeline.gpus.push_back({.index = 0, .name = gpu, .compute_major = major, .compute_minor = minor});
  return matrix_units_of(timeline, 0);
}

TEST(MatrixUnits, are_those_of_the_data_sheet) {
  EXPECT_NEAR(of("NVIDIA H100 80GB HBM3", 9, 0).left_in_16_bits, 1 / 14.8, 0.001);
  EXPECT_NEAR(of("Tesla T4", 7, 5).left_in_16_bits, 1 / 8.0, 0.001);
  EXPECT_FALSE(of("Tesla V100-SXM2-16GB", 7, 0).take_bf16);
  EXPECT_FALSE(of("Tesla V100-SXM2-16GB", 7, 0).take_tf32());
  EXPECT_NEAR(of("AMD Instinct MI250X", 9, 0).left_in_16_bits, 1 / 4.0, 0.001);
  EXPECT_FALSE(of("AMD Instinct MI250X", 9, 0).take_tf32());
  EXPECT_NEAR(of("AMD Instinct MI300X", 9, 4).left_in_16_bits, 1 / 8.0, 0.001);
  EXPECT_TRUE(of("AMD Radeon Graphics", 9, 4).take_tf32()) << "a container without the table of names";
  EXPECT_NEAR(of("AMD Instinct MI355X", 9, 5).left_in_16_bits, 1 / 16.0, 0.001);
  EXPECT_TRUE(matrix_units_of(Timeline(), 0).any) << "nothing is known";
}

TEST(MatrixUnits, are_missing_in_older_gpus_and_in_small_ones_of_the_same_capability) {
  for (const char* gpu : {"NVIDIA GeForce GTX 1660 Ti", "NVIDIA GeForce GTX 1650", "Quadro T1000", "NVIDIA T400 4GB",
                          "NVIDIA GeForce MX450"}) {
    EXPECT_FALSE(of(gpu, 7, 5).any) << gpu;
  }
  for (const char* gpu : {"Tesla T4", "NVIDIA GeForce RTX 2080 Ti", "Quadro RTX 4000"}) {
    EXPECT_TRUE(of(gpu, 7, 5).any) << gpu;
  }
  EXPECT_FALSE(of("Tesla P100-PCIE-16GB", 6, 0).any);
  EXPECT_FALSE(of("AMD Radeon VII", 9, 0).any);
  EXPECT_FALSE(of("AMD Radeon RX 6900 XT", 10, 3).any);
  EXPECT_TRUE(of("AMD Radeon RX 7900 XTX", 11, 0).any);
}

}  // namespace
}  // namespace warpmark::analyze
