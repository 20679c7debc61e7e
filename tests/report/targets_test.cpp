// What a user asked a training for stands in the text: the quality, epochs, samples per second and cost.
#include <gtest/gtest.h>

#include "report/formats/text.h"
#include "report/results/build.h"
#include "report/sample_session.h"
#include "stats/summary.h"

namespace warpmark::report {
namespace {

Metric metric_with(const char* id, const char* unit, double value) {
  Metric metric{.id = id, .unit = unit, .samples = {value}};
  metric.round_sizes = {1};
  metric.summary = stats::summarize(metric.samples);
  return metric;
}

TEST(TrainingToATarget, shows_what_was_asked_for_by_its_name) {
  SampleSession sample;
  warpmark::Run& run =
      sample.measured("vit", "cpu", {{"preset", std::string("tiny")}}, {.flops = 1e12, .bytes = 0}, 3.27);
  run.notes.emplace_back("quality", "accuracy 0.9141 after 3 epochs, 1536 samples");
  run.metrics.push_back(metric_with("samples_rate", "1/s", 469.7));
  run.metrics.push_back(metric_with("quality", "1", 0.9141));
  run.metrics.push_back(metric_with("epochs", "1", 3));
  run.metrics.push_back(metric_with("samples", "1", 1536));
  run.metrics.push_back(metric_with("cost", "1", 0.00333));
  const auto text = render_text(build_report(sample.finish()), {.width = 100, .unicode = true});
  const auto at = text.find("Training to a target");
  ASSERT_NE(at, std::string::npos) << text;
  for (const char* part : {"accuracy 0.9141", "469.7", "1536", "0.00333", "epochs", "cost"}) {
    EXPECT_NE(text.find(part, at), std::string::npos) << part << "\n" << text.substr(at);
  }
}

TEST(FixedSteps, show_the_loss_of_the_last_one) {
  SampleSession sample;
  warpmark::Run& run = sample.measured("gpt2", "cpu", {{"steps", std::int64_t{8}}}, {.flops = 1e12, .bytes = 0}, 0.5);
  run.metrics.push_back(metric_with("samples_rate", "1/s", 16));
  run.metrics.push_back(metric_with("first_step", "s", 0.9));
  run.metrics.push_back(metric_with("loss", "", 10.8214));
  const auto text = render_text(build_report(sample.finish()), {.width = 100, .unicode = true});
  EXPECT_NE(text.find("loss at the last step: 10.82"), std::string::npos) << text;
}

TEST(Stages, of_a_workload_are_shown_as_those_of_a_command) {
  SampleSession sample;
  warpmark::Run& run =
      sample.measured("relevance_pipeline", "cpu", {{"batch", std::int64_t{4}}}, {.flops = 1e9, .bytes = 1e8}, 0.032);
  run.metrics.push_back(metric_with("stage.texture", "s", 0.0159));
  run.metrics.push_back(metric_with("stage.scores", "s", 0.0064));
  const auto text = render_text(build_report(sample.finish()), {.width = 100, .unicode = true});
  EXPECT_NE(text.find("Stages of relevance_pipeline batch=4"), std::string::npos) << text;
  EXPECT_NE(text.find("texture"), std::string::npos) << text;
  EXPECT_NE(text.find("outside of them"), std::string::npos) << text;
}

}  // namespace
}  // namespace warpmark::report
