#include "collectives/results/verdict.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "collectives/mpi/mpi_module_api.h"
#include "collectives/results/report.h"
#include "collectives/results/row.h"
#include "collectives/results/tuning.h"
#include "collectives/start/launch.h"

namespace warpmark::collectives {
namespace {

Row row_of(std::int64_t bytes, double busbw) {
  Row row{Collective::all_reduce, DataType::f32, ReduceOp::sum, -1, 8, {}, {}, {}};
  row.counts = counts_of(row.kind, bytes, row.type, row.ranks);
  Placement place;
  place.time_s = static_cast<double>(bytes) * 1.75 / busbw;
  place.samples_s.assign(20, place.time_s);
  place.rank_s.assign(8, place.time_s);
  place.wrong = 0;
  row.out_of_place = place;
  return row;
}

Sweep sweep_of(std::vector<Row> rows) {
  Sweep sweep;
  sweep.head = Head{"nccl", "NCCL 2.28.3", {}, std::vector<std::string>(8, "node"), 0, {}};
  sweep.rows = std::move(rows);
  sweep.complete = true;
  return sweep;
}

TEST(Judge, large_sizes_by_the_fabric_and_small_ones_not_at_all) {
  const Expectation fabric{.fabric = 400e9, .source = "given"};
  const auto good = judge(sweep_of({row_of(1 << 20, 50e9), row_of(1 << 30, 370e9)}), fabric, {});
  EXPECT_TRUE(good.passed);
  EXPECT_EQ(good.sizes[0].verdict, SizeVerdict::not_judged);
  EXPECT_EQ(good.sizes[1].verdict, SizeVerdict::good);
  const auto bad = judge(sweep_of({row_of(1 << 20, 50e9), row_of(1 << 30, 360e9)}), fabric, {{"NCCL_IB_DISABLE", "1"}});
  EXPECT_FALSE(bad.passed);
  EXPECT_EQ(bad.sizes[1].verdict, SizeVerdict::below);
  // 550 of 600 GB/s is what the share of 92 % says, as 370 of 400.
  const Expectation larger{.fabric = 600e9, .source = "given"};
  EXPECT_TRUE(judge(sweep_of({row_of(1 << 30, 553e9)}), larger, {}).passed);
  EXPECT_FALSE(judge(sweep_of({row_of(1 << 30, 549e9)}), larger, {}).passed);
  ASSERT_EQ(bad.causes.size(), 4U);
  EXPECT_NE(bad.causes[0].find("NCCL_DEBUG is not set"), std::string::npos);
  EXPECT_NE(bad.causes[2].find("NCCL_IB_DISABLE=1"), std::string::npos);
}

TEST(Judge, what_nvlinks_of_a_healthy_machine_reach_is_as_expected_and_a_tenth_less_is_not) {
  const Expectation links{.fabric = 400e9, .source = "18 NVLinks", .usual = true};
  EXPECT_TRUE(
      judge(sweep_of({row_of(64 << 20, 313e9), row_of(1 << 30, 355e9), row_of(4LL << 30, 363e9)}), links, {}).passed);
  EXPECT_FALSE(judge(sweep_of({row_of(1 << 30, 320e9)}), links, {}).passed);
}

Sweep over_hosts(Collective kind, double busbw, int hosts) {
  auto sweep = sweep_of({row_of(4LL << 30, busbw)});
  sweep.rows.front().kind = kind;
  for (std::size_t rank = 0; rank < sweep.head->hosts.size(); ++rank) {
    sweep.head->hosts[rank] = "node" + std::to_string(static_cast<int>(rank) / (8 / hosts));
  }
  return sweep;
}

TEST(Judge, ranks_on_several_hosts_are_not_expected_to_reach_what_nvlinks_do) {
  Expectation links{.fabric = 400e9, .source = "18 NVLinks", .usual = true};
  const auto unknown = judge(over_hosts(Collective::all_reduce, 40e9, 2), links, {});
  EXPECT_TRUE(unknown.passed);
  EXPECT_EQ(unknown.sizes[0].verdict, SizeVerdict::not_judged);
  EXPECT_NE(unknown.summary.find("the network of the 2 hosts is unknown"), std::string::npos) << unknown.summary;
  // Of 4 ports of 400 Gbit/s, rings carry all that they have: 184 of 200 GB/s are expected.
  links.network = 200e9;
  links.port = 50e9;
  links.network_source = "4 InfiniBand ports of a host";
  EXPECT_TRUE(judge(over_hosts(Collective::all_reduce, 185e9, 2), links, {}).passed);
  const auto slow = judge(over_hosts(Collective::all_reduce, 183e9, 2), links, {});
  EXPECT_FALSE(slow.passed);
  EXPECT_NE(slow.sizes[0].reason.find("4 InfiniBand ports"), std::string::npos) << slow.sizes[0].reason;
  EXPECT_TRUE(judge(over_hosts(Collective::gather, 1e9, 2), links, {}).passed) << "nothing is expected";
  links.network = 300e9;  // two ports more, of which four ranks a host do not need any
  EXPECT_TRUE(judge(over_hosts(Collective::all_reduce, 185e9, 2), links, {}).passed);
  links.given = true;
  links.usual = false;
  EXPECT_FALSE(judge(over_hosts(Collective::all_reduce, 185e9, 2), links, {}).passed) << "400 GB/s were given";
}

TEST(Network, carries_what_crosses_between_hosts) {
  EXPECT_EQ(share_of_network(Collective::all_gather, 16, 2), 1);
  // Of 16 ranks, 8 a host, each sends half of its data to the other host: 8 S / 2 through the host's ports of rate R
  // take 4 S / R, so the bus bandwidth of 15/16 S is 15/64 R.
  EXPECT_DOUBLE_EQ(share_of_network(Collective::alltoall, 16, 2), 15.0 / 64);
  EXPECT_DOUBLE_EQ(share_of_network(Collective::sendrecv, 16, 2), 1.0 / 8);
  EXPECT_EQ(share_of_network(Collective::all_gather, 15, 2), 0) << "uneven";
  EXPECT_EQ(share_of_network(Collective::all_gather, 8, 1), 0) << "one host has no network";
}

TEST(Judge, measured_links_stand_beside_bandwidths_and_a_slow_pair_is_named) {
  Expectation expectation{.fabric = 400e9, .source = "given"};
  expectation.links = MeasuredLinks{.slowest = 200e9, .median = 390e9, .where = "GPU 1 -> GPU 0, write"};
  const auto slow = judge(sweep_of({row_of(1 << 30, 190e9)}), expectation, {});
  EXPECT_NEAR(slow.sizes[0].of_links, 0.95, 1e-12);
  EXPECT_NE(slow.causes[1].find("the link GPU 1 -> GPU 0, write is slow: 200 GB/s"), std::string::npos)
      << slow.causes[1];
  expectation.links->slowest = 380e9;
  const auto even = judge(sweep_of({row_of(1 << 30, 190e9)}), expectation, {});
  EXPECT_NE(even.causes[1].find("links are even"), std::string::npos) << even.causes[1];
}

TEST(NvlinkExpectation, is_the_measured_reach_or_says_that_there_is_none) {
  const auto fourth = expectation_of_nvlinks(6, 18);  // H100, H200
  EXPECT_NEAR(fourth.fabric, 400e9, 1e9);
  EXPECT_TRUE(fourth.usual);
  EXPECT_EQ(judge(sweep_of({row_of(1 << 30, 200e9)}), fourth, {}).sizes[0].verdict, SizeVerdict::below);
  for (const auto& [version, links, generation] : {std::tuple{7, 18, 5}, {5, 12, 3}, {2, 6, 2}}) {
    const auto other = expectation_of_nvlinks(version, links);
    EXPECT_GT(other.fabric, 0);
    EXPECT_FALSE(other.usual);
    const auto judged = judge(sweep_of({row_of(1 << 30, 0.5 * other.fabric)}), other, {});
    EXPECT_TRUE(judged.passed);
    EXPECT_EQ(judged.sizes[0].verdict, SizeVerdict::not_judged);
    EXPECT_NEAR(judged.sizes[0].of_fabric, 0.5, 1e-9) << "its share of the links is told";
    EXPECT_EQ(judged.summary, "Speed is not judged: what share of NVLink " + std::to_string(generation) +
                                  " collectives usually reach was not measured; give --fabric or --against.");
  }
  EXPECT_EQ(expectation_of_nvlinks(0, 0).fabric, 0) << "no NVLink";
  EXPECT_EQ(judge(sweep_of({row_of(1 << 30, 1e9)}), expectation_of_nvlinks(0, 0), {}).summary,
            "Speed is not judged: give --fabric or --against.");
  // What an earlier sweep reached judges any fabric.
  auto with_baseline = expectation_of_nvlinks(7, 18);
  with_baseline.baseline[{1 << 30, false}] = 700e9;
  EXPECT_FALSE(judge(sweep_of({row_of(1 << 30, 600e9)}), with_baseline, {}).passed);
}

TEST(UsualReach, grows_with_size_and_lies_between_the_measured_ones) {
  EXPECT_DOUBLE_EQ(usual_reach(Collective::all_reduce, 2, 1 << 30), 0.821);
  EXPECT_DOUBLE_EQ(usual_reach(Collective::all_reduce, 8, 4LL << 30), 0.908);
  EXPECT_DOUBLE_EQ(usual_reach(Collective::all_reduce, 4, 64LL << 30), 0.908);
  EXPECT_DOUBLE_EQ(usual_reach(Collective::alltoall, 2, 1 << 10), 0.609);
  EXPECT_NEAR(usual_reach(Collective::all_gather, 2, 128 << 20), (0.536 + 0.613) / 2, 1e-9);
}

TEST(Judge, by_a_baseline_size_by_size) {
  Expectation baseline;
  baseline.baseline[{1 << 20, false}] = 60e9;
  const auto bad = judge(sweep_of({row_of(1 << 20, 50e9), row_of(1 << 30, 360e9)}), baseline, {});
  EXPECT_EQ(bad.sizes[0].verdict, SizeVerdict::below);
  EXPECT_EQ(bad.sizes[1].verdict, SizeVerdict::not_judged);
}

TEST(Judge, names_the_rank_that_makes_others_wait_and_the_one_with_wrong_data) {
  auto row = row_of(1 << 20, 1e9);
  row.out_of_place->skew_s = 2e-3;
  row.out_of_place->late_rank = 3;
  row.out_of_place->late_share = 0.95;
  const auto slow = judge(sweep_of({row}), {}, {});
  EXPECT_FALSE(slow.passed);
  ASSERT_EQ(slow.slow.size(), 1U);
  EXPECT_EQ(slow.slow[0].rank, 3);
  row.out_of_place->late_share = 0.4;
  EXPECT_TRUE(judge(sweep_of({row}), {}, {}).passed);
  row.out_of_place->wrong = 7;
  row.out_of_place->wrong_ranks = {0, 0, 7, 0, 0, 0, 0, 0};
  const auto wrong = judge(sweep_of({row}), {}, {});
  EXPECT_EQ(wrong.wrong_ranks, std::vector<int>{2});
  EXPECT_FALSE(wrong.passed);
}

TEST(Judge, walks_the_four_checks_where_gpus_are_slower_than_expected) {
  auto sweep = sweep_of({row_of(256 << 20, 100e9)});
  sweep.head = Head{};
  sweep.head->engine = "nccl";
  Expectation expectation;
  expectation.fabric = 400e9;
  const auto judgement = judge(sweep, expectation, {{"NCCL_IB_DISABLE", "1"}});
  EXPECT_FALSE(judgement.passed);
  ASSERT_EQ(judgement.causes.size(), 4U);
  EXPECT_NE(judgement.causes[0].find("NCCL_DEBUG is not set"), std::string::npos);
  EXPECT_NE(judgement.causes[1].find("topology"), std::string::npos);
  EXPECT_NE(judgement.causes[2].find("NCCL_IB_DISABLE=1"), std::string::npos);
  EXPECT_NE(judgement.causes[3].find("NCCL_NET_GDR_LEVEL"), std::string::npos);
}

TEST(Nvlink, fabrics_are_what_large_transfers_reach) {
  EXPECT_NEAR(nvlink_fabric(6, 18), 400e9, 1e9);
  EXPECT_NEAR(nvlink_fabric(7, 18), 800e9, 1e9);
  EXPECT_EQ(nvlink_fabric(0, 18), 0);
}

TEST(Loops, become_times_skew_and_the_late_rank) {
  std::vector<RankLoop> loops(2);
  for (int i = 0; i < 10; ++i) {
    loops[0].each.push_back({i * 1000, 1e-6});
    loops[1].each.push_back({i * 1000 + 300 - 5000, 1e-6});  // its clock is 5 us behind
  }
  loops[0].seconds = 10e-6;
  loops[1].seconds = 20e-6;
  const auto place = placement_of_loops(loops, {0, 5000}, RankAverage::mean);
  EXPECT_NEAR(place.time_s, 1.5e-6, 1e-12);
  EXPECT_NEAR(place.skew_s, 300e-9, 1e-12);
  EXPECT_EQ(place.late_rank, 1);
  EXPECT_EQ(place.late_share, 1);
  EXPECT_NEAR(placement_of_loops(loops, {0, 5000}, RankAverage::largest).time_s, 2e-6, 1e-12);
  EXPECT_NEAR(placement_of_loops(loops, {0, 5000}, RankAverage::rank0).time_s, 1e-6, 1e-12);
}

TEST(Rows, survive_their_way_through_a_pipe) {
  const auto row = row_of(1 << 20, 1e9);
  const auto line = message_line("row", to_json(row));
  const auto message = message_of(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(message);
  const auto read = row_from_json(*parse_json(message->text, "row"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(nccl_table_row(*read), nccl_table_row(row));
  EXPECT_FALSE(message_of("Open MPI says something else"));
  EXPECT_FALSE(row_from_json(Json{{"ranks", "many"}}).ok());
}

TEST(Launcher, words_fit_the_place) {
  LaunchPlace place{.is_root = true, .cpus = 4, .cores = 2, .mpirun = "/usr/bin/mpirun", .srun = "/usr/bin/srun"};
  const auto words = launcher_words({.ranks = 4}, place);
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(*words,
            (std::vector<std::string>{"/usr/bin/mpirun", "-n", "4", "--allow-run-as-root", "--use-hwthread-cpus"}));
  const auto many = launcher_words({.ranks = 5}, place);
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().kind, ErrorKind::usage);
  EXPECT_EQ(launcher_words({.ranks = 5, .oversubscribe = true}, place)->back(), "--oversubscribe");
  place.in_slurm_job = true;
  EXPECT_EQ(launcher_words({.ranks = 5}, place)->front(), "/usr/bin/srun");
  EXPECT_EQ(launcher_words({.ranks = 2, .launcher = "mpirun"}, place)->front(), "/usr/bin/mpirun");
  place.mpirun.clear();
  const auto none = launcher_words({.ranks = 2, .launcher = "mpirun"}, place);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::environment);
}

TEST(StuckError, attributes_who_is_silent) {
  const auto error = stuck_error({{0, "a", "all_reduce"}, {2, "b", "all_reduce"}}, 3, 10);
  EXPECT_NE(error.what.find("rank 1 does not answer"), std::string::npos) << error.what;
  EXPECT_NE(stuck_error({{0, "a", "x"}, {1, "b", "x"}}, 2, 10).what.find("no rank got on"), std::string::npos);
}

TEST(Death, is_read_from_what_launchers_say) {
  const std::string mpirun =
      "-----\nmpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n-----\n";
  EXPECT_EQ(death_in(mpirun), "process rank 1 with PID 0 on node vm exited on signal 9 (Killed).");
  EXPECT_EQ(death_in("srun: error: node7: task 3: Killed\n"), "srun: error: node7: task 3: Killed");
  EXPECT_EQ(death_in("all is well"), "");
}

TEST(Combinations, hold_the_default_and_every_product) {
  const auto all = combinations({"A=1,2", "B=x,y,z"});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 7U);
  EXPECT_EQ(to_text(all->front()), "default");
  EXPECT_EQ(to_text(all->back()), "A=2 B=z");
  EXPECT_FALSE(combinations({"A"}).ok());
  EXPECT_FALSE(combinations({"A="}).ok());
}

TEST(Tune, goes_through_the_variables_that_matter_one_by_one) {
  const auto variables = tuned_variables({"eth0", "ib0"});
  std::string all;
  for (const auto& variable : variables) all += variable + "\n";
  for (const char* name :
       {"NCCL_ALGO=", "NCCL_PROTO=", "NCCL_NTHREADS=", "NCCL_MAX_NCHANNELS=", "NCCL_SOCKET_IFNAME=eth0,ib0"}) {
    EXPECT_NE(all.find(name), std::string::npos) << all;
  }
}

std::string settings_text(const std::vector<Settings>& settings) {
  std::string text;
  for (const auto& setting : settings) text += to_text(setting) + "\n";
  return text;
}

TEST(Tune, takes_from_open_mpi_what_its_version_has) {
  // As ompi_info 4.1.4 says it, cut down.
  const std::string reported =
      "mca:coll:tuned:param:coll_tuned_allreduce_algorithm:value:ignore\n"
      "mca:coll:tuned:param:coll_tuned_allreduce_algorithm:help:Which allreduce algorithm is used: 0 ignore, 4 ring\n"
      "mca:coll:tuned:param:coll_tuned_allreduce_algorithm:enumerator:value:0:ignore\n"
      "mca:coll:tuned:param:coll_tuned_allreduce_algorithm:enumerator:value:3:recursive_doubling\n"
      "mca:coll:tuned:param:coll_tuned_allreduce_algorithm:enumerator:value:4:ring\n"
      "mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:1:basic_linear\n"
      "mca:btl:vader:param:btl_vader_single_copy_mechanism:value:cma\n"
      "mca:btl:vader:param:btl_vader_single_copy_mechanism:enumerator:value:1:cma\n"
      "mca:btl:vader:param:btl_vader_single_copy_mechanism:enumerator:value:3:none\n"
      "mca:btl:vader:param:btl_vader_eager_limit:value:4096\n"
      "mca:btl:tcp:param:btl_tcp_links:value:1\n"
      "mca:btl:tcp:param:btl_tcp_if_include:value:\n";
  EXPECT_EQ(settings_text(open_mpi_settings(Collective::all_reduce, reported, false, {"eth0", "ib0"})),
            "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_allreduce_algorithm=recursive_doubling\n"
            "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_allreduce_algorithm=ring\n"
            "OMPI_MCA_btl_vader_single_copy_mechanism=none\n"
            "OMPI_MCA_btl_vader_eager_limit=16384\n"
            "OMPI_MCA_btl_vader_eager_limit=65536\n");
  EXPECT_EQ(settings_text(open_mpi_settings(Collective::sendrecv, reported, true, {"eth0", "ib0"})),
            "OMPI_MCA_btl_vader_single_copy_mechanism=none\n"
            "OMPI_MCA_btl_vader_eager_limit=16384\n"
            "OMPI_MCA_btl_vader_eager_limit=65536\n"
            "OMPI_MCA_btl_tcp_links=2\n"
            "OMPI_MCA_btl_tcp_links=4\n"
            "OMPI_MCA_btl_tcp_if_include=eth0\n"
            "OMPI_MCA_btl_tcp_if_include=ib0\n");
  EXPECT_TRUE(open_mpi_settings(Collective::all_reduce, "", true, {"eth0"}).empty());
}

TEST(Tune, calls_a_gain_certain_only_where_rounds_agree) {
  const auto measured = [](const Settings& settings, const std::vector<double>& busbw) {
    Measured one{settings, {}, {}};
    for (std::size_t round = 0; round < busbw.size(); ++round) {
      if (busbw[round] == 0) continue;  // it failed
      one.rounds.push_back(sweep_of({row_of(1 << 20, busbw[round])}));
      one.rounds.back().round = static_cast<int>(round);
    }
    return one;
  };
  const auto clear = tune({measured({}, {10e9, 10.1e9, 9.9e9}), measured({{"A", "1"}}, {12e9, 12.1e9, 11.9e9})});
  ASSERT_EQ(clear.sizes.size(), 1U);
  EXPECT_EQ(clear.sizes[0].best, 1U);
  EXPECT_TRUE(clear.sizes[0].certain);
  EXPECT_NEAR(clear.sizes[0].gain, 1.2, 0.01);
  // The machine becomes slower from round to round, and one round of the setting failed: the others stay beside theirs.
  const auto shifted =
      tune({measured({}, {10e9, 8e9, 6.4e9, 5.12e9}), measured({{"A", "1"}}, {12e9, 0, 7.68e9, 6.144e9})});
  EXPECT_TRUE(shifted.sizes[0].certain);
  EXPECT_NEAR(shifted.sizes[0].gain_interval->low, 1.2, 1e-6);
  EXPECT_NEAR(shifted.sizes[0].gain_interval->high, 1.2, 1e-6);
  const auto unclear = tune({measured({}, {10e9, 14e9, 8e9}), measured({{"A", "1"}}, {12e9, 9e9, 13e9})});
  EXPECT_FALSE(unclear.sizes[0].certain);
}

TEST(CollectiveReport, shows_spread_shares_verdicts_and_a_plot) {
  auto sweep = sweep_of({row_of(1 << 20, 50e9), row_of(1 << 30, 300e9)});
  sweep.head->ranks.assign(8, "Pid 1 on node device 0");
  for (auto& row : sweep.rows) {
    auto& place = *row.out_of_place;
    place.samples_s.assign(300, place.time_s);
    place.samples_s.front() *= 100;
    place.skew_s = 3e-6;
    place.late_rank = 5;
    place.late_share = 0.5;
  }
  Expectation expectation{.fabric = 400e9, .source = "given"};
  expectation.links = MeasuredLinks{.slowest = 375e9, .median = 390e9, .where = "GPU 1 -> GPU 0, write"};
  Plan plan;
  plan.iterations = 300;
  plan.sizes = {1 << 20, 1 << 30};
  const auto judgement = judge(sweep, expectation, {});
  const auto report = build_report(plan, sweep, judgement, true);
  EXPECT_EQ(report.title, "all_reduce over 8 ranks");
  const auto& blocks = report.sections.back().blocks;
  const auto& table = std::get<Table>(blocks.front());
  std::vector<std::string> heads, cells;
  for (const auto& column : table.columns) heads.push_back(column.name);
  for (const auto& cell : table.rows.back()) cells.push_back(cell.text);
  EXPECT_EQ(heads, (std::vector<std::string>{"size", "place", "median", "95 % interval", "p99", "skew", "last",
                                             "of links", "of fabric", "verdict"}));
  EXPECT_EQ(cells, (std::vector<std::string>{"1 GiB", "out", "6.263 ms", "6.263 ms .. 6.263 ms", "6.263 ms", "3.000 µs",
                                             "5 (50 %)", "80.0 %", "75.0 %", "below, 368 GB/s expected"}));
  const auto& plot = std::get<Plot>(blocks.back());
  EXPECT_EQ(plot.title, "bus bandwidth");
  ASSERT_EQ(plot.series.size(), 1U) << "expected is known of one size, which is no line";
  EXPECT_NEAR(plot.series[0].points[1].second, 300e9, 1);
  const Json json = to_json(CollectiveResult{plan, sweep, judgement});
  EXPECT_NEAR(json["verdicts"][1]["of_links"].get<double>(), 0.8, 1e-9);
  EXPECT_EQ(json["verdicts"][1]["verdict"], "below");
}

TEST(StoredRuns, have_a_series_a_size_and_place) {
  const auto runs = runs_of({sweep_of({row_of(1 << 20, 1e9)}), sweep_of({row_of(1 << 20, 2e9)})});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].workload, "all_reduce");
  EXPECT_EQ(runs[0].metrics[0].round_sizes, (std::vector<std::int64_t>{20, 20}));
  EXPECT_EQ(runs[0].params.integer("bytes"), 1 << 20);
  Session session;
  session.runs = runs;
  const auto baseline = baseline_of(session, row_of(1 << 20, 1e9));
  ASSERT_EQ(baseline.size(), 1U);
  EXPECT_NEAR(baseline.begin()->second, 1.5e9, 0.51e9);
}

}  // namespace
}  // namespace warpmark::collectives
