// Lines of a Python program in the findings of `warpmark profile` and `analyze`, on a GPU that a mock of CUPTI plays:
// the program calls it as the driver would, and waits for the GPU on one line of its own.
#include <dlfcn.h>

#include <algorithm>

#include "apps/profile_fixture.h"
#include "base/json.h"
#include "base/text.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Stands in for the package whose import tells that a GPU is used.
constexpr const char* kTorchPy = R"py(
import ctypes, os, time

class Call(ctypes.Structure):
    _fields_ = [("runtime", ctypes.c_bool), ("id", ctypes.c_uint32), ("correlation", ctypes.c_uint32),
                ("kernel", ctypes.c_void_p)]

class Work(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("name", ctypes.c_char_p), ("start", ctypes.c_uint64),
                ("end", ctypes.c_uint64), ("stream", ctypes.c_uint32), ("correlation", ctypes.c_uint32),
                ("bytes", ctypes.c_uint64), ("grid", ctypes.c_int32), ("block", ctypes.c_int32)]

cupti = ctypes.CDLL(os.environ["WARPMARK_RECORD_CUPTI"], ctypes.RTLD_GLOBAL)
names = [b"first_kernel", b"second_kernel", b"third_kernel"]
state = {"correlation": 0, "free": 0}

def first_use():
    ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()

def call_of(number):
    if state["correlation"] == 0:
        first_use()
    state["correlation"] += 1
    return Call(True, number, state["correlation"], 0)

def launch(which):
    call = call_of(211)  # cudaLaunchKernel
    call.kernel = ctypes.cast(names[which], ctypes.c_void_p)
    cupti.mock_cupti_enter(ctypes.byref(call))
    start = max(time.time_ns() + 20000, state["free"])
    state["free"] = start + 300000
    cupti.mock_cupti_work(ctypes.byref(Work(0, names[which], start, state["free"], 7, call.correlation, 0, 132, 128)))
    cupti.mock_cupti_exit(ctypes.byref(call))

def wait():
    call = call_of(165)  # cudaDeviceSynchronize
    cupti.mock_cupti_enter(ctypes.byref(call))
    time.sleep(max(0, state["free"] - time.time_ns()) * 1e-9)
    cupti.mock_cupti_exit(ctypes.byref(call))
)py";

constexpr const char* kTrainPy = R"py(
import importlib.util
import time
assert importlib.util.find_spec("torch"), "libraries ask so whether it is there, before anybody imports it"
import torch

def forward():
    for i in range(3):
        torch.launch(i)
        read_loss()

def read_loss():
    return torch.wait()

def train(seconds):
    end = time.time() + seconds
    while time.time() < end:
        forward()

train(3.0)
)py";

