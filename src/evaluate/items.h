// From a task and its data to requests, and from answers to what is scored. Pure.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "evaluate/models/model.h"
#include "evaluate/task.h"

namespace warpmark::evaluate {

// Pictures that a task's questions show. An item names them by their content, so that its hash is theirs too, and they
// are read when it is asked: a task may show more than memory holds.

struct Picture {
  std::filesystem::path path;  ///< empty: `url` is an address, which the server is told as it is
  std::string url;             ///< what stands in the item's request: "sha256:..." of a file
};

/// By what the task's templates name.
using Pictures = std::map<std::string, Picture>;

/// Looks at all pictures of all examples. Environment error for one that cannot be read, data error for one that is
/// neither PNG, JPEG, GIF nor WebP.
[[nodiscard]] Result<Pictures> pictures_of(const Task& task, const std::vector<accuracy::Record>& data,
                                           const std::filesystem::path& folder);

/// The request with the files as data: URLs. Data error for a file that changed since it was looked at.
[[nodiscard]] Result<Json> with_pictures(Json request, const std::vector<Picture>& pictures);

/// The picture that a task or an answer names, relative to the folder.
[[nodiscard]] Result<Picture> picture_named(const std::string& name, const std::filesystem::path& folder);

/// One question in one variant, once for each sample, and for each choice of it that is weighed.
struct Item {
  std::size_t example = 0;  ///< place in the data
  std::string variant;      ///< empty for the plain one
  std::int64_t sample = 0;
  std::size_t part = 0;  ///< of the requests of one question
  Api api = Api::chat;
  Json request;                           ///< body of an OpenAI-compatible request, without the model's name
  std::vector<Picture> pictures = {};     ///< that the request shows; their bytes are not in it
  std::string hash;                       ///< SHA-256 of what decides the answer: request, model, sample
  std::vector<std::size_t> choice_order;  ///< of variant choice_order: the original place of each choice shown
  std::int64_t context_characters = 0;    ///< of a prompt of which the end is weighed
  std::int64_t whole_characters = 0;      ///< of the prompt with this end
};

[[nodiscard]] const std::vector<std::string>& variant_names();

/// All items, variant by variant. Data error where a template names a field that an example lacks.
[[nodiscard]] Result<std::vector<Item>> items_of(const Task& task, const std::vector<accuracy::Record>& data,
                                                 const std::vector<accuracy::Record>& shots, const std::string& model,
                                                 std::uint64_t seed, const Pictures& pictures = {});

/// The template with the example's fields.
[[nodiscard]] Result<std::string> filled_template(std::string_view text, const accuracy::Record& record);

/// Single letters exchanged, doubled, left out or swapped with their neighbours, one word in ten; numbers stay.
[[nodiscard]] std::string with_typos(std::string_view text, std::uint64_t seed);

/// What of an answer counts. Empty where nothing of it does.
[[nodiscard]] std::string extracted(const Task& task, const std::string& answer, std::size_t choices,
                                    const std::vector<std::size_t>& choice_order);

/// HumanEval's program: the prompt's code, the completion, the tests and their call.
[[nodiscard]] std::string program_of(const accuracy::Record& record, const std::string& completion);

/// The choices of a record, as lists or SQuAD-like objects name them.
[[nodiscard]] std::vector<std::string> choices_of(const accuracy::Record& record);

}  // namespace warpmark::evaluate
