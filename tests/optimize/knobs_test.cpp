// The catalog, the offers it makes, the user's own knobs, and the plan.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <yaml-cpp/yaml.h>

#include <set>

#include "optimize/apply/program.h"
#include "optimize/findings.h"
#include "optimize/plan.h"
#include "optimize/proposals.h"
#include "support/expect_refused.h"

namespace warpmark::optimize {
namespace {

ProgramFacts slow_loading() {
  ProgramFacts facts;
  facts.report.torch = "1.13.1";
  facts.report.cpus = 8;
  facts.report.threads = 8;
  facts.report.loaders = {{.where = "train.py:12", .dataset = "Photos", .batch = 8}};
  facts.report.optimizers = {{.where = "train.py:10", .name = "AdamW"}};
  facts.report.modules = {{.where = "train.py:14",
                           .name = "Net",
                           .dtype = "torch.float32",
                           .device = "cpu",
                           .convolutions = 3,
                           .images = true}};
  facts.phases = {.data = 0.8, .forward = 0.08, .backward = 0.08, .optimizer = 0.02, .rest = 0.02};
  facts.seconds_per_step = 0.1;
  return facts;
}

TEST(Knobs, each_says_what_it_changes_and_may_break) {
  std::set<std::string> ids;
  for (const Knob* knob : knobs()) {
    EXPECT_TRUE(ids.insert(knob->id).second) << knob->id;
    for (const char* text : {knob->title, knob->breaks, knob->undo}) {
      EXPECT_STRNE(text, "") << knob->id;
    }
    EXPECT_GE(knob->risk, 1) << knob->id;
  }
}

TEST(Knobs, each_offers_something_or_says_why_not) {
  for (const ProgramFacts& facts : {ProgramFacts{}, slow_loading()}) {
    for (const Knob* knob : knobs()) {
      const auto offer = knob->offer(facts, {});
      EXPECT_NE(offer.candidates.empty(), offer.why_not.empty()) << knob->id;
      for (const auto& candidate : offer.candidates) {
        EXPECT_FALSE(candidate.value.empty()) << knob->id;
        EXPECT_TRUE(takes(*knob, candidate.value)) << knob->id << "=" << candidate.value;
        EXPECT_LE(candidate.predicted.low, candidate.predicted.high) << knob->id;
        EXPECT_FALSE(advice_of(*knob, facts, candidate.value).code.empty()) << knob->id;
      }
    }
  }
}

TEST(Knobs, cudnn_benchmark_is_not_offered_where_the_program_sets_it) {
  auto facts = slow_loading();
  facts.report.modules.front().device = "cuda";
  const auto* knob = find_in(knobs(), "cudnn.benchmark");
  EXPECT_FALSE(knob->offer(facts, {}).candidates.empty());
  facts.report.benchmarks = true;
  EXPECT_TRUE(knob->offer(facts, {}).candidates.empty());
}

TEST(Knobs, a_loader_that_steps_wait_for_is_given_workers_first) {
  const auto found = proposals(slow_loading(), {}, {});
  const auto best = std::max_element(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.predicted.low * a.predicted.high < b.predicted.low * b.predicted.high;
  });
  ASSERT_NE(best, found.end());
  EXPECT_EQ(best->setting.knob, "loader.workers");
  EXPECT_EQ(best->setting.value, "8");  // loading takes four times as long as the rest; eight cores
}

TEST(Knobs, workers_are_twice_as_many_as_hide_the_loading_where_there_is_a_core_for_each) {
  using Values = std::vector<std::string>;
  const auto offered = [](std::int64_t cores, std::int64_t processes) {
    auto facts = slow_loading();
    facts.report.cpus = cores;
    facts.report.world = processes;
    Values values;
    for (const auto& one : find_in(knobs(), "loader.workers")->offer(facts, {}).candidates) values.push_back(one.value);
    return values;
  };
  EXPECT_EQ(offered(64, 2), (Values{"10", "16"})) << "loading takes four times as long as the rest";
  EXPECT_EQ(offered(64, 8), (Values{"8", "16"})) << "8 cores a GPU";
  EXPECT_EQ(offered(12, 2), (Values{"6", "12"}));
  EXPECT_EQ(offered(6, 2), (Values{"5", "6"})) << "fewer cores than would hide it";
  EXPECT_EQ(offered(8, 4), (Values{"4"}));
  EXPECT_EQ(offered(1, 1), (Values{"4"})) << "what waits for a disk keeps no core busy";
}

TEST(Knobs, workers_that_helped_are_doubled_while_steps_still_wait_for_data) {
  const auto offered = [](double share, const char* workers) {
    auto facts = slow_loading();
    facts.wait_for_data(share);
    const auto offer = find_in(knobs(), "loader.workers")->offer(facts, {{"loader.workers", workers}});
    return offer.candidates.empty() ? std::string() : offer.candidates.front().value;
  };
  EXPECT_EQ(offered(0.6, "8"), "16");
  EXPECT_EQ(offered(0.6, "16"), "32") << "four for each of eight cores";
  EXPECT_EQ(offered(0.6, "32"), "");
  EXPECT_EQ(offered(0.1, "8"), "") << "little is left to gain";
}

TEST(Knobs, a_gpu_that_idles_most_of_the_time_is_compiled_to_graphs_first) {
  ProgramFacts facts = slow_loading();
  facts.report.torch = "2.11.0";
  facts.report.modules.front().device = "cuda";
  facts.phases = {.data = 0.02, .forward = 0.4, .backward = 0.4, .optimizer = 0.1, .rest = 0.08};
  const auto first = [&](std::optional<double> utilization) {
    facts.gpu_utilization = utilization;
    auto found = proposals(facts, {}, {.only = {kCompile}});
    const auto best = std::ranges::max_element(found, {}, [](const Proposal& one) { return one.predicted.high; });
    return best == found.end() ? std::string() : best->setting.value;
  };
  EXPECT_EQ(first(0.13), kCompileToGraphs);
  EXPECT_EQ(first(0.9), "default");
  EXPECT_EQ(first(std::nullopt), "default");
}

TEST(Knobs, workers_are_not_offered_to_an_iterable_dataset) {
  auto facts = slow_loading();
  facts.report.loaders.front().iterable = true;
  for (const auto& found : proposals(facts, {}, {})) EXPECT_NE(found.setting.knob, "loader.workers");
}

TEST(Knobs, names_that_mean_no_knob_are_refused_with_the_nearest) {
  const auto status = check_names({.only = {"loader.worker"}});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().hint.find("loader.workers"), std::string::npos);
  EXPECT_TRUE(check_names({.only = {"loader.*"}}).ok());
  const auto value = check_names({.asked = {{"precision.weights", "bf8"}}});
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().what, "precision.weights has no value 'bf8'");
  EXPECT_EQ(value.error().hint, "it takes bf16, fp16, f32");
  EXPECT_TRUE(check_names({.asked = {{"precision.weights", "bf16"}, {"loader.workers", "7"}}}).ok());
  EXPECT_FALSE(check_names({.asked = {{"channels_last", "no"}}}).ok());
  for (const char* number : {"abc", "-3", "", "2.5"}) {
    const auto workers = check_names({.asked = {{"loader.workers", number}}});
    ASSERT_FALSE(workers.ok()) << number;
    EXPECT_EQ(workers.error().hint, "it takes a whole number");
  }
}

