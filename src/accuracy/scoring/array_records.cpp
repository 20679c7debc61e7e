#include "accuracy/scoring/array_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "accuracy/columns.h"
#include "base/json.h"
#include "base/text.h"

namespace warpmark::accuracy {
namespace {

Result<std::vector<Record>> rows_as_records(const Column& array, const std::string& path) {
  const bool has_rows = array.numeric && !array.shape.empty() && array.shape[0] > 0;
  if (!has_rows) return data_error(path + " is no array of numbers with a row an example");
  const std::size_t rows = static_cast<std::size_t>(array.shape[0]), width = array.numbers.size() / rows;
  std::vector<Record> records(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto begin = array.numbers.begin() + static_cast<std::ptrdiff_t>(r * width);
    records[r].embedding.assign(begin, begin + static_cast<std::ptrdiff_t>(width));
    if (width == 1) {
      records[r].text = Json(records[r].embedding[0]).dump();
      records[r].has_text = true;
    }
  }
  return records;
}

Json token_rows(const Column& tensor) {
  const auto width = static_cast<std::size_t>(tensor.shape[1]);
  Json rows = Json::array();
  for (std::size_t at = 0; at + width <= tensor.numbers.size() && width > 0; at += width) {
    const auto begin = tensor.numbers.begin() + static_cast<std::ptrdiff_t>(at);
    rows.push_back(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(width)));
  }
  return rows;
}

Result<std::vector<Record>> tensors_as_records(const Columns& tensors, const std::string& path) {
  std::vector<Record> records;
  for (const auto& tensor : tensors) {
    const bool fits = tensor.numeric && (tensor.shape.size() == 1 || tensor.shape.size() == 2) &&
                      tensor.shape.size() == tensors.front().shape.size();
    if (!fits) {
      return data_error(
          fmt::format("{}: tensor '{}' is no embedding of an example as the others are", path, tensor.name),
          "one tensor with a row an example, or for each example one of [width] or [tokens, width]; a "
          "tensor among others is named with --ref-field or --out-field");
    }
    Record record{.id = tensor.name};
    if (tensor.shape.size() == 1) {
      record.embedding = tensor.numbers;
    } else {
      record.fields = Json{{"token_embeddings", token_rows(tensor)}};
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

Result<std::vector<Record>> npy_records(std::string_view bytes, const std::string& path) {
  WM_ASSIGN(const auto columns, parse_npy(bytes, path));
  return rows_as_records(columns.front(), path);
}

Result<std::vector<Record>> safetensors_records(std::string_view bytes, const std::string& path,
                                                const std::string& tensor) {
  WM_ASSIGN(const auto tensors, parse_safetensors(bytes, path));
  if (!tensor.empty()) {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const Column& one) { return one.name == tensor; });
    if (found != tensors.end()) return rows_as_records(*found, path);
    std::vector<std::string> names;
    for (const auto& one : tensors) names.push_back(one.name);
    return data_error(path + " has no tensor '" + tensor + "'", "it has: " + join(names, ", "));
  }
  return tensors.size() == 1 ? rows_as_records(tensors.front(), path) : tensors_as_records(tensors, path);
}

}  // namespace warpmark::accuracy
