// scale and plan from the command line: real processes.
#include "analyze/step_shares.h"
#include "apps/cli_fixture.h"
#include "base/text.h"
#include "collectives/calls/operation.h"
#include "collectives/results/row.h"
#include "profile/read_session.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

ProfileSession two_recorded_ranks(const std::string& name, const std::string& ending) {
  std::vector<std::filesystem::path> files;
  for (const char* rank : {".rank0", ".rank1"}) {
    files.push_back(std::string(WARPMARK_SOURCE_DIR) + "/tests/data/traces/" + name + rank + ending);
  }
  auto session = profile::read_session(files);
  EXPECT_TRUE(session.ok()) << session.error().what;
  return session.ok() ? std::move(*session) : ProfileSession();
}

TEST(RecordedStepShares, of_a_recorded_job_of_small_batches_are_communication) {
  const auto shares = analyze::step_shares(two_recorded_ranks("ddp_wide_mlp_small_batch", ".pt.trace.json.zst"));
  ASSERT_TRUE(shares.ok()) << shares.error().what;
  EXPECT_EQ(shares->ranks, 2);
  EXPECT_GT(shares->communication_s, 0.3 * shares->step_s);
  EXPECT_LT(shares->imbalance_s, 0.02 * shares->step_s);
}

TEST(RecordedStepShares, of_recorded_ranks_with_uneven_batches_are_imbalance) {
  const auto shares = analyze::step_shares(two_recorded_ranks("ddp_llama_uneven_lengths", ".wmrec"));
  ASSERT_TRUE(shares.ok()) << shares.error().what;
  EXPECT_GT(shares->imbalance_s, 0.15 * shares->step_s);
  EXPECT_GT(shares->imbalance_s, 2 * shares->communication_s);
  EXPECT_GE(shares->late_rank, 0);
}

