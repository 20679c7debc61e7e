// Files that a load is made of: data sets, traces, scripted answers. Any bytes are rows or an error.
#include <string_view>

#include "base/result.h"
#include "scratch_file.h"
#include "serving/reference/scripted_answers.h"
#include "serving/traffic/dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace warpmark;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"x.json", "x.jsonl", "x.csv", "x.txt"}) {
    const auto file = fuzz::file_with(name, text);
    if (const auto rows = serving::read_dataset(file); rows.ok()) WM_CHECK(!rows->empty());
    const auto trace = serving::read_trace(file);
    if (!trace.ok()) continue;
    double last_s = 0;
    for (const auto& row : trace->rows) {
      WM_CHECK(row.at_s >= last_s && row.input_tokens >= 0 && row.output_tokens >= 0);
      last_s = row.at_s;
    }
  }
  (void)serving::parse_scripted_answers(text, "x").ok();
  return 0;
}
