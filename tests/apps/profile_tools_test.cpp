// `warpmark profile` with NVIDIA's own profilers, played by scripts.
#include "apps/profile_fixture.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

/// A program on PATH that stands for one of NVIDIA's.
class Tools : public ProfileCli {
 protected:
  void put(const std::string& name, const std::string& script) {
    ASSERT_TRUE(write_file(folder_ / name, "#!/bin/sh\n" + script).ok());
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
    setenv("PATH", (folder_.string() + ":" + std::getenv("PATH")).c_str(), 1);
  }
};

/// Hands out what ncu 2025.3 printed on an H100, three kernels called as the played program's.
const std::string kPlayedNcu = R"x(
while [ "$1" != --log-file ]; do shift; done
sed -e 's/saxpy(float, [^"]*"/forward(float *, int)"/; s/diverge(const[^"]*"/gemm_128x128"/' \
    -e 's/uncoal(const[^"]*"/softmax_kernel"/; s/(32, 1, 1)","(2097152, 1, 1)/(128, 1, 1)","(132, 1, 1)/' \
    -e 's/(256, 1, 1)","(262144, 1, 1)/(128, 1, 1)","(132, 1, 1)/' "$SOURCE" > "$2"
exit 1
)x";

TEST_F(Tools, adds_the_metrics_of_the_costliest_kernels_to_the_recording) {
  put("ncu", "SOURCE='" WARPMARK_SOURCE_DIR "/tests/data/ncu/three_kernels.csv'\necho \"$@\" > " +
                 in_quotes(path("words")) + kPlayedNcu);
  const auto output = warpmark({"profile", "--warmup-steps", "10", "--steps", "10", "--duration", "200ms", "--ncu", "2",
                                "--out", path("p.wmrec"), "--", kProgram, "4"});
  EXPECT_EQ(output.exit_code, 3) << output.err;
  EXPECT_THAT(output.err, HasSubstr("9 launches measured"));
  EXPECT_THAT(output.err, ::testing::Not(HasSubstr("none of")));
  const std::string words = *read_file(path("words"));
  EXPECT_THAT(words, HasSubstr("--launch-count 16"));
  EXPECT_THAT(words, ::testing::ContainsRegex("--launch-skip [1-9]"));
  EXPECT_THAT(words, ::testing::ContainsRegex("regex:\\^\\([a-z_0-9]+\\|[a-z_0-9]+\\)\\$ "));
  EXPECT_THAT(words, HasSubstr(kProgram + " 4"));
  EXPECT_FALSE(std::filesystem::exists(path("p.wmrec.ncu.csv"))) << "it is in the recording now";
  const auto session = profile::read_session(std::vector<std::filesystem::path>{path("p.wmrec")});
  ASSERT_TRUE(session.ok());
  ASSERT_EQ(session->kernels.size(), 9U);
  int joined = 0;
  for (const auto& kernel : session->kernels) {
    EXPECT_GT(kernel.metric("gpu__time_duration.sum").value_or(0), 0);
    if (kernel.rank < 0) continue;
    ++joined;
    const Timeline& timeline = session->ranks[static_cast<std::size_t>(kernel.rank)];
    EXPECT_EQ(kernel.name.substr(0, 4), timeline.name_of(kernel.event).substr(0, 4));
  }
  EXPECT_EQ(joined, 9);
  const auto analysis = warpmark({"analyze", path("p.wmrec"), "--json", path("a.json")});
  EXPECT_EQ(analysis.exit_code, 0) << analysis.err;
}

TEST_F(Tools, says_which_kernels_ncu_did_not_meet) {
  put("ncu", "SOURCE='" WARPMARK_SOURCE_DIR "/tests/data/ncu/three_kernels.csv'\n" + kPlayedNcu);
  const auto output = warpmark(
      {"profile", "--delay", "0s", "--duration", "0s", "--ncu", "9", "--out", path("p.wmrec"), "--", kProgram, "0.5"});
  EXPECT_THAT(output.err, HasSubstr("none of "));
  EXPECT_THAT(output.err, HasSubstr("optimizer_step_kernel"));
}

TEST_F(Tools, ends_a_run_under_ncu_that_takes_too_long_and_has_answered_before) {
  put("ncu", "trap 'exit 130' INT\nsleep 300 & wait\n");
  const auto output = warpmark({"profile", "--delay", "0s", "--duration", "0s", "--ncu", "2", "--ncu-time", "1s",
                                "--out", path("p.wmrec"), "--", kProgram, "0.5"});
  EXPECT_EQ(output.exit_code, 5) << output.err;
  EXPECT_THAT(output.err, HasSubstr("ncu measured no kernel within 1s"));
  EXPECT_LT(output.err.find("more: warpmark analyze"), output.err.find("running again under ncu")) << output.err;
}

