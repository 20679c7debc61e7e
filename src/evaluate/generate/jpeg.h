// JPEG files, by libjpeg-turbo, which is loaded at run time where it is installed.
#pragma once

#include <string>

#include "base/result.h"

namespace warpmark::evaluate {

/// Of RGB pixels, 4:2:0. Environment error that says what to install where libturbojpeg is not there.
[[nodiscard]] Result<std::string> jpeg_of(const std::string& pixels, int width, int height, int quality);

}  // namespace warpmark::evaluate
