// `warpmark compare` of what is stored, and what it stores.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "apps/compare_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using testing_support::schema_errors;

/// The two ids of "warpmark compare A B".
std::vector<std::string> ids_in(const std::string& said) {
  const auto hint = said.find("warpmark compare ");
  EXPECT_NE(hint, std::string::npos) << said;
  if (hint == std::string::npos) return {"", ""};
  const auto words = split(said.substr(hint, said.find('\n', hint) - hint), ' ');
  EXPECT_EQ(words.size(), 4U) << said;
  return {words.at(2), words.at(3)};
}

/// Of an exported dashboard the comparison of the one pair of sessions.
Json compared_on_the_dashboard(const std::string& site) {
  for (const auto& entry : std::filesystem::directory_iterator(site + "/data")) {
    const std::string text = *read_file(entry.path());
    if (text.find("warpmark.pair/1") == std::string::npos) continue;
    const auto begin = text.find('{'), end = text.rfind(");");
    const auto answer = parse_json(text.substr(begin, end - begin), "answer");
    if (answer.ok()) return (*answer)["comparison"];
  }
  return {};
}

TEST_F(Compare, stores_the_variants_and_compares_them_again_by_id) {
  write_project("echo cost {n}");
  const auto output = compare({"--project", path("warpmark.yaml"), "--a", "n=5", "--b", "n=6"});
  EXPECT_EQ(output.exit_code, 1) << output.err;
  const auto hint = output.err.find("warpmark compare ");
  ASSERT_NE(hint, std::string::npos) << output.err;
  const auto words = split(output.err.substr(hint, output.err.find('\n', hint) - hint), ' ');
  ASSERT_EQ(words.size(), 4U);
  const auto again = compare({words[2], words[3], "--json", path("c.json")});
  EXPECT_EQ(again.exit_code, 1) << again.out << again.err;
  EXPECT_NEAR(json("c.json")["metrics"][0]["ratio"].get<double>(), 1.2, 1e-9);
  EXPECT_EQ(json("c.json")["metrics"][0]["n_a"], 7);
  EXPECT_EQ(schema_errors(json("c.json"), "compare.schema.json"), "");
  EXPECT_EQ(compare({words[2] + "7", words[3]}).exit_code, 2);  // no such run
  const auto listed = warpmark({"history", "list"});
  EXPECT_NE(listed.out.find(words[2].substr(0, words[2].size() - 2)), std::string::npos) << listed.out;
  const auto not_kept = compare({"--no-store", "--project", path("warpmark.yaml"), "--a", "n=5", "--b", "n=7"});
  EXPECT_EQ(not_kept.err.find("stored"), std::string::npos);
}

TEST_F(Compare, shows_the_same_numbers_again) {
  write_project("echo cost {n}$(($(od -An -N1 -tu1 /dev/urandom) % 10))");
  const auto measured = compare({"--project", path("warpmark.yaml"), "--a", "n=2", "--b", "n=3", "--effect", "5%",
                                 "--fixed", "--rounds", "9", "--json", path("first.json")});
  const auto ids = ids_in(measured.err);
  const Json first = json("first.json");
  EXPECT_EQ(schema_errors(first, "compare.schema.json"), "");
  EXPECT_EQ(first["session_a"], ids[0]);
  const auto again = compare({ids[0], ids[1], "--json", path("again.json")});
  EXPECT_EQ(again.exit_code, measured.exit_code) << again.out << again.err;
  Json second = json("again.json");
  second["command"] = first["command"];
  EXPECT_EQ(second, first);
  const auto wider = compare({ids[0], ids[1], "--effect", "90%", "--json", path("again.json")});
  EXPECT_EQ(json("again.json")["metrics"][0]["ci_low"], first["metrics"][0]["ci_low"]) << wider.err;
  EXPECT_EQ(json("again.json")["effect"], 0.9);
  ASSERT_EQ(warpmark({"dashboard", "--export", path("site")}).exit_code, 0);
  EXPECT_EQ(compared_on_the_dashboard(path("site")), first);
  const auto turned = compare({ids[1], ids[0], "--json", path("again.json")});
  EXPECT_FALSE(json("again.json")["paired"].get<bool>());
  EXPECT_EQ(ids_in(turned.err), ids) << turned.err;
}