TEST(UserKnob, is_read_from_the_command_line) {
  const auto batch = parse_user_knob("batch=--batch-size {64, 128} semantic");
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->target, "--batch-size");
  EXPECT_EQ(batch->values, (std::vector<std::string>{"64", "128"}));
  EXPECT_EQ(batch->numerics, Numerics::semantic);
  const auto bind = parse_user_knob("bind=OMP_PROC_BIND={close,spread}");
  ASSERT_TRUE(bind.ok());
  EXPECT_EQ(bind->place, UserKnobPlace::variable);
  EXPECT_EQ(bind->target, "OMP_PROC_BIND");
  for (const char* wrong :
       {"batch", "batch=--x", "batch={1}", "=--x {1}", "b=--x {}", "b=--x {1} sometimes", "b=a b {1}"}) {
    EXPECT_FALSE(parse_user_knob(wrong).ok()) << wrong;
  }
}

TEST(UserKnob, values_that_end_in_dots_go_on_as_they_began) {
  const auto batch = parse_user_knob("batch=--batch-size {64,128,...} semantic");
  ASSERT_TRUE(batch.ok()) << batch.error().what;
  EXPECT_TRUE(batch->until_memory_ends);
  EXPECT_EQ(batch->values[2], "256");
  EXPECT_EQ(batch->values.size(), 14u);
  EXPECT_EQ(parse_user_knob("batch=--b {10,...}")->values[1], "20");
  EXPECT_EQ(parse_user_knob("batch=--b {2,6,...}")->values[2], "18");
  for (const char* wrong : {"b=--b {...}", "b=--b {a,...}", "b=--b {128,64,...}"}) {
    EXPECT_FALSE(parse_user_knob(wrong).ok()) << wrong;
  }
  const auto file = parse_user_knobs("knobs:\n  - {name: b, argument: --b, values: [8, 16, ...]}\n", "f");
  ASSERT_TRUE(file.ok()) << file.error().what;
  EXPECT_EQ(file->front().values[2], "32");
}

