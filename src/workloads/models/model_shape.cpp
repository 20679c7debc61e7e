#include "workloads/models/model_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "base/result.h"
#include "model/transformer/transformer.h"

namespace warpmark::workloads {
namespace {

/// BERT that predicts no words has the head for SQuAD: begin and end of an answer.
struct ModelPreset {
  const char* model;
  const char* preset;
  std::int64_t batch;
  std::vector<std::pair<std::string, std::int64_t>> sizes;
};

/// Rows of MLPerf's tables for Criteo 1TB (mlcommons/training, recommendation).
constexpr std::int64_t kCriteoRows[] = {40000000, 39060,    17295,    7424,     20265,  3,     7122, 1543, 63,
                                        40000000, 3067956,  405282,   10,       2209,   11938, 155,  4,    976,
                                        14,       40000000, 40000000, 40000000, 590152, 12973, 108,  36};

/// And how many rows of each a sample has in its second version (mlcommons/training, recommendation_v2).
constexpr std::int64_t kCriteoHots[] = {3, 2, 1, 2, 6, 1, 1,  1,   1,  7,  3, 8, 1,
                                        6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1};

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

/// Parameters and operations (2 for a multiplication with its addition) gathered layer by layer.
struct Tally {
  std::int64_t parameters = 0;
  double flops = 0;
  double attentions = 0;
  void linear(std::int64_t in, std::int64_t out, std::int64_t times, bool bias = true) {
    parameters += in * out + (bias ? out : 0);
    flops += 2.0 * static_cast<double>(in * out) * static_cast<double>(times);
  }
  /// `points` of the output; `taps` of the kernel.
  void convolution(std::int64_t in, std::int64_t out, std::int64_t taps, std::int64_t points, bool bias = false) {
    linear(in * taps, out, points, false);
    parameters += bias ? out : 0;
  }
  /// A stack of layers with its norm and, where it has a vocabulary, its embedding and output layer.
  void transformer(const Transformer& model, std::int64_t seq) {
    const auto tokens = static_cast<double>(seq);
    const auto forward = forward_flops(model, tokens, tokens);
    parameters += static_cast<std::int64_t>(parameters_of(model).total());
    flops += forward.products + forward.logits;
    attentions += forward.attention;
  }
};

Transformer transformer_of(const ModelShape& s) {
  const auto size = [&](const char* name) { return static_cast<double>(s.size(name)); };
  return {.layers = size("layers"), .hidden = size("width"), .heads = size("heads")};
}

void gpt2(ModelShape& s, Tally& t) {
  Transformer model = transformer_of(s);
  model.vocabulary = static_cast<double>(s.size("vocab")), model.positions = static_cast<double>(s.size("positions"));
  t.transformer(model, s.size("seq"));
}

void bert(ModelShape& s, Tally& t) {
  const auto w = s.size("width"), seq = s.size("seq"), vocab = s.size("vocab");
  t.parameters += (vocab + s.size("positions") + 2) * w;
  t.transformer(transformer_of(s), seq);
  t.flops += 2.0 * static_cast<double>(w * w + vocab * w) * static_cast<double>(s.size("predictions"));
  if (s.size("predictions") == 0) t.flops += 2.0 * static_cast<double>(2 * w * seq);  // the span's head
}

void llama(ModelShape& s, Tally& t) {
  Transformer model = transformer_of(s);
  model.vocabulary = static_cast<double>(s.size("vocab")), model.kv_heads = static_cast<double>(s.size("kv_heads"));
  model.ffn = static_cast<double>(s.size("ffn")), model.gated = true, model.bias = false,
  model.tied = s.size("tied") != 0;
  t.transformer(model, s.size("seq"));
}

void vit(ModelShape& s, Tally& t) {
  const auto w = s.size("width"), patch = s.size("patch"), side = s.size("size") / patch;
  t.convolution(3, w, patch * patch, side * side, true);
  t.parameters += w + (side * side + 1) * w;
  t.transformer(transformer_of(s), side * side + 1);
  t.linear(w, s.size("classes"), 1);
}

void resnet(ModelShape& s, Tally& t) {
  const auto w = s.size("width");
  std::int64_t side = (s.size("size") - 1) / 2 + 1, inside = w;
  t.convolution(3, w, 49, side * side);
  t.parameters += 2 * w;
  side = (side - 1) / 2 + 1;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = w << stage;
    for (std::int64_t block = 0; block < s.size("blocks" + std::to_string(stage + 1)); ++block) {
      t.convolution(inside, width, 1, side * side);
      if (stage > 0 && block == 0) side = (side - 1) / 2 + 1;
      t.convolution(width, width, 9, side * side);
      t.convolution(width, 4 * width, 1, side * side);
      t.parameters += 2 * (width + width + 4 * width);
      if (block == 0) {
        t.convolution(inside, 4 * width, 1, side * side);
        t.parameters += 2 * 4 * width;
      }
      inside = 4 * width;
    }
  }
  t.linear(inside, s.size("classes"), 1);
}

/// Behind the first layer of the top.
void dlrm_top(Tally& t, std::int64_t top) {
  t.linear(top, top, 1);
  t.linear(top, top / 2, 1);
  t.linear(top / 2, top / 4, 1);
  t.linear(top / 4, 1, 1);
}

void dlrm(ModelShape& s, Tally& t) {
  const auto dim = s.size("width"), top = s.size("top");
  const auto vectors = static_cast<std::int64_t>(s.rows.size()) + 1;
  for (const auto rows : s.rows) t.parameters += rows * dim;
  t.linear(13, 4 * dim, 1);
  t.linear(4 * dim, 2 * dim, 1);
  t.linear(2 * dim, dim, 1);
  if (!s.hots.empty()) {
    const std::int64_t width = vectors * dim, rank = s.size("rank");
    for (std::int64_t i = 0; i < s.size("cross"); ++i) {
      t.linear(width, rank, 1, false);
      t.linear(rank, width, 1);
    }
    t.linear(width, top, 1);
    dlrm_top(t, top);
    return;
  }
  t.flops += 2.0 * static_cast<double>(vectors * vectors * dim);
  t.linear(dim + vectors * (vectors - 1) / 2, top, 1);
  dlrm_top(t, top);
}

void unet3d(ModelShape& s, Tally& t) {
  const auto w = s.size("width"), levels = s.size("levels");
  const auto width = [&](std::int64_t level) { return std::min(w << level, 10 * w); };
  const auto points = [&](std::int64_t level) {
    const std::int64_t side = s.size("size") >> level;
    return side * side * side;
  };
  const auto twice = [&](std::int64_t in, std::int64_t out, std::int64_t level) {
    t.convolution(in, out, 27, points(level));
    t.convolution(out, out, 27, points(level));
    t.parameters += 4 * out;
  };
  twice(1, w, 0);
  for (std::int64_t level = 1; level <= levels; ++level) twice(width(level - 1), width(level), level);
  for (std::int64_t level = levels - 1; level >= 0; --level) {
    t.convolution(width(level + 1), width(level), 8, points(level + 1), false);
    t.parameters += width(level);
    twice(2 * width(level), width(level), level);
  }
  t.convolution(w, s.size("classes"), 1, points(0), true);
}

constexpr std::int64_t kNewTokens = 128;  // an answer as users of servers get them, in a second or so

/// Half of the preset's words are the prompt, and the other half or 128 are new, where nothing else is asked for.
Status set_decoding(ModelShape& shape, const std::string& model, std::int64_t length, std::int64_t new_tokens) {
  const double width = static_cast<double>(shape.size("width")), layers = static_cast<double>(shape.size("layers"));
  const double seq = static_cast<double>(shape.size("seq"));
  const double head = 2 * width * static_cast<double>(shape.size("vocab"));
  const double one_word = (shape.forward_flops - shape.attention_flops) / seq;
  const std::int64_t prompt = length > 0 ? length : shape.size("seq") / 2;
  shape.new_tokens = new_tokens > 0 ? new_tokens : std::min(kNewTokens, shape.size("seq") - shape.size("seq") / 2);
  for (auto& [key, value] : shape.sizes) {
    if (key == "positions" && prompt + shape.new_tokens > value) {
      return usage_error(fmt::format("a prompt of {} and {} new words are more than the {} positions of {}", prompt,
                                     shape.new_tokens, value, model),
                         "--set length and --set new_tokens lower");
    }
    if (key == "seq") value = prompt;
  }
  const auto attention = [&](double queries, double keys) { return layers * 4 * queries * keys * width; };
  const double read = static_cast<double>(prompt);
  shape.attention_flops = attention(read, read);
  shape.forward_flops = read * (one_word - head) + head + shape.attention_flops;
  for (std::int64_t i = 1; i < shape.new_tokens; ++i) {
    shape.forward_flops += one_word + attention(1, static_cast<double>(prompt + i));
  }
  return {};
}

constexpr std::int64_t kShortestSpan = 3;  // of a text that an answer is a piece of

Status set_length(ModelShape& shape, const std::string& model, std::int64_t length) {
  if (length == 0) return {};
  const char* name = nullptr;
  for (auto& [key, value] : shape.sizes) {
    if (key != "seq" && key != "size") continue;
    name = key.c_str();
    value = length;
  }
  if (name == nullptr) return usage_error(model + " has no length", "leave out --set length");
  for (const auto& [key, value] : shape.sizes) {
    if (key == "positions" && length > value) {
      return usage_error(fmt::format("length is {}, but {} has {} positions", length, model, value));
    }
    if (key == "predictions" && length < std::max(value, kShortestSpan)) {
      return usage_error(
          fmt::format("length is {}, but {} needs {} words", length, model, std::max(value, kShortestSpan)));
    }
    const std::int64_t step = key == "patch" ? value : key == "levels" ? std::int64_t{1} << value : 1;
    if (length % step != 0) return usage_error(fmt::format("length is {}, but must divide by {}", length, step));
  }
  return {};
}

Status set_vocab(ModelShape& shape, const std::string& model, std::int64_t vocab) {
  if (vocab == 0) return {};
  const auto known =
      std::find_if(shape.sizes.begin(), shape.sizes.end(), [](const auto& item) { return item.first == "vocab"; });
  if (known == shape.sizes.end()) return usage_error(model + " has no vocabulary", "leave out --set vocab");
  if (vocab < known->second || vocab > 10'000'000) {
    return usage_error(fmt::format("vocab is {}, but the words of {} are {}", vocab, model, known->second),
                       "rows that no word uses may be added, up to 10000000 in all");
  }
  known->second = vocab;
  return {};
}

/// "tiny, base, large".
std::string presets_of(const std::string& model) {
  std::string names;
  for (const ModelPreset& known : model_presets()) {
    if (known.model == model) names += (names.empty() ? "" : ", ") + std::string(known.preset);
  }
  return names;
}

}  // namespace

