// Metrics of texts.
#include <fmt/format.h>

#include <algorithm>

#include "accuracy/choice/choice.h"
#include "accuracy/scoring/each_answer.h"
#include "accuracy/scoring/metric.h"
#include "accuracy/text/answers.h"
#include "accuracy/text/bleu_chrf.h"
#include "accuracy/text/meteor.h"
#include "accuracy/text/rouge.h"
#include "accuracy/text/ter.h"
#include "accuracy/text/unicode.h"
#include "base/text.h"

namespace warpmark::accuracy {
namespace {

Status check_references(const Examples& examples) {
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (!examples.examples[i].references.empty()) continue;
    return data_error(fmt::format("example {} has no reference", i + 1),
                      "name the field that holds it with --ref-field");
  }
  return {};
}

Result<BleuOptions> bleu_options_of(const ScoreSettings& settings) {
  BleuOptions options;
  WM_ASSIGN(options.tokenizer, bleu_tokenizer(settings.tokenize));
  WM_ASSIGN(options.smoothing, bleu_smoothing(settings.smooth));
  options.smoothing_value = settings.smooth_value;
  options.lowercase = settings.lowercase;
  options.effective_order = settings.effective_order;
  return options;
}

/// Scripts that put no spaces between words, so that a tokenizer of spaces and punctuation sees whole sentences as one.
bool is_written_without_spaces(char32_t c) {
  return (c >= 0x0E00 && c <= 0x0EFF) || (c >= 0x1000 && c <= 0x109F) || (c >= 0x1780 && c <= 0x17FF) ||
         (c >= 0x3040 && c <= 0x30FF) || (c >= 0x4E00 && c <= 0x9FFF);
}

/// Share of the first references that are mostly of such characters.
double share_without_spaces(const Examples& examples) {
  std::size_t count = 0;
  for (const auto& example : examples.examples) {
    const auto text = code_points(example.references.front());
    const auto of_them = std::count_if(text.begin(), text.end(), is_written_without_spaces);
    count += 2 * static_cast<std::size_t>(of_them) > text.size() ? 1U : 0U;
  }
  return static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(examples.size(), 1));
}

constexpr double kMany = 0.5;

std::string warning_of_bleu(const Examples& examples, const std::string& tokenize) {
  const bool by_spaces = tokenize == "13a" || tokenize == "intl" || tokenize == "none";
  if (by_spaces && share_without_spaces(examples) > kMany) {
    return "the references are in a script without spaces, and tokenizer " + tokenize +
           " takes a sentence for a word; use --tokenize char or zh";
  }
  std::size_t apart = 0, periods = 0;  // as sacreBLEU asks: " ." at the end of a line
  for (const auto& answers : examples.answers) {
    for (const auto& answer : answers) {
      const auto text = stripped(answer.text);
      periods += text.ends_with('.') ? 1U : 0U;
      apart += text.ends_with(" .") ? 1U : 0U;
    }
  }
  if (tokenize == "none" || apart == 0 || static_cast<double>(apart) < kMany * static_cast<double>(periods)) return {};
  return "the answers look tokenized already (they end with ' .'); detokenize them, or use --tokenize none";
}

std::string warning_of_rouge(const Examples& examples) {
  std::size_t count = 0;
  for (const auto& example : examples.examples) {
    const auto& text = example.references.front();
    const bool has_words = std::any_of(text.begin(), text.end(), [](char c) {
      return is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z');
    });
    count += has_words ? 0U : 1U;
  }
  if (static_cast<double>(count) <= kMany * static_cast<double>(examples.size())) return {};
  return "rouge-score splits into words of a-z and 0-9 only, and most references have none; use chrf";
}

constexpr std::size_t kBleuWidth = 2 + 2 * kBleuOrders;

void put_bleu(const BleuStatistics& statistics, std::span<double> numbers) {
  numbers[0] = static_cast<double>(statistics.hypothesis_length);
  numbers[1] = static_cast<double>(statistics.reference_length);
  for (std::size_t n = 0; n < kBleuOrders; ++n) {
    numbers[2 + n] = static_cast<double>(statistics.matches[n]);
    numbers[2 + kBleuOrders + n] = static_cast<double>(statistics.totals[n]);
  }
}

