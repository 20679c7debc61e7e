#include "evaluate/generate/jpeg.h"

#include <dlfcn.h>

namespace warpmark::evaluate {
namespace {

/// The four functions of TurboJPEG's API (version 1.2 and newer, whose signatures are kept) that compressing takes.
struct TurboJpeg {
  void* (*init)() = nullptr;
  int (*compress)(void*, const unsigned char*, int, int, int, int, unsigned char**, unsigned long*, int, int,
                  int) = nullptr;
  int (*destroy)(void*) = nullptr;
  void (*release)(unsigned char*) = nullptr;
  [[nodiscard]] bool complete() const { return init && compress && destroy && release; }
};

TurboJpeg load_turbo_jpeg() {
  TurboJpeg jpeg;
  void* library = ::dlopen("libturbojpeg.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return jpeg;
  jpeg.init = reinterpret_cast<decltype(jpeg.init)>(::dlsym(library, "tjInitCompress"));
  jpeg.compress = reinterpret_cast<decltype(jpeg.compress)>(::dlsym(library, "tjCompress2"));
  jpeg.destroy = reinterpret_cast<decltype(jpeg.destroy)>(::dlsym(library, "tjDestroy"));
  jpeg.release = reinterpret_cast<decltype(jpeg.release)>(::dlsym(library, "tjFree"));
  return jpeg;
}

}  // namespace

Result<std::string> jpeg_of(const std::string& pixels, int width, int height, int quality) {
  static const TurboJpeg jpeg = load_turbo_jpeg();
  if (!jpeg.complete()) {
    return environment_error("JPEG files need libturbojpeg, which is not installed",
                             "apt install libturbojpeg0 (Ubuntu: libturbojpeg), or make PNG files");
  }
  constexpr int kRgb = 0, kHalfColour = 2;  // TJPF_RGB, TJSAMP_420
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

}  // namespace warpmark::evaluate
