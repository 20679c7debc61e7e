#include "workloads/feeding/samples.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>
#include <vector>

#include "base/pictures/jpeg.h"
#include "stats/random.h"

namespace warpmark::workloads {

namespace fs = std::filesystem;

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<unsigned char*>(data_), size_);
}

Status MappedFile::open(const fs::path& path) {
  const auto failed = [&] { return environment_error("cannot map " + path.string() + ": " + std::strerror(errno)); };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || ::fstat(file, &about) != 0 || about.st_size == 0) {
    const Error error = failed();
    if (file >= 0) ::close(file);
    return error;
  }
  void* data = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_SHARED, file, 0);
  const Error error = failed();
  ::close(file);
  if (data == MAP_FAILED) return error;
  data_ = static_cast<const unsigned char*>(data);
  size_ = static_cast<std::size_t>(about.st_size);
  return {};
}

Result<std::unique_ptr<SampleFiles>> SampleFiles::make(const SampleShape& shape, const fs::path& parent) {
  WM_ASSIGN(auto folder, ScratchFolder::make("samples", parent));
  WM_ASSIGN(auto files,
            shape.is_picture() ? make_picture_files(shape, folder.path()) : make_word_files(shape, folder.path()));
  files->folder_ = std::move(folder);
  return files;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDifferent = 64;  // pictures; further samples show them again, from files of their own
constexpr int kQuality = 90;
constexpr int kColours = 3;
constexpr float kMean[] = {0.485F, 0.456F, 0.406F};  // of ImageNet
constexpr float kSpread[] = {0.229F, 0.224F, 0.225F};

/// RGB of the picture of a number, row by row.
std::string picture_of(std::size_t number, int width, int height) {
  constexpr double kTurn = 2 * std::numbers::pi;
  const auto wave = [&](int length, int colour, double frequency, double size) {
    std::vector<double> values(static_cast<std::size_t>(length));
    const double phase = 0.7 * static_cast<double>(number) + 1.9 * colour;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = size * std::sin(kTurn * frequency * static_cast<double>(i) / length + phase);
    }
    return values;
  };
  std::string pixels(static_cast<std::size_t>(width * height * kColours), '\0');
  for (int colour = 0; colour < kColours; ++colour) {
    const auto across = wave(width, colour, 1 + static_cast<double>(number % 5), 60);
    const auto down = wave(height, colour + 3, 1 + static_cast<double>(number % 3), 50);
    for (std::size_t y = 0; y < down.size(); ++y) {
      for (std::size_t x = 0; x < across.size(); ++x) {
        const std::size_t place = (y * across.size() + x) * kColours + static_cast<std::size_t>(colour);
        const double noise = static_cast<double>(stats::random_bits(number, place) >> 56) / 16 - 8;
        pixels[place] =
            static_cast<char>(static_cast<unsigned char>(std::clamp(127.5 + across[x] + down[y] + noise, 0.0, 255.0)));
      }
    }
  }
  return pixels;
}

/// Bilinear, of the square in the middle: for each place of the result two of the source, and the weight of the second.
struct Axis {
  struct Pick {
    std::size_t low, high;
    float share;
  };
  Axis(int length, int square, int side) {
    const double begin = (length - square) / 2.0, scale = static_cast<double>(square) / side;
    for (int i = 0; i < side; ++i) {
      const double at = std::clamp(begin + (i + 0.5) * scale - 0.5, 0.0, static_cast<double>(length - 1));
      const auto low = static_cast<std::size_t>(at);
      picks.push_back({low, std::min(low + 1, static_cast<std::size_t>(length) - 1),
                       static_cast<float>(at - static_cast<double>(low))});
    }
  }
  std::vector<Pick> picks;
};

struct Resize {
  Resize(int image_width, int image_height, int side)
      : across(image_width, std::min(image_width, image_height), side),
        down(image_height, std::min(image_width, image_height), side),
        width(image_width) {}
  Axis across, down;
  int width;

  /// Calls put(colour, place in the plane, value in [0, 255]).
  template <typename Put>
  void run(const unsigned char* pixels, Put put) const {
    std::size_t place = 0;
    for (const auto& y : down.picks) {
      const unsigned char* above = pixels + y.low * static_cast<std::size_t>(width) * kColours;
      const unsigned char* below = pixels + y.high * static_cast<std::size_t>(width) * kColours;
      for (const auto& x : across.picks) {
        for (std::size_t c = 0; c < kColours; ++c) {
          const auto line = [&](const unsigned char* row) {
            const auto a = static_cast<float>(row[x.low * kColours + c]),
                       b = static_cast<float>(row[x.high * kColours + c]);
            return a + x.share * (b - a);
          };
          const float top = line(above);
          put(c, place, top + y.share * (line(below) - top));
        }
        ++place;
      }
    }
  }
};

float normalized(std::size_t colour, float value) { return (value / 255 - kMean[colour]) / kSpread[colour]; }

class JpegReader final : public SampleReader {
 public:
  JpegReader(JpegDecoder decoder, const SampleShape& shape, const Resize& resize, fs::path folder)
      : decoder_(std::move(decoder)),
        shape_(shape),
        resize_(resize),
        folder_(std::move(folder)),
        pixels_(static_cast<std::size_t>(shape.width * shape.height * kColours)) {}

