// `warpmark profile --capture-range` on a GPU that a mock of CUPTI plays: what the program marks is recorded, no more
// and no less.
#include "apps/profile_fixture.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

std::int64_t kernels_of(const Timeline& timeline) {
  return count_of(timeline, [&](EventIndex i) { return timeline.events.kind[i] == EventKind::kernel; });
}

std::int64_t launches_of(const Timeline& timeline) {
  return count_of(timeline, [&](EventIndex i) {
    return timeline.name_of(i) == "cudaLaunchKernel" || timeline.name_of(i) == "cuLaunchKernel";
  });
}

class ProfileRange : public ProfileCli {
 protected:
  ProcessOutput record(const std::vector<std::string>& options, const std::vector<std::string>& script) {
    std::vector<std::string> words{"profile", "--out", path("p.wmrec")};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", kProgram});
    words.insert(words.end(), script.begin(), script.end());
    return warpmark(words);
  }
};

TEST_F(ProfileRange, records_one_range_and_nothing_beside_it) {
  const auto output = record({"--capture-range", "step 40"}, {"1", "ranges=1", "kernels=20"});
  ASSERT_EQ(output.exit_code, 3) << output.err;
  const Timeline timeline = recorded(path("p.wmrec"));
  EXPECT_EQ(kernels_of(timeline), 21) << "all kernels of one step";
  EXPECT_EQ(launches_of(timeline), 21);
  EXPECT_EQ(fact_of(timeline, "captured_range"), "step 40");
  const auto ranges =
      count_of(timeline, [&](EventIndex i) { return timeline.events.kind[i] == EventKind::annotation; });
  EXPECT_EQ(ranges, 1);
  EXPECT_EQ(count_of(timeline, [&](EventIndex i) { return timeline.name_of(i) == "step 40"; }), 1);
}

TEST_F(ProfileRange, counts_ranges_of_one_name_as_steps) {
  const auto output = record({"--capture-range", "part", "--warmup-steps", "10", "--steps", "5"},
                             {"1.5", "ranges=1", "part=1", "kernels=20"});
  ASSERT_EQ(output.exit_code, 3) << output.err;
  const Timeline timeline = recorded(path("p.wmrec"));
  EXPECT_EQ(kernels_of(timeline), 105);
  EXPECT_EQ(launches_of(timeline), 105);
  EXPECT_EQ(count_of(timeline, [&](EventIndex i) { return timeline.name_of(i) == "step 10"; }), 1);
  EXPECT_EQ(count_of(timeline, [&](EventIndex i) { return timeline.name_of(i) == "step 14"; }), 1);
  EXPECT_EQ(count_of(timeline, [&](EventIndex i) { return timeline.name_of(i) == "step 9"; }), 0);
  EXPECT_EQ(count_of(timeline, [&](EventIndex i) { return timeline.name_of(i) == "step 15"; }), 0);
}

TEST_F(ProfileRange, records_from_cuda_profiler_start_to_stop) {
  const auto output =
      record({"--capture-range", "cudaProfilerApi"}, {"1.5", "kernels=20", "profiler_from=30", "profiler_to=42"});
  ASSERT_EQ(output.exit_code, 3) << output.err;
  const Timeline timeline = recorded(path("p.wmrec"));
  EXPECT_EQ(kernels_of(timeline), 12 * 21);
  EXPECT_EQ(launches_of(timeline), 12 * 21);
  EXPECT_EQ(count_of(timeline, [&](EventIndex i) { return timeline.events.kind[i] == EventKind::memcpy; }), 12);
}

TEST_F(ProfileRange, that_is_open_at_the_end_is_recorded_to_the_end) {
  const auto output = record({"--capture-range", "cudaProfilerApi"}, {"0.5", "kernels=20", "profiler_from=3"});
  ASSERT_EQ(output.exit_code, 3) << output.err;
  EXPECT_GT(kernels_of(recorded(path("p.wmrec"))), 21);
}

TEST_F(ProfileRange, that_never_begins_is_named) {
  const auto output = record({"--capture-range", "epoch"}, {"0.5", "ranges=1"});
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("no range called 'epoch' began"));
  const auto calls = record({"--capture-range", "cudaProfilerApi"}, {"0.5"});
  EXPECT_EQ(calls.exit_code, 5);
  EXPECT_THAT(calls.err, HasSubstr("cudaProfilerStart"));
}

