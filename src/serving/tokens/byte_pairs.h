// Byte pair encoding (Sennrich et al., ACL 2016; of bytes: Radford et al., 2019): neighbours are joined in the order of
// the merges, the earliest one first, until none is left. As Hugging Face's tokenizers do it. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "serving/tokens/subwords.h"

namespace warpmark::serving {

class BytePairs final : public Subwords {
 public:
  /// The "model" of a tokenizer.json. `bytes`: its words are of the 256 stand-ins that GPT-2 writes for bytes, else of
  /// characters. Data error for what is damaged or not known.
  [[nodiscard]] static Result<BytePairs> of(const Json& model, bool bytes, const std::string& name);

  /// Adds the tokens of a piece that was split off: its plain bytes, in both cases.
  void encode(std::string_view piece, std::vector<std::uint32_t>& ids) const override;
  [[nodiscard]] const char* kind() const override { return "BPE"; }

 private:
  struct Merge {
    std::uint32_t rank = 0;
    std::uint32_t id = 0;
  };
  static constexpr std::uint32_t kNoToken = 0xFFFFFFFF;

  Status read_vocabulary(const Json& model, const std::string& name);
  Status read_merges(const Json& model, const std::string& name);
  void read_alphabet();
  [[nodiscard]] std::vector<std::uint32_t> symbols_of(std::string_view piece) const;
  [[nodiscard]] const Merge* merge_of(std::uint32_t left, std::uint32_t right) const;
  [[nodiscard]] std::optional<std::uint32_t> id_of(const std::string& word) const;

  bool bytes_ = true;
  bool whole_words_first_ = false;  ///< "ignore_merges"
  bool byte_fallback_ = false;
  bool fuse_unknown_ = false;
  std::uint32_t unknown_ = kNoToken;
  std::unordered_map<std::string, std::uint32_t> vocabulary_;  ///< plain bytes
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::array<std::uint32_t, 256> byte_ids_{};  ///< of single bytes, or of "<0x0A>"
};

}  // namespace warpmark::serving