  Status read(std::size_t sample, std::span<std::byte> to) override {
    WM_ASSIGN(const std::string file, read_file(folder_ / fmt::format("{}.jpg", sample)));
    WM_TRY(decoder_.decode(file, shape_.width, shape_.height, pixels_));
    auto* planes = reinterpret_cast<float*>(to.data());
    const auto plane = static_cast<std::size_t>(shape_.side) * static_cast<std::size_t>(shape_.side);
    resize_.run(pixels_.data(), [&](std::size_t colour, std::size_t place, float value) {
      planes[colour * plane + place] = normalized(colour, value);
    });
    return {};
  }

 private:
  JpegDecoder decoder_;
  const SampleShape& shape_;
  const Resize& resize_;
  fs::path folder_;
  std::vector<unsigned char> pixels_;
};

class ArrayReader final : public SampleReader {
 public:
  ArrayReader(const SampleShape& shape, std::span<const unsigned char> bytes) : shape_(shape), bytes_(bytes) {}

  Status read(std::size_t sample, std::span<std::byte> to) override {
    auto* planes = reinterpret_cast<float*>(to.data());
    const auto plane = static_cast<std::size_t>(shape_.side) * static_cast<std::size_t>(shape_.side);
    const unsigned char* from = bytes_.data() + sample * plane * kColours;
    for (std::size_t c = 0; c < kColours; ++c) {
      for (std::size_t i = 0; i < plane; ++i) {
        planes[c * plane + i] = normalized(c, static_cast<float>(from[i * kColours + c]));
      }
    }
    return {};
  }

 private:
  const SampleShape& shape_;
  std::span<const unsigned char> bytes_;
};

class PictureFiles final : public SampleFiles {
 public:
  explicit PictureFiles(const SampleShape& shape)
      : SampleFiles(shape), resize_(shape.width, shape.height, shape.side) {}

  Status write(const fs::path& folder) {
    place_ = folder;
    const std::size_t different = std::min(kDifferent, shape_.samples);
    std::vector<std::string> files;
    for (std::size_t i = 0; i < different; ++i) {
      const std::string pixels = picture_of(i, shape_.width, shape_.height);
      expected_.push_back(resized(pixels));
      if (shape_.form == "arrays") {
        files.push_back(rounded(expected_.back()));
        continue;
      }
      WM_ASSIGN(auto file, jpeg_of(pixels, shape_.width, shape_.height, kQuality));
      files.push_back(std::move(file));
    }
    std::string whole;
    for (std::size_t i = 0; i < shape_.samples; ++i) {
      const std::string& file = files[i % different];
      bytes_ += static_cast<double>(file.size());
      if (shape_.form == "arrays") {
        whole += file;
      } else {
        WM_TRY(write_file(folder / fmt::format("{}.jpg", i), file));
      }
    }
    if (shape_.form != "arrays") return {};
    WM_TRY(write_file(folder / "arrays.bin", whole));
    return arrays_.open(folder / "arrays.bin");
  }

  Result<std::unique_ptr<SampleReader>> reader() const override {
    if (shape_.form == "arrays") {
      return std::unique_ptr<SampleReader>(std::make_unique<ArrayReader>(shape_, arrays_.bytes()));
    }
    WM_ASSIGN(auto decoder, JpegDecoder::make());
    return std::unique_ptr<SampleReader>(std::make_unique<JpegReader>(std::move(decoder), shape_, resize_, place_));
  }

  double difference(std::size_t sample, std::span<const std::byte> batch) const override {
    const auto& right = expected_[sample % expected_.size()];
    const auto* planes = reinterpret_cast<const float*>(batch.data());
    const std::size_t plane = right.size() / kColours;
    double sum = 0;
    for (std::size_t c = 0; c < kColours; ++c) {
      for (std::size_t i = 0; i < plane; ++i) {
        const double ours = static_cast<double>(planes[c * plane + i] * kSpread[c] + kMean[c]);
        sum += (ours - right[i * kColours + c] / 255) * (ours - right[i * kColours + c] / 255);
      }
    }
    return sum / static_cast<double>(right.size());
  }

 private:
  [[nodiscard]] std::vector<double> resized(const std::string& pixels) const {
    const auto plane = static_cast<std::size_t>(shape_.side) * static_cast<std::size_t>(shape_.side);
    std::vector<double> values(plane * kColours);
    resize_.run(reinterpret_cast<const unsigned char*>(pixels.data()),
                [&](std::size_t colour, std::size_t place, float value) {
                  values[place * kColours + colour] = static_cast<double>(value);
                });
    return values;
  }
  static std::string rounded(const std::vector<double>& values) {
    std::string bytes;
    for (const double value : values) bytes += static_cast<char>(static_cast<unsigned char>(std::lround(value)));
    return bytes;
  }

  Resize resize_;
  fs::path place_;
  std::vector<std::vector<double>> expected_;
  MappedFile arrays_;
};

}  // namespace

Result<std::unique_ptr<SampleFiles>> make_picture_files(const SampleShape& shape, const fs::path& folder) {
  auto files = std::make_unique<PictureFiles>(shape);
  WM_TRY(files->write(folder));
  return std::unique_ptr<SampleFiles>(std::move(files));
}

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
