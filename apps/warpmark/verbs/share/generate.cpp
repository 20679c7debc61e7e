// Data made here: sequences, prompts, pictures, embeddings, tables. The same seed gives the same bytes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/pictures/jpeg.h"
#include "base/text.h"
#include "base/units.h"
#include "evaluate/generate/generated_data.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kGenerateOptions[] = {
    {"--out", "FILE", "where to; - is the output (default: -); of images a folder", false, "<files>"},
    {"--n", "N", "how many records"},
    {"--seed", "N", "the same seed gives the same bytes (default 1)"},
    {"--length", "N", "fasta: letters of a sequence (default 300)"},
    {"--alphabet", "LETTERS", "fasta: letters, or 'dna' (default), 'rna', 'protein'"},
    {"--motif", "LETTERS", "fasta: planted into half of the sequences, or --motif-share of them"},
    {"--motif-share", "X", "fasta: share of sequences with the motif (default 0.5)"},
    {"--reads", "N", "fasta: reads from the sequences instead of them"},
    {"--read-length", "N", "fasta: letters of a read (default 100)"},
    {"--error-rate", "X", "fasta: share of wrong letters in reads (default 0)"},
    {"--tokens", "N", "prompts: tokens of each, exactly (default 128)"},
    {"--tokenizer", "FILE", "prompts: whose tokens: a tokenizer.json or vocab.json (default: words)", false, "<files>"},
    {"--size", "WxH", "images: pixels (default 224x224)"},
    {"--type", "png|jpeg", "images: their format (default png)", false, "png jpeg"},
    {"--quality", "N", "images: of JPEG, 1 to 100 (default 90)"},
    {"--width", "N", "embeddings: numbers of each (default 768)"},
    {"--clusters", "N", "embeddings: number of centres"},
    {"--kind", "clicks|ids", "tabular: click logs as Criteo's (default), or a stream of ids", false, "clicks ids"},
    {"--ids", "N", "tabular: different ids (default 100000)"},
    {"--exponent", "X", "tabular: of Zipf's law for the stream (default 1.05)"},
};

