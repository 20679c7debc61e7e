// Journals of comparisons and of searches, as they are found again: any bytes are an error, or a journal that goes on.
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/json/json.h"
#include "optimize/apply/trial_journal.h"
#include "scratch_file.h"
#include "validate/compare/compare_run.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace warpmark;
  constexpr const char* kRequest = "request";  // as the corpus has it
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto file = fuzz::file_with("journal", text);
  if (auto journal = validate::Journal::open(file, kRequest, "id", false); journal.ok()) {
    for (const auto& sample : journal->take_samples()) (void)dump_json(to_json(sample.run));
  }
  file = fuzz::file_with("journal", text);
  if (auto journal = optimize::TrialJournal::open(file, kRequest, false); journal.ok()) {
    const bool has_some = journal->known() > 0;
    const auto answer = journal->recall("question");
    WM_CHECK(!answer.ok() || !answer->has_value() || has_some);
  }
  return 0;
}
