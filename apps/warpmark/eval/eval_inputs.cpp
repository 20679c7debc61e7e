#include "warpmark/eval/eval_inputs.h"

#include <algorithm>
#include <filesystem>

#include "accuracy/datasets/datasets.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "warpmark/eval/eval_parts.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

constexpr std::int64_t kMostReferenceBytes = std::int64_t{4} << 30;

Status take_ter(const ParsedOptions& options, accuracy::TercomOptions& into) {
  for (const auto& word : split(options.get("--ter"), ',')) {
    if (word == "normalized") {
      into.normalized = true;
    } else if (word == "no-punct") {
      into.punctuation = false;
    } else if (word == "asian") {
      into.asian = true;
    } else if (word == "case") {
      into.case_sensitive = true;
    } else if (!word.empty()) {
      return usage_error("--ter knows no '" + word + "'", "normalized, no-punct, asian, case");
    }
  }
  return {};
}

Result<accuracy::ScoreSettings> metric_settings(const ParsedOptions& options) {
  accuracy::ScoreSettings settings;
  settings.tokenize = options.get("--tokenize", settings.tokenize);
  settings.smooth = options.get("--smooth", settings.smooth);
  if (options.has("--smooth-value")) {
    WM_ASSIGN(settings.smooth_value, parse_number(options.get("--smooth-value")));
  }
  settings.lowercase = options.has("--lowercase");
  settings.stem = options.has("--stem");
  WM_TRY(take_ter(options, settings.ter));
  settings.positive = options.get("--positive");
  if (options.has("--tolerance")) {
    WM_ASSIGN(settings.tolerance, parse_number(options.get("--tolerance")));
    if (!(settings.tolerance >= 0)) return usage_error("--tolerance must not be negative");
  }
  if (options.has("--scale")) {
    WM_ASSIGN(settings.scale, parse_number(options.get("--scale")));
  }
  if (options.has("--level")) {
    WM_ASSIGN(settings.measurement, accuracy::measurement_from(options.get("--level")));
  }
  return settings;
}

std::string named_or_stem(const ParsedOptions& options) {
  if (options.has("--dataset")) return options.get("--dataset");
  return std::filesystem::path(options.get("--ref")).stem().string();
}

}  // namespace

Result<EvalMetrics> eval_metrics(const Context& context, const ParsedOptions& options, const std::string& names) {
  EvalMetrics result;
  WM_ASSIGN(auto settings, metric_settings(options));
  const auto list = split(names, ',');
  const auto place = accuracy::installed_wordnet(context.environment("WNSEARCHDIR"));
  if (std::find(list.begin(), list.end(), "meteor") != list.end() && !place.empty()) {
    WM_ASSIGN(auto wordnet, accuracy::WordNet::read(place));
    result.wordnet = std::make_unique<accuracy::WordNet>(std::move(wordnet));
    settings.wordnet = result.wordnet.get();
    settings.wordnet_version = "WordNet of " + place.string();
  }
  WM_ASSIGN(result.metrics, accuracy::metrics_named(list, settings));
  if (result.metrics.empty()) return usage_error("which metric?", "warpmark eval list shows them");
  return result;
}

accuracy::FieldNames eval_fields(const ParsedOptions& options) {
  return {.id = options.get("--id-field"),
          .reference = options.get("--ref-field"),
          .output = options.get("--out-field"),
          .group = options.get("--group-field"),
          .subject = options.get("--by")};
}

Result<EvalInputs> eval_inputs(Context& context, const ParsedOptions& options,
                               const std::vector<std::string>& outputs) {
  if (outputs.empty()) return usage_error("there are no answers to score", "name files with --predictions");
  const auto fields = eval_fields(options);
  EvalInputs inputs;
  std::string all_bytes;
  std::vector<std::vector<accuracy::Record>> references;
  std::vector<std::string> sources = options.all("--ref");
  const bool from_answers = sources.empty();
  if (from_answers) sources.push_back(outputs.front());
  for (const auto& source : sources) {
    WM_ASSIGN(const auto bytes, read_file(source, kMostReferenceBytes));
    WM_ASSIGN(auto records, accuracy::parse_dataset(bytes, source, options.get("--ref-format", "auto"), fields));
    for (auto& record : records) {
      if (from_answers) record.problem.clear();  // of the answer, which stands beside its references
    }
    references.push_back(std::move(records));
    all_bytes += bytes;
  }
  inputs.sha256 = sha256_hex(all_bytes);
  const auto names = accuracy::system_names(outputs);
  std::vector<accuracy::SystemRecords> systems;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    WM_ASSIGN(auto records, accuracy::read_records(outputs[i], accuracy::Side::output, fields));
    systems.push_back({names[i], outputs[i], std::move(records)});
  }
  WM_ASSIGN(inputs.examples, accuracy::join_examples(std::move(references), std::move(systems), fields));
  if (options.has("--by") && accuracy::examples_by_subject(inputs.examples).empty()) {
    return usage_error("no example has a field '" + fields.subject + "'", "--by names a field of the references");
  }
  std::vector<std::filesystem::path> folders;
  for (const std::filesystem::path path : outputs) folders.push_back(path.parent_path());
  WM_TRY(eval_embeddings(context, options, folders, inputs.examples));
  return inputs;
}

Result<accuracy::ScoreOptions> eval_score_options(const ParsedOptions& options, const std::string& sha256) {
  accuracy::ScoreOptions result;
  WM_ASSIGN(result.resample.resamples, count_of(options, "--resamples", 1000, 20, 1'000'000));
  WM_ASSIGN(const auto seed, count_of(options, "--seed", 12345, 0, INT64_MAX));
  result.resample.seed = static_cast<std::uint64_t>(seed);
  WM_ASSIGN(const double alpha, ratio_of(options, "--alpha", 0.05));
  result.resample.confidence = 1 - alpha;
  result.by_subject = options.has("--by");
  result.dataset = {.name = named_or_stem(options),
                    .version = options.get("--dataset-version"),
                    .split = options.get("--split"),
                    .sha256 = sha256};
  result.model = {.model = options.get("--model"), .version = options.get("--model-version")};
  return result;
}

}  // namespace warpmark::apps
