// Real ranks over the real MPI, started through mpirun; skipped with the reason where it is not installed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "apps/cli_fixture.h"
#include "apps/slurm_job.h"
#include "apps/two_hosts.h"
#include "base/files.h"
#include "base/text.h"
#include "device/cpu/memory.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

class Collective : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    const auto version = run_process({"mpirun", "--version"});
    if (!version.ok() || version->exit_code != 0) GTEST_SKIP() << "mpirun is not installed";
    if (!std::filesystem::exists(std::string(WARPMARK_BINARY_DIR) + "/libwarpmark_mpi.so")) {
      GTEST_SKIP() << "built without MPI";
    }
  }
  /// A time limit that no other process of this machine has, by which the ranks of one test are found.
  static std::string own_limit(int seconds) { return fmt::format("{}.{:07d}1", seconds, ::getpid()); }

  ProcessOutput two_ranks(const std::string& kind, const std::vector<std::string>& more) {
    return warpmark(with({"collective", kind, "--ranks", "2", "--oversubscribe", "--no-store", "-b", "256", "-e", "4K",
                          "-f", "16", "-n", "10"},
                         more));
  }
};

TEST_F(Collective, every_one_is_right_in_place_and_out_of_place) {
  for (const char* kind : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "gather",
                           "scatter", "sendrecv"}) {
    const auto output = two_ranks(kind, {"--json", path("c.json")});
    EXPECT_TRUE(output.exit_code == 0 || output.out.find("is slow") != std::string::npos) << output.err << output.out;
    EXPECT_EQ(testing_support::schema_errors(json("c.json"), "collective.schema.json"), "") << kind;
    const auto rows = json("c.json")["rows"];
    ASSERT_EQ(rows.size(), 2U) << kind;
    for (const auto& row : rows) {
      EXPECT_EQ(row["out_of_place"]["wrong"], 0) << kind;
      EXPECT_EQ(row["out_of_place"]["samples"].size(), 10U);
      EXPECT_EQ(row["in_place"].value("wrong", 0), 0) << kind;
    }
  }
}