BleuStatistics bleu_statistics(std::span<const double> sums) {
  BleuStatistics statistics;
  statistics.hypothesis_length = static_cast<std::int64_t>(sums[0]);
  statistics.reference_length = static_cast<std::int64_t>(sums[1]);
  for (std::size_t n = 0; n < kBleuOrders; ++n) {
    statistics.matches[n] = static_cast<std::int64_t>(sums[2 + n]);
    statistics.totals[n] = static_cast<std::int64_t>(sums[2 + kBleuOrders + n]);
  }
  return statistics;
}

Result<Measured> measure_bleu(const Examples& examples, const ScoreSettings& settings) {
  WM_TRY(check_references(examples));
  WM_ASSIGN(const auto options, bleu_options_of(settings));
  auto numbers = numbers_of_answers(
      examples, kBleuWidth,
      [counter = BleuCounter(options)](const Example& example, const Answer& answer, std::span<double> row) mutable {
        put_bleu(counter.count(answer.text, example.references), row);
      });
  auto measured = sum_metric(
      examples.size(), examples.systems.size(), std::move(numbers),
      [options](std::span<const double> sums) { return bleu_of(bleu_statistics(sums), options).score; }, false);
  measured.signature = bleu_signature(options, reference_count(examples));
  measured.warning = warning_of_bleu(examples, settings.tokenize);
  return measured;
}

Result<Measured> measure_sentence_bleu(const Examples& examples, const ScoreSettings& settings) {
  WM_TRY(check_references(examples));
  WM_ASSIGN(auto options, bleu_options_of(settings));
  options.effective_order = true;  // without it any sentence of three words has none
  auto measured = mean_of_answers(
      examples, [&options, counter = BleuCounter(options)](const Example& example, const Answer& answer) mutable {
        return bleu_of(counter.count(answer.text, example.references), options).score;
      });
  measured.signature = "mean of sentences|" + bleu_signature(options, reference_count(examples));
  return measured;
}

Result<Measured> chrf_measured(const Examples& examples, const ScoreSettings& settings, unsigned words) {
  WM_TRY(check_references(examples));
  const ChrfOptions options{.words = words, .lowercase = settings.lowercase};
  const std::size_t orders = options.characters + words;
  auto numbers = numbers_of_answers(examples, 3 * orders,
                                    [counter = ChrfCounter(options), orders](
                                        const Example& example, const Answer& answer, std::span<double> row) mutable {
                                      const auto statistics = counter.count(answer.text, example.references);
                                      for (std::size_t n = 0; n < orders; ++n) {
                                        for (std::size_t k = 0; k < 3; ++k)
                                          row[3 * n + k] = static_cast<double>(statistics.orders[n][k]);
                                      }
                                    });
  auto measured = sum_metric(
      examples.size(), examples.systems.size(), std::move(numbers),
      [options, orders](std::span<const double> sums) {
        ChrfStatistics statistics;
        for (std::size_t n = 0; n < orders; ++n) {
          for (std::size_t k = 0; k < 3; ++k) {
            statistics.orders[n][k] = static_cast<std::int64_t>(sums[3 * n + k]);
          }
        }
        return chrf_of(statistics, options);
      },
      false);
  measured.signature = chrf_signature(options, reference_count(examples));
  return measured;
}

Result<Measured> measure_chrf(const Examples& examples, const ScoreSettings& settings) {
  return chrf_measured(examples, settings, 0);
}

Result<Measured> measure_chrf_words(const Examples& examples, const ScoreSettings& settings) {
  return chrf_measured(examples, settings, 2);
}

Result<Measured> measure_ter(const Examples& examples, const ScoreSettings& settings) {
  WM_TRY(check_references(examples));
  const TercomOptions& options = settings.ter;
  auto numbers = numbers_of_answers(
      examples, 2,
      [counter = TerCounter(options)](const Example& example, const Answer& answer, std::span<double> row) mutable {
        const auto statistics = counter.count(answer.text, example.references);
        row[0] = statistics.edits;
        row[1] = statistics.reference_length;
      });
  auto measured = sum_metric(
      examples.size(), examples.systems.size(), std::move(numbers),
      [](std::span<const double> sums) {
        return ter_of({sums[0], sums[1]});
      },
      false);
  measured.signature = ter_signature(options, reference_count(examples));
  return measured;
}

