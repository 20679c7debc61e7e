// From recordings of real programs to what is tried first.
#include "optimize/findings.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <set>

#include "analyze/analyze.h"
#include "analyze/rules/rules.h"
#include "base/json.h"
#include "base/text.h"
#include "model/fields/fields.h"
#include "model/json/json_analysis.h"
#include "optimize/apply/program_run.h"
#include "optimize/apply/recorded_run.h"
#include "optimize/proposals.h"
#include "profile/read_session.h"

namespace warpmark::optimize {
namespace {

namespace fs = std::filesystem;

Analysis analysis_of(const std::string& name) {
  const std::array<std::filesystem::path, 1> files{std::string(WARPMARK_SOURCE_DIR) + "/tests/data/traces/" + name};
  const auto session = profile::read_session(files);
  EXPECT_TRUE(session.ok()) << session.error().what;
  return session.ok() ? analyze::analyze(*session, {.tables = false}) : Analysis{};
}

const Knob& knob(const std::string& id) {
  const Knob* found = find_in(knobs(), id);
  EXPECT_NE(found, nullptr) << id;
  return *found;
}

TEST(Findings, whose_gain_nobody_knows_promise_none) {
  const std::vector<OptimizationFinding> found{
      {.rule = "host_work", .title = "The GPU waits", .text = "See why."},
      {.rule = "precision", .title = "FP32", .low = 1.1, .high = 1.3, .text = "a"}};
  EXPECT_EQ(found_text(found), "host_work (gain not known), precision (1.10x-1.30x without it)");
  const auto advice = advice_of_findings(found, {});
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_FALSE(advice[0].predicted);
  EXPECT_TRUE(advice[1].predicted);
}

TEST(Findings, eager_launches_speak_for_compiling_and_not_for_the_loader) {
  const auto gains = gains_of(analysis_of("gpt2_eager_infer.wmrec").findings);
  const auto compile = replayed_gain(knob("compile").answers, gains);
  ASSERT_TRUE(compile);
  EXPECT_GT(compile->high, 1.2);
  EXPECT_NE(compile->method.find("replay"), std::string::npos);
  EXPECT_FALSE(replayed_gain(knob("loader.workers").answers, gains));
}

TEST(Findings, only_the_mode_that_makes_a_graph_is_predicted_what_a_graph_gains) {
  ProgramFacts facts;
  facts.report.torch = "2.11.0";
  facts.report.modules = {{.name = "Net", .dtype = "torch.float32", .device = "cuda"}};
  facts.phases.forward = 0.9;
  facts.analyzed = true;
  facts.found = {{"launch_overhead", "cuda_graph", 2, 9},
                 {"launch_overhead", "static_cuda_graph", 3, 20},  // of a step that no compiler makes static
                 {"launch_overhead", "compile", 1, 1.5}};
  for (const auto& proposal : proposals(facts, {}, {.only = {"compile"}})) {
    EXPECT_EQ(proposal.predicted.high, proposal.setting.value == "reduce-overhead" ? 9 : 1.5) << proposal.setting.value;
  }
  EXPECT_EQ(proposals(facts, {}, {.only = {"compile"}}).size(), 3U);
}

TEST(Findings, program_that_compiles_itself_is_offered_cuda_graphs_alone) {
  ProgramFacts facts;
  facts.report.torch = "2.11.0";
  facts.report.modules = {{.name = "Net", .dtype = "torch.float32", .device = "cuda", .compiled = "default"}};
  facts.phases.forward = 0.9;
  const auto offered = proposals(facts, {}, {.only = {"compile"}});
  ASSERT_EQ(offered.size(), 1U);
  EXPECT_EQ(offered.front().setting.value, "reduce-overhead");
  EXPECT_EQ(advice_of(knob("compile"), facts, "reduce-overhead").code,
            "torch.compile(model, mode=\"reduce-overhead\")");
  facts.report.modules.front().compiled = "graphs";
  EXPECT_TRUE(proposals(facts, {}, {.only = {"compile"}}).empty());
}

TEST(Findings, of_steps_that_recording_made_longer_gain_no_more_than_the_step_has) {
  StepRecording recording{
      .gpu_work = true,
      .seconds_per_step = 0.030,
      .findings = {{.rule = "launch_overhead", .low = 1.5, .high = 2.4}, {.rule = "precision", .low = 2, .high = 6}},
      .found = {{"launch_overhead", "cuda_graph", 1.5, 2.4}, {"precision", "", 2, 6}},
      .kernels = {}};
  recording.bound_to(0.010);  // 30 ms / 6 leaves 5 ms of the 10
  EXPECT_FALSE(recording.findings[0].is_gain_known());
  EXPECT_EQ(recording.findings[0].low, 1);
  EXPECT_EQ(recording.findings[1].low, 1);
  EXPECT_DOUBLE_EQ(recording.findings[1].high, 2);
  ASSERT_EQ(recording.found.size(), 1U);
  EXPECT_EQ(recording.found[0].rule, "precision");
  EXPECT_EQ(recording.text(),
            "found in recorded steps: launch_overhead (gain not known), precision (1.00x-2.00x without it)");
  recording.bound_to(0.040);  // a recording is never faster: noise
  EXPECT_DOUBLE_EQ(recording.findings[1].high, 2);
  StepRecording located;
  located.findings = {{.rule = "precision", .where = "train.py:7"}};
  recording.take_places(located);
  EXPECT_EQ(recording.findings[1].where, "train.py:7");
  EXPECT_EQ(recording.findings[0].where, "");
}

TEST(Findings, cache_that_is_emptied_speaks_for_leaving_that_out) {
  const auto analysis = analysis_of("llama_empties_cache_per_layer.pt.trace.json.zst");
  const auto gain = replayed_gain(knob("memory.no_empty_cache").answers, gains_of(analysis.findings));
  ASSERT_TRUE(gain);
  EXPECT_GT(gain->high, 1.1);
  const auto findings = findings_of(analysis.findings);
  ASSERT_FALSE(findings.empty());
  EXPECT_FALSE(findings.front().text.empty());
}

TEST(Findings, of_a_recorded_run_keep_their_gains_and_severity) {
  const fs::path folder = fs::path(testing::TempDir()) / "findings_of_a_run";
  fs::create_directories(folder);
  const auto name = "llama_empties_cache_per_layer.pt.trace.json.zst";
  // The reader looks at the bytes, not at the name, which is PyTorch's for a trace of one process.
  fs::copy_file(fs::path(WARPMARK_SOURCE_DIR) / "tests/data/traces" / name, folder / "rank0-1.json",
                fs::copy_options::overwrite_existing);
  const auto wanted = findings_of(analysis_of(name).findings);
  const auto run = *read(kStepRecording, write(kStepRecording, analyze_traces(folder)));
  fs::remove_all(folder);
  EXPECT_TRUE(run.gpu_work);
  EXPECT_NEAR(run.seconds_per_step, analysis_of(name).undisturbed_step_ns * 1e-9, 1e-9);
  ASSERT_EQ(run.findings.size(), wanted.size());
  ASSERT_FALSE(wanted.empty());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(run.findings[i].rule, wanted[i].rule);
    EXPECT_EQ(run.findings[i].low, wanted[i].low);
    EXPECT_EQ(run.findings[i].high, wanted[i].high);
    EXPECT_EQ(run.findings[i].severity, wanted[i].severity);
  }
  EXPECT_NE(run.findings.front().high, 1.0);
  ASSERT_FALSE(run.found.empty());
  EXPECT_GT(run.found.front().high, 1.0);
}

TEST(Findings, are_read_from_a_written_analysis) {
  const auto analysis = analysis_of("llama_empties_cache_per_layer.pt.trace.json.zst");
  const auto read = findings_from_json(to_json(analysis));
  ASSERT_TRUE(read.ok()) << read.error().what;
  const auto wanted = gains_of(analysis.findings), found = gains_of(*read);
  ASSERT_EQ(found.size(), wanted.size());
  ASSERT_FALSE(wanted.empty());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].rule, wanted[i].rule);
    EXPECT_EQ(found[i].advice, wanted[i].advice);
    EXPECT_EQ(found[i].low, wanted[i].low);
    EXPECT_EQ(found[i].high, wanted[i].high);
  }
  Analysis again = analysis;
  again.findings = *read;
  const auto first = [](const Analysis& one) { return to_json(one)["findings"][0]; };
  EXPECT_EQ(first(again)["evidence"], first(analysis)["evidence"]);
  EXPECT_EQ(first(again)["recommendations"], first(analysis)["recommendations"]);
}

