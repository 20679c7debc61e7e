// Scores of a corpus beside sacreBLEU and rouge-score, in one run on the same sentences: how many times as fast?
//
//   build/release/bench/eval_speed [SENTENCES] [FOLDER]
//
// FOLDER (default: a temporary one) keeps the corpus. Python's packages are found by PYTHONPATH; without them only our
// own times are printed. Each side reads the files and scores them, ours on all processors that it may use (taskset for
// one), the others on one; the fastest of three.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "accuracy/scoring/metric.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/subprocess.h"
#include "stats/random.h"

namespace warpmark {
namespace {

constexpr int kRepetitions = 3;

/// Words by a steep law, some with punctuation, numbers and accents, as in news.
std::string sentence(stats::Random& random) {
  static const std::vector<std::string> extra{"3.14", "1,000", "U.S.",       "café", "don't",
                                              "(as",  "it)",   "well-known", "50%"};
  std::string text;
  const auto length = 8 + random() % 35;
  for (std::uint64_t i = 0; i < length; ++i) {
    if (i > 0) text += ' ';
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    const auto rank = static_cast<std::uint64_t>(20000 * unit * unit * unit);
    if (random() % 25 == 0) {
      text += extra[random() % extra.size()];
    } else {
      for (std::uint64_t letters = 2 + rank % 8, seed = rank + 7; letters > 0; --letters, seed = seed * 31 + 11) {
        text += static_cast<char>('a' + seed % 26);
      }
    }
    if (random() % 12 == 0) text += ',';
  }
  return text + ".";
}

/// Each sentence with about one word in five changed.
std::string changed(const std::string& text, stats::Random& random) {
  std::string result;
  bool keep = true;
  for (const char c : text) {
    if (c == ' ') keep = random() % 5 != 0;
    if (keep || c == ' ') result += c;
  }
  return result;
}

double fastest_s(const std::function<void()>& work) {
  double best = 1e300;
  for (int i = 0; i < kRepetitions; ++i) {
    const auto begin = monotonic_ns();
    work();
    best = std::min(best, static_cast<double>(monotonic_ns() - begin) * 1e-9);
  }
  return best;
}

double ours_s(const std::string& metric, const std::string& folder, double& value) {
  return fastest_s([&] {
    auto references = accuracy::read_records(folder + "/ref.txt", accuracy::Side::reference, {});
    auto outputs = accuracy::read_records(folder + "/out.txt", accuracy::Side::output, {});
    const auto examples = accuracy::join_examples({*references}, {{"out", "out.txt", *outputs}}, {});
    const auto named = accuracy::metrics_named({metric}, {.stem = metric.starts_with("rouge")});
    value = accuracy::value_of(*accuracy::measure(named->front(), *examples), 0);
  });
}

/// Prints "seconds value".
constexpr const char* kPython = R"py(
import sys, time
metric, folder = sys.argv[1], sys.argv[2]
best = 1e300
for _ in range(int(sys.argv[3])):
    begin = time.perf_counter()
    ref = open(folder + "/ref.txt", encoding="utf-8").read().split("\n")[:-1]
    out = open(folder + "/out.txt", encoding="utf-8").read().split("\n")[:-1]
    if metric.startswith("rouge"):
        try:
            from rouge_score.rouge_scorer import RougeScorer
        except ImportError:
            from rouge.rouge_scorer import RougeScorer
        scorer = RougeScorer([metric], use_stemmer=True)
        value = sum(scorer.score(r, o)[metric].fmeasure for r, o in zip(ref, out)) / len(ref)
    else:
        from sacrebleu.metrics import BLEU, CHRF
        value = (BLEU() if metric == "bleu" else CHRF()).corpus_score(out, [ref]).score
    best = min(best, time.perf_counter() - begin)
print(best, value)
)py";

int run(int count, char** words) {
  const std::int64_t sentences = count > 1 ? std::atoll(words[1]) : 50'000;
  const std::string folder =
      count > 2 ? words[2] : (std::filesystem::temp_directory_path() / "warpmark-eval-speed").string();
  std::filesystem::create_directories(folder);
  stats::Random random(1);
  std::string references, outputs;
  for (std::int64_t i = 0; i < sentences; ++i) {
    const std::string text = sentence(random);
    references += text + "\n";
    outputs += changed(text, random) + "\n";
  }
  if (!write_file(folder + "/ref.txt", references).ok() || !write_file(folder + "/out.txt", outputs).ok()) return 1;
  fmt::print("{} sentences, {:.1f} MB\n", sentences, static_cast<double>(references.size()) * 1e-6);
  for (const std::string metric : {"bleu", "chrf", "rouge1", "rouge2", "rougeL"}) {
    double value = 0;
    const double ours = ours_s(metric, folder, value);
    fmt::print("{:8} {:8.3f} s  {:.6f}", metric, ours, value);
    const auto python = run_process({"/usr/bin/python3", "-c", kPython, metric, folder, metric == "bleu" ? "3" : "1"},
                                    {.deadline_s = 3600});
    if (python.ok() && python->exit_code == 0) {
      char* end = nullptr;
      const double theirs = std::strtod(python->out.c_str(), &end), their_value = std::strtod(end, nullptr);
      fmt::print("   Python {:8.3f} s  {:.6f}   {:.0f} times", theirs, their_value, theirs / ours);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace warpmark

int main(int count, char** words) { return warpmark::run(count, words); }
