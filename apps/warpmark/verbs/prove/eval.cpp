// Scores of answers, comparisons of systems, and running tasks: the verb and its options.
#include <algorithm>

#include "base/text.h"
#include "warpmark/command.h"
#include "warpmark/eval/eval_inputs.h"
#include "warpmark/eval/eval_parts.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kEvalOptions[] = {
    {"--ref", "FILE",
     "score, compare: references: txt, jsonl, json, csv, tsv, npy, safetensors; again for more of each example", true,
     "<files>"},
    {"--predictions", "FILE", "score, compare: answers of a system; again, or further files after it, for more", true,
     "<files>"},
    {"--ref-format", "FORMAT", "score, compare: squad, mmlu, humaneval, gsm8k, glue, genai-bench (default: auto)",
     false, "auto squad mmlu humaneval gsm8k glue genai-bench"},
    {"--id-field", "NAME", "score, compare: field of the examples' ids (default: id, qid, task_id, ...)"},
    {"--ref-field", "NAME", "score, compare: field of the references (default: references, answers, label, ...)"},
    {"--out-field", "NAME", "score, compare: field of the answers (default: output, prediction, text, ...)"},
    {"--group-field", "NAME",
     "score, compare: examples with the same value are not independent (default: group, passage_id)"},
    {"--by", "NAME",
     "score, compare, run: a table by this field: subject, skill; an example with a list counts under each of it"},
    {"--metric", "NAMES", "compare, pareto: metrics, separated by commas; pareto: one"},
    {"--tokenize", "NAME", "score, compare, run: BLEU: 13a (default), intl, zh, char, none", false,
     "13a intl zh char none"},
    {"--smooth", "NAME", "score, compare, run: BLEU: exp (default), floor, add-k, none", false, "exp floor add-k none"},
    {"--smooth-value", "X", "score, compare, run: BLEU: of floor (0.1) and add-k (1)"},
    {"--lowercase", "", "score, compare, run: BLEU, chrF: ignore case"},
    {"--ter", "WORDS", "score, compare, run: TER: normalized, no-punct, asian, case, separated by commas"},
    {"--stem", "", "score, compare, run: ROUGE: Porter's stems, as use_stemmer=True"},
    {"--positive", "LABEL", "score, compare, run: the class of precision, recall, F1 and AUC (default: 1)"},
    {"--tolerance", "X", "score, compare, run: numeric: largest difference, relative above 1 (default 1e-6)"},
    {"--scale", "X", "score, compare, run: PickScore, HPSv2: exp of the model's temperature (default 100)"},
    {"--level", "NAME", "score, compare, run: Krippendorff's alpha: nominal, ordinal, interval (default), ratio", false,
     "nominal ordinal interval ratio"},
    {"--resamples", "N", "score, compare, run: resamples of the bootstrap (default 1000)"},
    {"--seed", "N", "score, compare, run: of resampling and of tasks (default 12345)"},
    {"--alpha", "P", "score, compare, run: 1 - confidence of intervals, and of tests (default 0.05)"},
    {"--dataset", "NAME", "score, run: name of the data set (default: the reference's file name)"},
    {"--dataset-version", "TEXT", "score, run: kept with the scores"},
    {"--split", "NAME", "score, run: kept with the scores: test, validation"},
    {"--model", "NAME", "score, run: who answered, kept with the scores; run: also asked of the endpoint"},
    {"--model-version", "TEXT", "score, run: kept with the scores"},
    {"--margin", "X", "compare: largest loss to accept, in the metric's unit: can a larger one be ruled out?"},
    {"--equivalence", "X", "compare: largest difference either way"},
    {"--again", "FILE", "compare: a second run of the first system; shows how much its scores vary by chance", false,
     "<files>"},
    {"--warn-drop", "X", "compare: warn of a loss above this share of the scale (default 0.01)"},
    {"--flips", "N", "compare: how many examples that changed to list (default 5)"},
    {"--endpoint", "URL", "run: an OpenAI-compatible server, up to its version: http://127.0.0.1:8000/v1"},
    {"--api-key-env", "NAME", "score, compare, run: the environment variable with the server's key"},
    {"--command", "CMD",
     "run: a program that reads a request a line (JSON) and writes an answer a line: {\"text\": ...}"},
    {"--embeddings", "URL",
     "score, compare, run: embeds references and answers (texts, or pictures named by 'image') by this server"},
    {"--embedding-model", "NAME", "score, compare, run: as the server of --embeddings knows it"},
    {"--concurrency", "N", "score, compare, run: how many requests at once (default 4)"},
    {"--retries", "N", "score, compare, run: of a request that failed in a way that may pass (default 4)"},
    {"--timeout", "TIME", "score, compare, run: for the answer to a request (default 120s)"},
    {"--limit", "N", "run: only the first N examples"},
    {"--run-dir", "DIR",
     "score, compare, run: keeps answers as they come; the same command resumes from there (default: TASK-ID.run)",
     false, "<files>"},
    {"--speed-unit", "UNIT", "pareto: of the speeds, such as tokens/s"},
    {"--plot", "FILE", "pareto: a plot, as .html or .md", false, "<files>"},
    {"--format", "FORMAT", "text or json", false, "text json"},
    {"--json", "[FILE]", "write the result as JSON (warpmark.scores/1, warpmark.eval-compare/1, warpmark.table/1)",
     false, "<files>"},
    {"--db", "FILE|URL", "score, run: database file or postgresql:// URL (default: WARPMARK_DB or your own file)",
     false, "<files>"},
    {"--no-store", "", "score, run: do not keep the scores in the store"},
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
  if (part == "pareto") return eval_pareto(context, options);
  if (part == "score") return eval_score(context, options);
  return part == "compare" ? eval_compare(context, options) : eval_run(context, options);
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
