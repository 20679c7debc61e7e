#include "accuracy/goldens.h"
#include "accuracy/text/answers.h"
#include "accuracy/text/bleu_chrf.h"
#include "accuracy/text/meteor.h"
#include "accuracy/text/rouge.h"
#include "accuracy/text/ter.h"

namespace warpmark::accuracy {
namespace {

/// All references of a golden by sentence.
std::vector<std::vector<std::string>> references_of(const Json& file, std::size_t sets) {
  const auto first = texts_of(file["references"]), second = texts_of(file["second"]);
  std::vector<std::vector<std::string>> all;
  for (std::size_t i = 0; i < first.size(); ++i) {
    all.push_back({first[i]});
    if (sets == 2) all.back().push_back(second[i]);
  }
  return all;
}

BleuOptions bleu_options(const Json& golden) {
  BleuOptions options{.tokenizer = *bleu_tokenizer(golden["tokenize"].get<std::string>())};
  options.smoothing = *bleu_smoothing(golden["smooth"].get<std::string>());
  if (!golden["smooth_value"].is_null()) options.smoothing_value = golden["smooth_value"].get<double>();
  options.lowercase = golden["lowercase"];
  options.effective_order = golden["effective_order"];
  options.most_words = golden.value("most_words", 4U);
  return options;
}

void add_to(BleuStatistics& sums, const BleuStatistics& more) {
  sums.hypothesis_length += more.hypothesis_length;
  sums.reference_length += more.reference_length;
  for (std::size_t n = 0; n < kBleuOrders; ++n) {
    sums.matches[n] += more.matches[n];
    sums.totals[n] += more.totals[n];
  }
}

void check_bleu(const Json& file, const Json& golden) {
  const auto options = bleu_options(golden);
  const auto hypotheses = texts_of(file["hypotheses"]);
  const auto references = references_of(file, golden["references"]);
  BleuCounter counter(options);
  BleuStatistics sums;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) add_to(sums, counter.count(hypotheses[i], references[i]));
  EXPECT_NEAR(bleu_of(sums, options).score, golden["value"].get<double>(), kGoldenTolerance) << golden;
  if (golden.contains("signature")) {
    EXPECT_EQ(bleu_signature(options, golden["references"]), golden["signature"].get<std::string>());
  }
}

void check_chrf(const Json& file, const Json& golden) {
  const ChrfOptions options{.characters = golden.value("char_order", 6U),
                            .words = golden["words"],
                            .beta = golden.value("beta", 2.0),
                            .lowercase = golden.value("lowercase", false),
                            .whitespace = golden.value("whitespace", false),
                            .eps_smoothing = golden.value("eps_smoothing", false)};
  const auto hypotheses = texts_of(file["hypotheses"]);
  const auto references = references_of(file, golden["references"]);
  ChrfCounter counter(options);
  ChrfStatistics sums;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const auto more = counter.count(hypotheses[i], references[i]);
    for (std::size_t n = 0; n < kChrfOrders; ++n) {
      for (std::size_t k = 0; k < 3; ++k) sums.orders[n][k] += more.orders[n][k];
    }
  }
  EXPECT_NEAR(chrf_of(sums, options), golden["value"].get<double>(), kGoldenTolerance) << golden;
  EXPECT_EQ(chrf_signature(options, golden["references"]), golden["signature"].get<std::string>());
}

void check_ter(const Json& file, const Json& golden) {
  const TercomOptions options{.normalized = golden.value("normalized", false),
                              .punctuation = !golden.value("no_punct", false),
                              .case_sensitive = golden.value("case_sensitive", false)};
  const auto hypotheses = texts_of(file["hypotheses"]);
  const auto references = references_of(file, golden["references"]);
  TerCounter counter(options);
  TerStatistics sums;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const auto more = counter.count(hypotheses[i], references[i]);
    sums.edits += more.edits;
    sums.reference_length += more.reference_length;
  }
  EXPECT_NEAR(ter_of(sums), golden["value"].get<double>(), kGoldenTolerance) << golden;
  EXPECT_EQ(ter_signature(options, golden["references"]), golden["signature"].get<std::string>());
}

TEST(TextGoldens, are_those_of_sacrebleus_ter_with_asian_support) {
  const Json file = goldens("ter_asian");
  const auto hypotheses = texts_of(file["hypotheses"]), references = texts_of(file["references"]);
  for (const auto& golden : file["values"]) {
    const TercomOptions options{.normalized = golden["normalized"],
                                .punctuation = !golden["no_punct"].get<bool>(),
                                .case_sensitive = golden["case_sensitive"],
                                .asian = true};
    TerCounter counter(options);
    TerStatistics sums;
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
      EXPECT_EQ(tercom_tokenized(references[i], options), golden["tokens"][i].get<std::string>());
      const auto more = counter.count(hypotheses[i], std::span(&references[i], 1));
      sums.edits += more.edits;
      sums.reference_length += more.reference_length;
    }
    EXPECT_NEAR(ter_of(sums), golden["value"].get<double>(), kGoldenTolerance);
    EXPECT_EQ(ter_signature(options, 1), golden["signature"].get<std::string>());
  }
}

