#include "base/options.h"

#include <gtest/gtest.h>

namespace warpmark {
namespace {

constexpr OptionSpec kOptions[] = {
    {"--suite", "NAME", "suite to run"},
    {"--set", "K=V", "parameter", true},
    {"--no-store", "", "do not store"},
};
constexpr PositionalSpec kNames{"NAME", "workloads", true};

Result<ParsedOptions> parse(std::vector<std::string> words, PositionalSpec positional = kNames) {
  return parse_options(kOptions, positional, words);
}

TEST(Options, parses_values_flags_and_words) {
  const auto parsed = parse({"gemm", "--set", "m=1", "--set=n=2", "--no-store", "copy"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().what;
  EXPECT_EQ(parsed->all("--set"), (std::vector<std::string>{"m=1", "n=2"}));
  EXPECT_TRUE(parsed->has("--no-store"));
  EXPECT_FALSE(parsed->has("--suite"));
  EXPECT_EQ(parsed->positionals(), (std::vector<std::string>{"gemm", "copy"}));
}

TEST(Options, leaves_what_follows_two_dashes_to_the_command_that_is_to_be_run) {
  const auto parsed = parse({"--no-store", "--", "python", "train.py", "--suite", "--", "x"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().what;
  EXPECT_EQ(parsed->positionals(), (std::vector<std::string>{"python", "train.py", "--suite", "--", "x"}));
  EXPECT_FALSE(parsed->has("--suite"));
  EXPECT_FALSE(parse({"--"}, {"NAME", "one workload"}).ok());
}

TEST(Options, refuses_what_the_action_would_pass_over) {
  const OptionSpec options[] = {{"--users", "N", "how many", of("run")},
                                {"--format", "F", "html", of("plot")},
                                {"--format", "F", "text or json", of("compare, run")},
                                {"--seed", "N", "of everything"},
                                {"--note", "TEXT", "format: as given"}};
  const PositionalSpec actions{"ACTION", "run, plot, compare", true, "run plot compare"};
  const auto tried = [&](std::vector<std::string> words) { return parse_options(options, actions, words); };
  EXPECT_TRUE(tried({"run", "--users", "3", "--format", "json", "--seed", "1", "--note", "a"}).ok());
  EXPECT_TRUE(tried({"compare", "--format", "json"}).ok());
  EXPECT_TRUE(tried({"--users", "3"}).ok());  // which action is the verb's to ask
  const auto ignored = tried({"plot", "--users", "3"});
  ASSERT_FALSE(ignored.ok());
  EXPECT_EQ(ignored.error().what, "--users is for run, not for plot");
  EXPECT_EQ(tried({"compare", "--format", "json"})->all("--format"), std::vector<std::string>{"json"});
  EXPECT_EQ(check_action(options, actions, *tried({"--format", "json"}), "plot").ok(), true);
}

TEST(Options, take_a_value_that_may_be_left_out) {
  constexpr OptionSpec kJson[] = {{"--json", "[FILE]", "where"}, {"--all", "", "all"}};
  const PositionalSpec actions{"ACTION", "list or show", true, "list show"};
  const auto json = [&](std::vector<std::string> words) {
    const auto parsed = parse_options(kJson, actions, words);
    EXPECT_TRUE(parsed.ok());
    return parsed.ok() ? parsed->get("--json", "none") : "";
  };
  EXPECT_EQ(json({"--json"}), "-");
  EXPECT_EQ(json({"--json", "-", "list"}), "-");
  EXPECT_EQ(json({"--json", "--all"}), "-");
  EXPECT_EQ(json({"--json", "list"}), "-");
  EXPECT_EQ(json({"list", "--json", "a.json"}), "a.json");
  EXPECT_EQ(json({"--json=b.json"}), "b.json");
  EXPECT_EQ(json({"list"}), "none");
}

TEST(Options, suggest_by_synonyms_the_first_that_the_verb_has) {
  const Synonym words[] = {{"--output", "--out"}, {"--output", "--suite"}, {"--cmd", "write it after --"}};
  const auto hint = [&](const std::string& word) {
    const auto parsed = parse_options(kOptions, kNames, std::vector<std::string>{word, "x"}, words);
    EXPECT_FALSE(parsed.ok());
    return parsed.ok() ? "" : parsed.error().hint;
  };
  EXPECT_EQ(hint("--output"), "did you mean '--suite'? see --help");
  EXPECT_EQ(hint("--cmd"), "write it after --");
}

TEST(Options, suggests_for_an_unknown_option) {
  const auto parsed = parse({"--suit=quick"});
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().what, "unknown option '--suit'");
  EXPECT_EQ(parsed.error().hint, "did you mean '--suite'? see --help");
}

TEST(Options, names_the_option_without_its_value) {
  const auto parsed = parse({"--suite"});
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().what, "option '--suite' needs a value");
}

TEST(Options, takes_no_next_word_for_the_value_that_is_empty) {
  const auto parsed = parse({"--suite=", "--help"});
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().what, "option '--suite' has an empty value");
}

TEST(Options, names_the_unknown_option_before_the_argument_that_has_no_place) {
  const PositionalSpec one{"NAME", "one workload"};
  EXPECT_EQ(parse({"gemm", "--plugin", "a.so"}, one).error().what, "unknown option '--plugin'");
  EXPECT_EQ(parse({"gemm", "--suite", "a", "copy"}, one).error().what, "unexpected argument 'copy'");
}

TEST(Options, refuses_a_second_value_and_words_nobody_takes) {
  EXPECT_EQ(parse({"--suite", "a", "--suite", "b"}).error().what, "option '--suite' is given twice");
  EXPECT_EQ(parse({"gemm"}, {}).error().what, "unexpected argument 'gemm'");
}

TEST(Options, accepts_help_everywhere) {
  EXPECT_TRUE(parse({"--help"})->has("--help"));
  EXPECT_TRUE(parse({"-h"})->has("--help"));
}

}  // namespace
}  // namespace warpmark
