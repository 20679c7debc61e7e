// Data sets in the files their publishers give out, as records that tasks and scores use: each with an id, its
// references, its subject, and what a prompt needs under the publisher's names.
//
//   auto         by the extension, as scoring/examples.h says, but what is plainly one of the following is read as such
//   squad        SQuAD 1.1 and 2.0 json: one record a question; fields context, question; group: the paragraph
//   mmlu         csv without a header: question, four choices, letter; the subject from the file's name
//   humaneval    jsonl: prompt, test, entry_point, canonical_solution
//   gsm8k        jsonl: question, answer; the reference is what stands after "#### "
//   glue         tsv with a header as GLUE's dev sets: a column "label", or STS-B's "score", QQP's "is_duplicate",
//                MRPC's "Quality"; CoLA's has no header: source, label, mark, sentence
//   genai-bench  json: prompts with their skills and ratings by people
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "accuracy/scoring/examples.h"

namespace warpmark::accuracy {

[[nodiscard]] const std::vector<std::string>& dataset_formats();

/// Usage error for an unknown format; data error that names file and place for what does not fit it.
[[nodiscard]] Result<std::vector<Record>> parse_dataset(std::string_view bytes, const std::string& path,
                                                        const std::string& format, const FieldNames& names);

}  // namespace warpmark::accuracy