template <RougeKind kKind, std::size_t kN, double PrecisionRecall::*kPart = &PrecisionRecall::f>
Result<Measured> measure_rouge(const Examples& examples, const ScoreSettings& settings) {
  WM_TRY(check_references(examples));
  auto measured = mean_of_answers(examples, [rouge = Rouge({.kind = kKind, .n = kN, .stem = settings.stem})](
                                                const Example& example, const Answer& answer) mutable {
    return rouge.best_score(example.references, answer.text).*kPart;
  });
  const char* part = kPart == &PrecisionRecall::precision ? "precision"
                     : kPart == &PrecisionRecall::recall  ? "recall"
                                                          : "f-measure";
  measured.signature = fmt::format("{}|stem:{}|as:rouge-score", part, settings.stem ? "yes" : "no");
  measured.warning = warning_of_rouge(examples);
  return measured;
}

Result<Measured> measure_meteor(const Examples& examples, const ScoreSettings& settings) {
  WM_TRY(check_references(examples));
  const MeteorOptions options{.wordnet = settings.wordnet};
  auto measured = mean_of_answers(examples, [&options](const Example& example, const Answer& answer) {
    return meteor(example.references, answer.text, options);
  });
  measured.signature = fmt::format("alpha:0.9|beta:3|gamma:0.5|tok:none|synonyms:{}|as:nltk",
                                   settings.wordnet == nullptr ? "no" : settings.wordnet_version);
  return measured;
}

template <double AnswerScore::*kMember>
Result<Measured> measure_squad(const Examples& examples, const ScoreSettings&) {
  auto measured = mean_of_answers(examples, [](const Example& example, const Answer& answer) {
    return squad_score(example.references, answer.text).*kMember;
  });
  measured.signature = "normalize:squad|max over gold";
  return measured;
}

template <EditCounts (*kCount)(std::span<const std::string>, std::string_view)>
Result<Measured> error_rate(const Examples& examples, const ScoreSettings&) {
  WM_TRY(check_references(examples));
  auto numbers =
      numbers_of_answers(examples, 2, [](const Example& example, const Answer& answer, std::span<double> row) {
        const auto counts = kCount(example.references, answer.text);
        row[0] = static_cast<double>(counts.edits);
        row[1] = static_cast<double>(counts.reference_length);
      });
  auto measured = sum_metric(
      examples.size(), examples.systems.size(), std::move(numbers),
      [](std::span<const double> sums) { return sums[1] > 0   ? sums[0] / sums[1]
                                                : sums[0] > 0 ? 1.0
                                                              : 0.0; }, false);
  measured.signature = "edits over reference length|case:mixed|normalize:no";
  return measured;
}

Result<Measured> measure_edit_distance(const Examples& examples, const ScoreSettings&) {
  WM_TRY(check_references(examples));
  auto each = numbers_of_answers(examples, 1, [](const Example& example, const Answer& answer, std::span<double> row) {
    row[0] = static_cast<double>(character_edits(example.references, answer.text).edits);
  });
  auto measured = mean_metric(examples.size(), examples.systems.size(), std::move(each));
  measured.is_share = false;
  measured.signature = "characters|case:mixed|normalize:no";
  return measured;
}

using Extract = std::string (*)(std::string_view);

template <Extract kExtract>
Result<Measured> measure_gsm8k(const Examples& examples, const ScoreSettings&) {
  WM_TRY(check_references(examples));
  auto measured = mean_of_answers(examples, [](const Example& example, const Answer& answer) {
    const std::string found = kExtract(answer.text);
    return found != kInvalidAnswer && gsm8k_normalized(found) == gsm8k_normalized(example.references.front());
  });
  measured.signature = kExtract == gsm8k_strict ? "extract:strict|compare:text" : "extract:flexible|compare:text";
  return measured;
}

Result<Measured> measure_numeric(const Examples& examples, const ScoreSettings& settings) {
  WM_TRY(check_references(examples));
  auto measured = mean_of_answers(examples, [&settings](const Example& example, const Answer& answer) {
    std::string found = gsm8k_strict(answer.text);
    if (found == kInvalidAnswer) found = gsm8k_flexible(answer.text);
    const auto whole = value_of_number(answer.text);
    const auto ours = whole ? whole : value_of_number(found);
    const auto theirs = value_of_number(gsm8k_normalized(example.references.front()));
    return ours && theirs && std::fabs(*ours - *theirs) <= settings.tolerance * std::max(1.0, std::fabs(*theirs));
  });
  measured.signature = fmt::format("extract:strict, else flexible|compare:numbers|tolerance:{:g}", settings.tolerance);
  return measured;
}

}  // namespace

