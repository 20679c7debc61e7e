// References and answers in all their formats: nothing that somebody hands in may do more than be refused.
#include <cstdlib>
#include <string_view>

#include "accuracy/choice/choice.h"
#include "accuracy/datasets/datasets.h"
#include "accuracy/scoring/examples.h"
#include "accuracy/text/answers.h"
#include "accuracy/text/bleu_chrf.h"
#include "accuracy/text/rouge.h"
#include "accuracy/text/unicode.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  namespace wa = warpmark::accuracy;
  constexpr std::size_t kLongestText = 2000;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"x.txt", "x.jsonl", "x.json", "x.csv", "x.tsv", "x.npy"}) {
    for (const auto side : {wa::Side::reference, wa::Side::output}) {
      auto records = wa::parse_records(bytes, name, side, {});
      if (!records.ok()) continue;
      for (const auto& record : *records) {
        if (!wa::is_utf8(record.text)) std::abort();
      }
      if (side == wa::Side::reference) (void)wa::join_examples({*records}, {{"s", "s", *records}}, {});
    }
  }
  for (const auto& format : wa::dataset_formats()) (void)wa::parse_dataset(bytes, "x.json", format, {});
  const std::string text = wa::cleaned_utf8(bytes.substr(0, kLongestText));
  if (!wa::is_utf8(text) || !wa::is_utf8(wa::lower_case(text))) std::abort();
  for (const auto& tokenizer : wa::bleu_tokenizers()) (void)tokenizer.tokenize(text);
  const std::vector<std::string> references{text, "a reference"};
  if (wa::squad_score(references, text).exact != 1 && !wa::squad_normalized(text).empty()) std::abort();
  (void)wa::ChrfCounter({.words = 2}).count(text, references);
  (void)wa::Rouge({.kind = wa::RougeKind::lsum, .stem = true}).best_score(references, text);
  (void)wa::choice_letter(text, 4);
  (void)wa::value_of_number(wa::gsm8k_flexible(text));
  return 0;
}
