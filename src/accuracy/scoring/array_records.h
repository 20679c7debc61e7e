// Records out of arrays: embeddings and scores. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "accuracy/scoring/examples.h"
#include "base/result.h"

namespace warpmark::accuracy {

/// A row an example: its embedding, or its score where a row is one number.
[[nodiscard]] Result<std::vector<Record>> npy_records(std::string_view bytes, const std::string& path);

/// The tensor of this name, else the only one, as npy_records. Several tensors are an example each, with the tensor's
/// name as its id: embeddings where they have one dimension, token embeddings where they have two.
[[nodiscard]] Result<std::vector<Record>> safetensors_records(std::string_view bytes, const std::string& path,
                                                              const std::string& tensor);

}  // namespace warpmark::accuracy
