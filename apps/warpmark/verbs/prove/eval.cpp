// Scores of answers, comparisons of systems, and running tasks: the verb and its options.
#include <algorithm>

#include "base/text.h"
#include "warpmark/command.h"
#include "warpmark/eval/eval_inputs.h"
#include "warpmark/eval/eval_parts.h"

namespace warpmark::apps {
namespace {

using Eval = EvalRequest;
using accuracy::DatasetFacts;
using accuracy::FieldNames;
using accuracy::ModelFacts;
using accuracy::ResampleOptions;
using accuracy::ScoreSettings;
using evaluate::RunnerOptions;

constexpr OptionSpec kEvalOptions[] = {
    {"--ref", "FILE", "references: txt, jsonl, json, csv, tsv, npy, safetensors; again for more of each example",
     to<&Eval::references>.of("score, compare")},
    {"--predictions", "FILE", "answers of a system; again, or further files after it, for more",
     to<&Eval::predictions>.of("score, compare")},
    {"--ref-format", "FORMAT", "squad, mmlu, humaneval, gsm8k, glue, genai-bench",
     to<&Eval::reference_format>.of("score, compare"), "auto squad mmlu humaneval gsm8k glue genai-bench"},
    {"--id-field", "NAME", "field of the examples' ids (default: id, qid, task_id, ...)",
     to<&FieldNames::id>.of("score, compare")},
    {"--ref-field", "NAME", "field of the references (default: references, answers, label, ...)",
     to<&FieldNames::reference>.of("score, compare")},
    {"--out-field", "NAME", "field of the answers (default: output, prediction, text, ...)",
     to<&FieldNames::output>.of("score, compare")},
    {"--group-field", "NAME", "examples with the same value are not independent (default: group, passage_id)",
     to<&FieldNames::group>.of("score, compare")},
    {"--by", "NAME", "a table by this field: subject, skill; an example with a list counts under each of it",
     to<&FieldNames::subject>.of("score, compare, run")},
    {"--metric", "NAMES", "metrics, separated by commas; pareto: one", to<&Eval::metrics>.of("compare, pareto")},
    {"--tokenize", "NAME", "BLEU: 13a, intl, zh, char, none", to<&ScoreSettings::tokenize>.of("score, compare, run"),
     "13a intl zh char none"},
    {"--smooth", "NAME", "BLEU: exp, floor, add-k, none", to<&ScoreSettings::smooth>.of("score, compare, run"),
     "exp floor add-k none"},
    {"--smooth-value", "X", "BLEU: of floor (0.1) and add-k (1)",
     to<&ScoreSettings::smooth_value>.of("score, compare, run")},
    {"--lowercase", "", "BLEU, chrF: ignore case", to<&ScoreSettings::lowercase>.of("score, compare, run")},
    {"--ter", "WORDS", "TER: normalized, no-punct, asian, case, separated by commas",
     by<parse_ter, &ScoreSettings::ter>.of("score, compare, run")},
    {"--stem", "", "ROUGE: Porter's stems, as use_stemmer=True", to<&ScoreSettings::stem>.of("score, compare, run")},
    {"--positive", "LABEL", "the class of precision, recall, F1 and AUC (default: 1)",
     to<&ScoreSettings::positive>.of("score, compare, run")},
    {"--tolerance", "X", "numeric: largest difference, relative above 1",
     to<&ScoreSettings::tolerance>.within(kNonNegative).of("score, compare, run")},
    {"--scale", "X", "PickScore, HPSv2: exp of the model's temperature",
     to<&ScoreSettings::scale>.of("score, compare, run")},
    {"--level", "NAME", "Krippendorff's alpha: nominal, ordinal, interval (default), ratio",
     by<accuracy::measurement_from, &ScoreSettings::measurement>.of("score, compare, run"),
     "nominal ordinal interval ratio"},
    {"--resamples", "N", "resamples of the bootstrap",
     to<&ResampleOptions::resamples>.within({20, 1'000'000}).of("score, compare, run")},
    {"--seed", "N", "of resampling and of tasks",
     to<&ResampleOptions::seed>.within(kNonNegative).of("score, compare, run")},
    {"--alpha", "P", "1 - confidence of intervals, and of tests (default 0.05)",
     by<parse_confidence, &ResampleOptions::confidence>.of("score, compare, run")},
    {"--dataset", "NAME", "name of the data set (default: the reference's file name)",
     to<&DatasetFacts::name>.of("score, run")},
    {"--dataset-version", "TEXT", "kept with the scores", to<&DatasetFacts::version>.of("score, run")},
    {"--split", "NAME", "kept with the scores: test, validation", to<&DatasetFacts::split>.of("score, run")},
    {"--model", "NAME", "who answered, kept with the scores; run: also asked of the endpoint",
     to<&ModelFacts::model>.of("score, run")},
    {"--model-version", "TEXT", "kept with the scores", to<&ModelFacts::version>.of("score, run")},
    {"--margin", "X", "largest loss to accept, in the metric's unit: can a larger one be ruled out?",
     to<&Eval::margin>.within(kNonNegative).of("compare")},
    {"--equivalence", "X", "largest difference either way", to<&Eval::equivalence>.within(kNonNegative).of("compare")},
    {"--again", "FILE", "a second run of the first system; shows how much its scores vary by chance",
     to<&Eval::again>.of("compare")},
    {"--warn-drop", "X", "warn of a loss above this share of the scale",
     to<&Eval::warn_drop>.within(kBetweenZeroAndOne).of("compare")},
    {"--flips", "N", "how many examples that changed to list", to<&Eval::flips>.within({0, 1'000'000}).of("compare")},
    {"--endpoint", "URL", "an OpenAI-compatible server, up to its version: http://127.0.0.1:8000/v1",
     to<&Eval::endpoint>.of("run")},
    {"--api-key-env", "NAME", "the environment variable with the server's key",
     to<&Eval::key_variable>.of("score, compare, run")},
    {"--command", "CMD", "a program that reads a request a line (JSON) and writes an answer a line: {\"text\": ...}",
     to<&Eval::command>.of("run")},
    {"--embeddings", "URL", "embeds references and answers (texts, or pictures named by 'image') by this server",
     to<&Eval::embeddings>.of("score, compare, run")},
    {"--embedding-model", "NAME", "as the server of --embeddings knows it",
     to<&Eval::embedding_model>.of("score, compare, run")},
    {"--concurrency", "N", "how many requests at once",
     to<&RunnerOptions::concurrency>.within({1, 1024}).of("score, compare, run")},
    {"--retries", "N", "of a request that failed in a way that may pass",
     to<&RunnerOptions::retries>.within({0, 1000}).of("score, compare, run")},
    {"--timeout", "TIME", "for the answer to a request",
     to<&RunnerOptions::deadline_s>.within(kPositive).of("score, compare, run")},
    {"--limit", "N", "only the first N examples", to<&Eval::limit>.within({1, 1'000'000'000}).of("run")},
    {"--run-dir", "DIR", "keeps answers as they come; the same command resumes from there (default: TASK-ID.run)",
     to<&Eval::run_folder>.of("score, compare, run")},
    {"--speed-unit", "UNIT", "of the speeds, such as tokens/s", to<&Eval::speed_unit>.of("pareto")},
    {"--plot", "FILE", "a plot, as .html or .md", to<&Eval::plot>.of("pareto")},
    {"--format", "FORMAT", "text or json", to<&Eval::format>.chosen(), "text json"},
    {"--json", "[FILE]", "write the result as JSON (warpmark.scores/1, warpmark.eval-compare/1, warpmark.table/1)"},
    {"--db", "FILE|URL", "database file or postgresql:// URL (default: WARPMARK_DB or your own file)",
     of("score, run")},
    {"--no-store", "", "do not keep the scores in the store", to<&Eval::stores>.of("score, run")},
};

Result<int> run_eval(Context& context, const ParsedOptions& options) {
  const auto& words = options.positionals();
  const std::vector<std::string> parts{"score", "compare", "run", "pareto", "list"};
  if (words.empty()) return usage_error("eval what?", "warpmark eval score|compare|run|pareto|list ...");
  const std::string& part = words.front();
  if (std::find(parts.begin(), parts.end(), part) == parts.end()) {
    const auto meant = nearest(part, parts);
    return usage_error("there is no 'eval " + part + "'",
                       meant.empty() ? "parts: " + join(parts, ", ") : "did you mean 'eval " + meant + "'?");
  }
  if (part == "list") return eval_list(context, options);
  EvalRequest request;
  auto& scores = request.scores;
  WM_TRY(read_options(options, request, request.settings, request.fields, request.runner, scores.resample,
                      scores.dataset, scores.model));
  if (part == "pareto") return eval_pareto(context, options, request);
  if (part == "score") return eval_score(context, options, request);
  return part == "compare" ? eval_compare(context, options, request) : eval_run(context, options, request);
}

}  // namespace

extern const Command eval_command{
    .id = "eval",
    .summary = "score answers, test whether a difference is significant, run tasks",
    .details =
        "score METRICS: the metrics of published tools, equal to the last digit (sacreBLEU, rouge-score, SQuAD, "
        "scikit-learn, HumanEval), each with a confidence interval and a signature of all settings. Answers are "
        "matched with references by id, else by line. Missing and damaged answers count as wrong and are listed.\n"
        "\n"
        "compare A B...: compares systems with the first one on the same examples. The kind of metric selects the "
        "test: McNemar for right and wrong, the paired t test for scores per example, approximate randomization for "
        "corpus scores. Other tests are shown for information.\n"
        "\n"
        "run TASK: asks a model, through an endpoint or a command, what the task file says, and scores the answers.\n"
        "\n"
        "pareto SCORES.json=SPEED...: the configurations that no other one beats in both speed and accuracy.\n"
        "\n"
        "list: all metrics. docs/accuracy.md helps you choose.\n"
        "\n"
        "Exit code 0: done; compare: nothing is worse. 4: compare: worse (with --margin: by more than the margin). 3: "
        "compare: undecided at this margin. 2: invalid input.",
    .options = kEvalOptions,
    .positional = {"PART", "score METRICS [FILE...], compare FILE FILE..., run TASK, pareto FILE=SPEED..., list", true,
                   "score=<files> compare=<files> run=<files> pareto=<files> list"},
    .examples =
        "warpmark eval score bleu,chrf --ref ref.txt --predictions base.txt new.txt\n"
        "warpmark eval score rougeLsum --stem --ref gold.jsonl --predictions a.jsonl\n"
        "warpmark eval score mmlu --by subject --ref mmlu.jsonl --predictions my.jsonl\n"
        "warpmark eval compare fp16.jsonl int8.jsonl --metric mmlu --margin 0.01",
    .run = run_eval,
};

}  // namespace warpmark::apps
