// A task: which questions, how they are put, what of the answers counts, and how it is scored. Read from YAML
// (docs/accuracy.md shows one).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/scoring/examples.h"
#include "base/result.h"
#include "model/fields/names.h"

namespace warpmark::evaluate {

/// How an item is put. A text is asked for and read; or the model says how likely given texts are: each choice as the
/// text after the prompt, each choice's letter, or yes as the answer to a question.
enum class Ask { text, choices, letters, yes };
constexpr auto kAskNames = in_order(Ask::yes, "text", "choices", "letters", "yes");
constexpr Names names_of(Ask) { return kAskNames; }

/// What is taken out of an answer before it is scored.
enum class Extraction { all, first_line, letter, regex, after, code };
constexpr auto kExtractionNames = in_order(Extraction::code, "all", "first_line", "letter", "regex", "after", "code");
constexpr Names names_of(Extraction) { return kExtractionNames; }

struct TaskData {
  std::string file;  ///< relative to the task's folder
  std::string format = "auto";
  std::string split;
  std::int64_t limit = 0;  ///< the first so many; 0: all
};

struct Generation {
  std::int64_t max_tokens = 256;
  double temperature = 0;
  std::vector<std::string> stop;
  std::int64_t samples = 1;  ///< answers to each item
  bool logprobs = false;
  bool chat = true;  ///< /v1/chat/completions, else /v1/completions
};

struct Execution {
  bool enabled = false;  ///< HumanEval: prompt, answer, test, in the sandbox
  std::string interpreter = "/usr/bin/python3";
  double deadline_s = 3;
};

struct Cost {
  double per_million_input = 0;  ///< in the currency
  double per_million_output = 0;
  std::string currency = "USD";
};

struct Task {
  std::string name;
  std::string version;
  TaskData data;
  Ask ask = Ask::text;
  std::string prompt;               ///< {{field}} is replaced by the item's field; {{choices}} by its lettered choices
  std::string before_choice = " ";  ///< of choices and letters: between the prompt and the text that is weighed
  std::vector<std::string> images;  ///< of chats: templates of files beside the task, or of http and data: URLs
  std::string system;
  std::string answer = "{{reference}}";  ///< how an example's answer stands in few-shot prompts
  TaskData few_shot;                     ///< file empty: none
  std::int64_t shots = 0;
  accuracy::FieldNames fields;
  Generation generation;
  Extraction extraction = Extraction::all;
  std::string pattern;  ///< of regex (its first group, last match) and after
  Execution execution;
  std::vector<std::string> metrics;
  std::vector<std::string> variants;  ///< beside the plain one: typos, upper_case, lower_case, choice_order
  Cost cost;
};

/// Data error with the line for unknown keys and values that do not fit.
[[nodiscard]] Result<Task> parse_task(std::string_view yaml, std::string_view file);

}  // namespace warpmark::evaluate
