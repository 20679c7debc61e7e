// Unigram language model (Kudo, ACL 2018), as T5, XLM-RoBERTa and others have it: of all ways to cut a piece into
// tokens the one whose scores sum up highest, found by Viterbi's algorithm. As Hugging Face's tokenizers do it. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serving/tokens/subwords.h"

namespace warpmark::serving {

class Unigram final : public Subwords {
 public:
  /// Data error for what is damaged, and where no token stands for unknown characters.
  [[nodiscard]] static Result<Unigram> of(const Json& model, const std::string& name);

  void encode(std::string_view piece, std::vector<std::uint32_t>& ids) const override;
  [[nodiscard]] const char* kind() const override { return "Unigram"; }

 private:
  static constexpr std::uint32_t kNoToken = 0xFFFFFFFF;

  struct Word {
    std::string text;
    std::uint32_t id;
  };
  /// The best way to here: its score, and where its last token begins.
  struct Step {
    double score = 0;
    std::size_t begin = 0;
    std::uint32_t id = kNoToken;
  };

  Status read_vocabulary(const Json& model, const std::string& name);
  void index_words();
  void extend(std::string_view piece, std::size_t begin, std::vector<Step>& ends) const;
  void add_unknown(std::string_view characters, std::vector<std::uint32_t>& ids) const;
  [[nodiscard]] std::optional<std::uint32_t> id_of(std::string_view word) const;

  std::vector<Word> words_;                    ///< sorted by their bytes, each once
  std::array<std::size_t, 257> first_{};       ///< where those with this first byte begin
  std::vector<double> scores_;                 ///< by id
  std::array<std::uint32_t, 256> byte_ids_{};  ///< of "<0x0A>", where unknown characters are written so
  std::uint32_t unknown_ = 0;
  double unknown_score_ = 0;
};

}  // namespace warpmark::serving