class ProfileStacks : public ProfileCli {
 protected:
  void SetUp() override {
    ProfileCli::SetUp();
    if (IsSkipped()) return;
    if (std::system("python3 -c 'import ctypes' 2>/dev/null") != 0) GTEST_SKIP() << "needs python3";
    std::filesystem::create_directories(path("site-packages"));
    ASSERT_TRUE(write_file(path("site-packages/torch.py"), kTorchPy).ok());
    ASSERT_TRUE(write_file(path("train.py"), kTrainPy).ok());
    setenv("PYTHONPATH", path("site-packages").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("PYTHONPATH");
    ProfileCli::TearDown();
  }
  ProcessOutput record(std::vector<std::string> options) {
    std::vector<std::string> words{"profile", "--out", path("p.wmrec")};
    const bool own_time = !options.empty() && options.front() == "--delay";
    if (!own_time) words.insert(words.end(), {"--delay", "300ms", "--duration", "1s"});
    words.insert(words.end(), options.begin(), options.end());
    for (const auto& word : {std::string("--"), std::string("python3"), path("train.py")}) words.push_back(word);
    return warpmark(words);
  }
};

Json finding_of(const Json& analysis, const std::string& rule) {
  for (const auto& finding : analysis["findings"]) {
    if (finding["rule"] == rule) return finding;
  }
  return nullptr;
}

struct Page {
  std::string timeline;  ///< of a few steps, as JSON
  std::string findings;
};

Page page_of(const std::string& file) {
  Page page{"", *read_file(file)};
  const auto begin = page.findings.find("<script type=\"application/json\">");
  const auto end = page.findings.find("</script>", begin);
  if (begin == std::string::npos) return page;
  page.timeline = page.findings.substr(begin, end - begin);
  page.findings.erase(begin, end - begin);
  return page;
}

TEST_F(ProfileStacks, a_wait_is_found_at_its_line) {
  const auto output = record({});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_FALSE(std::filesystem::exists(path("p.wmrec.stacks")));
  const auto analysis =
      warpmark({"analyze", path("p.wmrec"), "--source", path(""), "--json", path("a.json"), "--html", path("a.html")});
  ASSERT_EQ(analysis.exit_code, 0) << analysis.err;
  EXPECT_THAT(analysis.out, HasSubstr("train.py:13 read_loss: return torch.wait()"));
  const auto json = parse_json(*read_file(path("a.json")), "a.json");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(testing_support::schema_errors(*json, "analysis.schema.json"), "");
  const Json finding = finding_of(*json, "cpu_gpu_sync");
  ASSERT_TRUE(finding.is_object());
  EXPECT_EQ(finding["evidence"][0]["id"], "source_line");
  EXPECT_THAT(finding["evidence"][0]["text"].get<std::string>(), HasSubstr("train.py:13 read_loss"));
  EXPECT_GT(finding["evidence"][0]["value"].get<double>(), 0.3);
  // Steps of 4 ms between samples: those that the page's timeline shows may have none.
  EXPECT_THAT(page_of(path("a.html")).findings, HasSubstr("train.py:13 read_loss"));
  const auto rows = warpmark({"analyze", path("p.wmrec"), "--query",
                              "SELECT count(*) AS n FROM events WHERE kind = 'python' AND name LIKE '%train.py:13 %'",
                              "--format", "json"});
  ASSERT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_THAT(rows.out, Not(HasSubstr("\"n\": 0")));
}

TEST_F(ProfileStacks, of_a_program_that_ends_while_it_is_recorded_are_kept) {
  auto program = std::string(kTrainPy);
  program.replace(program.find("train(3.0)"), 10, "train(0.8)");
  ASSERT_TRUE(write_file(path("train.py"), program).ok());
  const auto output = record({"--delay", "0s", "--duration", "0s"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto analysis = warpmark({"analyze", path("p.wmrec")});
  EXPECT_THAT(analysis.out, HasSubstr("train.py:13 read_loss")) << output.err;
}

TEST_F(ProfileStacks, nothing_is_sampled_where_it_is_not_wanted) {
  ASSERT_EQ(record({"--no-stacks"}).exit_code, 0);
  const Timeline timeline = recorded(path("p.wmrec"));
  EXPECT_EQ(count_of(timeline, [&](EventIndex i) { return timeline.events.kind[i] == EventKind::python; }), 0);
  const auto analysis = warpmark({"analyze", path("p.wmrec")});
  EXPECT_THAT(analysis.out, Not(HasSubstr("train.py")));
}

TEST_F(ProfileStacks, a_folder_of_sources_that_is_not_there_is_named) {
  const auto output = warpmark({"analyze", path("train.py"), "--source", path("nowhere")});
  EXPECT_EQ(output.exit_code, 2);
}

/// A C++ program without frame pointers, whose call is inlined into its caller.
class NativeStacks : public ProfileCli {
 protected:
  ProcessOutput record(const std::vector<std::string>& options) {
    std::vector<std::string> words{"profile", "--out", path("p.wmrec")};
    const bool own_time = !options.empty() && options.front() == "--delay";
    if (!own_time) words.insert(words.end(), {"--delay", "300ms", "--duration", "1s"});
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", kBuildFolder + "/mock_cupti/native_program", "3"});
    return warpmark(words);
  }
  /// The line of the source that holds this.
  static int line_of(const std::string& text) {
    const auto lines = split(*read_file(kSource), '\n');
    const auto found =
        std::ranges::find_if(lines, [&](const auto& line) { return line.find(text) != std::string::npos; });
    return static_cast<int>(found - lines.begin()) + 1;
  }
  static constexpr const char* kSource = WARPMARK_SOURCE_DIR "/tests/mock_cupti/native_program.cpp";
};

TEST_F(NativeStacks, a_wait_is_found_at_its_line) {
  if (dlopen("libdw.so.1", RTLD_NOW) == nullptr) GTEST_SKIP() << "needs libdw1";
  const auto output = record({});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto analysis = warpmark({"analyze", path("p.wmrec"), "--source", WARPMARK_SOURCE_DIR, "--json", path("a.json"),
                                  "--html", path("a.html")});
  ASSERT_EQ(analysis.exit_code, 0) << analysis.err;
  const std::string place = "native_program.cpp:" + std::to_string(line_of("the planted line")) + " read_loss";
  EXPECT_THAT(analysis.out, HasSubstr(place + ": played_synchronize();"));
  const auto json = parse_json(*read_file(path("a.json")), "a.json");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(testing_support::schema_errors(*json, "analysis.schema.json"), "");
  const Json finding = finding_of(*json, "cpu_gpu_sync");
  ASSERT_TRUE(finding.is_object());
  EXPECT_EQ(finding["evidence"][0]["id"], "source_line");
  EXPECT_THAT(finding["evidence"][0]["text"].get<std::string>(), HasSubstr(place));
  EXPECT_GT(finding["evidence"][0]["value"].get<double>(), 0.8);
  EXPECT_THAT(page_of(path("a.html")).findings, HasSubstr(place));
  const Timeline timeline = recorded(path("p.wmrec"));
  const auto seen = [&](const std::string& part) {
    return count_of(timeline, [&](EventIndex i) {
      return timeline.events.kind[i] == EventKind::python && timeline.name_of(i).find(part) != std::string_view::npos;
    });
  };
  EXPECT_GT(seen(":" + std::to_string(line_of("read_loss();")) + " forward"), 0) << "the function it was inlined into";
  EXPECT_GT(seen(":" + std::to_string(line_of("training.step()")) + " main"), 0);
  EXPECT_GT(seen(" forward"), 0);
  EXPECT_EQ(seen("libwarpmark_inject"), 0) << "the recorder is no part of the program";
  EXPECT_TRUE(std::ranges::any_of(timeline.tracks, [](const Track& track) { return track.name == "C++ stack"; }));
}

TEST_F(NativeStacks, are_rows_of_the_pages_timeline) {
  if (dlopen("libdw.so.1", RTLD_NOW) == nullptr) GTEST_SKIP() << "needs libdw1";
  const std::string place = "native_program.cpp:" + std::to_string(line_of("the planted line")) + " read_loss";
  bool shown = false;
  for (int i = 0; i < 8 && !shown; ++i) {  // the page shows a few steps, in which there may be no sample of a line
    ASSERT_EQ(record({}).exit_code, 0);
    ASSERT_EQ(warpmark({"analyze", path("p.wmrec"), "--html", path("a.html")}).exit_code, 0);
    shown = page_of(path("a.html")).timeline.find(place) != std::string::npos;
  }
  EXPECT_TRUE(shown);
}

TEST_F(NativeStacks, are_left_out_where_they_are_not_wanted) {
  ASSERT_EQ(record({"--no-stacks"}).exit_code, 0);
  const Timeline timeline = recorded(path("p.wmrec"));
  EXPECT_EQ(count_of(timeline, [&](EventIndex i) { return timeline.events.kind[i] == EventKind::python; }), 0);
}

}  // namespace
}  // namespace warpmark::apps
