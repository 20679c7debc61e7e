// `--reference REV`: a command measured beside an older revision, as `run` stores it and `check` judges it.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "store/sqlite/sqlite_store.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

/// A repository whose program prints what cost.txt held when it was built, times what the machine does to all.
class ReferenceRun : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    repository_ = path("repository");
    std::filesystem::create_directories(repository_ + "/part");
    git({"init", "-q", "-b", "main"});
    write("part/warpmark.yaml", "build: 'cp cost.txt built.txt; echo built >> " + in_quotes(path("builds")) +
                                    "'\nrun: 'echo cost $(( $(cat built.txt) * $(cat " + in_quotes(path("machine")) +
                                    ") ))'\nshell: true\nmetrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}]\n");
    write(".gitignore", "built.txt\n");
    machine(1);
    commit(100);
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(repository_ + "/" + name, text).ok());
  }
  void machine(int slowness) { ASSERT_TRUE(write_file(path("machine"), std::to_string(slowness)).ok()); }
  void commit(int cost) {
    write("part/cost.txt", std::to_string(cost));
    git({"add", "."});
    git({"commit", "-q", "--allow-empty", "-m", "cost " + std::to_string(cost)});
  }
  std::string git(std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=A. Author", "-c", "user.email=a@example.org"});
    const auto output = run_process(words, {.directory = repository_});
    EXPECT_TRUE(output.ok() && output->exit_code == 0) << words[5] << ": " << output->err;
    return output.ok() ? std::string(trim(output->out)) : "";
  }
  ProcessOutput in_part(std::vector<std::string> words) {
    words.insert(words.begin(), kExecutable);
    const auto output = run_process(words, {.deadline_s = 200, .directory = repository_ + "/part"});
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : ProcessOutput{};
  }
  ProcessOutput run_beside(const std::string& revision) {
    return in_part({"run", "--project", "warpmark.yaml", "--reference", revision, "--rounds", "3", "--warmup", "0"});
  }
  std::vector<store::RunPoint> points(const std::string& metric) {
    return store::open_sqlite(path("test.db")).value()->find({.metric = metric}).value();
  }
  std::size_t builds() {
    const auto text = read_file(path("builds"));
    return text.ok() ? static_cast<std::size_t>(std::count(text->begin(), text->end(), '\n')) : 0;
  }
  std::string repository_;
};

TEST_F(ReferenceRun, stores_the_ratio_builds_the_reference_once_and_leaves_the_repository_alone) {
  const std::string first = git({"rev-parse", "HEAD"});
  commit(103);
  const std::string before = git({"worktree", "list"}) + git({"for-each-ref"}) + git({"config", "--list", "--local"});
  for (const int slowness : {1, 3, 2}) {
    machine(slowness);
    const auto output = run_beside("HEAD~1");
    ASSERT_EQ(output.exit_code, 0) << output.err << output.out;
    EXPECT_EQ(output.err.find("building the reference") != std::string::npos, slowness == 1);
  }
  EXPECT_EQ(git({"worktree", "list"}) + git({"for-each-ref"}) + git({"config", "--list", "--local"}), before);
  EXPECT_EQ(builds(), 4U);  // ours for each session, the reference once
  const auto ratios = points("cost_vs_" + first.substr(0, 10));
  ASSERT_EQ(ratios.size(), 3U);
  for (const auto& point : ratios) {
    EXPECT_NEAR(point.median, 1.03, 1e-12);
    EXPECT_EQ(point.n, 3);
    EXPECT_EQ(point.unit, "x");
  }
  const auto costs = points("cost");
  ASSERT_EQ(costs.size(), 3U);
  EXPECT_EQ(costs[1].median, 309);
}

TEST_F(ReferenceRun, another_reference_and_another_build_take_its_place) {
  commit(103);
  ASSERT_EQ(run_beside("HEAD~1").exit_code, 0);
  ASSERT_EQ(run_beside("HEAD").exit_code, 0);
  EXPECT_EQ(builds(), 4U);
  EXPECT_EQ(points("cost_vs_*").size(), 2U);
  EXPECT_EQ(points("cost_vs_" + git({"rev-parse", "HEAD"}).substr(0, 10)).front().median, 1);
  auto text = *read_file(repository_ + "/part/warpmark.yaml");
  write("part/warpmark.yaml", "env: {MORE: '1'}\n" + text);
  ASSERT_EQ(run_beside("HEAD").exit_code, 0);
  EXPECT_EQ(builds(), 6U);
}