TEST(Findings, of_a_broken_analysis_name_the_key) {
  const auto error_of = [](const char* text) { return findings_from_json(Json::parse(text)).error().what; };
  EXPECT_EQ(error_of(R"({"schema": "warpmark.run/1"})"),
            "the schema is 'warpmark.run/1', but this version reads warpmark.analysis/1");
  EXPECT_EQ(error_of(R"({"schema": "warpmark.analysis/1", "findings": [{}]})"), "findings[0].rule is missing");
  EXPECT_EQ(error_of(R"({"schema": "warpmark.analysis/1", "findings": 5})"), "findings must be an array, not number");
}

TEST(Findings, advice_that_changes_a_training_or_its_answers_is_named_with_the_reason) {
  ProgramFacts facts;
  facts.phases.rest = 0;
  facts.report.world = 2;
  facts.report.optimizers.push_back({});
  EXPECT_TRUE(advice_for(facts, {}).empty());
  facts.found = {{"multi_gpu_comm", "", 1.2, 1.5}};
  const auto exchange = advice_for(facts, {});
  ASSERT_EQ(exchange.size(), 2U);
  EXPECT_NE(exchange[0].text.find("Gradient accumulation"), std::string::npos);
  EXPECT_NE(exchange[1].code.find("powerSGD_hook"), std::string::npos);

  ProgramFacts infers;
  infers.report.modules.push_back({.where = "serve.py:3", .linears = 4});
  const auto quantized = advice_for(infers, {});
  ASSERT_EQ(quantized.size(), 1U);
  EXPECT_EQ(quantized[0].where, "serve.py:3");
  EXPECT_NE(quantized[0].text.find("int8"), std::string::npos);
}

