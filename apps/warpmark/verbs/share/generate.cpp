// Data made here: sequences, prompts, pictures, embeddings, tables. The same seed gives the same bytes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <ostream>
#include <tuple>

#include "base/files.h"
#include "base/pictures/jpeg.h"
#include "base/text.h"
#include "base/units.h"
#include "evaluate/generate/generated_data.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

using evaluate::EmbeddingOptions;
using evaluate::FastaOptions;
using evaluate::IdStreamOptions;
using evaluate::PictureOptions;
using evaluate::PromptOptions;

constexpr double kMost = 1e12;

struct GenerateRequest {
  std::string out = "-";
  std::optional<std::int64_t> n;
  std::uint64_t seed = 1;
  std::string tokenizer, type = "png", kind = "clicks";
  std::pair<int, int> size{224, 224};
  std::int64_t ids = 100'000;
};

Result<std::string> parse_alphabet(const std::string& text) {
  return std::string(text == "dna"       ? "ACGT"
                     : text == "rna"     ? "ACGU"
                     : text == "protein" ? "ACDEFGHIKLMNPQRSTVWY"
                                         : text);
}

Result<std::pair<int, int>> parse_picture_size(const std::string& text) {
  const auto size = split(text, 'x');
  constexpr std::int64_t kMostPixels = 16384;
  const auto side = [&](std::size_t i) -> Result<int> {
    const auto value = size.size() == 2 ? parse_integer(size[i]) : Result<std::int64_t>(usage_error(""));
    if (value.ok() && *value >= 1 && *value <= kMostPixels) return static_cast<int>(*value);
    return usage_error("--size is no size", "224x224: width and height, up to 16384 each");
  };
  WM_ASSIGN(const int width, side(0));
  WM_ASSIGN(const int height, side(1));
  return std::pair{width, height};
}

constexpr OptionSpec kGenerateOptions[] = {
    {"--out", "FILE", "where to; - is the output; of images a folder", to<&GenerateRequest::out>},
    {"--n", "N", "how many records", to<&GenerateRequest::n>.within({1, kMost})},
    {"--seed", "N", "the same seed gives the same bytes", to<&GenerateRequest::seed>.within(kNonNegative)},
    {"--length", "N", "letters of a sequence", to<&FastaOptions::length>.within({1, 100'000'000}).of("fasta")},
    {"--alphabet", "LETTERS", "letters, or 'dna' (default), 'rna', 'protein'",
     by<parse_alphabet, &FastaOptions::alphabet>.of("fasta")},
    {"--motif", "LETTERS", "planted into half of the sequences, or --motif-share of them",
     to<&FastaOptions::motif>.of("fasta")},
    {"--motif-share", "X", "share of sequences with the motif",
     to<&FastaOptions::motif_share>.within(kShare).of("fasta")},
    {"--reads", "N", "reads from the sequences instead of them",
     to<&FastaOptions::reads>.within({0, kMost}).of("fasta")},
    {"--read-length", "N", "letters of a read", to<&FastaOptions::read_length>.within({1, 100'000'000}).of("fasta")},
    {"--error-rate", "X", "share of wrong letters in reads (default 0)",
     to<&FastaOptions::error_rate>.within(kShare).of("fasta")},
    {"--tokens", "N", "tokens of each, exactly", to<&PromptOptions::tokens>.within({1, 100'000'000}).of("prompts")},
    {"--tokenizer", "FILE", "whose tokens: a tokenizer.json or vocab.json (default: words)",
     to<&GenerateRequest::tokenizer>.of("prompts")},
    {"--size", "WxH", "pixels (default 224x224)", by<parse_picture_size, &GenerateRequest::size>.of("images")},
    {"--type", "png|jpeg", "their format", to<&GenerateRequest::type>.chosen().of("images"), "png jpeg"},
    {"--quality", "N", "of JPEG, 1 to 100", to<&PictureOptions::quality>.within({1, 100}).of("images")},
    {"--width", "N", "numbers of each", to<&EmbeddingOptions::width>.within({1, 1'000'000}).of("embeddings")},
    {"--clusters", "N", "number of centres", to<&EmbeddingOptions::clusters>.within({0, kMost}).of("embeddings")},
    {"--kind", "clicks|ids", "click logs as Criteo's, or a stream of ids",
     to<&GenerateRequest::kind>.chosen().of("tabular"), "clicks ids"},
    {"--ids", "N", "different ids", to<&GenerateRequest::ids>.within({1, kMost}).of("tabular")},
    {"--exponent", "X", "of Zipf's law for the stream", to<&IdStreamOptions::exponent>.within({0, 20}).of("tabular")},
};