TEST_F(Collective, three_ranks_and_another_root_are_right) {
  for (const char* kind : {"broadcast", "reduce", "gather", "scatter", "all_reduce", "alltoall"}) {
    const auto output = warpmark({"collective", kind,  "--ranks", "3",           "--oversubscribe",
                                  "--no-store", "-b",  "256",     "-e",          "4K",
                                  "-f",         "16",  "-n",      "10",          "-r",
                                  "2",          "-w",  "1",       "-a",          "3",
                                  "--place",    "out", "--json",  path("c.json")});
    EXPECT_TRUE(output.exit_code == 0 || output.out.find("is slow") != std::string::npos) << output.err << output.out;
    const bool has_root = std::string(kind) != "all_reduce" && std::string(kind) != "alltoall";
    const Json rows = json("c.json")["rows"];
    EXPECT_FALSE(rows.empty()) << kind;
    for (const auto& row : rows) {
      EXPECT_EQ(row["ranks"], 3);
      EXPECT_EQ(row["root"], has_root ? 2 : -1) << kind;
      EXPECT_EQ(row["out_of_place"]["wrong"], 0) << kind;
      EXPECT_FALSE(row.contains("in_place")) << kind;
    }
  }
  const auto none = two_ranks("broadcast", {"-r", "2"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("there is no rank 2 to be root"), std::string::npos) << none.err;
  const auto unchecked = two_ranks("all_reduce", {"-c", "0", "--json", path("c.json")});
  EXPECT_FALSE(json("c.json")["rows"][0]["out_of_place"].contains("wrong")) << unchecked.err;
}

TEST_F(Collective, presets_have_their_sizes_and_refuse_what_contradicts) {
  const auto sizes = [&](const std::vector<std::string>& words) {
    const auto output = warpmark(with({"collective", "all_reduce", "--ranks", "2", "--oversubscribe", "--no-store",
                                       "-n", "2", "--json", path("p.json")},
                                      words));
    EXPECT_TRUE(output.exit_code == 0 || output.out.find("is slow") != std::string::npos) << output.err;
    return json("p.json")["plan"]["sizes"];
  };
  EXPECT_EQ(sizes({"--preset", "gradients", "-e", "4M"}), Json({1 << 20, 2 << 20, 4 << 20}));
  EXPECT_EQ(json("p.json")["rows"][0]["type"], "f32");
  EXPECT_FALSE(json("p.json")["rows"][0].contains("out_of_place")) << "in place";
  EXPECT_EQ(sizes({"--preset", "decades", "-e", "16M"}), Json({1'000'000, 10'000'000}));
  EXPECT_EQ(json("p.json")["rows"][0]["type"], "f64") << "10 GB of f32 are more elements than MPI counts";
  for (const auto& words : std::vector<std::vector<std::string>>{{"--preset", "gradients", "--place", "out"},
                                                                 {"--preset", "gradients", "-d", "f16"},
                                                                 {"--preset", "decades", "-f", "2"},
                                                                 {"--preset", "decades", "-b", "20G"},
                                                                 {"--preset", "none"}}) {
    const auto output = warpmark(with({"collective", "all_reduce", "--ranks", "2", "--no-store"}, words));
    EXPECT_EQ(output.exit_code, 2) << words.back() << output.err;
  }
}

TEST_F(Collective, what_cannot_end_does_not_begin) {
  const auto count =
      warpmark({"collective", "all_reduce", "--ranks", "2", "--oversubscribe", "--no-store", "-b", "16G", "-e", "16G"});
  EXPECT_EQ(count.exit_code, 5) << count.err;
  EXPECT_NE(count.err.find("MPI counts up to 2147483647 elements"), std::string::npos) << count.err;
  EXPECT_EQ(count.out.find("# "), std::string::npos) << "nothing was measured: " << count.out;
  const auto available = device::read_memory("/").available_bytes;
  if (available > std::int64_t{400} << 30) GTEST_SKIP() << "too much memory to ask for more";
  const auto ranks =
      std::to_string(2 + available / (std::int64_t{24} << 30));  // of 24 GiB each: far more than there is
  const auto memory = warpmark({"collective", "broadcast", "--ranks", ranks, "--oversubscribe", "--no-store", "-b",
                                "12G", "-e", "12G", "-d", "f64"});
  EXPECT_EQ(memory.exit_code, 5) << memory.err;
  EXPECT_NE(memory.err.find("not enough memory on"), std::string::npos) << memory.err;
}

TEST_F(Collective, the_users_own_mpirun_starts_ranks_of_one_sweep) {
  const auto output = run_process(
      {"sh", "-c",
       "unset WARPMARK_DB; mpirun --allow-run-as-root --oversubscribe -n 2 " + in_quotes(kExecutable) +
           " collective all_reduce -b 256 -e 4K -f 16 -n 10 --no-store --json " + in_quotes(path("m.json"))},
      {.deadline_s = 100});
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->exit_code == 0 || output->out.find("is slow") != std::string::npos) << output->err << output->out;
  const auto head = output->out.find("busbw");
  ASSERT_NE(head, std::string::npos) << output->out;
  EXPECT_EQ(output->out.find("Avg bus bandwidth"), output->out.rfind("Avg bus bandwidth")) << "one rank shows";
  EXPECT_EQ(json("m.json")["rows"].size(), 2U);
  EXPECT_EQ(json("m.json")["rows"][0]["ranks"], 2);
  EXPECT_EQ(json("m.json")["rows"][0]["out_of_place"]["wrong"], 0);
}

TEST_F(Collective, within_a_slurm_job_srun_starts_the_ranks) {
  ASSERT_TRUE(make_srun(folder_).ok());
  const auto output =
      run_in_slurm_job(folder_, "collective all_gather --ranks 2 -b 256 -e 4K -f 16 -n 10 --no-store --json " +
                                    in_quotes(path("s.json")));
  EXPECT_TRUE(output.exit_code == 0 || output.out.find("is slow") != std::string::npos) << output.err << output.out;
  EXPECT_EQ(json("s.json")["rows"][0]["out_of_place"]["wrong"], 0);
  const auto words = read_file(path("srun.words"));
  ASSERT_TRUE(words.ok()) << "srun was not asked";
  EXPECT_THAT(*words, ::testing::StartsWith("-n 2 --kill-on-bad-exit=1 --mpi=pmix "));
  const auto dead =
      run_in_slurm_job(folder_, "collective all_gather --ranks 2 -b 256 -e 4K --plant dead:1 -T 20 --no-store");
  EXPECT_EQ(dead.exit_code, 5) << dead.out;
}