TEST_F(Compare, names_both_commands_of_a_file_by_their_own_names) {
  std::string results;
  for (const auto& [command, first] : {std::pair{"sleep 1", "1.0"}, {"sleep 2", "2.0"}}) {
    results += fmt::format(R"({}{{"command":"{}","mean":{}2,"times":[{}1,{}2,{}3,{}2]}})", results.empty() ? "" : ",",
                           command, first, first, first, first, first);
  }
  write("two.json", R"({"results":[)" + results + "]}");
  const auto output = compare({path("two.json"), "--json", path("c.json")});
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_EQ(json("c.json")["metrics"][0]["id"], "time");
}

TEST_F(Compare, reads_the_rounds_of_pytest_benchmark) {
  const auto file = [&](const std::string& name, const std::string& stats) {
    write(name, R"({"machine_info":{"node":"h"},"datetime":"2026-01-01T00:00:00","benchmarks":[{"name":"t","stats":{)" +
                    stats + "}}]}");
  };
  const auto data = [](double level, int rounds) {
    std::string text;
    for (int i = 0; i < rounds; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", level + i % 5 * 1e-3);
    return R"("data":[)" + text + "]";
  };
  file("a.json", data(1, 15));
  file("b.json", data(1.2, 15));
  const auto output = compare({path("a.json"), path("b.json"), "--json", path("c.json")});
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_EQ(json("c.json")["metrics"][0]["n_a"], 15);
  EXPECT_NE(output.err.find("All rounds of a file are of one process"), std::string::npos) << output.err;
  file("b.json", data(1.2, 1000));  // neighbours are alike: blocks count
  EXPECT_EQ(compare({path("a.json"), path("b.json"), "--json", path("c.json")}).exit_code, 1);
  EXPECT_EQ(json("c.json")["metrics"][0]["n_b"], 30);
  file("a.json", R"("median":1,"rounds":5)");
  file("b.json", R"("median":1.2,"rounds":5)");
  const auto few = compare({path("a.json"), path("b.json")});
  EXPECT_EQ(few.exit_code, 3) << few.out;
  EXPECT_NE(few.err.find("To measure more rounds: pytest --benchmark-min-rounds=30"), std::string::npos) << few.err;
}

TEST_F(Compare, judges_every_metric_of_stored_commands) {
  ASSERT_TRUE(write_file(path("warpmark.yaml"),
                         "run: 'echo cost {n} wait {m}'\nshell: true\nmetrics:\n"
                         "  - {name: cost, unit: s, regex: 'cost ([0-9.]+)'}\n"
                         "  - {name: wait, unit: s, regex: 'wait ([0-9.]+)'}\n")
                  .ok());
  const auto measured =
      compare({"--project", path("warpmark.yaml"), "--a", "n=5", "--a", "m=2", "--b", "n=5", "--b", "m=3"});
  ASSERT_EQ(measured.exit_code, 1) << measured.out << measured.err;
  const auto ids = ids_in(measured.err);
  const auto again = compare({ids[0], ids[1], "--json", path("c.json")});
  EXPECT_EQ(again.exit_code, 1) << again.out << again.err;
  const Json metrics = json("c.json")["metrics"];
  ASSERT_EQ(metrics.size(), 2U) << again.out;
  EXPECT_EQ(metrics[0]["verdict"], "same");
  EXPECT_EQ(metrics[1]["verdict"], "worse") << "the second metric is as good as the first";
  EXPECT_EQ(metrics[1]["id"], "wait");
}

TEST_F(Compare, takes_no_stored_failure_for_a_result_and_names_what_is_missing) {
  write_project("echo cost {n}");
  ASSERT_EQ(compare({"--project", path("warpmark.yaml"), "--a", "n=5", "--b", "n=5.001"}).exit_code, 0);
  ASSERT_EQ(warpmark({"history", "export", "last", "--format", "warpmark", "--out", path("good.json")}).exit_code, 0);
  Json session = json("good.json");
  session["runs"].push_back(session["runs"][0]);
  session["runs"][1]["id"] = session["id"].get<std::string>() + ".1";
  session["runs"][1]["index"] = 1;
  session["runs"][1]["params"]["command"] = "another";
  ASSERT_TRUE(write_file(path("more.json"), dump_json(session)).ok());
  const auto fewer = compare({path("more.json"), path("good.json")});
  EXPECT_EQ(fewer.exit_code, 0) << fewer.out << fewer.err;
  EXPECT_NE(fewer.err.find("Not compared: another"), std::string::npos) << fewer.err;
  EXPECT_NE(fewer.err.find("(only A has it)"), std::string::npos) << fewer.err;

  session["runs"][0]["outcome"] = "failed";
  session["runs"][0]["reason"] = "3 of 8 values are wrong";
  ASSERT_TRUE(write_file(path("wrong.json"), dump_json(session)).ok());
  const auto wrong = compare({path("more.json"), path("wrong.json"), "--json", path("c.json")});
  EXPECT_EQ(wrong.exit_code, 3) << wrong.out << wrong.err;
  EXPECT_EQ(schema_errors(json("c.json"), "compare.schema.json"), "");
  EXPECT_EQ(json("c.json")["metrics"][0]["reason"], "B has a wrong result: 3 of 8 values are wrong");
  EXPECT_FALSE(json("c.json")["metrics"][0].contains("median_b"));
}

TEST_F(Compare, stores_what_a_budget_left_and_no_run_twice) {
  const std::string mark = "sh -c 'echo x >> " + in_quotes(path("marks")) + "; sleep 0.02'";
  const std::vector<std::string> words{"--fixed", "--warmup", "0",  "--rounds", "500", "--budget",
                                       "300ms",   "--",       mark, "--",       mark};
  std::size_t stored = 0;
  for (const bool first : {true, false}) {
    const auto output = compare(words);
    EXPECT_EQ(output.err.find("going on after") == std::string::npos, first) << output.err;
    EXPECT_NE(output.err.find("run the same command again to resume"), std::string::npos) << output.err;
    for (const auto& id : ids_in(output.err)) {
      const auto shown = warpmark({"report", id.substr(0, id.rfind('.')), "--format", "json"});
      ASSERT_EQ(shown.exit_code, 0) << shown.err;
      stored += (*parse_json(shown.out, "report"))["runs"][0]["metrics"][0]["samples"].size();
    }
  }
  EXPECT_EQ(stored, read_file(path("marks"))->size() / 2);
}

TEST_F(Compare, compares_stored_results) {
  for (const auto* name : {"a.json", "b.json"}) {
    ASSERT_EQ(warpmark(with({"run", "copy", "--set", "size=65536", "--json", path(name)},
                            {"--device", "cpu", "--rounds", "3", "--budget", "3s", "--no-ceilings"}))
                  .exit_code,
              0);
  }
  const auto output = compare({path("a.json"), path("b.json"), "--effect", "50%", "--json", path("c.json")});
  EXPECT_NE(output.exit_code, 2) << output.err;
  EXPECT_EQ(schema_errors(json("c.json"), "compare.schema.json"), "");
  EXPECT_FALSE(json("c.json")["paired"].get<bool>());
  EXPECT_EQ(compare({path("a.json"), path("none.json")}).exit_code, 2);
}

// After NVIDIA/nvbench#295: a full file and one of a part of its states.
TEST_F(Compare, compares_what_two_files_share) {
  const auto file = [&](const std::string& name, const std::vector<std::pair<std::string, double>>& states) {
    std::string text;
    for (const auto& [type, seconds] : states) {
      text += std::string(text.empty() ? "" : ",") +
              R"({"name":"s","device":0,"axis_values":[{"name":"T","type":"string",
        "value":")" +
              type + R"("}],"summaries":[{"tag":"nv/cold/time/gpu/mean","name":"GPU Time","data":[{"name":"value",
        "type":"float64","value":")" +
              std::to_string(seconds) + R"("}]}],"is_skipped":false})";
    }
    write(name, R"({"devices":[{"id":0,"name":"H100"}],"benchmarks":[{"name":"stream","states":[)" + text + "]}]}");
  };
  file("full.json", {{"I16", 1.0}, {"I32", 2.0}});
  file("part.json", {{"I16", 1.5}});
  const auto output = compare({path("full.json"), path("part.json"), "--json", path("c.json")});
  ASSERT_EQ(json("c.json")["metrics"].size(), 1U) << output.out << output.err;
  EXPECT_NEAR(json("c.json")["metrics"][0]["ratio"].get<double>(), 1.5, 1e-9);
  EXPECT_NE(output.err.find("(only A has it)"), std::string::npos) << output.err;
}