/// Writes pieces to the output or to a file that appears when it is whole.
class Destination {
 public:
  Destination(Context& context, const ParsedOptions& options) : context_(context), path_(options.get("--out", "-")) {}
  ~Destination() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  Status open() {
    if (path_ == "-") return {};
    WM_TRY(check_writable(path_));
    temporary_ = temporary_for(path_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return descriptor_ >= 0 ? Status() : cannot_write();
  }

  Status write(std::string_view bytes) {
    if (context_.interrupted) return environment_error("interrupted");
    if (path_ == "-") {
      context_.out << bytes;
      return context_.out ? Status() : environment_error("the output cannot be written", "is the disk full?");
    }
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return cannot_write();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  Status finish() {
    if (path_ == "-") return {};
    const bool synced = ::fsync(descriptor_) == 0 || errno == EINVAL;
    if (!synced) return cannot_write();
    ::close(descriptor_);
    descriptor_ = -1;
    return put_in_place(temporary_, path_);
  }

 private:
  [[nodiscard]] Error cannot_write() const {
    return environment_error("cannot write " + path_ + ": " + std::strerror(errno), "choose another place");
  }
  Context& context_;
  std::string path_;
  fs::path temporary_;
  int descriptor_ = -1;
};

constexpr std::int64_t kMost = 1'000'000'000'000;

Result<std::uint64_t> seed_of(const ParsedOptions& options) {
  WM_ASSIGN(const auto seed, count_of(options, "--seed", 1, 0, INT64_MAX));
  return static_cast<std::uint64_t>(seed);
}

Result<double> share_of(const ParsedOptions& options, const char* name, double otherwise) {
  if (!options.has(name)) return otherwise;
  WM_ASSIGN(const double value, parse_ratio(options.get(name)));
  if (!(value >= 0 && value <= 1)) return usage_error(std::string(name) + " is not between 0 and 1");
  return value;
}

Status make_fasta(const ParsedOptions& options, const evaluate::Sink& sink) {
  evaluate::FastaOptions made;
  WM_ASSIGN(made.n, count_of(options, "--n", 1000, 1, kMost));
  WM_ASSIGN(made.length, count_of(options, "--length", 300, 1, 100'000'000));
  const std::string alphabet = options.get("--alphabet", "dna");
  made.alphabet = alphabet == "dna"       ? "ACGT"
                  : alphabet == "rna"     ? "ACGU"
                  : alphabet == "protein" ? "ACDEFGHIKLMNPQRSTVWY"
                                          : alphabet;
  made.motif = options.get("--motif");
  WM_ASSIGN(made.motif_share, share_of(options, "--motif-share", 0.5));
  WM_ASSIGN(made.reads, count_of(options, "--reads", 0, 0, kMost));
  WM_ASSIGN(made.read_length, count_of(options, "--read-length", 100, 1, 100'000'000));
  WM_ASSIGN(made.error_rate, share_of(options, "--error-rate", 0));
  WM_ASSIGN(made.seed, seed_of(options));
  return evaluate::generate_fasta(made, sink);
}

Status make_prompts(const ParsedOptions& options, const evaluate::Sink& sink) {
  evaluate::PromptOptions made;
  WM_ASSIGN(made.n, count_of(options, "--n", 100, 1, kMost));
  WM_ASSIGN(made.tokens, count_of(options, "--tokens", 128, 1, 100'000'000));
  WM_ASSIGN(made.seed, seed_of(options));
  std::vector<std::string> words;
  if (options.has("--tokenizer")) {
    WM_ASSIGN(const auto text, read_file(options.get("--tokenizer")));
    WM_ASSIGN(words, evaluate::whole_word_tokens(text, options.get("--tokenizer")));
  }
  return evaluate::generate_prompts(made, words, sink);
}

Status make_embeddings(const ParsedOptions& options, const evaluate::Sink& sink) {
  evaluate::EmbeddingOptions made;
  WM_ASSIGN(made.n, count_of(options, "--n", 10'000, 1, kMost));
  WM_ASSIGN(made.width, count_of(options, "--width", 768, 1, 1'000'000));
  WM_ASSIGN(made.clusters, count_of(options, "--clusters", 0, 0, kMost));
  WM_ASSIGN(made.seed, seed_of(options));
  return evaluate::generate_embeddings(made, sink);
}

Status make_table(const ParsedOptions& options, const evaluate::Sink& sink) {
  const std::string kind = options.get("--kind", "clicks");
  WM_ASSIGN(const auto n, count_of(options, "--n", 100'000, 1, kMost));
  WM_ASSIGN(const auto ids, count_of(options, "--ids", 100'000, 1, kMost));
  WM_ASSIGN(const auto seed, seed_of(options));
  if (kind == "clicks") return evaluate::generate_clicks({.n = n, .ids = ids, .seed = seed}, sink);
  if (kind != "ids") return usage_error("there is no kind '" + kind + "'", "kinds: clicks, ids");
  evaluate::IdStreamOptions made{.n = n, .ids = ids, .seed = seed};
  if (options.has("--exponent")) {
    WM_ASSIGN(made.exponent, parse_number(options.get("--exponent")));
    if (!(made.exponent >= 0 && made.exponent <= 20)) return usage_error("--exponent is not between 0 and 20");
  }
  return evaluate::generate_ids(made, sink);
}

Result<evaluate::PictureOptions> picture_options(const ParsedOptions& options) {
  evaluate::PictureOptions made;
  const auto size = split(options.get("--size", "224x224"), 'x');
  constexpr std::int64_t kMostPixels = 16384;
  const auto side = [&](std::size_t i) -> Result<int> {
    const auto value = size.size() == 2 ? parse_integer(size[i]) : Result<std::int64_t>(usage_error(""));
    if (value.ok() && *value >= 1 && *value <= kMostPixels) return static_cast<int>(*value);
    return usage_error("--size is no size", "224x224: width and height, up to 16384 each");
  };
  WM_ASSIGN(made.width, side(0));
  WM_ASSIGN(made.height, side(1));
  WM_ASSIGN(const auto quality, count_of(options, "--quality", 90, 1, 100));
  made.quality = static_cast<int>(quality);
  WM_ASSIGN(made.seed, seed_of(options));
  return made;
}

Result<int> make_images(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto made, picture_options(options));
  WM_ASSIGN(const auto n, count_of(options, "--n", 100, 1, kMost));
  const std::string type = options.get("--type", "png");
  if (type != "png" && type != "jpeg") return usage_error("there is no type '" + type + "'", "types: png, jpeg");
  if (!options.has("--out")) return usage_error("--out is missing", "images go into a folder");
  const fs::path folder = options.get("--out");
  WM_TRY(make_named_folder(folder));
  for (std::int64_t i = 0; i < n; ++i) {
    if (context.interrupted) return kInterrupted;
    const std::string pixels = evaluate::picture_pixels(made, i);
    std::string bytes;
    if (type == "png") {
      bytes = evaluate::png_of(pixels, made.width, made.height);
    } else {
      WM_ASSIGN(bytes, jpeg_of(pixels, made.width, made.height, made.quality));
    }
    WM_TRY(write_file(folder / fmt::format("synthetic_{:06}.{}", i, type == "png" ? "png" : "jpg"), bytes));
  }
  context.err << fmt::format("{} images in {}\n", n, folder.string());
  return kSuccess;
}

Result<int> run_generate(Context& context, const ParsedOptions& options) {
  using Make = Status (*)(const ParsedOptions& options, const evaluate::Sink& sink);
  static constexpr std::pair<const char*, Make> kKinds[] = {
      {"fasta", make_fasta}, {"prompts", make_prompts}, {"embeddings", make_embeddings}, {"tabular", make_table}};
  const auto& words = options.positionals();
  if (words.empty()) return usage_error("generate what?", "fasta, prompts, images, embeddings, tabular");
  const std::string kind = words.front();
  for (const auto& option : kGenerateOptions) {
    const std::string_view help = option.help;
    const auto colon = help.find(": ");
    const bool of_kind = colon != std::string_view::npos && help.find(' ') > colon;
    if (of_kind && options.has(option.name) && help.substr(0, colon) != kind) {
      return usage_error(std::string(option.name) + " is for " + std::string(help.substr(0, colon)));
    }
  }
  if (kind == "images") return make_images(context, options);
  for (const auto& [name, make] : kKinds) {
    if (kind != name) continue;
    if (kind == "embeddings" && options.get("--out", "-") == "-" && context.out_is_terminal) {
      return usage_error("embeddings are not for a terminal", "name a file with --out");
    }
    Destination destination(context, options);
    WM_TRY(destination.open());
    const Status made = make(options, [&](std::string_view bytes) { return destination.write(bytes); });
    if (!made.ok() && context.interrupted) return kInterrupted;
    WM_TRY(made);
    WM_TRY(destination.finish());
    return kSuccess;
  }
  const std::vector<std::string> kinds{"fasta", "prompts", "images", "embeddings", "tabular"};
  const auto meant = nearest(kind, kinds);
  return usage_error("there is nothing called '" + kind + "' to generate",
                     meant.empty() ? "kinds: " + join(kinds, ", ") : "did you mean '" + meant + "'?");
}

}  // namespace

extern const Command generate_command{
    .id = "generate",
    .summary = "generate data from a seed: sequences, prompts, images, embeddings, tables",
    .details =
        "Streams data of any size. The same seed gives the same bytes.\n"
        "\n"
        "fasta: sequences named synthetic_000000 ..., some with a planted motif, or reads from them with errors. "
        "prompts: JSON lines with an exact number of tokens, from words that are one token each in the given "
        "tokenizer. images: PNG or JPEG files. embeddings: a .npy file of unit vectors. tabular: click logs in "
        "Criteo's format, or a stream of Zipf-distributed ids.\n"
        "\n"
        "A file appears when it is complete.",
    .options = kGenerateOptions,
    .positional = {"KIND", "fasta, prompts, images, embeddings, tabular", false,
                   "fasta prompts images embeddings tabular"},
    .examples =
        "warpmark generate fasta --n 10000 --motif TATAAA --out genes.fasta\n"
        "warpmark generate prompts --n 500 --tokens 1024 --tokenizer tokenizer.json\n"
        "warpmark generate images --n 1000 --size 512x512 --type jpeg --out pictures\n"
        "warpmark generate tabular --kind ids --n 1000000 --ids 40000000 --out ids.txt",
    .run = run_generate,
};

}  // namespace warpmark::apps
