// References and what systems answered, brought together: by id where both sides have ids, else by their order. An
// example without a usable answer stays, says why, and is never right.
//
// Files: .txt one example a line; .jsonl an object (or a text) a line; .json a list of objects, or an object of answers
// by id (SQuAD's predictions); .csv and .tsv with a header line; .npy with a row an example (embeddings), .safetensors
// with such an array, or with one array for each example.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace warpmark::accuracy {

/// One line or object of a file.
struct Record {
  std::string id;  ///< empty where there is none
  std::string text;
  bool has_text = false;
  std::string problem;  ///< it holds no text one could score: "is no UTF-8"
  Json fields;          ///< the object; null for plain text
  std::vector<double> embedding;
};

struct Example {
  std::string id;
  std::vector<std::string> references;
  std::string group;                  ///< examples of one group are not independent: questions on one passage
  std::vector<std::string> subjects;  ///< for tables by subject or skill; where it needs several skills, each of them
  Json fields;
  std::vector<double> embedding;
};

struct Answer {
  std::string text;
  std::string problem;  ///< why there is none; empty for an answer
  Json fields;
  std::vector<double> embedding;
  std::vector<Json> samples;  ///< where the file has several records of one id: all of them
};

struct Examples {
  std::vector<Example> examples;
  std::vector<std::string> systems;
  std::vector<std::vector<Answer>> answers;  ///< by system, then by example
  [[nodiscard]] std::size_t size() const { return examples.size(); }
  [[nodiscard]] const Answer& answer(std::size_t system, std::size_t example) const { return answers[system][example]; }
};

/// Which fields hold what. Empty names take the first of the usual ones that a file has.
struct FieldNames {
  std::string id;
  std::string reference;
  std::string output;
  std::string group;
  std::string subject;
};

/// The examples of each subject; one of several subjects is among those of each.
[[nodiscard]] std::map<std::string, std::vector<std::uint32_t>> examples_by_subject(const Examples& examples);

enum class Side { reference, output };

/// All records of a file's text; `path` tells the format and is named in errors.
[[nodiscard]] Result<std::vector<Record>> parse_records(std::string_view bytes, const std::string& path, Side side,
                                                        const FieldNames& names);
[[nodiscard]] Result<std::vector<Record>> read_records(const std::string& path, Side side, const FieldNames& names);

struct SystemRecords {
  std::string name;
  std::string path;
  std::vector<Record> records;
};

/// One reference set a file: the first tells the examples, further ones give more references of each, in the same
/// order. Data error where ids are there twice among references, or counts differ and there are no ids.
[[nodiscard]] Result<Examples> join_examples(std::vector<std::vector<Record>> references,
                                             std::vector<SystemRecords> systems, const FieldNames& names);

/// "runs/base.jsonl" is "base". Where files share a name, what differs in their paths: "runs/base/answers.jsonl" and
/// "runs/new/answers.jsonl" are "base" and "new"; whole paths where that is not enough.
[[nodiscard]] std::vector<std::string> system_names(std::span<const std::string> paths);

/// A field's text: strings as they are, numbers and booleans as JSON writes them.
[[nodiscard]] std::string field_text(const Json& value);

/// A row an example: its embedding, or its score where a row is one number.
[[nodiscard]] Result<std::vector<Record>> npy_records(std::string_view bytes, const std::string& path);

/// The tensor of this name, else the only one, as npy_records. Several tensors are an example each, with the tensor's
/// name as its id: embeddings where they have one dimension, token embeddings where they have two.
[[nodiscard]] Result<std::vector<Record>> safetensors_records(std::string_view bytes, const std::string& path,
                                                              const std::string& tensor);

}  // namespace warpmark::accuracy
