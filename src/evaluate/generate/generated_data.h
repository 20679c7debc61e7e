// Data made of nothing but a seed: sequences, prompts, ids, tables. Streamed: memory does not grow with the size, and
// record number i depends on (seed, i) alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark::evaluate {

// Where generated data goes: a file written piece by piece that appears when it is whole, or the output.

/// Takes the next piece. An error ends the generator.
using Sink = std::function<Status(std::string_view bytes)>;

struct FastaOptions {
  std::int64_t n = 1000;
  std::int64_t length = 300;
  std::string alphabet = "ACGT";  ///< or the 20 amino acids
  std::string motif;              ///< planted once into each sequence of a share of them; empty: none
  double motif_share = 0.5;
  std::int64_t reads = 0;  ///< above 0: that many reads of `read_length` from the n sequences, in FASTQ-like ids
  std::int64_t read_length = 100;
  double error_rate = 0;  ///< of the reads' letters
  std::uint64_t seed = 1;
};
/// ">synthetic_000000" and the sequence on one line; reads are ">read_000000 synthetic_000012:57". Usage error for
/// impossible sizes.
[[nodiscard]] Status generate_fasta(const FastaOptions& options, const Sink& sink);

struct PromptOptions {
  std::int64_t n = 100;
  std::int64_t tokens = 128;  ///< of each prompt, exactly
  std::uint64_t seed = 1;
};
/// A JSON object a line: {"id", "prompt", "tokens"}. Without a tokenizer's vocabulary a token is a word between spaces;
/// with one, words that it has as whole tokens are strung together and counted by it.
[[nodiscard]] Status generate_prompts(const PromptOptions& options, const std::vector<std::string>& whole_words,
                                      const Sink& sink);

/// The words of a Hugging Face tokenizer.json (or vocab.json) that are one token both at the beginning of a text and
/// after a space; such a text of n words has n tokens whatever the merges are. Data error for other files and for
/// vocabularies without such words.
[[nodiscard]] Result<std::vector<std::string>> whole_word_tokens(std::string_view json, const std::string& path);

struct IdStreamOptions {
  std::int64_t n = 1'000'000;
  std::int64_t ids = 1'000'000;  ///< different ones
  double exponent = 1.05;        ///< of Zipf's law; 0 is uniform
  std::uint64_t seed = 1;
};
/// A number a line. Rejection inversion (Hoermann, Derflinger, ACM TOMACS 6, 1996): O(1) time and memory an id.
[[nodiscard]] Status generate_ids(const IdStreamOptions& options, const Sink& sink);

struct ClickLogOptions {
  std::int64_t n = 100'000;
  std::int64_t dense = 13;     ///< counts, log-normal, one in eight missing
  std::int64_t sparse = 26;    ///< categories by Zipf's law, as hashes
  std::int64_t ids = 100'000;  ///< of each sparse column
  double click_rate = 0.25;
  std::uint64_t seed = 1;
};
/// Tab separated as Criteo's logs: label, dense columns, sparse columns in hexadecimal.
[[nodiscard]] Status generate_clicks(const ClickLogOptions& options, const Sink& sink);

// Pictures and embeddings made of nothing but a seed.

struct EmbeddingOptions {
  std::int64_t n = 10'000;
  std::int64_t width = 768;
  std::int64_t clusters = 0;  ///< centres that vectors lie around; 0: none
  double spread = 0.3;        ///< of a cluster, its centres having length 1
  std::uint64_t seed = 1;
};
/// A .npy file of n rows of float32 of length 1 (format version 1.0).
[[nodiscard]] Status generate_embeddings(const EmbeddingOptions& options, const Sink& sink);

struct PictureOptions {
  int width = 224;
  int height = 224;
  int quality = 90;  ///< of JPEG, 1 to 100
  std::uint64_t seed = 1;
};
/// Smooth gradients, a few shapes, and noise: what compresses like a photograph and not like a flat area. Three bytes a
/// pixel, row by row.
[[nodiscard]] std::string picture_pixels(const PictureOptions& options, std::int64_t number);
/// PNG (ISO 15948), 8 bits RGB, deflated.
[[nodiscard]] std::string png_of(const std::string& pixels, int width, int height);

}  // namespace warpmark::evaluate
