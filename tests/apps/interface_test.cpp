// What is the same in every verb: "-" as a file, --quiet, --color, the words of other tools, a person's defaults, help
// on a word.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include "apps/cli_fixture.h"
#include "base/text.h"
#include "warpmark/command.h"
#include "warpmark/terminal/topics.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Interface : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    setenv("WARPMARK_CONFIG", "", 1);
    write("a.tsv", "id\tx\n1\t2.0\n");
    write("b.tsv", "id\tx\n1\t3.0\n");
  }
  void TearDown() override {
    unsetenv("WARPMARK_CONFIG");
    Cli::TearDown();
  }
  void fails_with_hint(std::vector<std::string> words, const std::string& hint) {
    const auto output = warpmark(words);
    EXPECT_EQ(output.exit_code, 2) << words[0];
    EXPECT_THAT(output.err, HasSubstr(hint));
  }
};

TEST_F(Interface, writes_json_to_standard_output_alone_whether_a_verb_prints_it_or_writes_files) {
  for (const auto& words : {std::vector<std::string>{"doctor", "--json"},
                            {"doctor", "--json", "-"},
                            {"history", "--json"},
                            {"allclose", path("a.tsv"), path("b.tsv"), "--json"},
                            {"check", "--results", path("n.json"), "--baseline", path("n.json"), "--json", "-"}}) {
    write("n.json", R"({"latency_ms": 2})");
    const auto output = warpmark(words);
    EXPECT_EQ(output.exit_code, words[0] == "allclose" ? 4 : 0) << words[0] << output.err;
    EXPECT_TRUE(parse_json(output.out, words[0]).ok()) << words[0] << ": " << output.out;
  }
  EXPECT_THAT(warpmark({"check", "--results", path("n.json"), "--baseline", path("n.json"), "--html", "-"}).out,
              StartsWith("<!DOCTYPE html>"));
  fails_with_hint({"check", "--results", path("n.json"), "--baseline", path("n.json"), "--html", "-", "--json", "-"},
                  "name a file for one");
}

TEST_F(Interface, writes_every_answer_as_json) {
  write("one.json", R"({"results": [{"command": "sleep 0.1", "times": [0.1, 0.1]}]})");
  write("two.json", R"({"results": [{"command": "sleep 0.1", "times": [0.2, 0.2]}]})");
  write("s.json", R"({"scores": [{"metric": "f1", "value": 0.5}]})");
  for (const auto& words : {std::vector<std::string>{"history", "import", path("one.json"), "--json"},
                            {"history", "import", path("two.json"), "--json", "-"},
                            {"history", "show", "last", "--json"},
                            {"history", "series", "--json"},
                            {"history", "series", "*", "--json", "--limit", "1"},
                            {"eval", "list", "--json", "-"},
                            {"eval", "list", "--format", "json"},
                            {"eval", "pareto", path("s.json") + "=3", path("s.json") + "=4", "--json"},
                            {"list", "--json"},
                            {"list", "metrics", "--json", "-"}}) {
    const auto output = warpmark(words);
    EXPECT_EQ(output.exit_code, 0) << words[1] << output.err;
    const auto parsed = parse_json(output.out, words[1]);
    ASSERT_TRUE(parsed.ok()) << words[1] << ": " << output.out;
    EXPECT_TRUE((*parsed)["schema"].is_string()) << words[1];
  }
  const auto series = *parse_json(warpmark({"history", "series", "*time*", "--json"}).out, "series");
  ASSERT_EQ(series["series"].size(), 1U) << dump_json(series);
  EXPECT_EQ(series["series"][0]["points"].size(), 2U);
  EXPECT_EQ(series["series"][0]["points"][0]["n"], 2);
  const auto metrics = *parse_json(warpmark({"list", "metrics", "--json"}).out, "metrics");
  EXPECT_EQ(metrics["rows"][0]["metric"], "time");
}

