// What a model is made of, by arithmetic on its shapes alone: what the worker counts in the real module must be equal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/params.h"

namespace warpmark::workloads {

/// Sizes of a preset by name, as the worker builds from; `rows` are those of DLRM's tables.
struct ModelShape {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> hots{};  ///< rows of a sample in each of these tables; empty: one
  std::int64_t batch = 1;
  std::int64_t tokens = 0;      ///< of one sample; 0 where it is no text
  std::int64_t parameters = 0;  ///< BERT's without its head, as it is published
  std::int64_t new_tokens = 0;  ///< that decoding makes of one sample
  double forward_flops = 0;     ///< of one sample: products and convolutions, attention in full
  double attention_flops = 0;   ///< those of them that causal attention would halve
  [[nodiscard]] std::int64_t size(const std::string& name) const;
  /// Words of a sequence or prompt, or side of an image; 0 where there is neither.
  [[nodiscard]] std::int64_t length() const;
};

/// Of a preset that the model has (model_shape.cpp). Zero `batch`, `length` and
/// `vocab` (words of the vocabulary) mean the preset's. Usage error for a length that the model does not have.
[[nodiscard]] Result<ModelShape> model_shape(const std::string& model, const std::string& preset, std::int64_t batch,
                                             std::int64_t length, std::int64_t vocab = 0);

/// Of a case: by its parameters preset, batch, length, vocab, pass and new_tokens. A pass that decodes has the
/// operations of one generation: the prompt of `length` words, then each new word after all before it.
[[nodiscard]] Result<ModelShape> model_shape(const std::string& model, const Params& params);

}  // namespace warpmark::workloads
