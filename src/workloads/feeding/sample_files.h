// The kinds of SampleFiles, for SampleFiles::make alone.
#pragma once

#include <memory>

#include "workloads/feeding/samples.h"

namespace warpmark::workloads {

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