TEST_F(Interface, refuses_options_that_an_action_would_pass_over) {
  fails_with_hint({"eval", "list", "--predictions", "d"}, "--predictions is for score and compare, not for list");
  fails_with_hint({"eval", "list", "--format", "md"}, "there is no format 'md'");
  fails_with_hint({"eval", "pareto", "a=1", "--ref", "r"}, "not for pareto");
  fails_with_hint({"list", "metrics", "--db", "x.db"}, "--db is for runs, not for metrics");
  fails_with_hint({"net", "server", "--json"}, "--json is for client and live, not for server");
  fails_with_hint({"load", "excel", "--json"}, "not for excel");
  fails_with_hint({"history", "tag", "--json"}, "not for tag");
  for (const char* verb : {"exporter", "dashboard", "convert", "mcp", "generate", "profile", "completion"}) {
    const auto output = warpmark({verb, "--json"});
    EXPECT_EQ(output.exit_code, 2) << verb;
    EXPECT_THAT(output.err, HasSubstr("unknown option '--json'")) << verb;
    EXPECT_THAT(output.err, Not(HasSubstr("did you mean"))) << verb;
    EXPECT_THAT(output.err, Not(HasSubstr("\n  see --help"))) << verb << " gives no reason";
  }
}

TEST_F(Interface, keeps_quiet_and_colors_as_it_is_told) {
  const auto loud = warpmark({"run", "--rounds", "1", "--warmup", "0", "--", "true"});
  EXPECT_THAT(loud.err, HasSubstr("stored as"));
  const auto quiet = warpmark({"run", "-q", "--rounds", "1", "--warmup", "0", "--", "true"});
  EXPECT_EQ(quiet.err, "");
  EXPECT_THAT(quiet.out, HasSubstr("true"));
  EXPECT_THAT(warpmark({"list", "--color", "always"}).out, HasSubstr("\x1b["));
  EXPECT_THAT(warpmark({"list", "--color=never"}).out, Not(HasSubstr("\x1b[")));
  fails_with_hint({"list", "--color", "blue"}, "auto, always or never");
  EXPECT_THAT(warpmark({"run", "-V"}).out, StartsWith("warpmark "));
  EXPECT_THAT(warpmark({"run", "-q", "--rounds", "1", "--warmup", "0", "--", "no-such-program"}).err,
              HasSubstr("no-such-program"))
      << "errors are not noise";
}

TEST_F(Interface, prints_the_headline_and_the_verdicts_when_it_is_quiet) {
  const auto lines = [&](std::vector<std::string> words) { return split(warpmark(std::move(words)).out, '\n').size(); };
  const std::vector<std::string> compare{"compare", "--rounds", "4", "--no-store", "--", "true", "--", "true"};
  const auto quiet = warpmark({"compare", "-q", "--rounds", "4", "--no-store", "--", "true", "--", "true"}).out;
  EXPECT_THAT(quiet, HasSubstr("verdict"));
  EXPECT_THAT(quiet, HasSubstr("Inconclusive: "));
  for (const char* note : {"A/B comparison", "Stopped", "Sequential test", "A: true"}) {
    EXPECT_THAT(quiet, Not(HasSubstr(note)));
  }
  EXPECT_LT(split(quiet, '\n').size() + 8, lines(compare));
  const auto run = warpmark({"run", "-q", "--rounds", "2", "--no-store", "--", "true"}).out;
  EXPECT_THAT(run, HasSubstr("median"));
  for (const char* note : {"Machine and build", "warpmark profile"}) EXPECT_THAT(run, Not(HasSubstr(note)));
  EXPECT_THAT(warpmark({"scale", "-q", "--times", "1=100s,8=95s"}).out, Not(HasSubstr("Laws")));
  write("one.json", R"({"results": [{"command": "a", "times": [0.1, 0.1, 0.11]}]})");
  EXPECT_THAT(warpmark({"report", "-q", path("one.json")}).out, Not(HasSubstr("Machine and build")));
}

