// The table that nvidia-smi prints, and the XML of nvidia-smi -q -x, made here after the shape of real ones.
#include <gmock/gmock.h>

#include "profile/trace_text.h"

namespace warpmark::profile {
namespace {

using test::read_text;

const CounterSeries* series_of(const ProfileSession& session, const std::string& id, int device) {
  for (const CounterSeries& series : session.counters) {
    if (series.id == id && series.device == device) return &series;
  }
  return nullptr;
}

std::string table(const std::string& time, const std::string& watts, const std::string& share) {
  return time + R"(
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  Tesla V100-PCIE...  On   | 00000000:2F:00.0 Off |                    0 |
| N/A   69C    P0   )" +
         watts + R"( / 250W |  15757MiB / 32510MiB |     )" + share + R"(      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
|   1  GeForce GTX ...     Off  | 00000000:3B:00.0 Off |                  N/A |
| 23%   41C    P8    N/A /  N/A |      2MiB / 11178MiB |      N/A     Default |
+-------------------------------+----------------------+----------------------+
| Processes:                                                                  |
|    0   N/A  N/A   2444525      C   python                          15753MiB |
+-----------------------------------------------------------------------------+
)";
}

TEST(NvidiaSmiReport, reads_tables_one_after_another) {
  const auto session = read_text("$ nvidia-smi\n" + table("Sun May  8 21:12:22 2022", "162W", "97%") +
                                 "$ nvidia-smi\n" + table("Sun May  8 21:12:25 2022", "199W", "50%"));
  ASSERT_TRUE(session.ok()) << session.error().what;
  const CounterSeries* used = series_of(*session, "gpu_utilization", 0);
  ASSERT_NE(used, nullptr);
  EXPECT_THAT(used->values, testing::ElementsAre(0.97, 0.5));
  EXPECT_EQ(used->times[0], 1'652'044'342'000'000'000);
  EXPECT_EQ(used->times[1] - used->times[0], 3'000'000'000);
  EXPECT_THAT(series_of(*session, "power", 0)->values, testing::ElementsAre(162, 199));
  EXPECT_THAT(series_of(*session, "power_limit", 0)->values, testing::ElementsAre(250, 250));
  EXPECT_THAT(series_of(*session, "temperature", 0)->values, testing::ElementsAre(69, 69));
  EXPECT_EQ(series_of(*session, "memory_used", 0)->values[0], 15757.0 * 1024 * 1024);
  EXPECT_EQ(series_of(*session, "memory_total", 1)->values[0], 11178.0 * 1024 * 1024);
  EXPECT_EQ(series_of(*session, "temperature", 1)->values[0], 41);
  EXPECT_THAT(series_of(*session, "ecc_uncorrected", 0)->values, testing::ElementsAre(0, 0));
  EXPECT_EQ(series_of(*session, "gpu_utilization", 1), nullptr);
  EXPECT_EQ(series_of(*session, "power", 1), nullptr);
}

TEST(NvidiaSmiReport, without_times_is_one_second_apart) {
  const auto session = read_text(table("", "162W", "97%") + table("", "162W", "50%"));
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(series_of(*session, "gpu_utilization", 0)->times, testing::ElementsAre(0, 1'000'000'000));
  ASSERT_EQ(session->quality.size(), 1U);
  EXPECT_EQ(session->quality[0].id, "no_clock_times");
}

std::string document(const std::string& time, const std::string& share) {
  return R"(<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>)" +
         time + R"(</timestamp>
	<gpu id="00000000:4D:00.0">
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
			<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
		</clocks_event_reasons>
		<pcie_gen>
			<max_link_gen>4</max_link_gen>
			<current_link_gen>3</current_link_gen>
		</pcie_gen>
		<link_widths>
			<max_link_width>16x</max_link_width>
			<current_link_width>8x</current_link_width>
		</link_widths>
		<replay_counter>7</replay_counter>
		<ecc_errors>
			<volatile>
				<sram_uncorrectable>1</sram_uncorrectable>
				<dram_uncorrectable>2</dram_uncorrectable>
			</volatile>
			<aggregate>
				<dram_uncorrectable>100</dram_uncorrectable>
			</aggregate>
		</ecc_errors>
		<remapped_rows>
			<remapped_row_pending>Yes</remapped_row_pending>
		</remapped_rows>
		<fb_memory_usage>
			<total>40960 MiB</total>
			<used>625 MiB</used>
		</fb_memory_usage>
		<bar1_memory_usage>
			<total>65536 MiB</total>
			<used>1 MiB</used>
		</bar1_memory_usage>
		<utilization>
			<gpu_util>)" +
         share + R"(</gpu_util>
			<memory_util>40 %</memory_util>
		</utilization>
		<temperature>
			<gpu_temp>29 C</gpu_temp>
			<gpu_temp_max_threshold>92 C</gpu_temp_max_threshold>
		</temperature>
		<gpu_power_readings>
			<average_power_draw>50.00 W</average_power_draw>
			<instant_power_draw>53.59 W</instant_power_draw>
			<current_power_limit>400.00 W</current_power_limit>
		</gpu_power_readings>
		<module_power_readings>
			<instant_power_draw>N/A</instant_power_draw>
		</module_power_readings>
		<clocks>
			<sm_clock>210 MHz</sm_clock>
		</clocks>
		<max_clocks>
			<sm_clock>1410 MHz</sm_clock>
		</max_clocks>
	</gpu>
)";
}

TEST(NvidiaSmiReport, reads_xml_also_if_a_document_is_cut) {
  const std::string whole = document("Sun May  8 21:12:22 2022", "97 %") + "</nvidia_smi_log>\n";
  const auto session = read_text(whole + whole.substr(0, whole.find("<fb_memory")) + "Throttle reason: idle\n" +
                                 document("Sun May  8 21:12:25 2022", "50 %"));
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_THAT(series_of(*session, "gpu_utilization", 0)->values, testing::ElementsAre(0.97, 0.5));
  EXPECT_THAT(series_of(*session, "memory_utilization", 0)->values, testing::ElementsAre(0.4, 0.4));
  EXPECT_EQ(series_of(*session, "memory_used", 0)->values[0], 625.0 * 1024 * 1024);
  EXPECT_EQ(series_of(*session, "power", 0)->values[0], 53.59);
  EXPECT_EQ(series_of(*session, "power_limit", 0)->values[0], 400);
  EXPECT_EQ(series_of(*session, "temperature", 0)->values[0], 29);
  EXPECT_EQ(series_of(*session, "sm_clock", 0)->values[0], 210e6);
  EXPECT_EQ(series_of(*session, "sm_clock_max", 0)->values[0], 1410e6);
  EXPECT_EQ(series_of(*session, "throttle_reasons", 0)->values[0], 4);
  for (const auto& [id, value] :
       {std::pair{"ecc_uncorrected", 3.0}, std::pair{"remapped_rows_pending", 1.0}, std::pair{"pcie_replays", 7.0},
        std::pair{"pcie_link_generation", 3.0}, std::pair{"pcie_link_generation_max", 4.0},
        std::pair{"pcie_link_width", 8.0}, std::pair{"pcie_link_width_max", 16.0}}) {
    ASSERT_NE(series_of(*session, id, 0), nullptr) << id;
    EXPECT_EQ(series_of(*session, id, 0)->values[0], value) << id;
  }
  EXPECT_EQ(series_of(*session, "gpu_utilization", 0)->times[1], 1'652'044'345'000'000'000);
}

TEST(NvidiaSmiReport, without_a_gpu_says_how_to_log) {
  const auto session = read_text("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n</nvidia_smi_log>\n");
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().hint, testing::HasSubstr("--query-gpu"));
}

}  // namespace
}  // namespace warpmark::profile