TEST(TextGoldens, are_those_of_nltks_meteor_with_wordnet) {
  const auto place = installed_wordnet(nullptr);
  if (place.empty()) GTEST_SKIP() << "no WordNet is installed; Debian's is wordnet-base";
  const auto wordnet = WordNet::read(place);
  ASSERT_TRUE(wordnet.ok()) << wordnet.error().what;
  for (const auto& golden : goldens("meteor")) {
    const std::vector<std::string> references{golden["reference"].get<std::string>()};
    EXPECT_NEAR(meteor(references, golden["hypothesis"].get<std::string>(), {.wordnet = &*wordnet}),
                golden["meteor"].get<double>(), kGoldenTolerance)
        << golden;
  }
}

TEST(TextGoldens, are_those_of_sacrebleu_for_a_corpus) {
  const Json file = goldens("text");
  std::size_t checked = 0;
  for (const auto& golden : file["corpus"]) {
    const std::string metric = golden["metric"];
    if (metric == "bleu") check_bleu(file, golden);
    if (metric == "chrf") check_chrf(file, golden);
    if (metric == "ter") check_ter(file, golden);
    ++checked;
  }
  EXPECT_GE(checked, 100U);
}

TEST(TextGoldens, are_those_of_sacrebleu_for_sentences) {
  const Json file = goldens("text");
  const BleuOptions bleu{.tokenizer = *bleu_tokenizer("13a"), .effective_order = true};
  for (const auto& golden : file["sentences"]) {
    const std::vector<std::string> references{golden["reference"].get<std::string>()};
    const std::string hypothesis = golden["hypothesis"];
    EXPECT_NEAR(bleu_of(BleuCounter(bleu).count(hypothesis, references), bleu).score, golden["bleu"].get<double>(),
                kGoldenTolerance)
        << golden;
    EXPECT_NEAR(chrf_of(ChrfCounter({}).count(hypothesis, references), {}), golden["chrf"].get<double>(),
                kGoldenTolerance)
        << golden;
    EXPECT_NEAR(ter_of(TerCounter({}).count(hypothesis, references)), golden["ter"].get<double>(), kGoldenTolerance)
        << golden;
  }
}

TEST(TextGoldens, are_the_words_of_sacrebleus_tokenizers) {
  const Json file = goldens("text");
  for (const auto& [name, pairs] : file["tokens"].items()) {
    for (const auto& pair : pairs) {
      EXPECT_EQ((*bleu_tokenizer(name)).tokenize(pair[0].get<std::string>()), pair[1].get<std::string>()) << name;
    }
  }
}

TEST(TextGoldens, are_those_of_rouge_score_and_of_nltks_meteor) {
  const Json file = goldens("text");
  const std::pair<const char*, RougeOptions> kinds[] = {{"rouge1", {RougeKind::n, 1}},
                                                        {"rouge2", {RougeKind::n, 2}},
                                                        {"rouge3", {RougeKind::n, 3}},
                                                        {"rougeL", {RougeKind::l, 0}},
                                                        {"rougeLsum", {RougeKind::lsum, 0}}};
  for (const auto& golden : file["rouge"]) {
    const std::string reference = golden["reference"], hypothesis = golden["hypothesis"];
    for (auto [name, options] : kinds) {
      options.stem = golden["stem"];
      const auto score = Rouge(options).score(reference, hypothesis);
      EXPECT_NEAR(score.precision, golden[name][0].get<double>(), kGoldenTolerance) << name << golden;
      EXPECT_NEAR(score.recall, golden[name][1].get<double>(), kGoldenTolerance) << name << golden;
      EXPECT_NEAR(score.f, golden[name][2].get<double>(), kGoldenTolerance) << name << golden;
    }
    if (golden.contains("meteor")) {
      const std::vector<std::string> references{reference};
      EXPECT_NEAR(meteor(references, hypothesis, {}), golden["meteor"].get<double>(), kGoldenTolerance) << golden;
    }
  }
}

TEST(TextGoldens, are_the_stems_of_nltk) {
  const Json file = goldens("stems");
  ASSERT_GE(file.size(), 2000U);
  for (const auto& [word, stem] : file.items()) EXPECT_EQ(porter_stem(word), stem.get<std::string>()) << word;
}

TEST(TextGoldens, are_those_of_squads_script) {
  for (const auto& golden : goldens("squad")) {
    const auto score = squad_pair(golden["gold"].get<std::string>(), golden["answer"].get<std::string>());
    EXPECT_EQ(score.exact, golden["exact"].get<double>()) << golden;
    EXPECT_NEAR(score.f1, golden["f1"].get<double>(), kGoldenTolerance) << golden;
  }
}

}  // namespace
}  // namespace warpmark::accuracy
