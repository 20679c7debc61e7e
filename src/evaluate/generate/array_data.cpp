#include "evaluate/generate/array_data.h"

#include <fmt/format.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "stats/random.h"

namespace warpmark::evaluate {
namespace {

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
