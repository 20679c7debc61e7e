#include "evaluate/generate/generated_data.h"

#include <fmt/format.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "stats/random.h"

namespace warpmark::evaluate {
namespace {

using stats::derive_seed;
using stats::Random;
using stats::random_unit;

constexpr std::size_t kPiece = 1 << 16;

/// Gathers small records to pieces worth writing.
class Pieces {
 public:
  explicit Pieces(const Sink& sink) : sink_(sink) {}
  [[nodiscard]] Status add(std::string_view bytes) {
    buffer_ += bytes;
    return buffer_.size() < kPiece ? Status() : flush();
  }
  [[nodiscard]] Status flush() {
    const Status done = buffer_.empty() ? Status() : sink_(buffer_);
    buffer_.clear();
    return done;
  }

 private:
  const Sink& sink_;
  std::string buffer_;
};

std::uint64_t below(Random& random, std::size_t n) { return ((random() >> 32) * n) >> 32; }

std::string sequence_of(const FastaOptions& options, std::int64_t i) {
  Random random(derive_seed(options.seed, static_cast<std::uint64_t>(i)));
  std::string letters(static_cast<std::size_t>(options.length), ' ');
  for (char& letter : letters) letter = options.alphabet[below(random, options.alphabet.size())];
  if (!options.motif.empty() &&
      random_unit(options.seed ^ 0x6D6F746966ULL, static_cast<std::uint64_t>(i)) < options.motif_share) {
    const auto at = below(random, letters.size() - options.motif.size() + 1);
    letters.replace(at, options.motif.size(), options.motif);
  }
  return letters;
}

std::string read_of(const FastaOptions& options, std::int64_t i) {
  Random random(derive_seed(derive_seed(options.seed, 0x72656164ULL), static_cast<std::uint64_t>(i)));
  const auto source = static_cast<std::int64_t>(below(random, static_cast<std::size_t>(options.n)));
  const std::string whole = sequence_of(options, source);
  const auto length = static_cast<std::size_t>(options.read_length);
  const auto at = below(random, whole.size() - length + 1);
  std::string read = whole.substr(at, length);
  for (char& letter : read) {
    if (static_cast<double>(random() >> 11) * 0x1p-53 >= options.error_rate) continue;
    const auto place = options.alphabet.find(letter);
    // Another letter, each with the same chance.
    letter = options.alphabet[(place + 1 + below(random, options.alphabet.size() - 1)) % options.alphabet.size()];
  }
  return fmt::format(">read_{:06} synthetic_{:06}:{}\n{}\n", i, source, at, read);
}

Status check_fasta(const FastaOptions& options) {
  if (options.alphabet.size() < 2) return usage_error("an alphabet needs two letters or more");
  if (static_cast<std::int64_t>(options.motif.size()) > options.length) {
    return usage_error(fmt::format("the motif of {} letters is longer than the sequences of {}", options.motif.size(),
                                   options.length));
  }
  if (options.reads > 0 && options.read_length > options.length) {
    return usage_error(
        fmt::format("reads of {} letters are longer than the sequences of {}", options.read_length, options.length));
  }
  return {};
}

/// Words for prompts without a tokenizer.
const std::vector<std::string>& plain_words() {
  static const std::vector<std::string> words{
      "the",    "a",     "model", "memory", "reads", "writes", "each",   "block", "of",    "data", "and",
      "then",   "waits", "for",   "other",  "work",  "to",     "finish", "while", "every", "step", "moves",
      "some",   "rows",  "from",  "one",    "side",  "with",   "care",   "or",    "speed", "as",   "long",
      "time",   "goes",  "by",    "small",  "large", "first",  "last",   "next",  "more",  "less", "than",
      "before", "after", "they",  "share",  "tasks", "in",     "order"};
  return words;
}

/// Zipf-distributed ranks from 1.
class Zipf {
 public:
  Zipf(std::int64_t n, double exponent) : n_(static_cast<double>(n)), s_(exponent) {
    from_ = integral(1.5) - 1;
    to_ = integral(n_ + 0.5);
    near_ = 2 - inverse(integral(2.5) - std::pow(2.0, -s_));
  }
  [[nodiscard]] std::int64_t draw(Random& random) const {
    for (;;) {
      const double u = to_ + static_cast<double>(random() >> 11) * 0x1p-53 * (from_ - to_);
      const double x = inverse(u);
      const double k = std::clamp(std::floor(x + 0.5), 1.0, n_);
      if (k - x <= near_ || u >= integral(k + 0.5) - std::pow(k, -s_)) return static_cast<std::int64_t>(k);
    }
  }