TEST_F(Interface, knows_the_words_of_documents_and_of_other_tools) {
  fails_with_hint({"run", "--output", "x.json"}, "did you mean '--out'?");
  fails_with_hint({"analyze", "--output", "x.json", "t.json"}, "did you mean '--json'?");
  fails_with_hint({"profile", "--command", "python train.py"}, "after two dashes");
  fails_with_hint({"optimize", "--bottlenecks", "report.json"}, "warpmark analyze FILE");
  fails_with_hint({"optimize", "--model-config", "m.yaml"}, "after two dashes");
  fails_with_hint({"run", "--iterations", "5"}, "did you mean '--rounds'?");
  fails_with_hint({"nccl"}, "did you mean 'warpmark collective all_reduce'?");
  fails_with_hint({"iperf3"}, "warpmark net server");
  fails_with_hint({"load", "run", "--url", "http://x"}, "did you mean '--api-base'?");
  fails_with_hint({"load", "run", "--concurrency", "8"}, "did you mean '--num-concurrency'?");
  fails_with_hint({"load", "http://x"}, "warpmark load run --api-base http://x --api-model-name");
  fails_with_hint({"load", "--api-base", "http://x"}, "warpmark load run --api-base http://x --api-model-name");
  fails_with_hint({"plan", "--model", "llama3-70b", "--gpu", "h100", "--gpus", "8"}, "did you mean 'h100-");
  fails_with_hint({"compare", "--n", "3"}, "did you mean '--rounds'?");
  fails_with_hint({"eval", "score", "f1", "--output", "x.json"}, "did you mean '--json'?");
  fails_with_hint({"analyze", "--bottleneck", "x"}, "it lists all bottlenecks");
  // An option means one thing in every verb; what meant another has a name of its own.
  fails_with_hint({"accept", "cpu-smoke", "--run"}, "did you mean '--measure'?");
  fails_with_hint({"report", "--all", "--", "true"}, "did you mean '--measure'?");
  fails_with_hint({"load", "run", "--sweep", "5"}, "did you mean '--saturate'?");
  fails_with_hint({"plan", "--sweep", "node.json"}, "did you mean '--measured-links'?");
  fails_with_hint({"eval", "score", "bleu", "--out", "a.txt"}, "did you mean '--predictions'?");
  fails_with_hint({"scale", "--profile", "why"}, "did you mean '--record'?");
  fails_with_hint({"load", "run", "--profile", "bare"}, "did you mean '--oci-profile'?");
  fails_with_hint({"collective", "all_reduce", "--baseline", "last"}, "did you mean '--against'?");
  fails_with_hint({"mllog", "--html", "x"}, "warpmark help --html");
  fails_with_hint({"doctor", "--until", "x"}, "it is an option of run");
  fails_with_hint({"links", "--z", "x"}, "\n  see --help");
  for (const auto& [word, meant] : {std::pair{"ncu", "profile"},
                                    {"test", "validate"},
                                    {"score", "eval score"},
                                    {"import", "history import"},
                                    {"export", "history export"},
                                    {"bench", "run"},
                                    {"benchmark", "run"},
                                    {"serve", "load server"},
                                    {"diff", "compare"}}) {
    fails_with_hint({word}, std::string("did you mean 'warpmark ") + meant);
  }
  fails_with_hint({"anlyze"}, "did you mean 'warpmark analyze'?");
}

TEST_F(Interface, names_the_option_whose_value_is_wrong) {
  fails_with_hint({"run", "--rounds", "x", "--", "true"}, "--rounds: 'x' is not a whole number");
  fails_with_hint({"run", "--seed", "7", "--budget", "3parsecs", "--", "true"}, "--budget: '3parsecs'");
  fails_with_hint({"compare", "--effect", "much", "--", "true", "--", "true"}, "--effect: 'much'");
}