TEST_F(Collective, ranks_on_two_hosts_are_measured_and_the_slow_one_named) {
  const TwoHosts hosts(folder_);
  if (!hosts.problem().empty()) GTEST_SKIP() << hosts.problem();
  const std::vector<std::string> sweep{"collective",  "all_reduce", "--ranks",    "2",      "--hosts",
                                       hosts.hosts(), "-b",         "256",        "-e",     "64K",
                                       "-n",          "10",         "--no-store", "--json", path("h.json")};
  const auto even = hosts.warpmark(kExecutable, sweep);
  ASSERT_TRUE(even.ok());
  EXPECT_TRUE(even->exit_code == 0 || even->out.find("is slow") != std::string::npos) << even->err << even->out;
  const auto names = json("h.json")["head"]["hosts"];
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[1], "second-host");
  EXPECT_NE(names[0], names[1]);
  const Json rows = json("h.json")["rows"];
  EXPECT_FALSE(rows.empty());
  for (const auto& row : rows) EXPECT_EQ(row["out_of_place"]["wrong"], 0);
  const auto slow = hosts.warpmark(kExecutable, with(sweep, {"--plant", "slow:1:30ms"}));
  ASSERT_TRUE(slow.ok());
  EXPECT_EQ(slow->exit_code, 1);
  EXPECT_NE(slow->out.find("rank 1 is slow"), std::string::npos) << slow->out;
  const auto dead = hosts.warpmark(kExecutable, with(sweep, {"--plant", "dead:1", "-T", "20"}));
  ASSERT_TRUE(dead.ok());
  EXPECT_EQ(dead->exit_code, 5) << dead->err;
}

TEST_F(Collective, reduces_every_type_by_every_operation) {
  for (const char* type : {"f64", "f32", "f16", "bf16", "int8", "uint8", "int32", "int64"}) {
    const auto output = two_ranks("all_reduce", {"-d", type, "-o", "all", "--json", path("c.json")});
    const Json rows = json("c.json")["rows"];
    ASSERT_EQ(rows.size(), 10U) << type << output.err;
    for (const auto& row : rows) {
      EXPECT_EQ(row["out_of_place"]["wrong"], 0) << type << row["op"];
      EXPECT_EQ(row["in_place"]["wrong"], 0) << type << row["op"];
    }
  }
}

