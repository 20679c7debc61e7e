#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/files.h"
#include "support/spawn.h"
#include "validate/commands/command_experiment.h"
#include "validate/commands/command_spec.h"

namespace warpmark::validate {
namespace {

Error error_of(const std::string& yaml) {
  const auto spec = parse_command_spec(yaml, "warpmark.yaml");
  EXPECT_FALSE(spec.ok()) << yaml;
  return spec.ok() ? Error{} : spec.error();
}

TEST(SplitWords, takes_a_long_word_letter_by_letter) {
  const std::string word(1 << 20, 'a');
  EXPECT_EQ(*split_words("x " + word + "' '\\b"), (std::vector<std::string>{"x", word + " b"}));
}

TEST(SplitWords, knows_quotes_but_expands_nothing) {
  EXPECT_EQ(*split_words("a 'b c'  \"d e\" f\\ g '$HOME' \"*\""),
            (std::vector<std::string>{"a", "b c", "d e", "f g", "$HOME", "*"}));
  EXPECT_EQ(*split_words("''"), (std::vector<std::string>{""}));
  EXPECT_FALSE(split_words("a 'b").ok());
  EXPECT_FALSE(split_words("  ").ok());
}

TEST(SplitWords, refuses_what_only_a_shell_understands) {
  for (const char* text : {"cat x | sort", "make && ./bench", "a || b", "a; b", "./x > out.txt", "./x 2>&1", "a &",
                           "x $(date)", "x `date`", "FOO=1 ./bench", "echo $HOME", "$BIN/x", "x ${A}", "wc *.py",
                           "wc a?.txt", "wc [ab]*", "wc a[0-9]", "x ../*/y"}) {
    const auto words = split_words(text);
    ASSERT_FALSE(words.ok()) << text;
    EXPECT_NE(words.error().hint.find("--shell"), std::string::npos) << words.error().hint;
  }
  EXPECT_TRUE(split_words("curl 'a|b;c' \"x > y\" http://h/?a=1&b=2 \\| --set k=v").ok());
  EXPECT_TRUE(split_words("awk '$1 ~ /a*/' cost=5$ --filter=A* dims=[1,2] --size [64,64] \\$HOME a$ [ -f x ]").ok());
  EXPECT_EQ(split_words("echo $HOME/x").error().what, "the command needs a shell, because of $HOME: echo $HOME/x");
  EXPECT_EQ(split_words("A=1 x").error().hint, "add --shell, or start it through env: env A=1 ...");
  EXPECT_FALSE(check_words({"OMP_NUM_THREADS=1", "./x"}).ok());
  EXPECT_TRUE(check_words({"./a=b", "x"}).ok());
  const auto piped = check_words({"echo", "a", "|", "wc"});
  ASSERT_FALSE(piped.ok());
  EXPECT_EQ(piped.error().what, "the command needs a shell, because of |: echo a '|' wc");
  EXPECT_TRUE(piped.error().hint.starts_with("add --shell"));
  EXPECT_TRUE(check_words({"cut", "-d", "|", "file"}).ok());
  EXPECT_TRUE(check_words({"find", ".", "-exec", "true", "{}", ";", "-print"}).ok());
  EXPECT_TRUE(check_words({"echo", ";"}).ok());
}

TEST(CommandSpec, reads_everything) {
  const auto spec = parse_command_spec(R"(schema: warpmark.project/1
build: make -j2
run: [./bench, "--n", "{n}"]
timeout: 5s
env: {OMP_NUM_THREADS: 2}
reference: v1.0
metrics:
  - {name: throughput, unit: img/s, better: higher, regex: 'throughput: ([0-9.]+)'}
  - {name: latency, unit: s, json: results.0.latency, file: out.json}
  - {name: peak_memory}
)",
                                       "warpmark.yaml");
  ASSERT_TRUE(spec.ok()) << spec.error().what;
  EXPECT_EQ(spec->build, (std::vector<std::string>{"make", "-j2"}));
  EXPECT_EQ(spec->run.size(), 3U);
  EXPECT_EQ(spec->timeout_s, 5);
  EXPECT_EQ(spec->reference, "v1.0");
  ASSERT_EQ(spec->metrics.size(), 3U);
  EXPECT_EQ(spec->metrics[0].better, Better::higher);
  EXPECT_EQ(spec->metrics[1].file, "out.json");
  EXPECT_EQ(spec->metrics[2].unit, "B");
}

TEST(CommandSpec, says_what_is_wrong_and_where) {
  EXPECT_NE(error_of("run: a\nmetric: []\n").hint.find("metrics"), std::string::npos);
  EXPECT_NE(error_of("run: a\nmetric: []\n").what.find("line 2"), std::string::npos);
  EXPECT_NE(error_of("build: make\n").what.find("no command to run"), std::string::npos);
  EXPECT_NE(error_of("run: a\nmetrics: [{name: x}]\n").what.find("where its value comes from"), std::string::npos);
  EXPECT_EQ(error_of("run: a\nmetrics: [{name: x, regex: '(?=a)'}]\n").what,
            "warpmark.yaml line 2: regex: '(?=a)' is not valid: invalid perl operator '(?='");
  EXPECT_NE(error_of("run: a\nmetrics: [{name: x, regex: '(?=a)'}]\n").hint.find("look-around"), std::string::npos);
  for (const auto* reference : {"", "''", "[v1, v2]", "{v1: 1}", "\"a\\nb\""}) {
    EXPECT_NE(error_of(std::string("run: a\nreference: ") + reference + "\n").what.find("reference"),
              std::string::npos);
  }
  EXPECT_NE(error_of("run: a\nmetrics: [{name: time}, {name: time}]\n").what.find("twice"), std::string::npos);
  EXPECT_NE(error_of("run: a\nmetrics: [{name: x, regex: a, better: more}]\n").what.find("more"), std::string::npos);
  EXPECT_NE(error_of("run: a\ntimeout: soon\n").what.find("timeout"), std::string::npos);
  EXPECT_NE(error_of("run: [a\n").what.find("line"), std::string::npos);
  for (const auto* name : {"\"a\\nb\"", "\"\\e[31mred\""}) {
    EXPECT_NE(error_of(std::string("run: a\nmetrics: [{name: ") + name + ", regex: a}]\n").what.find("control"),
              std::string::npos);
  }
  error_of("- 1\n");
  error_of("");
  EXPECT_EQ(error_of("run: a\nrun: b\n").what, "warpmark.yaml line 2: 'run' is there twice");
  EXPECT_EQ(error_of("run: a\nenv:\n  A: 1\n  A: 2\n").what, "warpmark.yaml line 4: 'A' is there twice");
  EXPECT_EQ(error_of("run: a\n---\nrun: b\n").what, "warpmark.yaml has 2 documents, one is expected");
  EXPECT_TRUE(parse_command_spec("---\nrun: a\n...\n---\n", "warpmark.yaml").ok());
}

class CommandExperimentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-command-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<warpmark::Run> run(const std::string& yaml, const measure::Config& config = {}) {
    auto spec = parse_command_spec(yaml, "test.yaml");
    if (!spec.ok()) return spec.error();
    return CommandExperiment(std::move(*spec), {.directory = folder_.string()}).run(config);
  }
  std::filesystem::path folder_;
};

