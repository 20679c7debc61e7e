// What `warpmark eval run` is given: tasks, answers of endpoints and commands, and the journal of an earlier run. Any
// bytes are an error, or something that is read again as it was written.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"
#include "evaluate/models/model.h"
#include "evaluate/runner.h"
#include "evaluate/task.h"

namespace {

using namespace warpmark;

void read_journal(std::string_view text) {
  static const auto folder = ScratchFolder::make("fuzz");
  WM_CHECK(folder.ok());
  const auto file = folder->path() / "journal.jsonl";
  const int written = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  WM_CHECK(::write(written, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(written);
  std::size_t known = 0;
  {
    const auto journal = evaluate::Journal::open(file);
    if (!journal.ok()) return;
    WM_CHECK((*journal)->append("fuzz", {.text = "a"}).ok());
    known = (*journal)->size();
  }
  const auto again = evaluate::Journal::open(file);
  WM_CHECK(again.ok() && (*again)->size() == known && (*again)->find("fuzz") != nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)evaluate::parse_task(text, "input").ok();
  if (const auto json = parse_json(text, "input")) (void)evaluate::reply_of(*json).ok();
  read_journal(text);
  return 0;
}
