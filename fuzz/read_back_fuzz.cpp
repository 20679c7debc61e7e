// What the product wrote, or another tool in its place, and reads back: reports and experiments of loads, lists of
// GPUs, configurations of models and vocabularies. Any bytes are an error or what they say.
#include "base/json.h"
#include "evaluate/generate/generated_data.h"
#include "exchange/load/experiment.h"
#include "model/transformer/transformer.h"
#include "scratch_file.h"
#include "serving/results/load_result.h"
#include "watch/exporter/inventory.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace warpmark;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto json = parse_json(text, "input"); json.ok()) {
    if (const auto report = serving::load_report_from_json(*json); report.ok()) {
      WM_CHECK(serving::load_report_from_json(serving::to_json(*report)).ok());
    }
    (void)transformer_of_config(*json, "input").ok();
  }
  (void)evaluate::whole_word_tokens(text, "input").ok();
  const watch::GpuInventory inventory(fuzz::file_with("gpus.json", text), 1e9, [](const std::string&) {});
  WM_CHECK(inventory.gpus().size() <= size);
  (void)fuzz::file_with("experiment_metadata.json", text);
  const auto run = fuzz::file_with("D(100,100)_text-to-text_num_concurrency_1_time_5s.json", text);
  (void)exchange::read_experiment(run.parent_path().string()).ok();
  return 0;
}