TEST_F(CommandExperimentTest, measures_the_wall_time_of_a_command) {
  const auto result = run("run: sleep 0.05\n");
  ASSERT_TRUE(result.ok()) << result.error().what;
  ASSERT_EQ(result->metrics.size(), 1U);
  EXPECT_EQ(result->metrics[0].unit, "s");
  EXPECT_GE(result->metrics[0].samples[0], 0.05);
  EXPECT_LT(result->metrics[0].samples[0], 2);
}

TEST_F(CommandExperimentTest, reads_metrics_that_are_printed_or_written) {
  const auto result =
      run(R"(run: 'echo "step 1 loss 9"; echo "step 2 loss 3.5e-1"; echo {\"r\":[{\"t\":4},{\"t\":[1,2,9]}]} > out.json'
shell: true
metrics:
  - {name: loss, regex: 'loss ([0-9.e-]+)'}
  - {name: first, json: r.0.t, file: out.json}
  - {name: median, json: /r/1/t, file: out.json}
)");
  ASSERT_TRUE(result.ok()) << result.error().what << result.error().hint;
  EXPECT_EQ(result->metrics[0].samples[0], 0.35) << "the last line counts";
  EXPECT_EQ(result->metrics[1].samples[0], 4);
  EXPECT_EQ(result->metrics[2].samples[0], 2);
}