TEST_F(Collective, its_sweep_predicts_steps_of_more_ranks) {
  const auto sweep = warpmark({"collective", "all_reduce", "--ranks", "2", "--oversubscribe", "--no-store", "-b", "1K",
                               "-e", "8M", "-f", "4", "-n", "5", "--json", path("sweep.json")});
  ASSERT_TRUE(std::filesystem::exists(path("sweep.json"))) << sweep.err;
  const auto output =
      warpmark({"plan", "--step-time", "100ms", "--gradients", "10MB", "--measured-links", path("sweep.json"), "--to",
                "2,8", "--measured", "2=200ms", "--json", path("plan.json")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const Json steps = json("plan.json")["steps"];
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0]["gpus"], 2);
  EXPECT_EQ(steps[1]["gpus"], 8);
  EXPECT_DOUBLE_EQ(steps[0]["measured"].get<double>(), 0.2);
  for (const auto& step : steps) {
    // What is not hidden behind the backward pass comes on top of the step of one.
    EXPECT_NEAR(step["step"].get<double>(), 0.1 + step["exposed"].get<double>(), 1e-12);
    EXPECT_LE(step["exposed"].get<double>(), step["communication"].get<double>());
    EXPECT_NEAR(step["efficiency"].get<double>(), 0.1 / step["step"].get<double>(), 1e-12);
  }
  const auto no_list = warpmark(
      {"plan", "--step-time", "100ms", "--gradients", "10MB", "--measured-links", path("sweep.json"), "--to", "1"});
  EXPECT_EQ(no_list.exit_code, 2);
  EXPECT_NE(no_list.err.find("--to is a list of numbers from 2"), std::string::npos);
  const auto no_step = warpmark({"plan", "--bucket", "10MB", "--layers", "2"});
  EXPECT_EQ(no_step.exit_code, 2);
  EXPECT_NE(no_step.err.find("--bucket is of a measured step"), std::string::npos) << no_step.err;
  const auto both = warpmark({"plan", "--step-time", "100ms", "--gradients", "10MB", "--layers", "2"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_NE(both.err.find("--layers is of a model"), std::string::npos) << both.err;
}

TEST_F(Collective, a_wrong_byte_is_found_and_its_rank_named) {
  const auto output = two_ranks("all_reduce", {"--plant", "wrong_byte:1"});
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_NE(output.out.find("rank 1"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("FAILED"), std::string::npos) << output.out;
}

TEST_F(Collective, a_slow_rank_is_named) {
  const auto output = two_ranks("all_reduce", {"--plant", "slow:1:20ms"});
  EXPECT_EQ(output.exit_code, 1) << output.out;
  EXPECT_NE(output.out.find("rank 1 is slow"), std::string::npos) << output.out;
}

TEST_F(Collective, a_dead_and_a_stopped_rank_are_named_and_nothing_is_left) {
  const auto dead = two_ranks("all_reduce", {"--plant", "dead:1", "-T", "20"});
  EXPECT_EQ(dead.exit_code, 5);
  EXPECT_NE(dead.err.find("rank 1"), std::string::npos) << dead.err;
  const std::string limit = own_limit(4);
  const auto stopped = two_ranks("all_reduce", {"--plant", "stopped:1", "-T", limit});
  EXPECT_EQ(stopped.exit_code, 5);
  EXPECT_NE(stopped.err.find("rank 1 does not answer"), std::string::npos) << stopped.err;
  const auto left = run_process({"pgrep", "-f", "\"timeout\":" + limit});  // as the plan of every rank says
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->out, "");
}

TEST_F(Collective, no_fault_leaves_a_process) {
  int seconds = 5;  // a limit for each, so that the ranks of each are found
  for (const char* fault : {"wrong_byte:1", "slow:1:20ms", "dead:0", "dead:1", "stopped:0", "unequal:1"}) {
    const std::string limit = own_limit(++seconds);
    const auto output = two_ranks("all_reduce", {"--plant", fault, "-T", limit});
    EXPECT_NE(output.exit_code, 0) << fault;
    const auto left = run_process({"pgrep", "-f", "\"timeout\":" + limit});
    ASSERT_TRUE(left.ok());
    EXPECT_EQ(left->out, "") << fault;
  }
}

TEST_F(Collective, missing_gpus_and_more_ranks_than_gpus_are_told) {
  const auto none = warpmark({"collective", "all_reduce", "--engine", "nccl", "-g", "64", "--no-store", "-T", "20"});
  // On a machine without GPUs NCCL cannot be used at all; with fewer than 64, that there are not as many is told.
  const bool reported = none.err.find("NCCL needs GPUs") != std::string::npos ||
                        none.err.find("more ranks than GPUs") != std::string::npos ||
                        none.err.find("libnccl") != std::string::npos;
  EXPECT_TRUE(reported) << none.err;
  EXPECT_TRUE(none.exit_code == 5 || none.exit_code == 2) << none.exit_code;
}

TEST_F(Collective, settings_are_swept_and_the_best_is_named) {
  const auto output = two_ranks("all_reduce", {"--sweep", "OMPI_MCA_coll_tuned_use_dynamic_rules=0,1", "--rounds", "2",
                                               "--json", path("t.json")});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto tuning = json("t.json");
  EXPECT_EQ(testing_support::schema_errors(tuning, "collective_tuning.schema.json"), "");
  EXPECT_EQ(tuning["settings"].size(), 3U) << "the default, and both";
}

TEST_F(Collective, is_tuned_by_what_open_mpi_has) {
  const auto output = two_ranks("gather", {"--tune", "--rounds", "1", "--json", path("t.json")});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto tuning = json("t.json");
  EXPECT_EQ(testing_support::schema_errors(tuning, "collective_tuning.schema.json"), "");
  std::string settings;
  for (const auto& setting : tuning["settings"]) settings += setting["setting"].get<std::string>() + "\n";
  EXPECT_THAT(settings, ::testing::StartsWith("default\n"));
  EXPECT_THAT(settings, ::testing::HasSubstr("coll_tuned_gather_algorithm=binomial")) << "each version has it";
  ASSERT_FALSE(tuning["sizes"].empty());
  for (const auto& size : tuning["sizes"]) EXPECT_GE(size["gain"], 1.0) << "the best is at least the default";
  const auto nothing = run_process(
      {"env", "PATH=/nonexistent", kExecutable, "collective", "gather", "--ranks", "2", "--tune", "--no-store"},
      {.deadline_s = 60});
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->exit_code, 5) << nothing->err;
}

TEST_F(Collective, ranks_end_when_who_started_them_is_killed) {
  const std::string limit = own_limit(77);
  const std::string found = "pgrep -f '[t]imeout\":" + limit + "' > /dev/null";
  const std::string script = in_quotes(kExecutable) +
                             " collective all_reduce --ranks 2 --oversubscribe --no-store -b 8 -e 64 -n 1000000 -T " +
                             limit + " > /dev/null 2>&1 & started=$!; for i in $(seq 100); do " + found +
                             " && break; sleep 0.1; done; sleep 1; kill -9 $started; for i in $(seq 200); do " + found +
                             " || exit 0; sleep 0.1; done; exit 1";
  const auto output = run_process({"sh", "-c", script}, {.deadline_s = 100});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 0) << "ranks are left";
}

