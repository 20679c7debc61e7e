// Words: numbers of a vocabulary, as lines of decimal text with an index of their places, or as 16 bits each.
#include <charconv>
#include <cstring>
#include <vector>

#include "base/files.h"
#include "stats/random.h"
#include "workloads/feeding/samples.h"

namespace warpmark::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kVocabulary = 50257;  // of GPT-2

std::uint16_t word_of(std::size_t sample, std::size_t place) {
  return static_cast<std::uint16_t>((stats::random_bits(sample, place) >> 32) % kVocabulary);
}

class WordReader final : public SampleReader {
 public:
  /// `lines`: where each begins, and the end; empty for a binary file.
  WordReader(std::size_t words, std::span<const unsigned char> bytes, std::span<const std::size_t> lines)
      : words_(words), bytes_(bytes), lines_(lines) {}

  Status read(std::size_t sample, std::span<std::byte> to) override {
    auto* out = reinterpret_cast<std::int64_t*>(to.data());
    if (lines_.empty()) {
      const unsigned char* from = bytes_.data() + sample * words_ * sizeof(std::uint16_t);
      for (std::size_t i = 0; i < words_; ++i) {
        std::uint16_t word = 0;
        std::memcpy(&word, from + i * sizeof(word), sizeof(word));
        out[i] = word;
      }
      return {};
    }
    const char* at = reinterpret_cast<const char*>(bytes_.data()) + lines_[sample];
    const char* end = reinterpret_cast<const char*>(bytes_.data()) + lines_[sample + 1];
    for (std::size_t i = 0; i < words_; ++i) {
      const auto [next, fault] = std::from_chars(at, end, out[i]);
      if (fault != std::errc()) return data_error("the file of words is damaged");
      at = next + 1;  // a space, or the end of the line
    }
    return {};
  }

 private:
  std::size_t words_;
  std::span<const unsigned char> bytes_;
  std::span<const std::size_t> lines_;
};

class WordFiles final : public SampleFiles {
 public:
  explicit WordFiles(const SampleShape& shape) : SampleFiles(shape) {}

  Status write(const fs::path& folder) {
    std::string whole;
    for (std::size_t sample = 0; sample < shape_.samples; ++sample) {
      if (shape_.form == "text") lines_.push_back(whole.size());
      for (std::size_t i = 0; i < shape_.words; ++i) {
        const std::uint16_t word = word_of(sample, i);
        if (shape_.form == "text") {
          whole += std::to_string(word);
          whole += i + 1 < shape_.words ? ' ' : '\n';
        } else {
          whole.append(reinterpret_cast<const char*>(&word), sizeof(word));
        }
      }
    }
    if (shape_.form == "text") lines_.push_back(whole.size());
    bytes_ = static_cast<double>(whole.size());
    WM_TRY(write_file(folder / "words", whole));
    return words_.open(folder / "words");
  }

  Result<std::unique_ptr<SampleReader>> reader() const override {
    return std::unique_ptr<SampleReader>(std::make_unique<WordReader>(shape_.words, words_.bytes(), lines_));
  }

  double difference(std::size_t sample, std::span<const std::byte> batch) const override {
    const auto* words = reinterpret_cast<const std::int64_t*>(batch.data());
    double wrong = 0;
    for (std::size_t i = 0; i < shape_.words; ++i) wrong += words[i] == word_of(sample, i) ? 0 : 1;
    return wrong;
  }

 private:
  std::vector<std::size_t> lines_;
  MappedFile words_;
};

}  // namespace

Result<std::unique_ptr<SampleFiles>> make_word_files(const SampleShape& shape, const fs::path& folder) {
  auto files = std::make_unique<WordFiles>(shape);
  WM_TRY(files->write(folder));
  return std::unique_ptr<SampleFiles>(std::move(files));
}

}  // namespace warpmark::workloads
