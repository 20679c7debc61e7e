#include "base/pictures/jpeg.h"

#include <dlfcn.h>

namespace warpmark {
namespace {

/// Functions of TurboJPEG's API (version 1.4 and newer, whose signatures are kept).
struct TurboJpeg {
  void* (*init)() = nullptr;
  int (*compress)(void*, const unsigned char*, int, int, int, int, unsigned char**, unsigned long*, int, int,
                  int) = nullptr;
  void* (*init_decoder)() = nullptr;
  int (*read_header)(void*, const unsigned char*, unsigned long, int*, int*, int*, int*) = nullptr;
  int (*decompress)(void*, const unsigned char*, unsigned long, unsigned char*, int, int, int, int, int) = nullptr;
  int (*destroy)(void*) = nullptr;
  void (*release)(unsigned char*) = nullptr;
  [[nodiscard]] bool complete() const {
    return init && compress && init_decoder && read_header && decompress && destroy && release;
  }
};

TurboJpeg load_turbo_jpeg() {
  TurboJpeg jpeg;
  void* library = ::dlopen("libturbojpeg.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return jpeg;
  jpeg.init = reinterpret_cast<decltype(jpeg.init)>(::dlsym(library, "tjInitCompress"));
  jpeg.compress = reinterpret_cast<decltype(jpeg.compress)>(::dlsym(library, "tjCompress2"));
  jpeg.init_decoder = reinterpret_cast<decltype(jpeg.init_decoder)>(::dlsym(library, "tjInitDecompress"));
  jpeg.read_header = reinterpret_cast<decltype(jpeg.read_header)>(::dlsym(library, "tjDecompressHeader3"));
  jpeg.decompress = reinterpret_cast<decltype(jpeg.decompress)>(::dlsym(library, "tjDecompress2"));
  jpeg.destroy = reinterpret_cast<decltype(jpeg.destroy)>(::dlsym(library, "tjDestroy"));
  jpeg.release = reinterpret_cast<decltype(jpeg.release)>(::dlsym(library, "tjFree"));
  return jpeg;
}

constexpr int kRgb = 0, kHalfColour = 2;  // TJPF_RGB, TJSAMP_420

Result<const TurboJpeg*> turbo_jpeg() {
  static const TurboJpeg jpeg = load_turbo_jpeg();
  if (jpeg.complete()) return &jpeg;
  return environment_error("JPEG files need libturbojpeg, which is not installed",
                           "apt install libturbojpeg0 (Ubuntu: libturbojpeg)");
}

}  // namespace

Result<std::string> jpeg_of(const std::string& pixels, int width, int height, int quality) {
  WM_ASSIGN(const TurboJpeg* found, turbo_jpeg());
  const TurboJpeg& jpeg = *found;
  void* handle = jpeg.init();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const int failed =
      handle == nullptr || jpeg.compress(handle, reinterpret_cast<const unsigned char*>(pixels.data()), width, 0,
                                         height, kRgb, &bytes, &size, kHalfColour, quality, 0) != 0;
  std::string result = failed ? "" : std::string(reinterpret_cast<const char*>(bytes), size);
  if (bytes != nullptr) jpeg.release(bytes);
  if (handle != nullptr) jpeg.destroy(handle);
  if (failed) return environment_error("libturbojpeg could not compress a picture");
  return result;
}

Result<JpegDecoder> JpegDecoder::make() {
  WM_ASSIGN(const TurboJpeg* jpeg, turbo_jpeg());
  void* handle = jpeg->init_decoder();
  if (handle == nullptr) return environment_error("libturbojpeg has no decoder: not enough memory");
  return JpegDecoder(handle);
}

JpegDecoder::~JpegDecoder() {
  const auto jpeg = turbo_jpeg();
  if (handle_ != nullptr && jpeg.ok()) (*jpeg)->destroy(handle_);
}

Status JpegDecoder::decode(std::string_view file, int width, int height, std::span<unsigned char> pixels) {
  WM_ASSIGN(const TurboJpeg* jpeg, turbo_jpeg());
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  const auto size = static_cast<unsigned long>(file.size());
  int w = 0, h = 0, sampling = 0, colours = 0;
  if (jpeg->read_header(handle_, bytes, size, &w, &h, &sampling, &colours) != 0)
    return data_error("this is no JPEG file");
  if (w != width || h != height || pixels.size() < static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * 3) {
    return data_error("the JPEG file is of another size than it should be");
  }
  if (jpeg->decompress(handle_, bytes, size, pixels.data(), w, 0, h, kRgb, 0) != 0) {
    return data_error("the JPEG file is damaged");
  }
  return {};
}

}  // namespace warpmark