TEST_F(Compare, pairs_benchmarks_of_one_name_by_their_families) {
  const auto file = [&](const std::string& name, const std::vector<std::pair<int, double>>& families) {
    std::string text;
    for (const auto& [family, time] : families) {
      for (int i = 0; i < 5; ++i) {
        text += fmt::format(
            R"({}{{"name":"x","run_name":"x","run_type":"iteration","family_index":{},"repetition_index":{},
               "iterations":1,"time_unit":"ms","cpu_time":{},"real_time":{}}})",
            text.empty() ? "" : ",", family, i, time, time + i * 1e-3);
      }
    }
    write(name, R"({"context":{"host_name":"h"},"benchmarks":[)" + text + "]}");
  };
  file("a.json", {{0, 100}, {1, 200}});
  file("b.json", {{1, 260}, {0, 100}});
  const auto output = compare({path("a.json"), path("b.json"), "--json", path("c.json")});
  const Json metrics = json("c.json")["metrics"];
  ASSERT_GE(metrics.size(), 2U) << output.out << output.err;
  EXPECT_NEAR(metrics[0]["ratio"].get<double>(), 1, 1e-3);
  EXPECT_NEAR(metrics[1]["ratio"].get<double>(), 1.3, 1e-3);
  file("one.json", {{0, 100}});
  const auto refused = compare({path("a.json"), path("one.json")});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_NE(refused.err.find("no case that can be compared: x"), std::string::npos) << refused.err;
}