TEST(Command, launchers_stand_before_the_program_and_variables_are_joined) {
  const Program program{.words = {"python3", "a.py"}};
  const auto bound = command_with(program, {{"process.affinity", "0-3"}});
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->words, (std::vector<std::string>{"taskset", "-c", "0-3", "python3", "a.py"}));
  ::setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128", 1);
  const auto joined = command_with(program, {{"memory.allocator", "expandable_segments:True"}});
  ::unsetenv("PYTORCH_CUDA_ALLOC_CONF");
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined->environment.front().second, "max_split_size_mb:128,expandable_segments:True");
}

TEST(Knobs, processors_are_those_of_the_gpus_node) {
  ProgramFacts facts;
  facts.report.torch = "2.6.0";
  facts.report.modules = {{.device = "cuda"}};
  facts.report.node_cpus = {"0-15", "16-31"};
  facts.report.allowed_cpus = "0-31";
  facts.report.gpu_node = 1;
  facts.report.has_taskset = true;
  const Knob* knob = find_in(knobs(), "process.affinity");
  ASSERT_NE(knob, nullptr);
  EXPECT_EQ(knob->offer(facts, {}).candidates.at(0).value, "16-31");
  facts.report.gpu_node = -1;
  EXPECT_NE(knob->offer(facts, {}).why_not.find("not known"), std::string::npos);
  facts.report.node_cpus.pop_back();
  EXPECT_NE(knob->offer(facts, {}).why_not.find("one NUMA node"), std::string::npos);
}

TEST(Knobs, optimizers_are_offered_the_implementation_that_they_have) {
  auto facts = slow_loading();
  facts.report.torch = "2.11.0";
  facts.phases = {.forward = 0.4, .backward = 0.4, .optimizer = 0.2};
  const auto offered = [&](const char* name, bool cuda, bool foreach) {
    facts.report.optimizers = {{.where = "a.py:1", .name = name, .tensors = 100, .cuda = cuda, .foreach = foreach}};
    const auto offer = find_in(knobs(), "optimizer.implementation")->offer(facts, {});
    return offer.candidates.empty() ? offer.why_not : offer.candidates.front().value;
  };
  EXPECT_EQ(offered("AdamW", true, true), "fused") << "on a GPU foreach is what it does by itself";
  EXPECT_EQ(offered("AdamW", false, false), "foreach");
  EXPECT_EQ(offered("RAdam", true, false), "foreach");
  EXPECT_NE(offered("RAdam", true, true).find("no fused"), std::string::npos);
  EXPECT_NE(offered("SparseAdam", true, false).find("neither"), std::string::npos);
}

TEST(Advice, a_larger_batch_names_the_rule_of_the_learning_rate) {
  auto facts = slow_loading();
  const auto advice = advice_for(facts, {{"batch", "256"}});
  ASSERT_FALSE(advice.empty());
  EXPECT_NE(advice.front().text.find("square root"), std::string::npos) << advice.front().text;
  EXPECT_EQ(advice.front().where, "train.py:10");
  facts.report.optimizers.front().name = "SGD";
  EXPECT_NE(advice_for(facts, {{"batch", "256"}}).front().text.find("factor of the batch"), std::string::npos);
}

TEST(Advice, a_line_that_reads_values_is_named_with_the_replayed_gain) {
  ProgramFacts facts;
  facts.report.modules = {{.device = "cuda"}};
  facts.report.steps.resize(20);
  facts.report.reads = {{.where = "train.py:30", .call = "item", .count = 19, .seconds = 0.1}};
  facts.found = {{"cpu_gpu_sync", "", 1.2, 1.6}};
  const auto advice = advice_for(facts, {});
  ASSERT_FALSE(advice.empty());
  EXPECT_EQ(advice.front().where, "train.py:30");
  EXPECT_EQ(advice.front().text.find("lines"), std::string::npos);
  facts.report.reads.push_back({.where = "train.py:31", .call = "item", .count = 19, .seconds = 0.1});
  facts.report.reads.push_back({.where = "log.py:7", .call = "item", .count = 19, .seconds = 0.1});
  const auto several = advice_for(facts, {});
  ASSERT_EQ(several.size(), advice.size() + 1) << "one for each file";
  EXPECT_EQ(several[1].where, "train.py:30");
  EXPECT_NE(several[1].text.find("1.9 times per step (here and in line 31)"), std::string::npos) << several[1].text;
  ASSERT_TRUE(advice.front().predicted);
  EXPECT_EQ(advice.front().predicted->high, 1.6);
}

