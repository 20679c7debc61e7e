// Memory, errors and timing of a CUDA device.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "cuda/gpu.h"

namespace warpmark::cuda_tests {
namespace {

using device::SequenceOptions;
using device::Stream;

/// Launches one of the module's workloads, counts the launches, and does as it is told.
class Scripted final : public device::Launchable {
 public:
  explicit Scripted(measure::Prepared& work) : work_(work) {}
  Status launch(Stream stream, std::size_t set) override {
    sets.push_back(set);
    if (fails_from > 0 && sets.size() >= fails_from) return data_error("scripted failure");
    WM_TRY(work_.launch(stream, set));
    return synchronizes_on != nullptr ? synchronizes_on->synchronize() : Status{};
  }
  std::vector<std::size_t> sets;
  std::size_t fails_from = 0;  ///< number of the launch, from 1, that fails; 0 for none
  device::Device* synchronizes_on = nullptr;

 private:
  measure::Prepared& work_;
};

class CudaDevice : public Gpu {
 protected:
  std::unique_ptr<measure::Prepared> write_workload(std::int64_t bytes, std::size_t sets = 1) {
    const Params params = params_of({{"size", bytes}});
    auto prepared = implementation("write").prepare({*device_, params, sets, 1});
    EXPECT_TRUE(prepared.ok()) << prepared.error().what;
    return std::move(prepared).value();
  }
};

TEST_F(CudaDevice, describes_itself) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.id, "cuda:0");
  EXPECT_EQ(info.backend, "cuda");
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.uuid.size(), 40U) << info.uuid;
  EXPECT_GT(info.memory_bytes, std::int64_t{1} << 30);
  EXPECT_GT(info.last_level_cache_bytes, 1 << 20);
  EXPECT_GT(info.compute_units, 1);
  EXPECT_GT(info.max_clock_hz, 1e8);
  EXPECT_EQ(info.architecture.rfind("sm_", 0), 0U);
}

TEST_F(CudaDevice, writes_fills_and_reads_memory) {
  auto buffer = device_->allocate(1000);
  ASSERT_TRUE(buffer.ok());
  std::vector<std::byte> sent(400);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7);
  ASSERT_TRUE(device_->fill(**buffer, 0, 1000, 0xAB).ok());
  ASSERT_TRUE(device_->write(**buffer, 300, sent).ok());
  std::vector<std::byte> received(1000);
  ASSERT_TRUE(device_->read(**buffer, 0, received).ok());
  EXPECT_EQ(received[299], std::byte{0xAB});
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), received.begin() + 300));
  EXPECT_EQ(received[700], std::byte{0xAB});
  EXPECT_FALSE(device_->read(**buffer, 1, received).ok()) << "beyond the end";
}

TEST_F(CudaDevice, names_the_sizes_when_memory_is_short) {
  const auto too_much = static_cast<std::size_t>(device_->info().memory_bytes) * 2;
  const auto buffer = device_->allocate(too_much);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().kind, ErrorKind::environment);
  EXPECT_NE(buffer.error().what.find(std::to_string(too_much)), std::string::npos) << buffer.error().what;
  EXPECT_TRUE(device_->allocate(1 << 20).ok()) << "the device stays usable";
}

TEST_F(CudaDevice, measures_its_timers) {
  const std::vector<SequenceOptions> methods{{.mode = Mode::cold}, {.mode = Mode::graph}, {.host_clock = true}};
  for (const SequenceOptions& options : methods) {
    const device::TimerInfo timer = device_->timer(options);
    EXPECT_FALSE(timer.method.empty());
    EXPECT_GT(timer.resolution_s, 0) << timer.method;
    EXPECT_LT(timer.resolution_s, 1e-5) << timer.method;
    EXPECT_GE(timer.overhead_s, 0) << timer.method;
    EXPECT_LT(timer.overhead_s, 1e-4) << timer.method;
  }
}

