// JPEG files, by libjpeg-turbo, which is loaded at run time where it is installed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark {

/// Of RGB pixels, 4:2:0. Environment error that says what to install where libturbojpeg is not there.
[[nodiscard]] Result<std::string> jpeg_of(const std::string& pixels, int width, int height, int quality);

/// Takes JPEG files apart, one after another; a thread has its own.
class JpegDecoder {
 public:
  /// Environment error as of jpeg_of.
  [[nodiscard]] static Result<JpegDecoder> make();
  JpegDecoder(JpegDecoder&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  JpegDecoder& operator=(JpegDecoder&&) = delete;
  ~JpegDecoder();

  /// RGB pixels, row by row. Data error where the file is damaged or not of this size.
  [[nodiscard]] Status decode(std::string_view file, int width, int height, std::span<unsigned char> pixels);

 private:
  explicit JpegDecoder(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace warpmark
