#include "model/fields/options.h"

#include <gtest/gtest.h>

namespace warpmark {
namespace {

struct Part {
  double pause_s = 0.05;
};

struct Request {
  std::string branch = "main", format = "text";
  double threshold = 0.05, alpha = 0.05;
  std::int64_t history = 100;
  int threads = 0;
  bool keeps = true;
  std::optional<double> budget_s;
  std::vector<std::int64_t> users;
  std::vector<std::string> headers;
  std::vector<std::size_t> lengths;
  Part part;
};

Result<std::size_t> length_of(const std::string& text) {
  return text == "bad" ? Result<std::size_t>(usage_error("bad is no text")) : text.size();
}

constexpr OptionSpec kOwn[] = {
    {"--baseline", "BRANCH", "branch", to<&Request::branch>},
    {"--format", "FORMAT", "how", to<&Request::format>.chosen(), "text json"},
    {"--threshold", "RATIO", "change", to<&Request::threshold>},
    {"--alpha", "P", "chance", to<&Request::alpha>},
    {"--history", "N", "sessions", to<&Request::history>.within({1, 1000})},
    {"--threads", "N", "how many", to<&Request::threads>.of("run")},
    {"--no-store", "", "nothing", to<&Request::keeps>},
    {"--budget", "TIME", "time", to<&Request::budget_s>.within(kPositive)},
    {"--users", "N", "users", to<&Request::users>},
    {"--header", "LINE", "headers", to<&Request::headers>},
    {"--length", "TEXT", "lengths", by<length_of, &Request::lengths>},
    {"--pause", "TIME", "pause", to<&Request::part, &Part::pause_s>},
};
constexpr OptionSpec kOthers[] = {{"--seed", "N", "of everything"}};
constexpr auto kOptions = joined(kOwn, of("run", kOthers));

Result<Request> read(std::vector<std::string> words) {
  const auto parsed = parse_options(kOptions, {}, words);
  return parsed.ok() ? read_options<Request>(*parsed) : parsed.error();
}

std::string refusal(std::vector<std::string> words) {
  const auto request = read(std::move(words));
  return request.ok() ? "" : request.error().what;
}

TEST(RequestOptions, have_the_members_defaults_where_they_are_not_given) {
  const auto request = read({});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->branch, "main");
  EXPECT_EQ(request->threshold, 0.05);
  EXPECT_TRUE(request->keeps);
  EXPECT_FALSE(request->budget_s);
}

TEST(RequestOptions, are_read_by_the_type_of_the_member) {
  const auto request =
      read({"--baseline=dev", "--format=json", "--threshold=3%", "--history=7", "--no-store", "--budget=2m",
            "--users=1,8", "--users", "16", "--header", "a: b, c", "--length=four", "--pause=1s"});
  ASSERT_TRUE(request.ok()) << request.error().what;
  EXPECT_EQ(request->branch, "dev");
  EXPECT_EQ(request->format, "json");
  EXPECT_DOUBLE_EQ(request->threshold, 0.03);
  EXPECT_EQ(request->history, 7);
  EXPECT_FALSE(request->keeps);
  EXPECT_EQ(request->budget_s, 120);
  EXPECT_EQ(request->users, (std::vector<std::int64_t>{1, 8, 16}));
  EXPECT_EQ(request->headers, std::vector<std::string>{"a: b, c"});
  EXPECT_EQ(request->lengths, std::vector<std::size_t>{4});
  EXPECT_EQ(request->part.pause_s, 1);
}

TEST(RequestOptions, are_refused_with_what_they_may_be) {
  EXPECT_EQ(refusal({"--format=pdf"}), "there is no format 'pdf'");
  EXPECT_EQ(refusal({"--threshold=5"}), "--threshold must be between 0 and 1");
  EXPECT_EQ(refusal({"--baseline", ""}), "--baseline is empty");
  EXPECT_EQ(refusal({"--history=0"}), "--history must be 1 to 1000");
  EXPECT_EQ(refusal({"--history=many"}), "--history: 'many' is not a whole number");
  EXPECT_EQ(refusal({"--threads=99999999999"}), "--threads: 99999999999 is too large");
  EXPECT_EQ(refusal({"--budget=0"}), "--budget must be above 0");
  EXPECT_EQ(refusal({"--length=bad"}), "bad is no text");
}

TEST(RequestOptions, show_actions_and_default_in_their_help) {
  const char* wanted[] = {"branch (default main)",
                          "how (default text)",
                          "change (default 5%)",
                          "chance (default 0.05)",
                          "sessions (default 100)",
                          "run: how many",
                          "nothing",
                          "time",
                          "users",
                          "headers",
                          "lengths",
                          "pause (default 50ms)",
                          "run: of everything"};
  ASSERT_EQ(std::size(wanted), kOptions.size());
  for (std::size_t i = 0; i < kOptions.size(); ++i) EXPECT_EQ(option_help(kOptions[i]), wanted[i]);
}

}  // namespace
}  // namespace warpmark
