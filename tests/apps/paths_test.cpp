// Paths that lead nowhere: inputs that are not there, and outputs whose folder is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "apps/cli_fixture.h"
#include "base/text.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

const std::string kTraces = std::string(WARPMARK_SOURCE_DIR) + "/examples/traces/";
const std::string kTrace = kTraces + "resnet18_slow_loading.pt.trace.json.gz";

class Paths : public Cli {
 protected:
  /// Refused for the folder that is missing, with the command that makes it, which was not made.
  void expect_refused(const std::vector<std::string>& words) {
    const auto output = warpmark(words);
    EXPECT_EQ(output.exit_code, 5) << words[0];
    EXPECT_THAT(output.err, HasSubstr("the folder " + path("none/deep") + " does not exist")) << words[0];
    EXPECT_THAT(output.err, HasSubstr("mkdir -p " + shell_quote(path("none/deep")))) << words[0];
    EXPECT_FALSE(std::filesystem::exists(path("none"))) << words[0];
    EXPECT_FALSE(std::filesystem::exists(path("ran"))) << words[0];
  }
};

TEST_F(Paths, of_inputs_that_do_not_exist_are_bad_input) {
  write("ref.csv", "x\n1\n");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"analyze", path("none")},
                                                {"matrix", path("none.yaml")},
                                                {"report", path("none.json")},
                                                {"allclose", path("ref.csv"), path("none.csv")},
                                                {"convert", path("none"), "--to", "chrome", "--out", path("c.json")},
                                                {"run", "--suite", path("none.yaml")},
                                                {"accept", path("none.yaml"), "--measure"},
                                                {"run", "--project", path("none.yaml")},
                                                {"run", "--plugin", path("none.so")},
                                                {"history", "import", path("none.json")}}) {
    const auto output = warpmark(words);
    EXPECT_EQ(output.exit_code, 2) << words[0] << ": " << output.err;
    EXPECT_THAT(output.err, HasSubstr(path("none"))) << words[0];
  }
}

TEST_F(Paths, a_dash_is_standard_output_and_no_file_that_is_left_behind) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"analyze", kTrace, "--json", "-"},
                                                {"analyze", kTrace, "--html", "-"},
                                                {"run", "--no-store", "--json", "-", "--", "true"}}) {
    const auto output = warpmark(words);
    EXPECT_EQ(output.exit_code, 0) << words[0] << output.err;
    EXPECT_TRUE(output.out.starts_with("{") || output.out.starts_with("<!DOCTYPE html>")) << words[0];
    EXPECT_FALSE(std::filesystem::exists("-")) << words[0];
  }
}

TEST_F(Paths, of_outputs_in_a_folder_that_does_not_exist_make_none) {
  write("ref.csv", "x\n1\n");
  const std::string file = path("none/deep/file");
  const std::vector<std::string> touch{"--", "touch", path("ran")};
  expect_refused(with({"profile", "--out", file}, touch));
  expect_refused(with({"run", "--no-store", "--json", file}, touch));
  expect_refused(with({"run", "--no-store", "--out", file}, touch));
  expect_refused(with({"run", "--db", file}, touch));
  expect_refused({"compare", "--db", file, "--", "touch", path("ran"), "--", "true"});
  expect_refused({"analyze", kTrace, "--html", file});
  expect_refused({"convert", kTrace, "--to", "chrome", "--out", file});
  expect_refused({"allclose", path("ref.csv"), path("ref.csv"), "--json", file});
  expect_refused({"report", "--output", file});
  expect_refused({"trend", "--out", file + "/"});
  expect_refused({"accept", "cpu-smoke", "--measure", "--out", file});
  expect_refused({"monitor", "--once", "--csv", file});
  expect_refused({"history", "--db", file});
}

TEST_F(Paths, of_a_folder_for_output_are_made_when_there_is_something_to_put_in) {
  EXPECT_EQ(warpmark({"run", "--no-store", "--out", path("new/"), "gem"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(path("new")));
  ASSERT_EQ(warpmark({"run", "--no-store", "--rounds", "1", "--out", path("new/"), "--", "true"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("new/report.md")));
}

TEST_F(Paths, of_the_default_history_are_made) {
  unsetenv("WARPMARK_DB");
  setenv("XDG_DATA_HOME", path("data").c_str(), 1);
  EXPECT_EQ(warpmark({"history"}).exit_code, 0);
  unsetenv("XDG_DATA_HOME");
  EXPECT_TRUE(std::filesystem::exists(path("data/warpmark/warpmark.db")));
}

TEST_F(Paths, of_what_the_machine_cannot_read_are_named) {
  const auto output = warpmark({"analyze", "/proc/self/mem"});
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("/proc/self/mem: cannot read: Input/output error"));
}

TEST_F(Paths, that_are_a_dash_are_the_output) {
  const auto output = warpmark({"convert", kTrace, "--to", "chrome", "--out", "-"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_TRUE(parse_json(output.out, "output").ok());
  const auto compact = warpmark({"convert", kTrace, "--to", "warpmark", "--out", "-"});
  ASSERT_EQ(compact.exit_code, 0) << compact.err;
  write("again.wmrec", compact.out);
  EXPECT_EQ(warpmark({"analyze", path("again.wmrec")}).exit_code, 0);
  // Several ranks are several files.
  write("rank0.json", output.out);
  write("rank1.json", output.out);
  const auto ranks = warpmark({"convert", path("rank0.json"), path("rank1.json"), "--to", "chrome", "--out", "-"});
  EXPECT_EQ(ranks.exit_code, 2);
  EXPECT_THAT(ranks.err, HasSubstr("2 files, one for each rank, cannot share one output"));
  EXPECT_FALSE(std::filesystem::exists("-.rank0"));
}

TEST_F(Paths, that_are_a_pipe_get_no_name_after_the_content) {
  const auto output = warpmark({"convert", kTrace, "--to", "chrome", "--out", "/dev/stdout"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_TRUE(parse_json(output.out, "output").ok());
}

}  // namespace
}  // namespace warpmark::apps
