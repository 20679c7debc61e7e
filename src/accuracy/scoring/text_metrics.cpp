// Metrics of texts.
#include <fmt/format.h>

#include "accuracy/choice/numbers.h"
#include "accuracy/scoring/each_answer.h"
#include "accuracy/scoring/metric.h"
#include "accuracy/scoring/metric_lists.h"
#include "accuracy/text/answers.h"
#include "accuracy/text/bleu.h"
#include "accuracy/text/chrf.h"
#include "accuracy/text/meteor.h"
#include "accuracy/text/rouge.h"
#include "accuracy/text/ter.h"

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

template <RougeKind kKind, std::size_t kN>
Result<Measured> measure_rouge(const Examples& examples, const ScoreSettings& settings) {
  WM_TRY(check_references(examples));
  auto measured = mean_of_answers(examples, [rouge = Rouge({.kind = kKind, .n = kN, .stem = settings.stem})](
                                                const Example& example, const Answer& answer) mutable {
    return rouge.best_score(example.references, answer.text).f;
  });
  measured.signature = fmt::format("f-measure|stem:{}|as:rouge-score", settings.stem ? "yes" : "no");
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
