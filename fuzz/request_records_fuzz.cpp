// Requests of a load that was killed, as they are found again: any bytes are an error, or records that can be gone
// through.
#include <string_view>

#include "base/result.h"
#include "scratch_file.h"
#include "serving/records/request_records.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto file = warpmark::fuzz::file_with("records", {reinterpret_cast<const char*>(data), size});
  const auto records = warpmark::serving::RequestRecords::of_unfinished(file);
  if (!records.ok()) return 0;
  std::size_t count = 0;
  for (const auto& record : *records) count += record.message.size() + 1;
  WM_CHECK(count >= records->size() || !records->status().ok());
  return 0;
}