TEST_F(ReferenceRun, check_judges_the_ratio_alone_whatever_the_machine_does) {
  for (int i = 0; i < 20; ++i) {
    machine(1 + i * 7 % 5);
    commit(100);
    ASSERT_EQ(run_beside("main~" + std::to_string(i + 1)).exit_code, 0);
  }
  git({"checkout", "-q", "-b", "slow"});
  commit(110);
  machine(2);
  const std::string first = git({"rev-list", "--max-parents=0", "HEAD"});
  const auto slow = in_part({"check", "--project", "warpmark.yaml", "--reference", first, "--rounds", "3", "--warmup",
                             "0", "--json", path("slow.json")});
  EXPECT_EQ(slow.exit_code, 1) << slow.out << slow.err;
  const auto json = parse_json(*read_file(path("slow.json")), "slow.json");
  ASSERT_EQ((*json)["metrics"].size(), 1U);
  EXPECT_EQ((*json)["metrics"][0]["metric"], "cost_vs_" + first.substr(0, 10));
  EXPECT_NEAR((*json)["metrics"][0]["ratio"].get<double>(), 1.1, 1e-9);
  EXPECT_EQ(in_part({"check", "--metrics", "cost"}).exit_code, 3);  // of the machine's noise nothing can be said
  commit(100);
  machine(4);
  const auto fixed =
      in_part({"check", "--project", "warpmark.yaml", "--reference", first, "--rounds", "3", "--warmup", "0"});
  EXPECT_EQ(fixed.exit_code, 0) << fixed.out << fixed.err;
}

TEST_F(ReferenceRun, check_says_that_a_history_has_no_such_series_and_not_that_the_machine_is_another) {
  for (int i = 0; i < 10; ++i) {
    commit(100);
    ASSERT_EQ(in_part({"run", "--project", "warpmark.yaml", "--rounds", "3", "--warmup", "0"}).exit_code, 0);
  }
  const std::string first = git({"rev-list", "--max-parents=0", "HEAD"});
  commit(100);
  const auto output =
      in_part({"check", "--project", "warpmark.yaml", "--reference", first, "--rounds", "3", "--warmup", "0"});
  EXPECT_EQ(output.exit_code, 3) << output.out << output.err;
  EXPECT_THAT(output.out, HasSubstr("was never measured with this reference"));
  EXPECT_THAT(output.out, Not(HasSubstr("another machine")));
}

TEST_F(ReferenceRun, bisect_looks_first_where_the_ratios_point) {
  const std::string first = git({"rev-parse", "HEAD"});
  for (int i = 1; i <= 20; ++i) commit(i < 13 ? 100 : 103);
  for (const int back : {19, 14, 9, 8, 7, 3, 0}) {
    git({"checkout", "-q", "--detach", "main~" + std::to_string(back)});
    machine(1 + back * 7 % 5);
    ASSERT_EQ(run_beside(first).exit_code, 0);
  }
  git({"checkout", "-q", "main"});
  machine(1);
  const auto output = in_part({"bisect", "--good", first, "--json", path("b.json")});
  ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
  const auto json = parse_json(*read_file(path("b.json")), "b.json");
  EXPECT_EQ((*json)["candidates"][0]["subject"], "cost 103");
  EXPECT_EQ((*json)["history_points"], 7);
  EXPECT_EQ((*json)["builds"], 4) << "both ends, and the two commits that the ratios point at";
}

