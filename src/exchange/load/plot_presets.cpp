// genai-bench's presets, by its names and fields.
#include "exchange/load/plots.h"

namespace warpmark::exchange {
namespace {

constexpr const char* kOutput = "mean_output_throughput_tokens_per_s";
constexpr const char* kTotal = "mean_total_tokens_throughput_tokens_per_s";
constexpr const char* kSpeed = "stats.output_inference_speed.mean";

PlotSpec plot(const char* title, const char* x, const char* y, const char* x_label, const char* y_label,
              bool logarithmic = false) {
  return {.title = title,
          .x_field = x,
          .lines = {{y, ""}},
          .x_label = x_label,
          .y_label = y_label,
          .logarithmic = logarithmic};
}

std::vector<PlotSpec> two_by_four() {
  std::vector<PlotSpec> specs{
      plot("Output speed per request over output throughput", kOutput, kSpeed, "output tokens/s of the server",
           "tokens/s of one answer"),
      plot("TTFT over output throughput", kOutput, "stats.ttft.mean", "output tokens/s of the server", "mean TTFT",
           true),
      plot("Mean end to end over requests/s", "requests_per_second", "stats.e2e_latency.mean", "requests/s",
           "mean end to end"),
      plot("Failed requests over load", "num_concurrency", "num_error_requests", "concurrency", "failed requests"),
      plot("Output speed per request over total throughput", kTotal, kSpeed, "tokens/s of the server, in and out",
           "tokens/s of one answer"),
      plot("TTFT over total throughput", kTotal, "stats.ttft.mean", "tokens/s of the server, in and out", "mean TTFT",
           true),
      plot("p90 end to end over requests/s", "requests_per_second", "stats.e2e_latency.p90", "requests/s",
           "p90 end to end"),
      plot("p99 end to end over requests/s", "requests_per_second", "stats.e2e_latency.p99", "requests/s",
           "p99 end to end")};
  specs[3].bars = true;
  specs[3].joined = false;
  return specs;
}

std::vector<PlotSpec> simple() {
  return {plot("Output throughput over load", "num_concurrency", kOutput, "concurrency", "output tokens/s"),
          plot("TTFT over load", "num_concurrency", "stats.ttft.mean", "concurrency", "mean TTFT"),
          plot("End to end over load", "num_concurrency", "stats.e2e_latency.mean", "concurrency", "mean end to end"),
          plot("Requests/s over load", "num_concurrency", "requests_per_second", "concurrency", "requests/s")};
}

std::vector<PlotSpec> percentiles() {
  const auto lines = [](const char* title, const std::string& stat, const char* label) {
    return PlotSpec{.title = title,
                    .x_field = "num_concurrency",
                    .lines = {{"stats." + stat + ".p50", "p50"},
                              {"stats." + stat + ".p90", "p90"},
                              {"stats." + stat + ".p99", "p99"}},
                    .x_label = "concurrency",
                    .y_label = label,
                    .logarithmic = true};
  };
  return {lines("TTFT percentiles", "ttft", "TTFT"), lines("End to end percentiles", "e2e_latency", "end to end"),
          lines("Time per output token percentiles", "tpot", "TPOT")};
}

std::vector<PlotSpec> single() {
  std::vector<PlotSpec> specs = percentiles();
  specs.push_back({.title = "Throughput over load",
                   .x_field = "num_concurrency",
                   .lines = {{"mean_input_throughput_tokens_per_s", "in"}, {kOutput, "out"}, {kTotal, "both"}},
                   .x_label = "concurrency",
                   .y_label = "tokens/s"});
  specs.push_back(plot("Requests/s over load", "num_concurrency", "requests_per_second", "concurrency", "requests/s"));
  return specs;
}

}  // namespace

const std::vector<PlotPreset>& plot_presets() {
  static const std::vector<PlotPreset> kPresets{
      {"2x4_default", "speed, TTFT, end to end and errors over throughput and load", two_by_four},
      {"simple_2x2", "throughput, TTFT, end to end and requests/s over load", simple},
      {"multi_line_latency", "p50, p90, p99 of TTFT, end to end and TPOT over load", percentiles},
      {"single_scenario_analysis", "percentiles and throughput of a scenario over load", single}};
  return kPresets;
}

}  // namespace warpmark::exchange