TEST_F(Compare, shows_every_metric_of_a_case_that_changed) {
  const auto file = [&](const std::string& name, const char* metrics, std::size_t count = 5) {
    std::string text = "goos: linux\npkg: example.com/x\n";
    constexpr std::array kTimes{"1000", "1001", "1002", "1001", "1000"};
    for (const char* time : std::span<const char* const>(kTimes).first(count)) {
      text += fmt::format("BenchmarkA-8 \t 1000 \t {} ns/op \t {}\n", time, metrics);
    }
    write(name, text + "PASS\n");
  };
  file("a.txt", "512 B/op \t 3 allocs/op");
  file("b.txt", "4096 B/op \t 90 allocs/op");
  const auto output = compare({path("a.txt"), path("b.txt"), "--json", path("c.json")});
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  const Json metrics = json("c.json")["metrics"];
  ASSERT_EQ(metrics.size(), 3U) << output.out << output.err;
  EXPECT_EQ(metrics[0]["verdict"], "same");
  EXPECT_TRUE(metrics[0]["id"].get<std::string>().ends_with(" time")) << metrics[0];
  for (const auto& [i, ratio] : {std::pair{1U, 8.0}, {2U, 30.0}}) {
    EXPECT_EQ(metrics[i]["verdict"], "worse") << metrics[i];
    EXPECT_NEAR(metrics[i]["ratio"].get<double>(), ratio, 1e-9);
  }
  EXPECT_NE(metrics[1]["id"], metrics[2]["id"]);
  file("a.txt", "512 B/op \t 3 allocs/op", 1);
  file("b.txt", "4096 B/op \t 3 allocs/op", 1);
  const auto once = compare({path("a.txt"), path("b.txt"), "--json", path("c.json")});
  EXPECT_EQ(once.exit_code, 3) << once.out << once.err;
  ASSERT_EQ(json("c.json")["metrics"].size(), 2U) << once.out;
  EXPECT_EQ(json("c.json")["metrics"][1]["verdict"], "inconclusive");
  EXPECT_NE(once.out.find("allocated (info)"), std::string::npos) << once.out;
}

// After google/benchmark#1648: one run of each benchmark has no statistics.
TEST_F(Compare, asks_for_repetitions_where_files_have_one) {
  for (const auto& [name, time] : {std::pair{"a.json", "10"}, {"b.json", "11"}}) {
    write(name,
          std::string(R"({"context":{"host_name":"h"},"benchmarks":[{"name":"x","run_name":"x","run_type":"iteration",
      "repetitions":1,"repetition_index":0,"iterations":10,"time_unit":"ms","cpu_time":10,"real_time":)") +
              time + "}]}");
  }
  const auto output = compare({path("a.json"), path("b.json")});
  EXPECT_EQ(output.exit_code, 3) << output.out << output.err;
  EXPECT_NE(output.out.find("inconclusive"), std::string::npos) << output.out;
}

}  // namespace
}  // namespace warpmark::apps
