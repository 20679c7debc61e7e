// The requests that put an item to a model: one, or one for each choice that is weighed. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "evaluate/models/model.h"
#include "evaluate/pictures.h"
#include "evaluate/task.h"

namespace warpmark::evaluate {

struct Request {
  Api api = Api::chat;
  Json body;  ///< without the model's name
  /// Of a text that is weighed: where it begins and ends in the prompt, in characters.
  std::int64_t context_characters = 0;
  std::int64_t whole_characters = 0;
};

/// `seed` and `sample` decide the request's own seed where the temperature asks for one. Data error for a task of
/// choices whose example has none.
[[nodiscard]] Result<std::vector<Request>> requests_of(const Task& task, const std::string& prompt,
                                                       const std::vector<std::string>& choices,
                                                       const std::vector<Picture>& pictures, std::uint64_t seed,
                                                       std::int64_t sample);

}  // namespace warpmark::evaluate