std::span<const ScoreMetric> text_metrics() {
  static constexpr ScoreMetric kMetrics[] = {
      {"bleu", "BLEU of the corpus, 0 to 100, as sacreBLEU", Better::higher, false, measure_bleu, 100},
      {"sentence_bleu", "mean of the sentences' BLEU, 0 to 100", Better::higher, false, measure_sentence_bleu, 100},
      {"chrf", "chrF2 of the corpus, 0 to 100, as sacreBLEU", Better::higher, false, measure_chrf, 100},
      {"chrf++", "chrF2++ of the corpus, 0 to 100, as sacreBLEU", Better::higher, false, measure_chrf_words, 100},
      {"ter", "translation edit rate, percent of the reference, as sacreBLEU", Better::lower, false, measure_ter, 100},
      {"rouge1", "ROUGE-1 F, 0 to 1, as rouge-score", Better::higher, false, measure_rouge<RougeKind::n, 1>},
      {"rouge2", "ROUGE-2 F, 0 to 1, as rouge-score", Better::higher, false, measure_rouge<RougeKind::n, 2>},
      {"rouge3", "ROUGE-3 F, 0 to 1, as rouge-score", Better::higher, false, measure_rouge<RougeKind::n, 3>},
      {"rougeL", "ROUGE-L F, 0 to 1, as rouge-score", Better::higher, false, measure_rouge<RougeKind::l, 0>},
      {"rougeLsum", "ROUGE-L F of summaries, a sentence a line, 0 to 1", Better::higher, false,
       measure_rouge<RougeKind::lsum, 0>},
      {"rouge1_precision", "precision of rouge1", Better::higher, false,
       measure_rouge<RougeKind::n, 1, &PrecisionRecall::precision>},
      {"rouge1_recall", "recall of rouge1", Better::higher, false,
       measure_rouge<RougeKind::n, 1, &PrecisionRecall::recall>},
      {"rouge2_precision", "precision of rouge2", Better::higher, false,
       measure_rouge<RougeKind::n, 2, &PrecisionRecall::precision>},
      {"rouge2_recall", "recall of rouge2", Better::higher, false,
       measure_rouge<RougeKind::n, 2, &PrecisionRecall::recall>},
      {"rougeL_precision", "precision of rougeL", Better::higher, false,
       measure_rouge<RougeKind::l, 0, &PrecisionRecall::precision>},
      {"rougeL_recall", "recall of rougeL", Better::higher, false,
       measure_rouge<RougeKind::l, 0, &PrecisionRecall::recall>},
      {"rougeLsum_precision", "precision of rougeLsum", Better::higher, false,
       measure_rouge<RougeKind::lsum, 0, &PrecisionRecall::precision>},
      {"rougeLsum_recall", "recall of rougeLsum", Better::higher, false,
       measure_rouge<RougeKind::lsum, 0, &PrecisionRecall::recall>},
      {"meteor", "METEOR, 0 to 1, as NLTK; synonyms where a WordNet is installed", Better::higher, false,
       measure_meteor},
      {"exact_match", "share of answers equal after SQuAD's normalization", Better::higher, false,
       measure_squad<&AnswerScore::exact>},
      {"f1", "F1 of the words of answers after SQuAD's normalization, 0 to 1", Better::higher, false,
       measure_squad<&AnswerScore::f1>},
      {"wer", "word error rate: edits over the reference's words", Better::lower, false, error_rate<word_edits>},
      {"cer", "character error rate", Better::lower, false, error_rate<character_edits>},
      {"edit_distance", "mean number of edited characters", Better::lower, false, measure_edit_distance},
      {"gsm8k_strict", "share of right numbers after '#### '", Better::higher, false, measure_gsm8k<gsm8k_strict>},
      {"gsm8k_flexible", "share of right last numbers", Better::higher, false, measure_gsm8k<gsm8k_flexible>},
      {"numeric", "share of numbers within --tolerance", Better::higher, false, measure_numeric},
  };
  return kMetrics;
}

}  // namespace warpmark::accuracy