TEST(Findings, an_advice_of_a_rule_is_no_other_advice) {
  const std::vector<FoundGain> found{{"precision", "", 1.5, 3}, {"precision", "tf32", 1.2, 2}};
  EXPECT_EQ(replayed_gain(knob("tf32").answers, found)->high, 2);
  EXPECT_EQ(replayed_gain(knob("precision.autocast").answers, found)->high, 3);
}

/// Few threads of small kernels are no matter of algorithms of convolutions, though both are kernels' efficiency.
TEST(Findings, a_knob_answers_its_rules_and_no_others_of_their_kind) {
  std::set<std::string> rules;
  for (const auto* rule : analyze::rules()) rules.insert(rule->id);
  for (const Knob* one : knobs()) {
    for (const auto& token : split(one->answers, ' ')) {
      const auto rule = token.substr(0, token.find(':'));
      EXPECT_TRUE(rule.empty() || rules.contains(rule)) << one->id << ": " << token;
    }
  }
  const std::vector<FoundGain> found{{"gpu_underused", "", 8, 16}, {"host_transfer", "", 2, 3}};
  EXPECT_FALSE(replayed_gain(knob("cudnn.benchmark").answers, found));
  EXPECT_FALSE(replayed_gain(knob("channels_last").answers, found));
  EXPECT_FALSE(replayed_gain(knob("loader.workers").answers, found));
  EXPECT_FALSE(replayed_gain(knob("python.gc_freeze").answers, {{"launch_overhead", "", 2, 3}}));
  EXPECT_EQ(replayed_gain(knob("loader.pin_memory").answers, found)->high, 3);
}

TEST(Findings, what_a_recording_speaks_for_comes_before_what_it_does_not) {
  ProgramFacts facts;
  facts.report.torch = "2.6.0";
  facts.report.modules = {{.where = "a.py:1", .name = "Net", .dtype = "torch.float32", .device = "cuda"}};
  facts.report.optimizers = {{.where = "a.py:2", .name = "AdamW", .tensors = 100, .cuda = true}};
  facts.report.gpus = {{.name = "H100", .memory_bytes = 1LL << 36, .major = 9}};
  facts.report.cuda = true;
  facts.phases = {.forward = 0.5, .backward = 0.4, .optimizer = 0.05, .rest = 0.05};
  facts.analyzed = true;
  facts.found = {{"launch_overhead", "compile", 1.8, 2.4}};
  double compile_risk = 0, autocast_risk = 0;
  for (const auto& one : proposals(facts, {}, {})) {
    if (one.setting.knob == "compile" && one.setting.value == "default") {
      EXPECT_EQ(one.predicted.high, 2.4);
      compile_risk = one.risk;
    }
    if (one.setting.knob == "precision.autocast") autocast_risk = one.risk;
  }
  EXPECT_EQ(compile_risk, knob("compile").risk);
  EXPECT_GT(autocast_risk, knob("precision.autocast").risk);
}

TEST(AdviceOfFindings, is_what_no_kept_knob_answers_with_its_line_and_its_replayed_gain) {
  const std::vector<OptimizationFinding> findings{
      {.rule = "data_loading", .title = "The GPU waits", .low = 2, .high = 3, .text = "Load ahead.", .code = "workers"},
      {.rule = "cpu_gpu_sync",
       .title = "The host waits",
       .low = 1.1,
       .high = 1.2,
       .text = "Read rarely.",
       .code = "loss.detach()",
       .where = "train.py:57"}};
  EXPECT_EQ(advice_of_findings(findings, {}).size(), 2U);
  const auto left = advice_of_findings(findings, {{"loader.workers", "8"}});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].where, "train.py:57");
  EXPECT_EQ(left[0].text, "The host waits. Read rarely.");
  EXPECT_EQ(left[0].code, "loss.detach()");
  EXPECT_DOUBLE_EQ(left[0].predicted->low, 1.1);
}

TEST(NotCounted, a_tenth_of_the_gpus_memory_stays_free) {
  workers::ProgramReport report;
  report.total_bytes = 100;
  report.reserved_bytes = 90;
  report.knobs = {{.id = "tf32", .value = "1", .in_force = true}};
  EXPECT_EQ(why_not_counted({{"tf32", "1"}}, {&report}), "");
  report.reserved_bytes = 91;
  EXPECT_NE(why_not_counted({{"tf32", "1"}}, {&report}).find("leaves less than 10 % of the GPU's memory"),
            std::string::npos);
  EXPECT_EQ(why_not_counted({}, {&report}), "") << "the original may have as much as it has";
}

}  // namespace
}  // namespace warpmark::optimize