TEST_F(Interface, refuses_what_only_a_shell_understands) {
  fails_with_hint({"run", "--", "cat x | sort"}, "add --shell");
  fails_with_hint({"run", "--", "FOO=1", "true"}, "env FOO=1");
  fails_with_hint({"run", "--", "echo $HOME"}, "because of $HOME");
  fails_with_hint({"run", "--", "echo *.py"}, "add --shell");
  EXPECT_EQ(warpmark({"run", "--rounds", "1", "--", "echo", "$HOME", "*.py"}).exit_code, 0) << "the shell had its turn";
  fails_with_hint({"run", "--", "echo", "a", "|", "wc"}, "add --shell");
  fails_with_hint({"compare", "--", "true && true", "--", "true"}, "add --shell");
  fails_with_hint({"profile", "--", "true | cat"}, "add --shell");
  EXPECT_EQ(warpmark({"run", "--shell", "--rounds", "1", "--", "true && A=1 true | cat"}).exit_code, 0);
}

TEST_F(Interface, explains_concepts_verbs_options_metrics_and_rules) {
  for (const char* word : {"nccl", "mlperf", "ttft", "sla", "cost", "bubble", "checklist", "iperf3", "excel", "TTFT",
                           "nsight-compute", "roofline", "budget", "launch_overhead", "gemm"}) {
    const auto output = warpmark({"help", word});
    EXPECT_EQ(output.exit_code, 0) << word << output.err;
    EXPECT_GT(output.out.size(), 60U) << word;
  }
  EXPECT_THAT(warpmark({"help", "bubble"}).out, HasSubstr("warpmark plan"));
  const auto budget = warpmark({"help", "budget"}).out;
  EXPECT_THAT(budget, HasSubstr("run --budget"));
  EXPECT_THAT(budget, Not(HasSubstr("price"))) << "an option of time";
  for (const char* word : {"kv-cache", "otava", "conbench", "pr", "top", "gpu", "fleet"}) {
    EXPECT_EQ(warpmark({"help", word}).exit_code, 0) << word;
  }
  fails_with_hint({"help", "roofllne"}, "did you mean 'roofline'?");
  fails_with_hint({"help", "overfit"}, "verbs: run");
  EXPECT_THAT(warpmark({"help", "--until"}).out, HasSubstr("run --until"));
  EXPECT_THAT(warpmark({"help", "--json"}).out, HasSubstr("analyze --json"));
  for (const char* word : {"stragglers", "Straggler", "exit code", "time to quality", "quiet"}) {
    EXPECT_EQ(warpmark({"help", word}).exit_code, 0) << word;
  }
  EXPECT_THAT(warpmark({"help", "exit", "code"}).out, HasSubstr("inconclusive"));
  for (const auto& term : glossary()) {
    for (const auto& part : split(term.words, ',')) {
      const std::string word(trim(part));
      if (find_in(commands(), word) != nullptr) continue;  // the help of the verb
      EXPECT_THAT(warpmark({"help", word}).out, HasSubstr(std::string(term.words).substr(0, 40))) << word;
    }
  }
}

