#include "device/cpu/proc.h"

#include <gtest/gtest.h>

namespace warpmark::device {
namespace {

TEST(CpuList, expands_ranges_and_skips_what_is_malformed) {
  EXPECT_EQ(parse_cpu_list("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5"), (std::vector<int>{5}));
  EXPECT_EQ(parse_cpu_list("x,2-y,7"), (std::vector<int>{7}));
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("0-999999999").empty());
}

TEST(CpuList, is_written_with_ranges) {
  EXPECT_EQ(cpu_list_text(std::vector<int>{0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(cpu_list_text(std::vector<int>{}), "");
}

TEST(KernelSize, knows_the_suffixes) {
  EXPECT_EQ(parse_kernel_size("48K"), 48 * 1024);
  EXPECT_EQ(parse_kernel_size("107520K\n"), std::int64_t{107520} * 1024);
  EXPECT_EQ(parse_kernel_size("2M"), 2 << 20);
  EXPECT_EQ(parse_kernel_size("512"), 512);
  EXPECT_FALSE(parse_kernel_size("big").has_value());
  EXPECT_FALSE(parse_kernel_size("").has_value());
  EXPECT_FALSE(parse_kernel_size("9223372036854775807G").has_value());
}

TEST(ProcStat, sums_busy_ticks_and_keeps_steal_apart) {
  //                     user nice system idle iowait irq softirq steal guest guest_nice
  const char* text = "cpu  1000 200 300 9000 50 10 40 700 500 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
  const auto times = parse_proc_stat(text, 100);
  ASSERT_TRUE(times.has_value());
  EXPECT_DOUBLE_EQ(times->busy_s, 15.5);
  EXPECT_DOUBLE_EQ(times->steal_s, 7.0);
}

TEST(ProcStat, has_no_value_for_another_text) {
  EXPECT_FALSE(parse_proc_stat("", 100).has_value());
  EXPECT_FALSE(parse_proc_stat("cpu 1 2 3", 100).has_value());
  EXPECT_FALSE(parse_proc_stat("cpu 1 2 3 4 5 6 7 x 9 10", 100).has_value());
  EXPECT_FALSE(parse_proc_stat("cpu 1 2 3 4 5 6 7 8 9 10", 0).has_value());
}

TEST(Meminfo, reads_bytes_and_leaves_the_rest_absent) {
  const auto memory =
      parse_meminfo("MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:  8192 kB\nHugePages_Total: 0\n");
  EXPECT_EQ(memory.total_bytes, 16384 * 1024);
  EXPECT_EQ(memory.available_bytes, 8192 * 1024);
  EXPECT_FALSE(memory.swap_total_bytes.has_value());
}

TEST(Schedstat, has_the_wait_in_seconds_and_the_times_scheduled) {
  const auto scheduled = parse_schedstat("12345 250000000 42\n");
  ASSERT_TRUE(scheduled.has_value());
  EXPECT_DOUBLE_EQ(scheduled->waited_s, 0.25);
  EXPECT_EQ(scheduled->scheduled, 42);
  EXPECT_FALSE(parse_schedstat("12345 250000000").has_value());
  EXPECT_FALSE(parse_schedstat("a b c").has_value());
}

TEST(Pressure, is_a_ratio_of_the_some_line) {
  EXPECT_DOUBLE_EQ(parse_pressure("some avg10=3.50 avg60=1.51 avg300=0.79 total=11\nfull avg10=9.00\n").value(), 0.035);
  EXPECT_FALSE(parse_pressure("full avg10=9.00\n").has_value());
  EXPECT_FALSE(parse_pressure("").has_value());
}

TEST(LoadAverage, is_the_first_number) {
  EXPECT_DOUBLE_EQ(parse_load_average("1.25 0.50 0.10 2/300 4242").value(), 1.25);
  EXPECT_FALSE(parse_load_average("").has_value());
}

TEST(Cpuinfo, describes_the_first_processor_and_counts_all) {
  const char* text =
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Fast CPU\ncpu MHz\t\t: 2000.500\nflags\t\t: fpu "
      "avx2\n\n"
      "processor\t: 1\nmodel name\t: Other CPU\n";
  const auto info = parse_cpuinfo(text);
  EXPECT_EQ(info.vendor, "GenuineIntel");
  EXPECT_EQ(info.model, "Fast CPU");
  EXPECT_EQ(info.flags, (std::vector<std::string>{"fpu", "avx2"}));
  EXPECT_DOUBLE_EQ(info.clock_hz.value(), 2000.5e6);
  EXPECT_EQ(info.processors, 2);
}

TEST(KeyValue, strips_quotes) {
  const char* text = "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
  EXPECT_EQ(parse_key_value(text, "PRETTY_NAME"), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(parse_key_value(text, "NAME"), "Debian");
  EXPECT_EQ(parse_key_value(text, "VERSION"), "");
}

TEST(SelectedChoice, is_the_bracketed_one) {
  EXPECT_EQ(selected_choice("always [madvise] never\n"), "madvise");
  EXPECT_EQ(selected_choice("performance\n"), "performance");
  EXPECT_EQ(selected_choice(""), "");
}

}  // namespace
}  // namespace warpmark::device
