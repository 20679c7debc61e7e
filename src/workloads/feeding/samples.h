// Samples of a data set in the forms in which loaders find them, made on the spot: pictures as JPEG files or as arrays
// that were decoded once, words as lines of text or as a binary file that is mapped. What a sample holds follows from
// its number, so that a batch can be checked.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "model/params.h"

namespace warpmark::workloads {

struct SampleShape {
  std::string form;  ///< "jpeg", "arrays", "text" or "binary"
  std::size_t samples = 0;
  int width = 0, height = 0;  ///< of the JPEG files
  int side = 0;               ///< of the pictures of a batch
  std::size_t words = 0;      ///< of a sample of text
  [[nodiscard]] bool is_picture() const { return form == "jpeg" || form == "arrays"; }
  /// Of one sample in a batch: three planes of f32, or 64-bit words.
  [[nodiscard]] std::size_t sample_bytes() const {
    return is_picture() ? std::size_t{12} * static_cast<std::size_t>(side) * static_cast<std::size_t>(side) : 8 * words;
  }
};

/// Reads samples; a thread has its own.
class SampleReader {
 public:
  virtual ~SampleReader() = default;
  /// Into `to`, of sample_bytes(): pictures cropped in the middle, resized, normalized as for ImageNet; words as
  /// numbers.
  virtual Status read(std::size_t sample, std::span<std::byte> to) = 0;
};

/// The files of a data set in a folder of its own, removed with the object.
class SampleFiles {
 public:
  /// In a new folder of `parent`, or of the one for temporary files. Environment error where files cannot be made, or
  /// without libturbojpeg for form "jpeg".
  [[nodiscard]] static Result<std::unique_ptr<SampleFiles>> make(const SampleShape& shape,
                                                                 const std::filesystem::path& parent);
  virtual ~SampleFiles() = default;
  SampleFiles(const SampleFiles&) = delete;
  SampleFiles& operator=(const SampleFiles&) = delete;

  /// Valid while the files are.
  [[nodiscard]] virtual Result<std::unique_ptr<SampleReader>> reader() const = 0;
  /// Of a sample in a batch against what it was made from: squares of differences of pixels in [0, 1] (mean over the
  /// sample), or the words that differ.
  [[nodiscard]] virtual double difference(std::size_t sample, std::span<const std::byte> batch) const = 0;
  [[nodiscard]] double bytes() const { return bytes_; }  ///< of all files that a pass reads

 protected:
  explicit SampleFiles(SampleShape shape) : shape_(std::move(shape)) {}
  SampleShape shape_;
  ScratchFolder folder_;
  double bytes_ = 0;
};

[[nodiscard]] Result<std::unique_ptr<SampleFiles>> make_picture_files(const SampleShape& shape,
                                                                      const std::filesystem::path& folder);
[[nodiscard]] Result<std::unique_ptr<SampleFiles>> make_word_files(const SampleShape& shape,
                                                                   const std::filesystem::path& folder);

/// A file mapped for reading.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  /// Environment error where it cannot be opened.
  [[nodiscard]] Status open(const std::filesystem::path& path);
  [[nodiscard]] std::span<const unsigned char> bytes() const { return {data_, size_}; }

 private:
  const unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace warpmark::workloads