TEST_F(Interface, takes_defaults_from_a_persons_file) {
  write("config.yaml", "rounds: 2\ncompare: {effect: 2%}\nrun: {warmup: 0, no-store: true}\n");
  setenv("WARPMARK_CONFIG", path("config.yaml").c_str(), 1);
  const auto output = warpmark({"run", "--json", path("r.json"), "--", "true"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.err, Not(HasSubstr("stored as")));
  EXPECT_EQ(json("r.json")["command"],
            "warpmark run --warmup=0 --no-store --rounds=2 --json " + path("r.json") + " -- true")
      << "what is recorded can be repeated without the file";
  EXPECT_EQ(warpmark({"run", "--rounds", "3", "--json", path("r.json"), "--", "true"}).exit_code, 0);
  EXPECT_EQ(json("r.json")["runs"][0]["metrics"][0]["n"], 3);
  write("config.yaml", "roundz: 2\n");
  fails_with_hint({"run", "--", "true"}, "did you mean 'rounds'?");
  write("config.yaml", "nosuch: 2\n");
  fails_with_hint({"run", "--", "true"}, "a key is an option without its dashes, or a verb");
  write("config.yaml", "run: {sweet: 1}\n");
  fails_with_hint({"run", "--", "true"}, "unknown key 'sweet'");
  setenv("WARPMARK_CONFIG", path("none.yaml").c_str(), 1);
  EXPECT_EQ(warpmark({"run", "--", "true"}).exit_code, 5);
}

TEST_F(Interface, takes_color_and_quiet_from_a_persons_file) {
  write("config.yaml", "color: always\nrun: {quiet: true}\n");
  setenv("WARPMARK_CONFIG", path("config.yaml").c_str(), 1);
  EXPECT_THAT(warpmark({"list"}).out, HasSubstr("\x1b["));
  EXPECT_THAT(warpmark({"list", "--color", "never"}).out, Not(HasSubstr("\x1b[")));
  EXPECT_EQ(warpmark({"run", "--rounds", "1", "--warmup", "0", "--", "true"}).err, "");
}

TEST_F(Interface, gives_a_pipe_all_columns_and_names_those_that_a_width_drops) {
  write("one.json", R"({"results": [{"command": "sleep 0.1", "times": [0.1, 0.1, 0.11, 0.1, 0.1, 0.12, 0.1]}]})");
  const auto piped = warpmark({"report", path("one.json"), "--details"}).out;
  for (const char* column : {"MAD", "outliers", "95 % interval"}) EXPECT_THAT(piped, HasSubstr(column)) << column;
  EXPECT_THAT(piped, Not(HasSubstr("Not shown at this width")));
  const auto narrow = warpmark_narrow({"report", path("one.json"), "--details"}).out;
  EXPECT_THAT(narrow, HasSubstr("Not shown at this width: mean"));
}

TEST_F(Interface, explains_every_column_of_samples_verdicts_and_benchmarks) {
  for (const char* column : {"n",      "median",   "mean",  "min",     "max",  "sd",   "MAD",     "cv",       "±",
                             "spread", "outliers", "lag-1", "p95",     "p99",  "p",    "verdict", "interval", "limit",
                             "share",  "allowed",  "bound", "of-peak", "mode", "rate", "outlier"}) {
    const auto output = warpmark({"help", column});
    EXPECT_EQ(output.exit_code, 0) << column << output.err;
  }
}

TEST_F(Interface, shows_what_to_write_where_a_file_is_missing_or_of_another_kind) {
  ASSERT_EQ(chdir(folder_.c_str()), 0);
  ASSERT_TRUE(run_process({"/bin/sh", "-c",
                           "git init -q . && git -c user.name=a -c user.email=a@b commit -q "
                           "--allow-empty -m one"},
                          {.deadline_s = 20})
                  .ok());
  const auto output = warpmark({"compare", "--rev-a", "HEAD", "--rev-b", "HEAD"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("    schema: warpmark.project/1\n    build: make -j2\n    run: ./bench"));
  ASSERT_EQ(chdir("/"), 0);
  write("one.json", R"({"results": [{"command": "true", "times": [0.1, 0.1]}]})");
  fails_with_hint({"report", path("one.json"), "--output", path("r.html")}, "--html " + path("r.html"));
  fails_with_hint({"report", path("one.json"), "--output", path("r.md")}, "--format md --output " + path("r.md"));
}

TEST_F(Interface, gives_the_reason_of_every_exit_code_in_one_line) {
  EXPECT_THAT(warpmark({"scale", "--times", "1=100s,8=95s", "--min-efficiency", "80%"}).err,
              HasSubstr("exit code 1: efficiency with 8 GPUs is 13.2 %, below --min-efficiency 80.0 %"));
  EXPECT_THAT(warpmark({"plan", "--model", "llama3-70b", "--gpu", "rtx-4090", "--gpus", "1"}).err,
              HasSubstr("exit code 1: no layout fits into the memory of the GPUs"));
}

TEST_F(Interface, names_the_verb_that_reads_a_file) {
  write("load.json", R"({"schema": "warpmark.load/1", "loads": []})");
  write("check.json", R"({"schema": "warpmark.check/1"})");
  write("doctor.json", R"({"schema": "warpmark.doctor/1"})");
  fails_with_hint({"compare", path("load.json"), path("load.json")}, "warpmark load compare A.json B.json");
  fails_with_hint({"accept", path("load.json"), path("load.json"), "--across"}, "warpmark load compare A.json B.json");
  fails_with_hint({"report", path("check.json")}, "check.json: command is missing");
  fails_with_hint({"compare", path("doctor.json"), path("doctor.json")}, "which no verb reads");
}

TEST_F(Interface, shows_a_goal_with_the_unit_of_its_metric) {
  const auto output = warpmark({"run", "--rounds", "1", "--no-store", "--goal", "time<=100s", "--", "sleep", "0.01"});
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_THAT(output.err, HasSubstr(" ms  "));
}

TEST_F(Interface, says_what_to_do_about_a_command_that_fails) {
  EXPECT_THAT(warpmark({"run", "--", "false"}).out, HasSubstr("run it by itself"));
  EXPECT_THAT(warpmark({"run", "--", "nosuch"}).out, HasSubstr("check the spelling"));
}

TEST_F(Interface, gives_no_interval_of_answers_where_there_are_too_few) {
  write("ref.txt", "the cat sat\na dog ran\n");
  write("a.txt", "the cat sat\na dog walks\n");
  write("b.txt", "the cat sat\na dog ran\n");
  const auto done =
      warpmark({"eval", "compare", path("a.txt"), path("b.txt"), "--metric", "chrf", "--ref", path("ref.txt")});
  EXPECT_THAT(unwrapped(done.out),
              HasSubstr("2 examples are too few for an interval or a test; at least 6 are needed"));
  for (const char* word : {"bootstrap p", "relative change"}) EXPECT_THAT(done.out, Not(HasSubstr(word)));
}

TEST_F(Interface, lists_sessions_by_date_and_value) {
  write("one.json", R"({"results": [{"command": "sleep 0.1", "times": [0.1, 0.1]}]})");
  EXPECT_EQ(warpmark({"history", "import", path("one.json"), "--started", "2026-03-01T12:00:00Z"}).exit_code, 0);
  const auto output = warpmark({"history", "list"});
  EXPECT_THAT(output.out, HasSubstr("2026-03-01"));
  EXPECT_THAT(output.out, HasSubstr("time 100.0 ms"));
}

TEST_F(Interface, says_of_two_files_without_results_that_they_have_none) {
  write("bad.json", "{not json");
  write("empty.json", "{}");
  const auto output = warpmark({"compare", path("bad.json"), path("empty.json")});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, Not(HasSubstr("two commands")));
  EXPECT_THAT(warpmark({"compare", path("empty.json"), path("empty.json")}).err,
              HasSubstr("no known format of results"));
}

TEST_F(Interface, names_the_list_of_formats_instead_of_listing_them) {
  write("empty.json", "");
  const std::string file = path("empty.json");
  EXPECT_THAT(warpmark({"load", "compare", file, file}).err,
              HasSubstr("warpmark: " + file +
                        " has no known format of results: it is empty\n"
                        "  `warpmark list formats` shows the formats\n"));
  EXPECT_THAT(warpmark({"list", "formats", "--ids"}).out, HasSubstr("\nhyperfine\n"));
}

}  // namespace
}  // namespace warpmark::apps