std::int64_t ModelShape::size(const std::string& name) const {
  const auto found = std::find_if(sizes.begin(), sizes.end(), [&](const auto& item) { return item.first == name; });
  WM_CHECK(found != sizes.end());
  return found->second;
}

std::int64_t ModelShape::length() const {
  for (const auto& [name, value] : sizes) {
    if (name == "seq" || name == "size") return value;
  }
  return 0;
}

Result<ModelShape> model_shape(const std::string& model, const std::string& preset, std::int64_t batch,
                               std::int64_t length, std::int64_t vocab) {
  const auto presets = model_presets();
  const auto found = std::find_if(presets.begin(), presets.end(), [&](const ModelPreset& known) {
    return known.model == model && known.preset == preset;
  });
  if (found == presets.end()) return usage_error(model + " has no preset '" + preset + "'", presets_of(model));
  constexpr std::int64_t kMost = 1 << 20;  // of a batch that --sweep batch=auto asks for
  if (batch < 0 || length < 0 || batch > kMost || length > kMost) {
    return usage_error(fmt::format("batch and length are from 0 (the preset's) to {}", kMost));
  }
  ModelShape shape;
  shape.sizes = found->sizes;
  shape.batch = batch == 0 ? found->batch : batch;
  WM_TRY(set_length(shape, model, length));
  WM_TRY(set_vocab(shape, model, vocab));
  Tally tally;
  if (model == "gpt2") gpt2(shape, tally);
  if (model == "bert") bert(shape, tally);
  if (model == "llama") llama(shape, tally);
  if (model == "vit") vit(shape, tally);
  if (model == "resnet50") resnet(shape, tally);
  if (model == "unet3d") unet3d(shape, tally);
  if (model == "dlrm") {
    for (const auto rows : kCriteoRows) shape.rows.push_back(std::min(rows, shape.size("most_rows")));
    if (preset.starts_with("dcnv2")) shape.hots.assign(std::begin(kCriteoHots), std::end(kCriteoHots));
    dlrm(shape, tally);
  }
  if (model == "gpt2" || model == "bert" || model == "llama") shape.tokens = shape.size("seq");
  shape.parameters = tally.parameters;
  shape.forward_flops = tally.flops + tally.attentions;
  if (model == "gpt2" || model == "llama") shape.attention_flops = tally.attentions;
  return shape;
}

Result<ModelShape> model_shape(const std::string& model, const Params& params) {
  const std::string& preset = params.text("preset");
  const auto batch = params.integer("batch"), length = params.integer("length"), vocab = params.integer("vocab");
  if (params.text("pass") != "decode") return model_shape(model, preset, batch, length, vocab);
  if (model != "gpt2" && model != "llama") return usage_error(model + " does not decode", "gpt2 and llama do");
  WM_ASSIGN(ModelShape shape, model_shape(model, preset, batch, length, vocab));
  WM_TRY(set_decoding(shape, model, length, params.integer("new_tokens")));
  return shape;
}

}  // namespace warpmark::workloads
