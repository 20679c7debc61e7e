// Data sets and traces as their makers write them:
//   ShareGPT    JSON [{"conversations":[{"from":"human","value":..}, ..]}]
//   prompts     .txt, a prompt a line; .jsonl with "prompt", "messages", or a whole request body; .csv with a column
//   Mooncake    .jsonl {"timestamp":ms,"input_length":..,"output_length":..,"hash_ids":[..]}
//   BurstGPT    .csv "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"
//   Azure       .csv "TIMESTAMP,ContextTokens,GeneratedTokens"
// Pure but for reading the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serving/traffic/api.h"

namespace warpmark::serving {

/// A prompt or a conversation of someone else.
struct DatasetRow {
  std::vector<Message> messages;   ///< of one request; of ShareGPT up to the first answer, with what the system says
  std::int64_t output_tokens = 0;  ///< 0 not told
  std::string body;                ///< a whole request body, JSON: messages are empty then
  std::vector<std::string> turns;  ///< of a conversation: question, answer, question, ...
};

struct DatasetOptions {
  std::string column = "prompt";  ///< of a .csv
  std::int64_t most_rows = 100'000;
};

/// Data error that names the line for what cannot be read, and for a file without a prompt.
[[nodiscard]] Result<std::vector<DatasetRow>> read_dataset(const std::string& path, const DatasetOptions& options = {});

struct TraceRow {
  double at_s = 0;  ///< after the first
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::vector<std::int64_t> blocks;  ///< equal numbers stand for equal blocks of the prompt
};
struct Trace {
  std::vector<TraceRow> rows;  ///< by time
  std::int64_t block_tokens = 512;
  std::int64_t left_out = 0;  ///< rows of failures, without output
  std::string format;
};

/// Told by its content. Data error that names the line.
[[nodiscard]] Result<Trace> read_trace(const std::string& path, std::int64_t most_rows = 1'000'000);

}  // namespace warpmark::serving