TEST(UserKnob, file_names_the_line_of_what_is_wrong) {
  const auto good = parse_user_knobs(
      "knobs:\n  - {name: blocks, file: config.json, pattern: '\"blocks\": {}', values: [2, 4]}\n", "optimize.yaml");
  ASSERT_TRUE(good.ok()) << good.error().what;
  EXPECT_EQ(good->front().place, UserKnobPlace::file);
  using testing_support::expect_refused;
  expect_refused(parse_user_knobs("knobs:\n  - {name: a, argument: --a, vlaues: [1]}\n", "f"), "values");
  expect_refused(parse_user_knobs("knobs:\n  - {name: a, values: [1]}\n", "f"), "one of argument");
  expect_refused(parse_user_knobs("knobs:\n  - {name: a, argument: --a, values: []}\n", "f"), "values");
  expect_refused(
      parse_user_knobs("knobs:\n  - {name: a, argument: --a, values: [1]}\n  - {name: a, argument: --b, values: [1]}\n",
                       "f"),
      "twice");
  expect_refused(parse_user_knobs("7\n", "f"), "map");
}

TEST(UserKnob, argument_replaces_what_is_there_or_is_added) {
  EXPECT_EQ(with_argument({"p", "--n", "1", "x"}, "--n", "2"), (std::vector<std::string>{"p", "--n", "2", "x"}));
  EXPECT_EQ(with_argument({"p", "--n=1"}, "--n", "2"), (std::vector<std::string>{"p", "--n=2"}));
  EXPECT_EQ(with_argument({"p"}, "--n", "2"), (std::vector<std::string>{"p", "--n", "2"}));
}

TEST(UserKnob, value_in_a_file_is_set_where_the_pattern_is_there_once) {
  EXPECT_EQ(*with_value("{\"blocks\": 8, \"x\": 1}", "\"blocks\": {}", "4"), "{\"blocks\": 4, \"x\": 1}");
  EXPECT_EQ(*with_value("a = 1\nb = 2\n", "b = {}\n", "3"), "a = 1\nb = 3\n");
  EXPECT_FALSE(with_value("a = 1", "b = {}", "3").ok());
  EXPECT_FALSE(with_value("b = 1 b = 2", "b = {}", "3").ok());
}

