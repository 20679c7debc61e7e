// Requests of a load that was killed, as they are found again: any bytes are an error, or records that can be gone
// through.
#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "base/check.h"
#include "base/files.h"
#include "serving/records/request_records.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const auto folder = warpmark::ScratchFolder::make("fuzz");
  WM_CHECK(folder.ok());
  const auto file = folder->path() / "records";
  const int written = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  WM_CHECK(::write(written, data, size) == static_cast<ssize_t>(size));
  ::close(written);
  const auto records = warpmark::serving::RequestRecords::of_unfinished(file);
  if (!records.ok()) return 0;
  std::size_t count = 0;
  for (const auto& record : *records) count += record.message.size() + 1;
  WM_CHECK(count >= records->size() || !records->status().ok());
  return 0;
}
