#include "workloads/models/model_presets.h"

#include <array>

#include "base/check.h"

namespace warpmark::workloads {
namespace {

// Names of the sizes of each model, in the order of its presets' numbers.
constexpr std::array kResnetSizes{"width", "blocks1", "blocks2", "blocks3", "blocks4", "size", "classes"};
constexpr std::array kBertSizes{"layers", "width", "heads", "vocab", "positions", "seq", "predictions"};
constexpr std::array kGpt2Sizes{"layers", "width", "heads", "vocab", "positions", "seq"};
constexpr std::array kLlamaSizes{"layers", "width", "heads", "kv_heads", "ffn", "vocab", "seq", "tied"};
constexpr std::array kDlrmSizes{"width", "top", "most_rows", "cross", "rank"};
constexpr std::array kVitSizes{"layers", "width", "heads", "size", "patch", "classes"};
constexpr std::array kUnet3dSizes{"width", "levels", "size", "classes"};

/// The first of these names with their numbers.
std::vector<std::pair<std::string, std::int64_t>> named(std::span<const char* const> names,
                                                        std::initializer_list<std::int64_t> numbers) {
  WM_CHECK(numbers.size() <= names.size());
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (const auto number : numbers) sizes.emplace_back(names[sizes.size()], number);
  return sizes;
}

}  // namespace

std::span<const ModelPreset> model_presets() {
  static const ModelPreset kPresets[] = {
      {"resnet50", "tiny", 8, named(kResnetSizes, {16, 1, 1, 3, 1, 32, 10})},
      {"resnet50", "base", 128, named(kResnetSizes, {64, 3, 4, 6, 3, 224, 1000})},
      {"resnet50", "large", 128, named(kResnetSizes, {64, 3, 8, 36, 3, 224, 1000})},
      {"bert", "tiny", 8, named(kBertSizes, {3, 64, 4, 256, 64, 32, 8})},
      {"bert", "base", 32, named(kBertSizes, {12, 768, 12, 30522, 512, 128, 20})},
      {"bert", "large", 32, named(kBertSizes, {24, 1024, 16, 30522, 512, 384, 57})},
      {"bert", "squad-tiny", 8, named(kBertSizes, {3, 64, 4, 256, 64, 32, 0})},
      {"bert", "squad", 32, named(kBertSizes, {12, 768, 12, 30522, 512, 384, 0})},
      {"bert", "squad-large", 32, named(kBertSizes, {24, 1024, 16, 30522, 512, 384, 0})},
      {"gpt2", "tiny", 8, named(kGpt2Sizes, {3, 64, 4, 256, 64, 32})},
      {"gpt2", "base", 16, named(kGpt2Sizes, {12, 768, 12, 50257, 1024, 1024})},
      {"gpt2", "medium", 8, named(kGpt2Sizes, {24, 1024, 16, 50257, 1024, 1024})},
      {"gpt2", "large", 4, named(kGpt2Sizes, {36, 1280, 20, 50257, 1024, 1024})},
      {"gpt2", "xl", 4, named(kGpt2Sizes, {48, 1600, 25, 50257, 1024, 1024})},
      {"llama", "tiny", 8, named(kLlamaSizes, {3, 64, 4, 2, 192, 256, 32, 1})},
      {"llama", "base", 2, named(kLlamaSizes, {16, 2048, 32, 8, 8192, 128256, 2048, 1})},
      {"llama", "large", 1, named(kLlamaSizes, {32, 4096, 32, 8, 14336, 128256, 2048, 0})},
      {"dlrm", "tiny", 64, named(kDlrmSizes, {16, 64, 1000})},
      {"dlrm", "base", 8192, named(kDlrmSizes, {128, 1024, 1000000})},
      {"dlrm", "large", 8192, named(kDlrmSizes, {128, 1024, 40000000})},
      {"dlrm", "dcnv2-tiny", 64, named(kDlrmSizes, {16, 64, 1000, 3, 32})},
      {"dlrm", "dcnv2", 8192, named(kDlrmSizes, {128, 1024, 1000000, 3, 512})},
      {"dlrm", "dcnv2-large", 8192, named(kDlrmSizes, {128, 1024, 40000000, 3, 512})},
      {"vit", "tiny", 8, named(kVitSizes, {3, 64, 4, 32, 8, 10})},
      {"vit", "base", 64, named(kVitSizes, {12, 768, 12, 224, 16, 1000})},
      {"vit", "large", 64, named(kVitSizes, {24, 1024, 16, 224, 16, 1000})},
      {"unet3d", "tiny", 2, named(kUnet3dSizes, {4, 3, 16, 3})},
      {"unet3d", "base", 2, named(kUnet3dSizes, {32, 5, 128, 3})},
      {"unet3d", "large", 1, named(kUnet3dSizes, {32, 5, 192, 3})},
  };
  return kPresets;
}

}  // namespace warpmark::workloads