TEST_F(CommandExperimentTest, ends_where_an_expression_would_backtrack_for_ever) {
  const auto result = run(R"(run: 'head -c 50000 /dev/zero | tr "\000" a; echo "!"; printf "loss 4\r\n"'
shell: true
metrics:
  - {name: loss, regex: 'loss ([0-9]+)$'}
  - {name: never, regex: '(a+)+$'}
)");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("'never' is not in the output: no line matches (a+)+$"), std::string::npos)
      << result.error().what;
}

TEST_F(CommandExperimentTest, says_which_metric_is_missing_and_what_was_printed) {
  const auto result = run("run: echo nothing useful\nmetrics: [{name: loss, regex: 'loss ([0-9.]+)'}]\n");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::data);
  EXPECT_NE(result.error().what.find("'loss'"), std::string::npos);
  EXPECT_NE(result.error().hint.find("nothing useful"), std::string::npos);
  EXPECT_FALSE(run("run: echo loss x\nmetrics: [{name: loss, regex: 'loss (.+)'}]\n").ok());
  EXPECT_FALSE(run("run: echo loss nan\nmetrics: [{name: loss, regex: 'loss (.+)'}]\n").ok());
  for (const std::string value : {"1e308", "-1.1e100", "1e-320", "inf"}) {
    const auto extreme = run("run: echo loss " + value + "\nmetrics: [{name: loss, regex: 'loss (.+)'}]\n");
    ASSERT_FALSE(extreme.ok()) << value;
    EXPECT_NE(extreme.error().what.find("metric 'loss' in the output is"), std::string::npos) << extreme.error().what;
  }
  EXPECT_TRUE(run("run: echo loss -1e100\nmetrics: [{name: loss, regex: 'loss (.+)'}]\n").ok());
  EXPECT_FALSE(run("run: echo {}\nmetrics: [{name: loss, json: a.b}]\n").ok());
  EXPECT_FALSE(run("run: echo no json\nmetrics: [{name: loss, json: a.b}]\n").ok());
}

TEST_F(CommandExperimentTest, does_not_take_the_file_of_an_earlier_run_for_its_result) {
  ASSERT_TRUE(write_file(folder_ / "out.json", "{\"t\": 1}").ok());
  const auto result = run("run: 'true'\nmetrics: [{name: t, json: t, file: out.json}]\n");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("did not write"), std::string::npos) << result.error().what;
}

TEST_F(CommandExperimentTest, reports_failing_hanging_and_missing_commands) {
  const auto failing = run("run: 'echo broken >&2; exit 3'\nshell: true\n");
  EXPECT_NE(failing.error().what.find("exit code 3"), std::string::npos);
  EXPECT_NE(failing.error().hint.find("broken"), std::string::npos);
  EXPECT_EQ(run("run: sleep 60\ntimeout: 100ms\n").error().kind, ErrorKind::environment);
  if (testing_support::spawn_tells_errors()) {
    EXPECT_EQ(run("run: no-such-program-here\n").error().kind, ErrorKind::environment);
  }
}

TEST_F(CommandExperimentTest, fills_settings_into_words_and_variables_only) {
  const std::string yaml = "run: [echo, 'n={n}', '{n}']\nmetrics: [{name: n, regex: 'n=(.*) .*'}]\n";
  EXPECT_EQ(run(yaml, {{"n", "7"}})->metrics[0].samples[0], 7);
  EXPECT_NE(run(yaml, {{"m", "7"}}).error().what.find("no place for 'm=7'"), std::string::npos);
  // What comes from a setting stays one word: no shell sees it.
  const auto run_with_quotes = run("run: [test, '{n}', '=', 'a; exit 1 $HOME']\n", {{"n", "a; exit 1 $HOME"}});
  EXPECT_TRUE(run_with_quotes.ok()) << run_with_quotes.error().what;
  EXPECT_EQ(
      run("run: 'echo v=$WARPMARK_V'\nshell: true\nmetrics: [{name: v, regex: 'v=(.*)'}]\n", {{"env.WARPMARK_V", "5"}})
          ->metrics[0]
          .samples[0],
      5);
}

TEST(Build, reports_what_the_build_said) {
  CommandSpec spec = timed_command({"true"});
  EXPECT_TRUE(build(spec, "", nullptr).ok());
  spec.build = {"/bin/sh", "-c", "echo no compiler; exit 1"};
  const auto failed = build(spec, "", nullptr);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().hint.find("no compiler"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::validate