TEST_F(CudaDevice, times_in_proportion_to_the_work_by_every_method) {
  const auto work = write_workload(std::int64_t{256} << 20);
  double event_s = 0;
  for (const Mode mode : {Mode::hot, Mode::graph}) {
    double one = 0;
    for (const std::size_t launches : {std::size_t{1}, std::size_t{4}, std::size_t{64}}) {
      auto sequence = device_->sequence(*work, {.mode = mode, .launches = launches});
      ASSERT_TRUE(sequence.ok()) << sequence.error().what;
      std::vector<double> times;
      for (int i = 0; i < 5; ++i) {
        const auto seconds = (*sequence)->time(0);
        ASSERT_TRUE(seconds.ok()) << seconds.error().what;
        times.push_back(*seconds);
      }
      std::sort(times.begin(), times.end());
      if (launches == 1) one = times[2];
      EXPECT_NEAR(times[2] / one, static_cast<double>(launches), 0.15 * static_cast<double>(launches));
    }
    if (mode == Mode::hot) event_s = one;
    EXPECT_NEAR(one / event_s, 1, 0.15);
  }
  auto host = device_->sequence(*work, {.launches = 1, .host_clock = true});
  ASSERT_TRUE(host.ok());
  const auto seconds = (*host)->time(0);
  ASSERT_TRUE(seconds.ok());
  EXPECT_GT(*seconds, event_s * 0.9) << "the host sees launch and completion too";
}

TEST_F(CudaDevice, rotates_over_the_sets_from_the_one_it_is_given) {
  const auto work = write_workload(4096, 3);
  Scripted scripted(*work);
  auto sequence = device_->sequence(scripted, {.launches = 5, .sets = 3});
  ASSERT_TRUE(sequence.ok());
  scripted.sets.clear();
  ASSERT_TRUE((*sequence)->time(2).ok());
  EXPECT_EQ(scripted.sets, (std::vector<std::size_t>{2, 0, 1, 2, 0}));
}

TEST_F(CudaDevice, a_graph_replays_all_sets_without_launching_again) {
  const auto work = write_workload(4096, 3);
  Scripted scripted(*work);
  auto sequence = device_->sequence(scripted, {.mode = Mode::graph, .launches = 3, .sets = 3});
  ASSERT_TRUE(sequence.ok()) << sequence.error().what;
  ASSERT_TRUE(work->poison().ok());
  const std::size_t launches = scripted.sets.size();
  ASSERT_TRUE((*sequence)->time(0).ok());
  EXPECT_EQ(scripted.sets.size(), launches);
  for (std::size_t set = 0; set < 3; ++set) {
    const auto check = work->check(set);
    ASSERT_TRUE(check.ok());
    EXPECT_EQ(check->value, 0) << "set " << set;
  }
}

TEST_F(CudaDevice, says_why_work_cannot_be_captured_and_stays_usable) {
  const auto work = write_workload(4096);
  Scripted scripted(*work);
  scripted.synchronizes_on = device_.get();
  const auto sequence = device_->sequence(scripted, {.mode = Mode::graph});
  ASSERT_FALSE(sequence.ok());
  EXPECT_EQ(sequence.error().kind, ErrorKind::unsupported) << sequence.error().what;
  scripted.synchronizes_on = nullptr;
  auto again = device_->sequence(scripted, {.mode = Mode::graph});
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_TRUE((*again)->time(0).ok());
}

TEST_F(CudaDevice, passes_on_the_error_of_a_launch_and_stays_usable) {
  const auto work = write_workload(4096);
  Scripted scripted(*work);
  auto sequence = device_->sequence(scripted, {.launches = 4});
  ASSERT_TRUE(sequence.ok());
  scripted.sets.clear();
  scripted.fails_from = 3;
  const auto failed = (*sequence)->time(0);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().what, "scripted failure");
  scripted.fails_from = 0;
  EXPECT_TRUE((*sequence)->time(0).ok());
}

TEST_F(CudaDevice, reports_work_that_synchronizes_instead_of_hanging) {
  const auto work = write_workload(4096);
  Scripted scripted(*work);
  auto sequence = device_->sequence(scripted, {.launches = 2});
  ASSERT_TRUE(sequence.ok());
  scripted.synchronizes_on = device_.get();
  const auto stuck = (*sequence)->time(0);  // ends by the blocking kernel's own time-out
  ASSERT_FALSE(stuck.ok());
  EXPECT_EQ(stuck.error().kind, ErrorKind::environment);
  EXPECT_NE(stuck.error().what.find("enqueued within"), std::string::npos) << stuck.error().what;
  scripted.synchronizes_on = nullptr;
  EXPECT_TRUE((*sequence)->time(0).ok());
}

TEST_F(CudaDevice, reads_its_conditions) {
  const auto conditions = device_->conditions();
  ASSERT_TRUE(conditions.ok());
  EXPECT_FALSE(conditions->sensors.empty());
}

}  // namespace
}  // namespace warpmark::cuda_tests