TEST_F(Tools, measures_the_kernels_launches_and_sections_that_are_asked_for) {
  put("ncu", "SOURCE='" WARPMARK_SOURCE_DIR "/tests/data/ncu/three_kernels.csv'\necho \"$@\" > " +
                 in_quotes(path("words")) + kPlayedNcu);
  const auto profile = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"profile", "--delay", "0s", "--duration", "0s", "--out", path("p.wmrec")};
    return warpmark(with(with(words, options), {"--", kProgram, "0.5"}));
  };
  const auto all = profile({"--ncu-kernel", "gemm|softmax", "--ncu-set", "full", "--ncu-section", "Occupancy",
                            "--ncu-skip", "3", "--ncu-count", "7"});
  EXPECT_EQ(all.exit_code, 3) << all.err;
  std::string words = *read_file(path("words"));
  EXPECT_THAT(words, HasSubstr(" --set full --section Occupancy --clock-control"));
  EXPECT_THAT(words, HasSubstr("--launch-skip 3 --launch-count 7 "));
  EXPECT_THAT(words, HasSubstr("gemm_128x128"));
  EXPECT_THAT(words, HasSubstr("softmax_kernel"));
  EXPECT_THAT(words, ::testing::Not(HasSubstr("optimizer_step_kernel")));
  EXPECT_THAT(words, ::testing::Not(HasSubstr("--metrics")));

  EXPECT_EQ(profile({"--ncu", "1", "--ncu-kernel", "gemm|softmax", "--ncu-section", "Occupancy", "--ncu-section",
                     "LaunchStats"})
                .exit_code,
            3);
  words = *read_file(path("words"));
  EXPECT_THAT(words, HasSubstr("all --section Occupancy --section LaunchStats --metrics gpu__time_duration.sum"));
  EXPECT_THAT(words, ::testing::ContainsRegex("regex:\\^\\([a-z_0-9]+\\)\\$ ")) << "the costliest of the two alone";

  const auto none = profile({"--ncu-kernel", "conv"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no kernel's function name holds 'conv'"));
  EXPECT_THAT(none.err, HasSubstr("the costliest: "));
  EXPECT_TRUE(std::filesystem::exists(path("p.wmrec"))) << "what was recorded stays";
}

TEST_F(Tools, refuses_what_ncu_cannot_do_before_the_program_runs) {
  put("ncu", "exit 0\n");
  const auto profile = [&](const std::vector<std::string>& options) {
    return warpmark(with(with({"profile", "--out", path("p.wmrec")}, options), {"--", kProgram, "0.5"}));
  };
  const auto broken = profile({"--ncu-kernel", "gemm("});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr("'gemm(' is no regular expression"));
  const auto alone = profile({"--ncu-set", "full"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--ncu-set is for a run under ncu"));
  EXPECT_EQ(profile({"--ncu", "2", "--ncu-count", "0"}).exit_code, 2);
  EXPECT_EQ(profile({"--ncu", "2", "--ncu-skip", "-1"}).exit_code, 2);
  EXPECT_EQ(profile({"--nsys", "--ncu-kernel", "gemm"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(path("p.wmrec")));
}

TEST_F(Tools, says_what_to_install_before_the_program_runs) {
  setenv("PATH", folder_.c_str(), 1);
  for (const std::vector<std::string>& tool : {std::vector<std::string>{"--ncu", "2"}, {"--nsys"}}) {
    std::vector<std::string> words{"profile", "--out", path("p.wmrec")};
    const auto output = warpmark(with(with(words, tool), {"--", kProgram, "0.5"}));
    if (output.exit_code == 3) GTEST_SKIP() << "CUDA's folder has it";
    EXPECT_EQ(output.exit_code, 5);
    EXPECT_THAT(output.err, HasSubstr("install Nsight"));
    EXPECT_EQ(output.out, "");
  }
}

TEST_F(Tools, refuses_options_that_nsys_does_not_know) {
  const auto output = warpmark({"profile", "--nsys", "--steps", "5", "--out", path("n.sqlite"), "--", kProgram, "0.5"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("--steps"));
}

TEST_F(Tools, says_where_ncu_tells_why_it_measured_nothing) {
  put("ncu", R"(while [ "$1" != --log-file ]; do shift; done
echo "==ERROR== ERR_NVGPUCTRPERM" > "$2"; exit 1)");
  const auto output = warpmark(
      {"profile", "--delay", "0s", "--duration", "0s", "--ncu", "2", "--out", path("p.wmrec"), "--", kProgram, "0.5"});
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("p.wmrec.ncu.csv"));
  EXPECT_TRUE(std::filesystem::exists(path("p.wmrec"))) << "what was recorded stays";
}

/// Writes down how it was called.
const std::string kPlayedNsys = "echo \"$@\" >> \"$(dirname \"$0\")/words\"\n";

TEST_F(Tools, wraps_nsys_and_exports_its_report) {
  put("nsys", kPlayedNsys + "[ $1 = profile ] && touch " + in_quotes(path("n.nsys-rep")) + " && exit 4\nexit 0\n");
  const auto output = warpmark({"profile", "--nsys", "--out", path("n.sqlite"), "--delay", "500ms", "--duration",
                                "1500ms", "--", kProgram, "9"});
  EXPECT_EQ(output.exit_code, 4) << output.err;
  const std::string words = *read_file(path("words"));
  EXPECT_EQ(words,
            "profile --trace=cuda,nvtx,osrt,cudnn,cublas --sample=none --cpuctxsw=none --cuda-graph-trace=node "
            "--force-overwrite=true --output=" +
                path("n.nsys-rep") + " --delay=0.5 --duration=2 --kill=none " + kProgram +
                " 9\nexport --type=sqlite --force-overwrite=true --output=" + path("n.sqlite") + " " +
                path("n.nsys-rep") + "\n");
}

TEST_F(Tools, lets_nsys_record_a_range) {
  put("nsys", kPlayedNsys + "[ $1 = profile ] && touch " + in_quotes(path("n.nsys-rep")) + "\nexit 0\n");
  const auto record = [&](const char* range) {
    return warpmark({"profile", "--nsys", "--capture-range", range, "--out", path("n.sqlite"), "--", kProgram})
        .exit_code;
  };
  EXPECT_EQ(record("epoch"), 0);
  EXPECT_THAT(*read_file(path("words")),
              HasSubstr("--capture-range=nvtx --nvtx-capture=epoch --capture-range-end=stop"));
  EXPECT_EQ(record("cudaProfilerApi"), 0);
  EXPECT_THAT(*read_file(path("words")), HasSubstr("--capture-range=cudaProfilerApi --capture-range-end=stop"));
}

TEST_F(Tools, lets_nsys_sample_the_activity_of_gpus_by_the_name_that_it_knows) {
  for (const std::string option : {"--gpu-metrics-device", "--gpu-metrics-devices"}) {
    put("nsys", "[ \"$2\" = --help ] && echo '    " + option + "=' && exit 0\n" + kPlayedNsys +
                    "[ $1 = profile ] && touch " + in_quotes(path("n.nsys-rep")) + "\nexit 0\n");
    std::filesystem::remove(path("words"));
    const auto output =
        warpmark({"profile", "--nsys", "--gpu-metrics", "all", "--out", path("n.sqlite"), "--", kProgram});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    EXPECT_THAT(*read_file(path("words")), HasSubstr(" " + option + "=all "));
  }
  const auto alone = warpmark({"profile", "--gpu-metrics", "all", "--out", path("p.wmrec"), "--", kProgram});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--nsys"));
}

TEST_F(Tools, lets_nsys_record_all_of_a_program_unless_told_otherwise) {
  put("nsys", kPlayedNsys + "[ $1 = profile ] && touch " + in_quotes(path("n.nsys-rep")) + "\nexit 0\n");
  EXPECT_EQ(warpmark({"profile", "--nsys", "--whole-graphs", "--out", path("n.sqlite"), "--", kProgram}).exit_code, 0);
  const std::string words = *read_file(path("words"));
  EXPECT_THAT(words, HasSubstr("--cuda-graph-trace=graph"));
  EXPECT_THAT(words, ::testing::Not(HasSubstr("--delay")));
  EXPECT_THAT(words, ::testing::Not(HasSubstr("--duration")));
}

TEST_F(Tools, says_that_nsys_made_no_report_or_could_not_export_it) {
  put("nsys", kPlayedNsys + "exit 1\n");
  ASSERT_TRUE(write_file(path("n.nsys-rep"), "of an earlier run").ok());
  const auto none = warpmark({"profile", "--nsys", "--out", path("n.sqlite"), "--", kProgram});
  EXPECT_EQ(none.exit_code, 5);
  EXPECT_THAT(none.err, HasSubstr("made no report"));
  EXPECT_THAT(*read_file(path("words")), ::testing::Not(HasSubstr("export")));
  put("nsys", kPlayedNsys + "[ $1 = profile ] && touch " + in_quotes(path("n.nsys-rep")) + " && exit 0\nexit 9\n");
  const auto refused = warpmark({"profile", "--nsys", "--out", path("n.sqlite"), "--", kProgram});
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_THAT(refused.err, HasSubstr("could not export"));
}

}  // namespace
}  // namespace warpmark::apps
