#include "report/results/metric_list.h"

namespace warpmark::report {

std::span<const MetricMeaning> metric_list() {
  static constexpr MetricMeaning kMetrics[] = {
      {"time", "s", "lower", "time of one launch, timer overhead subtracted; of a command its wall time"},
      {"flop_rate", "FLOP/s", "higher", "operations the result needs over its time"},
      {"bandwidth", "B/s", "higher", "minimum bytes to move for the result, over its time"},
      {"energy", "J", "lower", "energy of one launch, back to back, by the device's own counter"},
      {"samples_rate", "1/s", "higher", "models: samples per second"},
      {"tokens_rate", "1/s", "higher", "models: tokens per second"},
      {"mfu", "ratio", "higher", "models: model FLOPs utilization, against the peak of the datasheet"},
      {"peak_share", "ratio", "higher", "models: share of the sum of the step's kernels at their best"},
      {"phase.NAME", "s", "lower", "models: forward, backward, optimizer, communication, data of a step"},
      {"phases_ratio", "ratio", "neither", "models: sum of the phases over the time of the step"},
      {"first_step", "s", "lower", "models: first step of a fresh process"},
      {"memory.NAME", "B", "lower", "models: peak_allocated, peak_reserved, baseline, device, final"},
      {"memory.utilization", "ratio", "neither", "models: most of the GPU's memory that was in use, of all of it"},
      {"quality", "1", "higher", "run --until: the accuracy, AUC or loss that was reached"},
      {"epochs", "1", "lower", "run --until: passes over the data until then"},
      {"cost", "1", "lower", "run --until with --set price=: money until then"},
      {"reads_rate", "1/s", "higher", "storage: blocks read per second"},
      {"need_ratio", "ratio", "higher", "storage: bandwidth over what need= says a step needs"},
      {"batch_time", "s", "lower", "loader: time per batch, the shortest step that hides loading"},
      {"hidden", "ratio", "higher", "loader: share of the loading that runs behind computing"},
      {"copy_time", "s", "lower", "loader: copying a batch to the GPU"},
      {"hit_rate", "ratio", "higher", "embedding_cache: lookups whose row was in the cache"},
      {"lookups_rate", "1/s", "higher", "embedding_cache: lookups per second"},
      {"wasted", "ratio", "lower", "collate: padding over all places of the batches"},
      {"stage.NAME", "s", "lower", "time of a stage, of a pipeline in a project file or of relevance_pipeline"},
      {"items.NAME", "1", "neither", "pipelines: items of a stage"},
      {"processor_time", "s", "lower", "commands: user and system time of all processes"},
      {"gpu_utilization", "ratio", "higher", "share of the time in which any kernel ran"},
      {"gpu_peak_memory", "B", "lower", "commands: most GPU memory above what was there before"},
      {"gpu_energy", "J", "lower", "commands: energy of the GPUs used"},
      {"gpu_power", "W", "lower", "commands: mean power of the GPUs used"},
      {"gpu_clock", "Hz", "neither", "commands: mean SM clock while kernels ran"},
      {"METRIC_vs_COMMIT", "ratio", "lower", "check --reference: METRIC over that of the reference revision"},
      {"bus_bandwidth", "B/s", "higher", "collectives: busbw of nccl-tests, comparable over numbers of ranks"},
      {"jitter", "s", "lower", "net: variation of the round trip"},
      {"retransmits", "1", "lower", "net: TCP segments sent again"},
      {"ttft", "s", "lower", "load: time to first token"},
      {"tpot", "s", "lower", "load: mean time per output token of a request, after the first"},
      {"itl", "s", "lower", "load: time between two tokens"},
      {"e2e", "s", "lower", "load: time from sending a request to its last token"},
      {"session", "s", "lower", "load --turns: time of a whole conversation"},
      {"first_token_error", "s", "lower", "load: how late the client saw a first token"},
  };
  return kMetrics;
}

}  // namespace warpmark::report