TEST_F(ReferenceRun, stands_in_the_project_file_too) {
  const std::string first = git({"rev-parse", "HEAD"});
  git({"tag", "v1"});
  commit(103);
  const std::string project = *read_file(repository_ + "/part/warpmark.yaml");
  write("part/warpmark.yaml", "reference: v1\n" + project);
  const auto run = [&](const std::vector<std::string>& more) {
    return in_part(with({"run", "--project", "warpmark.yaml", "--rounds", "2", "--warmup", "0"}, more));
  };
  const auto output = run({});
  ASSERT_EQ(output.exit_code, 0) << output.err << output.out;
  const auto ratios = points("cost_vs_*");
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_EQ(ratios[0].metric, "cost_vs_" + first.substr(0, 10));
  EXPECT_NEAR(ratios[0].median, 1.03, 1e-12);
  ASSERT_EQ(run({"--no-reference"}).exit_code, 0);
  EXPECT_EQ(points("cost_vs_*").size(), 1U);
  EXPECT_EQ(points("cost").size(), 2U);
  ASSERT_EQ(run({"--reference", "HEAD"}).exit_code, 0);
  EXPECT_EQ(points("cost_vs_" + git({"rev-parse", "HEAD"}).substr(0, 10)).size(), 1U);
  const auto checked =
      in_part({"check", "--project", "warpmark.yaml", "--rounds", "2", "--warmup", "0", "--json", path("check.json")});
  EXPECT_EQ(checked.exit_code, 3) << "too little history: " << checked.out;
  EXPECT_EQ((*parse_json(*read_file(path("check.json")), "check.json"))["metrics"][0]["metric"],
            "cost_vs_" + first.substr(0, 10));
  // What sets two against each other has no use for a third.
  const auto compared = in_part({"compare", "--rev-a", "v1", "--rev-b", "HEAD", "--rounds", "7", "--warmup", "0"});
  EXPECT_EQ(compared.exit_code, 1) << compared.err;
  EXPECT_EQ(points("cost_vs_*").size(), 3U);
}

TEST_F(ReferenceRun, of_the_project_file_is_named_where_it_is_wrong) {
  const std::string project = *read_file(repository_ + "/part/warpmark.yaml");
  write("part/warpmark.yaml", "reference: v9\n" + project);
  const auto unknown = in_part({"run", "--project", "warpmark.yaml"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("warpmark.yaml, reference: there is no revision 'v9' in this repository"));
  commit(101);
  git({"tag", "v1", "HEAD~1"});
  write("part/warpmark.yaml", "reference: v1\n" + project);
  commit(102);
  const auto cloned = run_process({"git", "clone", "-q", "--depth", "1", "file://" + repository_, path("shallow")}, {});
  ASSERT_TRUE(cloned.ok() && cloned->exit_code == 0);
  const auto shallow = run_process({kExecutable, "run", "--project", "warpmark.yaml"},
                                   {.deadline_s = 100, .directory = path("shallow/part")});
  EXPECT_EQ(shallow->exit_code, 2);
  EXPECT_THAT(shallow->err, HasSubstr("there is no revision 'v1'"));
  EXPECT_THAT(shallow->err, HasSubstr("fetch-depth: 0"));
  write("part/matrix.yaml", "command:\n  run: 'true {n}'\n  reference: v1\naxes: {n: [1, 2]}\nbaseline: {n: 1}\n");
  const auto matrix = in_part({"matrix", "matrix.yaml"});
  EXPECT_EQ(matrix.exit_code, 2);
  EXPECT_THAT(matrix.err, HasSubstr("matrix.yaml line 3: a matrix has no reference"));
}

TEST_F(ReferenceRun, says_what_is_wrong) {
  const auto fails = [&](const ProcessOutput& output, int code, const std::string& what) {
    EXPECT_EQ(output.exit_code, code) << output.err << output.out;
    EXPECT_THAT(output.err + output.out, HasSubstr(what));
  };
  fails(run_beside("nosuch"), 2, "there is no revision 'nosuch'");
  fails(warpmark({"run", "--reference", "HEAD"}), 2, "--reference is for commands");
  const auto outside =
      run_process({kExecutable, "run", "--reference", "HEAD", "--", "true"}, {.deadline_s = 60, .directory = path("")});
  fails(*outside, 2, "this folder is not in a git repository");
  git({"rm", "-q", "-f", "part/cost.txt"});
  git({"commit", "-q", "-m", "broken"});
  write("part/cost.txt", "5");
  auto text = *read_file(repository_ + "/part/warpmark.yaml");
  write("part/warpmark.yaml", "build: 'test -e cost.txt'\n" + text.substr(text.find('\n') + 1));
  fails(run_beside("HEAD"), 2, "the reference cannot be built");
  write("part/warpmark.yaml", text.substr(text.find('\n') + 1));
  write("part/built.txt", "5");
  fails(run_beside("HEAD"), 2, "the reference " + git({"rev-parse", "HEAD"}).substr(0, 10));
}

}  // namespace
}  // namespace warpmark::apps