/// Writes pieces to the output or to a file that appears when it is whole.
class Destination {
 public:
  Destination(Context& context, std::string path) : context_(context), path_(std::move(path)) {}
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

/// Of one kind, with what all kinds have.
template <typename Made>
Result<Made> made_by(const ParsedOptions& options, const GenerateRequest& request) {
  Made made;
  WM_TRY(read_options(options, made));
  made.n = request.n.value_or(made.n);
  made.seed = request.seed;
  return made;
}

Status make_fasta(const ParsedOptions& options, const GenerateRequest& request, const evaluate::Sink& sink) {
  WM_ASSIGN(const auto made, made_by<FastaOptions>(options, request));
  return evaluate::generate_fasta(made, sink);
}

Status make_prompts(const ParsedOptions& options, const GenerateRequest& request, const evaluate::Sink& sink) {
  WM_ASSIGN(const auto made, made_by<PromptOptions>(options, request));
  std::vector<std::string> words;
  if (!request.tokenizer.empty()) {
    WM_ASSIGN(const auto text, read_file(request.tokenizer));
    WM_ASSIGN(words, evaluate::whole_word_tokens(text, request.tokenizer));
  }
  return evaluate::generate_prompts(made, words, sink);
}

Status make_embeddings(const ParsedOptions& options, const GenerateRequest& request, const evaluate::Sink& sink) {
  WM_ASSIGN(const auto made, made_by<EmbeddingOptions>(options, request));
  return evaluate::generate_embeddings(made, sink);
}

Status make_table(const ParsedOptions& options, const GenerateRequest& request, const evaluate::Sink& sink) {
  const auto n = request.n.value_or(100'000);
  if (request.kind == "clicks") {
    return evaluate::generate_clicks({.n = n, .ids = request.ids, .seed = request.seed}, sink);
  }
  WM_ASSIGN(auto made, made_by<IdStreamOptions>(options, request));
  made.n = n;
  made.ids = request.ids;
  return evaluate::generate_ids(made, sink);
}

Result<int> make_images(Context& context, const ParsedOptions& options, const GenerateRequest& request) {
  WM_ASSIGN(auto made, read_options<PictureOptions>(options));
  std::tie(made.width, made.height) = request.size;
  made.seed = request.seed;
  const auto n = request.n.value_or(100);
  const auto& type = request.type;
  if (request.out == "-") return usage_error("--out is missing", "images go into a folder");
  const fs::path folder = request.out;
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
  using Make = Status (*)(const ParsedOptions&, const GenerateRequest&, const evaluate::Sink&);
  static constexpr std::pair<const char*, Make> kKinds[] = {
      {"fasta", make_fasta}, {"prompts", make_prompts}, {"embeddings", make_embeddings}, {"tabular", make_table}};
  const auto& words = options.positionals();
  if (words.empty()) return usage_error("generate what?", "fasta, prompts, images, embeddings, tabular");
  const std::string kind = words.front();
  WM_ASSIGN(const auto request, read_options<GenerateRequest>(options));
  if (kind == "images") return make_images(context, options, request);
  for (const auto& [name, make] : kKinds) {
    if (kind != name) continue;
    if (kind == "embeddings" && request.out == "-" && context.out_is_terminal) {
      return usage_error("embeddings are not for a terminal", "name a file with --out");
    }
    Destination destination(context, request.out);
    WM_TRY(destination.open());
    const Status made = make(options, request, [&](std::string_view bytes) { return destination.write(bytes); });
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