TEST(Plan, is_read_as_it_was_written) {
  Optimization optimization;
  optimization.program = "python \"odd name.py\" --x 'a: b'";
  optimization.plan = {{"loader.workers", "4"}, {"batch", "128"}};
  optimization.measured_speedup = SpeedUp{2, 1.9, 2.1, 0.95};
  const UserKnob batch{
      .name = "batch", .target = "--batch-size", .values = {"64", "128"}, .numerics = Numerics::semantic};
  const auto text = plan_yaml(optimization, {batch});
  const auto plan = parse_plan(text, "plan.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().what << "\n" << text;
  EXPECT_EQ(plan->program, optimization.program);
  EXPECT_EQ(plan->settings, (Settings{{"loader.workers", "4"}, {"batch", "128"}}));
  ASSERT_EQ(plan->user_knobs.size(), 1u);
  EXPECT_EQ(plan->user_knobs.front().numerics, Numerics::semantic);
}

TEST(Plan, keeps_a_patch_as_a_knob_of_its_own) {
  Optimization optimization;
  optimization.plan = {{"patch", "faster.diff"}};
  const auto plan = parse_plan(plan_yaml(optimization, {patch_knob("patch", "/somewhere/faster.diff")}), "plan.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  EXPECT_EQ(plan->settings, (Settings{{"patch", "faster.diff"}}));
  ASSERT_EQ(plan->user_knobs.size(), 1u);
  EXPECT_EQ(plan->user_knobs.front().place, UserKnobPlace::patch);
  EXPECT_EQ(plan->user_knobs.front().target, "/somewhere/faster.diff");
  testing_support::expect_refused(
      parse_user_knobs("knobs: [{name: fused, patch: a.diff, values: [1]}]\n", "optimize.yaml"), "no values");
}

TEST(Plan, a_knob_of_the_users_own_takes_any_value_whatever_its_name) {
  EXPECT_TRUE(
      parse_plan("settings: {tf32: 'on'}\nknobs: [{name: tf32, argument: --tf32, values: ['on']}]\n", "plan.yaml")
          .ok());
}

TEST(Plan, refuses_a_value_that_a_knob_does_not_take) {
  testing_support::expect_refused(parse_plan("settings: {precision.weights: bf8}\n", "plan.yaml"), "bf8");
  testing_support::expect_refused(parse_plan("settings: {loader.workers: many}\n", "plan.yaml"), "many");
  testing_support::expect_refused(parse_plan("settings: {precision.autocast: fp16}\n", "plan.yaml"), "fp16");
}

TEST(Job, asks_for_a_gpu_each_process_and_says_what_its_image_must_have) {
  Optimization optimization;
  optimization.device = "NVIDIA H100";
  optimization.ranks = 4;
  optimization.plan = {{"loader.workers", "4"}, {"bind", "close"}, {"fused", "f.diff"}, {"blocks", "4"}};
  Program program{.words = {"python", "train.py", "a: b"}, .directory = {}, .environment = {}, .user_knobs = {}};
  program.user_knobs = {
      {.name = "bind", .place = UserKnobPlace::variable, .target = "OMP_PROC_BIND", .values = {"close"}},
      patch_knob("fused", "/x/f.diff"),
      {.name = "blocks", .place = UserKnobPlace::file, .target = "c.json", .pattern = "b: {}", .values = {"4"}}};
  const auto job = job_yaml(optimization, program), vertex = vertex_yaml(optimization, program);
  ASSERT_TRUE(job.ok() && vertex.ok());
  const auto read = YAML::Load(*job)["spec"]["template"]["spec"]["containers"][0];
  EXPECT_EQ(read["resources"]["limits"]["nvidia.com/gpu"].as<int>(), 4);
  EXPECT_EQ(
      read["command"].as<std::vector<std::string>>(),
      (std::vector<std::string>{"warpmark", "optimize", "--apply", "plan.yaml", "--", "python", "train.py", "a: b"}));
  EXPECT_EQ(read["env"][0]["name"].as<std::string>(), "OMP_PROC_BIND");
  const auto pool = YAML::Load(*vertex)["workerPoolSpecs"][0];
  EXPECT_EQ(pool["machineSpec"]["acceleratorCount"].as<int>(), 4);
  EXPECT_EQ(pool["containerSpec"]["env"][0]["value"].as<std::string>(), "close");
  for (const char* needed : {"warpmark and plan.yaml", "the patch /x/f.diff", "blocks=4 in c.json"}) {
    EXPECT_NE(job->find(needed), std::string::npos) << needed << "\n" << *job;
    EXPECT_NE(vertex->find(needed), std::string::npos) << needed << "\n" << *vertex;
  }
}

TEST(Advice, half_precision_with_a_scaler_is_a_persons_to_write) {
  ProgramFacts facts = slow_loading();
  facts.report.modules.front().device = "cuda";
  facts.report.modules.front().where = "train.py:14";
  workers::GpuFacts gpu;
  gpu.name = "Tesla T4";
  gpu.major = 7;
  facts.report.gpus = {gpu};
  std::vector<OptimizationStep> tried;
  const auto scaler = [&tried](const ProgramFacts& of) {
    for (const auto& one : advice_for(of, {}, tried)) {
      if (one.code.find("GradScaler") != std::string::npos) return one.text;
    }
    return std::string();
  };
  EXPECT_NE(scaler(facts).find("not in bf16"), std::string::npos);
  facts.report.gpus.front().major = 9;
  EXPECT_EQ(scaler(facts), "") << "bf16 may do";
  tried = {{.knob = "precision.autocast", .value = "bf16", .outcome = TrialOutcome::rejected}};
  EXPECT_NE(scaler(facts).find("bf16 changes the answers"), std::string::npos);
  facts.report.modules.front().autocast = true;
  EXPECT_EQ(scaler(facts), "");
}

TEST(Plan, refuses_a_knob_that_is_not_there) {
  testing_support::expect_refused(parse_plan("settings: {loader.wokers: 4}\n", "plan.yaml"), "loader.workers");
  testing_support::expect_refused(parse_plan("setings: {}\n", "plan.yaml"), "settings");
}

}  // namespace
}  // namespace warpmark::optimize
