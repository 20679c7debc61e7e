#include "warpmark/eval/eval_inputs.h"

#include <algorithm>
#include <filesystem>

#include "accuracy/datasets/datasets.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "warpmark/eval/eval_parts.h"

namespace warpmark::apps {
namespace {

constexpr std::int64_t kMostReferenceBytes = std::int64_t{4} << 30;

}  // namespace

Result<accuracy::TercomOptions> parse_ter(const std::string& text) {
  accuracy::TercomOptions ter;
  for (const auto& word : split(text, ',')) {
    if (word == "normalized") {
      ter.normalized = true;
    } else if (word == "no-punct") {
      ter.punctuation = false;
    } else if (word == "asian") {
      ter.asian = true;
    } else if (word == "case") {
      ter.case_sensitive = true;
    } else if (!word.empty()) {
      return usage_error("--ter knows no '" + word + "'", "normalized, no-punct, asian, case");
    }
  }
  return ter;
}

Result<double> parse_confidence(const std::string& alpha) {
  WM_ASSIGN(const double chance, parse_ratio(alpha));
  return chance > 0 && chance < 1 ? Result<double>(1 - chance) : usage_error("--alpha must be between 0 and 1");
}

Result<accuracy::MetricSet> eval_metrics(const Context& context, const accuracy::ScoreSettings& settings,
                                         const std::string& names) {
  return accuracy::metric_set(names, settings, context.environment("WNSEARCHDIR"));
}

Result<EvalInputs> eval_inputs(Context& context, const EvalRequest& request, const std::vector<std::string>& outputs) {
  if (outputs.empty()) return usage_error("there are no answers to score", "name files with --predictions");
  const auto& fields = request.fields;
  EvalInputs inputs;
  std::string all_bytes;
  std::vector<std::vector<accuracy::Record>> references;
  auto sources = request.references;
  const bool from_answers = sources.empty();
  if (from_answers) sources.push_back(outputs.front());
  for (const auto& source : sources) {
    WM_ASSIGN(const auto bytes, read_file(source, kMostReferenceBytes));
    WM_ASSIGN(auto records, accuracy::parse_dataset(bytes, source, request.reference_format, fields));
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
  if (!fields.subject.empty() && accuracy::examples_by_subject(inputs.examples).empty()) {
    return usage_error("no example has a field '" + fields.subject + "'", "--by names a field of the references");
  }
  std::vector<std::filesystem::path> folders;
  for (const std::filesystem::path path : outputs) folders.push_back(path.parent_path());
  WM_TRY(eval_embeddings(context, request, folders, inputs.examples));
  return inputs;
}

accuracy::ScoreOptions eval_score_options(const EvalRequest& request, const std::string& sha256) {
  auto result = request.scores;
  result.by_subject = !request.fields.subject.empty();
  result.dataset.sha256 = sha256;
  if (result.dataset.name.empty() && !request.references.empty()) {
    result.dataset.name = std::filesystem::path(request.references.back()).stem().string();
  }
  return result;
}

}  // namespace warpmark::apps