 private:
  /// Integral of x^-s, and back, with the logarithm where s is 1.
  [[nodiscard]] double integral(double x) const {
    const double log_x = std::log(x), e = (1 - s_) * log_x;
    return std::fabs(e) > 1e-8 ? std::expm1(e) / (1 - s_) : log_x * (1 + e / 2);
  }
  [[nodiscard]] double inverse(double y) const {
    const double t = std::max(y * (1 - s_), -1.0);
    return std::exp(std::fabs(t) > 1e-8 ? std::log1p(t) / (1 - s_) : y * (1 - t / 2));
  }
  double n_, s_;
  double from_ = 0, to_ = 0, near_ = 0;
};

double normal_draw(Random& random) {
  const auto unit = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  constexpr double kTwoPi = 6.283185307179586;
  const double radius = std::sqrt(-2 * std::log(unit()));
  return radius * std::cos(kTwoPi * unit());
}

using stats::derive_seed;
using stats::Random;

double unit_of(Random& random) { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; }

/// A direction: independent normal values, scaled to length 1.
std::vector<double> random_direction(std::uint64_t seed, std::int64_t width) {
  Random random(seed);
  std::vector<double> values(static_cast<std::size_t>(width));
  double squares = 0;
  for (double& value : values) {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(unit_of(random)));
    value = radius * std::cos(kTwoPi * unit_of(random));
    squares += value * value;
  }
  for (double& value : values) value /= std::sqrt(squares);
  return values;
}

std::string npy_header(std::int64_t rows, std::int64_t columns) {
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  constexpr std::size_t kBefore = 10, kAlignment = 64;
  text.append(kAlignment - 1 - (kBefore + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

void append_big_endian(std::string& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((value >> shift) & 0xFF);
}

void append_chunk(std::string& png, std::string_view kind, const std::string& data) {
  append_big_endian(png, static_cast<std::uint32_t>(data.size()));
  const std::string body = std::string(kind) + data;
  png += body;
  append_big_endian(png, crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(body.data()), body.size()));
}

std::string zlib_deflated(const std::string& raw) {
  std::string out(raw.size() + raw.size() / 8 + 1024, '\0');
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_ZLIB;
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  std::string input = raw;
  stream.next_in = reinterpret_cast<std::uint8_t*>(input.data());
  stream.avail_in = static_cast<std::uint32_t>(input.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  WM_CHECK(isal_deflate(&stream) == COMP_OK && stream.avail_in == 0);
  out.resize(stream.total_out);
  return out;
}

}  // namespace

Status generate_fasta(const FastaOptions& options, const Sink& sink) {
  WM_TRY(check_fasta(options));
  Pieces pieces(sink);
  for (std::int64_t i = 0; i < (options.reads > 0 ? options.reads : options.n); ++i) {
    WM_TRY(pieces.add(options.reads > 0 ? read_of(options, i)
                                        : fmt::format(">synthetic_{:06}\n{}\n", i, sequence_of(options, i))));
  }
  return pieces.flush();
}

Result<std::vector<std::string>> whole_word_tokens(std::string_view text, const std::string& path) {
  WM_ASSIGN(const Json document, parse_json(text, path));
  const Json* vocabulary = &document;
  if (document.is_object() && document.contains("model") && document["model"].is_object() &&
      document["model"].contains("vocab")) {
    vocabulary = &document["model"]["vocab"];
  }
  if (!vocabulary->is_object()) {
    return data_error(path + " has no vocabulary by token",
                      "a tokenizer.json or vocab.json of a BPE or WordPiece model");
  }
  // Byte-level BPE writes the space before a word as U+0120, SentencePiece as U+2581; WordPiece writes none.
  constexpr std::string_view kSpaces[] = {"\xC4\xA0", "\xE2\x96\x81"};
  bool marked = false;
  for (const auto& [token, number] : vocabulary->items()) {
    for (const auto space : kSpaces) marked = marked || token.starts_with(space);
  }
  std::vector<std::string> words;
  const auto is_plain = [](std::string_view word) {
    return word.size() >= 2 && std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  };
  for (const auto& [token, number] : vocabulary->items()) {
    if (!is_plain(token)) continue;
    bool after_space = !marked;
    for (const auto space : kSpaces) after_space = after_space || vocabulary->contains(std::string(space) + token);
    if (after_space) words.push_back(token);
  }
  if (words.size() < 2) return data_error(path + " has no words that are one token each");
  std::sort(words.begin(), words.end());
  return words;
}

Status generate_prompts(const PromptOptions& options, const std::vector<std::string>& whole_words, const Sink& sink) {
  const auto& words = whole_words.empty() ? plain_words() : whole_words;
  Pieces pieces(sink);
  for (std::int64_t i = 0; i < options.n; ++i) {
    Random random(derive_seed(options.seed, static_cast<std::uint64_t>(i)));
    std::string prompt;
    for (std::int64_t t = 0; t < options.tokens; ++t) {
      if (t > 0) prompt += ' ';
      prompt += words[below(random, words.size())];
    }
    const Json line{{"id", fmt::format("prompt_{:06}", i)}, {"prompt", prompt}, {"tokens", options.tokens}};
    WM_TRY(pieces.add(dump_json(line, -1) + "\n"));
  }
  return pieces.flush();
}

Status generate_ids(const IdStreamOptions& options, const Sink& sink) {
  if (options.ids < 1) return usage_error("there must be one id or more");
  const Zipf zipf(options.ids, options.exponent);
  Random random(options.seed);
  Pieces pieces(sink);
  for (std::int64_t i = 0; i < options.n; ++i) WM_TRY(pieces.add(std::to_string(zipf.draw(random) - 1) + "\n"));
  return pieces.flush();
}

Status generate_clicks(const ClickLogOptions& options, const Sink& sink) {
  if (options.ids < 1) return usage_error("there must be one id or more");
  constexpr double kZipfExponent = 1.1, kMissing = 0.125;
  const Zipf zipf(options.ids, kZipfExponent);
  Pieces pieces(sink);
  for (std::int64_t i = 0; i < options.n; ++i) {
    Random random(derive_seed(options.seed, static_cast<std::uint64_t>(i)));
    const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    std::string line = unit() < options.click_rate ? "1" : "0";
    for (std::int64_t c = 0; c < options.dense; ++c) {
      line += '\t';
      const double value = std::floor(std::exp(1 + 1.5 * normal_draw(random)));
      if (unit() >= kMissing) line += std::to_string(static_cast<std::int64_t>(std::min(value, 1e9)));
    }
    for (std::int64_t c = 0; c < options.sparse; ++c) {
      const auto rank = static_cast<std::uint64_t>(zipf.draw(random));
      line += fmt::format("\t{:08x}", stats::random_bits(static_cast<std::uint64_t>(c), rank) & 0xFFFFFFFFU);
    }
    WM_TRY(pieces.add(line + "\n"));
  }
  return pieces.flush();
}

Status generate_embeddings(const EmbeddingOptions& options, const Sink& sink) {
  if (options.n < 1 || options.width < 1) return usage_error("embeddings need a row and a column or more");
  WM_TRY(sink(npy_header(options.n, options.width)));
  std::vector<float> row(static_cast<std::size_t>(options.width));
  for (std::int64_t i = 0; i < options.n; ++i) {
    auto values = random_direction(derive_seed(options.seed, static_cast<std::uint64_t>(i)), options.width);
    if (options.clusters > 0) {
      const auto cluster = stats::random_bits(options.seed, static_cast<std::uint64_t>(i)) %
                           static_cast<std::uint64_t>(options.clusters);
      const auto centre = random_direction(derive_seed(~options.seed, cluster), options.width);
      double squares = 0;
      for (std::size_t c = 0; c < values.size(); ++c) {
        values[c] = centre[c] + options.spread * values[c];
        squares += values[c] * values[c];
      }
      for (double& value : values) value /= std::sqrt(squares);
    }
    std::transform(values.begin(), values.end(), row.begin(), [](double value) { return static_cast<float>(value); });
    WM_TRY(sink({reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float)}));
  }
  return {};
}

std::string picture_pixels(const PictureOptions& options, std::int64_t number) {
  Random random(derive_seed(options.seed, static_cast<std::uint64_t>(number)));
  constexpr int kShapes = 6, kChannels = 3;
  constexpr double kNoise = 12;
  struct Shape {
    double x, y, radius, colour[kChannels];
  };
  double corner[4][kChannels];
  for (auto& colours : corner) {
    for (double& colour : colours) colour = 255 * unit_of(random);
  }
  Shape shapes[kShapes];
  for (auto& shape : shapes) {
    shape = {unit_of(random), unit_of(random), 0.05 + 0.25 * unit_of(random), {}};
    for (double& colour : shape.colour) colour = 255 * unit_of(random);
  }
  std::string pixels;
  pixels.reserve(static_cast<std::size_t>(options.width) * static_cast<std::size_t>(options.height) * kChannels);
  for (int y = 0; y < options.height; ++y) {
    for (int x = 0; x < options.width; ++x) {
      const double u = (x + 0.5) / options.width, v = (y + 0.5) / options.height;
      for (int c = 0; c < kChannels; ++c) {
        double value =
            (1 - v) * ((1 - u) * corner[0][c] + u * corner[1][c]) + v * ((1 - u) * corner[2][c] + u * corner[3][c]);
        for (const auto& shape : shapes) {
          if ((u - shape.x) * (u - shape.x) + (v - shape.y) * (v - shape.y) < shape.radius * shape.radius)
            value = (value + 3 * shape.colour[c]) / 4;
        }
        value += kNoise * (unit_of(random) + unit_of(random) - 1);
        pixels += static_cast<char>(static_cast<unsigned char>(std::clamp(value, 0.0, 255.0)));
      }
    }
  }
  return pixels;
}

std::string png_of(const std::string& pixels, int width, int height) {
  const std::size_t row = 3 * static_cast<std::size_t>(width);
  std::string filtered;
  filtered.reserve(pixels.size() + static_cast<std::size_t>(height));
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    filtered += '\1';  // differences to the pixel on the left
    for (std::size_t i = 0; i < row; ++i) {
      const auto at = [&](std::size_t place) { return static_cast<unsigned char>(pixels[y * row + place]); };
      filtered += static_cast<char>(at(i) - (i < 3 ? 0 : at(i - 3)));
    }
  }
  std::string png("\x89PNG\r\n\x1a\n", 8), header;
  append_big_endian(header, static_cast<std::uint32_t>(width));
  append_big_endian(header, static_cast<std::uint32_t>(height));
  header += std::string("\x08\x02\x00\x00\x00", 5);  // 8 bits, RGB
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", zlib_deflated(filtered));
  append_chunk(png, "IEND", "");
  return png;
}

}  // namespace warpmark::evaluate