TEST_F(Collective, unequal_sizes_too_many_ranks_and_a_missing_mpi_are_told) {
  const auto unequal = two_ranks("all_reduce", {"--plant", "unequal:1"});
  EXPECT_EQ(unequal.exit_code, 2);
  EXPECT_NE(unequal.err.find("process 1 was called with 512 bytes"), std::string::npos) << unequal.err;
  const auto many = warpmark({"collective", "all_reduce", "--ranks", "5000"});
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_NE(many.err.find("5000 ranks are more than"), std::string::npos) << many.err;
  setenv("WARPMARK_MPI_MODULE", "/nowhere/libwarpmark_mpi.so", 1);
  const auto missing = two_ranks("all_reduce", {});
  unsetenv("WARPMARK_MPI_MODULE");
  EXPECT_EQ(missing.exit_code, 5);
  EXPECT_NE(missing.err.find("this warpmark has no MPI"), std::string::npos) << missing.err;
}

TEST_F(Collective, results_are_stored_and_serve_as_a_baseline) {
  const std::vector<std::string> sweep{"collective", "all_gather", "--ranks", "2",  "--oversubscribe", "-b", "4K",
                                       "-e",         "4K",         "-n",      "10", "--tolerance",     "99%"};
  const auto first = warpmark(sweep);
  EXPECT_NE(first.err.find("stored as"), std::string::npos) << first.err;
  const auto second = warpmark(with(sweep, {"--against", "last", "--json", path("c.json")}));
  // On a busy machine a run may be a hundred times slower than the one before: what counts is that it was judged by it.
  const std::string verdict = json("c.json")["verdicts"][0]["verdict"];
  EXPECT_TRUE(verdict == "good" || verdict == "below") << verdict << second.out << second.err;
  const auto other = warpmark(with(sweep, {"--against", "last", "-d", "f64"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("the baseline has no such sweep"), std::string::npos) << other.err;
}

TEST_F(Collective, its_history_is_compared_checked_and_shown) {
  const std::vector<std::string> sweep{"collective", "all_reduce", "--ranks", "2",  "--oversubscribe", "-b", "64K",
                                       "-e",         "64K",        "-n",      "20", "--rounds",        "3"};
  const auto good = warpmark(sweep);
  ASSERT_NE(good.err.find("stored as"), std::string::npos) << good.err;
  const auto before = parse_json(warpmark({"report", "last", "--format", "json"}).out, "report");
  ASSERT_TRUE(before.ok());
  const auto slow = warpmark(with(sweep, {"--plant", "slow:1:40ms"}));
  EXPECT_EQ(slow.exit_code, 1) << slow.out;
  // Forty times as long as any call on a busy machine.
  const auto compared = warpmark({"compare", (*before)["id"].get<std::string>(), "last", "--json", path("c.json")});
  EXPECT_EQ(compared.exit_code, 1) << compared.out << compared.err;
  EXPECT_THAT(compared.out, ::testing::HasSubstr("all_reduce"));
  const auto checked = warpmark({"check"});
  EXPECT_THAT(checked.exit_code, ::testing::AnyOf(1, 3)) << checked.out << "few sessions may decide nothing";
  EXPECT_THAT(checked.out, ::testing::HasSubstr("all_reduce"));
  const auto trend = warpmark({"trend", "--dirty"});
  EXPECT_EQ(trend.exit_code, 0) << trend.err;
  EXPECT_THAT(trend.out, ::testing::HasSubstr("all_reduce"));
}

TEST_F(Collective, its_table_is_read_by_a_reader_made_for_nccl_tests) {
  for (const char* kind : {"all_reduce", "sendrecv", "broadcast"}) {
    const auto output = two_ranks(kind, {});
    write("table.txt", output.out);
    const auto imported = warpmark({"history", "import", path("table.txt")});
    ASSERT_EQ(imported.exit_code, 0) << imported.err;
    const auto shown = warpmark({"report", "last", "--format", "json"});
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    const auto session = parse_json(shown.out, "report");
    ASSERT_TRUE(session.ok());
    ASSERT_EQ((*session)["runs"].size(), 4U) << kind;
    EXPECT_EQ((*session)["runs"][0]["workload"], kind);
    EXPECT_EQ((*session)["runs"][0]["params"]["bytes"], 256) << (*session)["runs"][0].dump();
  }
}

}  // namespace
}  // namespace warpmark::apps