TEST_F(Cli, scale_measures_a_command_and_fits_its_serial_part) {
  // 0.02 s of serial work and 0.2 s that is split: sleeping needs no processor.
  const auto output =
      warpmark({"scale", "--gpus", "1,2,4", "--rounds", "3", "--warmup", "0", "--no-store", "--json", path("s.json"),
                "--", "sh", "-c", "case {gpus} in 1) sleep 0.22;; 2) sleep 0.12;; 4) sleep 0.07;; esac"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto scaling = json("s.json");
  ASSERT_EQ(scaling["points"].size(), 3U);
  EXPECT_EQ(scaling["points"][2]["throughput"].size(), 3U);
  EXPECT_EQ(scaling["fits"][0]["law"], "Amdahl");
  EXPECT_TRUE(scaling["fits"][0]["parameters"].contains("serial fraction"));
  EXPECT_EQ(scaling["forecasts"].back()["workers"], 1024);
  EXPECT_EQ(testing_support::schema_errors(scaling, "scaling.schema.json"), "");
}

TEST_F(Cli, scale_reads_throughput_and_names_what_is_lost) {
  const auto output =
      warpmark({"scale",
                "--gpus",
                "1,2",
                "--rounds",
                "2",
                "--warmup",
                "0",
                "--no-store",
                "--unit",
                "samples",
                "--throughput",
                "rate ([0-9.]+)",
                "--part",
                "communication=comm ([0-9.]+)",
                "--part",
                "step=step ([0-9.]+)",
                "--min-efficiency",
                "90%",
                "--",
                "sh",
                "-c",
                "case {gpus} in 1) echo rate 100 comm 0.0 step 1.0;; 2) echo rate 120 comm 0.6 step 1.0;; esac"});
  EXPECT_EQ(output.exit_code, 1) << output.err;
  EXPECT_NE(output.out.find("communication: 60"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("moderate"), std::string::npos) << output.out;
  EXPECT_EQ(warpmark({"scale", "--gpus", "1,2", "--no-store", "--", "false"}).exit_code, 2);
  EXPECT_EQ(warpmark({"scale", "--gpus", "1", "--", "true"}).exit_code, 2);
  EXPECT_EQ(warpmark({"scale", "--", "true"}).exit_code, 2);
}

TEST_F(Cli, scale_splits_the_loss_of_a_job_that_was_recorded) {
  const std::string traces = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/traces/";
  const std::vector<std::string> words{
      "scale",  "--gpus",       "1,2",          "--rounds",      "2", "--warmup", "0", "--no-store", "--no-energy",
      "--json", path("s.json"), "--throughput", "rate ([0-9.]+)"};
  const std::vector<std::string> command{"--", "sh", "-c", "case {gpus} in 1) echo rate 100;; 2) echo rate 90;; esac"};
  auto profiled = with(words, {"--profiled", "1=" + traces + "wide_mlp_healthy.pt.trace.json.zst", "--profiled",
                               "2=" + traces + "ddp_wide_mlp_small_batch.rank0.pt.trace.json.zst", "--profiled",
                               "2=" + traces + "ddp_wide_mlp_small_batch.rank1.pt.trace.json.zst"});
  const auto output = warpmark(with(profiled, command));
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_NE(output.out.find("Efficiency lost to"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("communication: 40"), std::string::npos) << output.out;
  const auto scaling = json("s.json");
  EXPECT_EQ(testing_support::schema_errors(scaling, "scaling.schema.json"), "");
  const auto& lost = scaling["points"][1]["lost"];
  double sum = 0;
  for (const auto& part : lost) sum += part.get<double>();
  EXPECT_NEAR(sum, 0.55, 1e-9);
  EXPECT_GT(lost["communication"].get<double>(), 0.35);
  EXPECT_EQ(scaling["points"][1]["profile"]["ranks"], 2);
  const auto none = warpmark(with(with(words, {"--profiled", "2=" + path("nothing.json")}), command));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("does not exist"), std::string::npos) << none.err;
}

TEST_F(Cli, plan_ranks_layouts_and_foretells_from_a_sweep) {
  const auto plan =
      warpmark({"plan", "--gpu", "a100-sxm-80gb", "--gpus", "64", "--layers", "48", "--hidden", "6144", "--heads", "48",
                "--batch", "512", "--tokens", "1e11", "--price", "1.5", "--json", path("plan.json")});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  const auto layouts = json("plan.json")["layouts"];
  EXPECT_TRUE(layouts[0]["fits"].get<bool>());
  EXPECT_GT(layouts[0]["dollars"].get<double>(), 0);
  EXPECT_EQ(warpmark({"plan", "--gpu", "a100-sxm-80gb", "--gpus", "1", "--layers", "96", "--hidden", "12288", "--heads",
                      "96", "--batch", "1"})
                .exit_code,
            1);
  EXPECT_EQ(warpmark({"plan", "--gpu", "abacus", "--layers", "4", "--hidden", "64", "--heads", "4", "--batch", "8"})
                .exit_code,
            2);
  EXPECT_EQ(warpmark({"plan"}).exit_code, 2);
  write("bad.json", "{\"schema\": \"other\"}");
  const auto bad = warpmark({"plan", "--step-time", "100ms", "--gradients", "1MB", "--sweep", path("bad.json")});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_NE(bad.err.find("is no sweep"), std::string::npos) << bad.err;
}

TEST_F(Cli, plan_offloads_no_more_than_host_memory_holds) {
  const auto plan = [&](const char* host_memory) {
    return warpmark({"plan", "--gpu", "a100-sxm-80gb", "--gpus", "1", "--layers", "48", "--hidden", "4096", "--heads",
                     "32", "--batch", "8", "--host-memory", host_memory, "--json", path("plan.json")});
  };
  // 9.9e9 parameters: 119 GB of optimizer state, which a GPU of 80 GB does not hold.
  const auto large = plan("200GB");
  EXPECT_EQ(large.exit_code, 0) << large.err;
  EXPECT_NE(large.out.find("host memory"), std::string::npos) << large.out;
  EXPECT_GT(json("plan.json")["layouts"][0]["memory"]["host"].get<double>(), 100e9);
  const auto small = plan("100GB");
  EXPECT_EQ(small.exit_code, 1) << small.err;
  EXPECT_FALSE(json("plan.json")["layouts"][0]["fits_host"].get<bool>());
}

TEST_F(Cli, plan_shows_no_host_memory_where_nothing_is_offloaded) {
  const auto plan = warpmark({"plan", "--gpu", "a100-sxm-80gb", "--layers", "4", "--hidden", "1024", "--heads", "16",
                              "--batch", "8", "--host-memory", "0"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(plan.out.find("host memory"), std::string::npos) << plan.out;
}

TEST_F(Cli, plan_refuses_options_of_the_other_kind_of_plan) {
  for (const char* name : {"--gpu", "--gpus", "--per-node", "--price", "--utilization", "--compression", "--between",
                           "--top", "--host-memory", "--layers"}) {
    const auto refused = warpmark({"plan", "--step-time", "100ms", name, "1"});
    EXPECT_EQ(refused.exit_code, 2) << name;
    EXPECT_NE(refused.err.find(std::string(name) + " is of a model"), std::string::npos) << refused.err;
  }
  for (const char* name : {"--gradients", "--bucket", "--to", "--measured"}) {
    const auto refused = warpmark({"plan", "--layers", "4", name, "1"});
    EXPECT_EQ(refused.exit_code, 2) << name;
    EXPECT_NE(refused.err.find(std::string(name) + " is of a measured step"), std::string::npos) << refused.err;
  }
}

/// What `warpmark collective all_reduce --json` writes: 10 us and 100 GB/s with two ranks, 20 us and 50 GB/s with four.
std::string sweep_of(int ranks) {
  Json rows = Json::array();
  const double alpha_s = ranks == 2 ? 10e-6 : 20e-6, bytes_per_s = ranks == 2 ? 100e9 : 50e9;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 4) {
    collectives::Row row{collectives::Collective::all_reduce,
                         collectives::DataType::f32,
                         collectives::ReduceOp::sum,
                         -1,
                         ranks,
                         {},
                         {},
                         {}};
    row.counts = collectives::counts_of(row.kind, bytes, row.type, ranks);
    collectives::Placement place;
    place.time_s = alpha_s + static_cast<double>(bytes) / bytes_per_s;
    place.samples_s.assign(5, place.time_s);
    row.out_of_place = place;
    rows.push_back(collectives::to_json(row));
  }
  return Json{{"schema", "warpmark.collective/1"}, {"rows", rows}}.dump();
}

TEST_F(Cli, plan_takes_for_each_number_of_gpus_the_sweep_of_as_many_ranks) {
  write("two.json", sweep_of(2));
  write("four.json", sweep_of(4));
  const auto planned =
      warpmark({"plan", "--step-time", "30ms", "--gradients", "4294967296", "--overlap", "50%", "--to", "2,4",
                "--sweep", path("two.json"), "--sweep", path("four.json"), "--json", path("plan.json")});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto steps = json("plan.json")["steps"];
  EXPECT_NEAR(steps[0]["communication"].get<double>(), 44.7e-3, 1e-3);
  EXPECT_NEAR(steps[1]["communication"].get<double>(), 89.3e-3, 2e-3);
  const auto twice = warpmark(
      {"plan", "--step-time", "30ms", "--gradients", "1MB", "--sweep", path("two.json"), "--sweep", path("two.json")});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_NE(twice.err.find("two sweeps of 2 ranks"), std::string::npos) << twice.err;
}

}  // namespace
}  // namespace warpmark::apps
