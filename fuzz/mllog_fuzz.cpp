// Logs of MLPerf trainings, files of reference convergence, and experiment folders of load tests: any bytes are values
// or an error.
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "exchange/load/experiment.h"
#include "exchange/mllog/convergence.h"
#include "scratch_file.h"

namespace {

using namespace warpmark;

void read_folder(std::string_view text) {
  const auto file = fuzz::file_with("experiment_metadata.json", text);
  (void)fuzz::file_with("D100_concurrency_8_time_60s.json", text);
  const auto experiment = exchange::read_experiment(file.parent_path());
  if (!experiment.ok()) return;
  for (const auto& field : exchange::numeric_fields(*experiment)) {
    for (const auto& run : experiment->runs) (void)exchange::field_of(run, field);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto events = exchange::read_mllog("x", text); events.ok()) WM_CHECK(!events->empty());
  if (const auto json = parse_json(text, "x"); json.ok()) {
    (void)exchange::read_references(*json, "x", "bert", {}).ok();
  }
  read_folder(text);
  return 0;
}
