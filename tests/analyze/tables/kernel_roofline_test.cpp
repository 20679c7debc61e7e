// Kernels of a kernel profiler under the GPU's peaks.
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "support/analyzed.h"

namespace warpmark::analyze {
namespace {

using testing_support::table_of;

KernelProfile profiled(const std::string& name, KernelMetrics metrics) {
  KernelProfile kernel;
  kernel.name = name;
  kernel.metrics = std::move(metrics);
  kernel.metrics.add("gpu__time_duration.sum", "ns", 1000);
  kernel.metrics.add("smsp__cycles_elapsed.avg.per_second", "hz", 2e9);
  kernel.metrics.add("sm__cycles_elapsed.avg.per_second", "hz", 2e9);
  kernel.metrics.add("dram__bytes.sum.peak_sustained", "byte/cycle", 1000);
  kernel.metrics.add("dram__cycles_elapsed.avg.per_second", "hz", 3e9);
  kernel.metrics.add("derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2", "thread", 20'000);
  kernel.metrics.add("derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2", "thread", 10'000);
  return kernel;
}

double number_in(const TableValue& value) { return std::get<double>(value); }
std::string text_in(const TableValue& value) { return std::get<std::string>(value); }

TEST(KernelRoofline, places_kernels_under_the_peaks_of_the_units_that_they_used) {
  const std::string executed = "smsp__sass_thread_inst_executed_op_";
  ProfileSession session;
  session.kernels.push_back(profiled("axpy", {{executed + "ffma_pred_on.sum.per_cycle_elapsed", "inst/cycle", 250},
                                              {executed + "fadd_pred_on.sum.per_cycle_elapsed", "inst/cycle", 500},
                                              {executed + "dfma_pred_on.sum.per_cycle_elapsed", "inst/cycle", 0},
                                              {"dram__bytes.sum.per_second", "byte/s", 2e12}}));
  const std::string path = "sm__ops_path_tensor_src_";
  session.kernels.push_back(
      profiled("gemm", {{path + "bf16_dst_fp32.sum.per_second", "", 400e12},
                        {path + "bf16_dst_fp32.sum.peak_sustained_elapsed.per_second", "", 1000e12},
                        {path + "int8.sum.per_second", "", 5e12},
                        {"dram__bytes_read.sum", "byte", 900'000},
                        {"dram__bytes_write.sum", "byte", 100'000}}));
  const Analysis analysis = analyze(session);
  const AnalysisTable* table = table_of(analysis, kKernelRooflineTable);
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->rows.size(), 5U);
  const auto& axpy = table->rows[0];
  EXPECT_EQ(table->columns[4].id, "share");
  EXPECT_EQ(table->columns[5].id, "bandwidth");
  EXPECT_EQ(text_in(axpy[0]), "axpy");
  EXPECT_DOUBLE_EQ(number_in(axpy[3]), 2e12) << "(2 * 250 + 500) * 2 GHz";
  EXPECT_DOUBLE_EQ(number_in(axpy[2]), 1.0);
  EXPECT_DOUBLE_EQ(number_in(axpy[4]), 2.0 / 3) << "of 1 FLOP/B * 3 TB/s, which is below 40 TFLOP/s";
  const auto& gemm = table->rows[1];
  EXPECT_DOUBLE_EQ(number_in(gemm[3]), 400e12) << "integers are no FLOP";
  EXPECT_DOUBLE_EQ(number_in(gemm[2]), 400.0) << "a megabyte in a microsecond";
  EXPECT_DOUBLE_EQ(number_in(gemm[4]), 0.4) << "of the tensor cores', which is below 400 FLOP/B * 3 TB/s";
  EXPECT_EQ(text_in(table->rows[2][0]), "FP32");
  EXPECT_EQ(text_in(table->rows[2][1]), kComputePeak);
  EXPECT_DOUBLE_EQ(number_in(table->rows[2][3]), 40e12);
  EXPECT_EQ(text_in(table->rows[3][0]), "device memory");
  EXPECT_EQ(text_in(table->rows[3][1]), kMemoryPeak);
  EXPECT_DOUBLE_EQ(number_in(table->rows[3][5]), 3e12);
  EXPECT_EQ(text_in(table->rows[4][0]), "tensor bf16");
  EXPECT_DOUBLE_EQ(number_in(table->rows[4][3]), 1000e12) << "nobody computed in double precision: no such peak";
}

/// Values of a product of bf16 matrices on an H100 by ncu 2025.3, whose peak is that of sparse ones.
TEST(KernelRoofline, sets_dense_products_against_what_dense_ones_can_reach) {
  const std::string path = "sm__ops_path_tensor_src_bf16_dst_fp32.sum.";
  const auto with_busy = [&](double percent) {
    ProfileSession session;
    session.kernels.push_back(
        profiled("gemm", {{path + "per_second", "", 859.2e12},
                          {path + "peak_sustained_elapsed.per_second", "", 1755.6e12},
                          {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", percent},
                          {"dram__bytes.sum.per_second", "byte/s", 1e12}}));
    const Analysis analysis = analyze(session);
    return number_in(table_of(analysis, kKernelRooflineTable)->rows[0][4]);
  };
  EXPECT_NEAR(with_busy(97.88), 0.9788, 1e-4);
  EXPECT_NEAR(with_busy(48.94), 0.4894, 1e-4) << "a sparse one";
}

TEST(KernelRoofline, is_left_out_where_flops_were_not_counted) {
  ProfileSession session;
  session.kernels.push_back(profiled("copy", {{"dram__bytes.sum.per_second", "byte/s", 2e12}}));
  const Analysis analysis = analyze(session);
  EXPECT_EQ(table_of(analysis, kKernelRooflineTable), nullptr);
  EXPECT_NE(table_of(analysis, "kernel_cards"), nullptr);
}

}  // namespace
}  // namespace warpmark::analyze