TEST_F(ProfileRange, refuses_times_beside_it) {
  for (const std::vector<std::string>& other : {std::vector<std::string>{"--duration", "1s"}, {"--windows", "2"}}) {
    auto options = other;
    options.insert(options.end(), {"--capture-range", "step 3"});
    const auto output = record(options, {"0.5"});
    EXPECT_EQ(output.exit_code, 2);
    EXPECT_THAT(output.err, HasSubstr("is not for --capture-range"));
  }
  EXPECT_EQ(record({"--capture-range", ""}, {"0.5"}).exit_code, 2);
}

constexpr const char* kCallsOfCuda = R"py(
import ctypes, os, time

class Call(ctypes.Structure):
    _fields_ = [("runtime", ctypes.c_bool), ("id", ctypes.c_uint32), ("correlation", ctypes.c_uint32),
                ("kernel", ctypes.c_void_p)]

class Work(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("name", ctypes.c_char_p), ("start", ctypes.c_uint64),
                ("end", ctypes.c_uint64), ("stream", ctypes.c_uint32), ("correlation", ctypes.c_uint32),
                ("bytes", ctypes.c_uint64), ("grid", ctypes.c_int32), ("block", ctypes.c_int32)]

cupti = ctypes.CDLL(os.environ["WARPMARK_RECORD_CUPTI"], ctypes.RTLD_GLOBAL)
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
name = b"a_kernel"
count = 0

def launch():
    global count
    count += 1
    call = Call(True, 211, count, ctypes.cast(name, ctypes.c_void_p))  # cudaLaunchKernel
    cupti.mock_cupti_enter(ctypes.byref(call))
    now = time.time_ns()
    cupti.mock_cupti_work(ctypes.byref(Work(0, name, now, now + 1000, 7, count, 0, 132, 128)))
    cupti.mock_cupti_exit(ctypes.byref(call))
)py";

constexpr const char* kProfilerPy = R"py(
class record_function:
    def __init__(self, name):
        self.name = name
    def __enter__(self):
        return self
    def __exit__(self, *what):
        pass
)py";

constexpr const char* kEpochsPy = R"py(
import time
import cuda_calls
from torch.autograd.profiler import record_function

for epoch in range(6):
    with record_function("epoch %d" % epoch):
        for step in range(epoch + 1):
            cuda_calls.launch()
            time.sleep(0.002)
time.sleep(0.3)
)py";

TEST_F(ProfileRange, may_be_a_record_function_of_pytorch) {
  if (std::system("python3 -c 'import ctypes' 2>/dev/null") != 0) GTEST_SKIP() << "needs python3";
  const std::string packages = path("site-packages");
  std::filesystem::create_directories(packages + "/torch/autograd");
  for (const char* file : {"/torch/__init__.py", "/torch/autograd/__init__.py"}) {
    ASSERT_TRUE(write_file(packages + file, "").ok());
  }
  ASSERT_TRUE(write_file(packages + "/torch/autograd/profiler.py", kProfilerPy).ok());
  ASSERT_TRUE(write_file(packages + "/cuda_calls.py", kCallsOfCuda).ok());
  ASSERT_TRUE(write_file(path("epochs.py"), kEpochsPy).ok());
  setenv("PYTHONPATH", packages.c_str(), 1);
  for (const std::vector<std::string>& stacks : {std::vector<std::string>{}, {"--no-stacks"}}) {
    std::vector<std::string> words{"profile", "--capture-range", "epoch 3", "--out", path("p.wmrec")};
    words.insert(words.end(), stacks.begin(), stacks.end());
    words.insert(words.end(), {"--", "python3", path("epochs.py")});
    const auto output = warpmark(words);
    ASSERT_EQ(output.exit_code, 0) << output.err;
    const Timeline timeline = recorded(path("p.wmrec"));
    EXPECT_EQ(kernels_of(timeline), 4);
    EXPECT_EQ(count_of(timeline, [&](EventIndex i) { return timeline.name_of(i) == "epoch 3"; }), 1);
  }
  unsetenv("PYTHONPATH");
}

}  // namespace
}  // namespace warpmark::apps
