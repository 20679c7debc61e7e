// The goldens of the reference implementations once more, through the whole way from records to the value of a metric
// that `eval score` is told by its name: that each name is the function it says, with the options it says.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "accuracy/goldens.h"
#include "accuracy/scored.h"

namespace warpmark::accuracy {
namespace {

using Field = std::function<Json(std::size_t)>;

/// Records 0 .. count-1 with an id and one more field.
std::string records(std::size_t count, const char* field, const Field& value) {
  std::string lines;
  for (std::size_t i = 0; i < count; ++i) lines += dump_json(Json{{"id", i}, {field, value(i)}}, -1) + "\n";
  return lines;
}

Examples texts_of_file(const Json& file, std::size_t sets) {
  const std::size_t count = file["references"].size();
  return examples_from(records(count, "references",
                               [&](std::size_t i) {
                                 Json all = Json::array({file["references"][i]});
                                 if (sets == 2) all.push_back(file["second"][i]);
                                 return all;
                               }),
                       {records(count, "output", [&](std::size_t i) { return file["hypotheses"][i]; })});
}

/// Empty where the metric has options that its name does not take.
std::string name_of_corpus_metric(const Json& golden, ScoreSettings& settings) {
  const std::string metric = golden["metric"];
  for (const char* option : {"most_words", "char_order", "beta", "whitespace", "eps_smoothing"}) {
    if (golden.contains(option)) return {};
  }
  settings.lowercase = golden.value("lowercase", false);
  if (metric == "bleu") {
    settings.tokenize = golden["tokenize"];
    settings.smooth = golden["smooth"];
    if (!golden["smooth_value"].is_null()) settings.smooth_value = golden["smooth_value"].get<double>();
    settings.effective_order = golden["effective_order"];
  }
  if (metric == "chrf") {
    const int words = golden["words"];
    return words == 0 ? "chrf" : words == 2 ? "chrf++" : "";
  }
  if (metric == "ter") {
    settings.ter = {.normalized = golden.value("normalized", false),
                    .punctuation = !golden.value("no_punct", false),
                    .case_sensitive = golden.value("case_sensitive", false)};
  }
  return metric;
}

TEST(NamedMetrics, of_a_corpus_are_sacrebleus) {
  const Json file = goldens("text");
  std::map<std::string, int> checked;
  for (const auto& golden : file["corpus"]) {
    ScoreSettings settings;
    const std::string name = name_of_corpus_metric(golden, settings);
    if (name.empty()) continue;
    const auto measured = measured_by_name(name, texts_of_file(file, golden["references"]), settings);
    EXPECT_NEAR(value_of(measured, 0), golden["value"].get<double>(), kGoldenTolerance) << golden;
    if (golden.contains("signature")) {
      EXPECT_EQ(measured.signature, golden["signature"].get<std::string>());
    }
    ++checked[name];
  }
  for (const char* name : {"bleu", "chrf", "chrf++", "ter"}) EXPECT_GE(checked[name], 2) << name;
}

TEST(NamedMetrics, of_sentences_are_means) {
  const Json sentences = goldens("text")["sentences"];
  const auto examples =
      examples_from(records(sentences.size(), "reference", [&](std::size_t i) { return sentences[i]["reference"]; }),
                    {records(sentences.size(), "output", [&](std::size_t i) { return sentences[i]["hypothesis"]; })});
  double sum = 0;
  for (const auto& sentence : sentences) sum += sentence["bleu"].get<double>();
  EXPECT_NEAR(scored("sentence_bleu", examples), sum / static_cast<double>(sentences.size()), kGoldenTolerance);
}

TEST(NamedMetrics, of_summaries_are_rouge_scores) {
  const Json all = goldens("text")["rouge"];
  for (const bool stem : {false, true}) {
    std::vector<Json> chosen;
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
                 [&](const Json& one) { return one["stem"] == stem; });
    ASSERT_GE(chosen.size(), 10U);
    const auto examples =
        examples_from(records(chosen.size(), "reference", [&](std::size_t i) { return chosen[i]["reference"]; }),
                      {records(chosen.size(), "output", [&](std::size_t i) { return chosen[i]["hypothesis"]; })});
    for (const std::string name : {"rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"}) {
      double sums[3] = {0, 0, 0};
      for (const auto& one : chosen) {
        for (std::size_t part = 0; part < 3; ++part) sums[part] += one[name][part].get<double>();
      }
      const ScoreSettings settings{.stem = stem};
      const auto count = static_cast<double>(chosen.size());
      EXPECT_NEAR(scored(name, examples, settings), sums[2] / count, kGoldenTolerance) << name;
      if (name == "rouge3") continue;
      EXPECT_NEAR(scored(name + "_precision", examples, settings), sums[0] / count, kGoldenTolerance) << name;
      EXPECT_NEAR(scored(name + "_recall", examples, settings), sums[1] / count, kGoldenTolerance) << name;
    }
  }
}

TEST(NamedMetrics, of_short_answers_are_squads) {
  const Json all = goldens("squad");
  const auto examples = examples_from(records(all.size(), "answer", [&](std::size_t i) { return all[i]["gold"]; }),
                                      {records(all.size(), "output", [&](std::size_t i) { return all[i]["answer"]; })});
  double exact = 0, f1 = 0;
  for (const auto& one : all) {
    exact += one["exact"].get<double>();
    f1 += one["f1"].get<double>();
  }
  EXPECT_NEAR(scored("exact_match", examples), exact / static_cast<double>(all.size()), kGoldenTolerance);
  EXPECT_NEAR(scored("f1", examples), f1 / static_cast<double>(all.size()), kGoldenTolerance);
}

TEST(NamedMetrics, of_edits_count_over_the_reference) {
  const auto examples = examples_from("{\"id\":1,\"answer\":\"the cat sat\"}\n{\"id\":2,\"answer\":\"a\"}\n",
                                      {"{\"id\":1,\"output\":\"the cat\"}\n{\"id\":2,\"output\":\"b\"}\n"});
  EXPECT_NEAR(scored("wer", examples), 2.0 / 4, 1e-12);
  EXPECT_NEAR(scored("cer", examples), 5.0 / 12, 1e-12);
  EXPECT_NEAR(scored("edit_distance", examples), (4 + 1) / 2.0, 1e-12);
}

/// As the goldens call a metric.
std::string name_of_class_metric(const std::string& name) {
  if (name.starts_with("kappa")) return "cohen_" + name;
  return name == "f1" ? "f1_binary" : name;
}

TEST(NamedMetrics, of_classes_are_those_of_scikit_learn) {
  std::size_t checked = 0;
  for (const auto& golden : goldens("classes")) {
    const std::size_t count = golden["truth"].size();
    std::string answers;
    for (std::size_t i = 0; i < count; ++i) {
      answers +=
          dump_json(Json{{"id", i}, {"output", golden["predicted"][i]}, {"probabilities", golden["probabilities"][i]}},
                    -1) +
          "\n";
    }
    const auto examples =
        examples_from(records(count, "label", [&](std::size_t i) { return golden["truth"][i]; }), {answers});
    for (const auto& [name, value] : golden["values"].items()) {
      if (name == "auc_tied") continue;  // of other probabilities
      EXPECT_NEAR(scored(name_of_class_metric(name), examples), value.get<double>(), kGoldenTolerance) << name;
      ++checked;
    }
  }
  EXPECT_GE(checked, 75U);
}

TEST(NamedMetrics, of_one_class_follow_the_one_that_is_named) {
  const auto examples =
      examples_from("{\"id\":1,\"label\":\"spam\"}\n{\"id\":2,\"label\":\"ham\"}\n{\"id\":3,\"label\":\"spam\"}\n",
                    {"{\"id\":1,\"output\":\"spam\"}\n{\"id\":2,\"output\":\"spam\"}\n"
                     "{\"id\":3,\"output\":\"ham\"}\n"});
  ScoreSettings spam, ham, other;
  spam.positive = "spam";
  ham.positive = "ham";
  other.positive = "eggs";
  EXPECT_EQ(scored("precision", examples, spam), 0.5);
  EXPECT_EQ(scored("recall", examples, spam), 0.5);
  EXPECT_EQ(scored("precision", examples, ham), 0);
  EXPECT_EQ(said_of("recall", examples, other), "no label is 'eggs'");
  const auto three =
      examples_from("{\"id\":1,\"label\":\"a\"}\n{\"id\":2,\"label\":\"b\"}\n{\"id\":3,\"label\":\"c\"}\n",
                    {"{\"id\":1,\"output\":\"a\"}\n{\"id\":2,\"output\":\"b\"}\n{\"id\":3,\"output\":\"c\"}\n"});
  EXPECT_EQ(said_of("recall", three), "there are 3 classes, and none is '1'");
}

TEST(NamedMetrics, of_probabilities_take_them_by_class_or_of_the_second) {
  const std::string truth = "{\"id\":1,\"label\":\"no\"}\n{\"id\":2,\"label\":\"yes\"}\n";
  const auto by_class =
      examples_from(truth, {"{\"id\":1,\"output\":\"no\",\"probs\":{\"yes\":0.25,\"no\":0.75}}\n"
                            "{\"id\":2,\"output\":\"yes\",\"probs\":{\"yes\":\"0.5\",\"no\":0.5}}\n"});
  const auto second = examples_from(truth, {"{\"id\":1,\"output\":\"no\",\"probability\":0.25}\n"
                                            "{\"id\":2,\"output\":\"yes\",\"probability\":0.5}\n"});
  const double loss = -(std::log(0.75) + std::log(0.5)) / 2;
  for (const auto& examples : {by_class, second}) {
    EXPECT_NEAR(scored("log_loss", examples), loss, 1e-12);
    EXPECT_EQ(scored("auc", examples), 1);
    // Right with 0.75, and wrong with 0.5, as the first of equals is taken.
    EXPECT_NEAR(scored("ece", examples), (0.25 + 0.5) / 2, 1e-12);
  }
  const auto lacks =
      examples_from(truth, {"{\"id\":1,\"output\":\"no\",\"probs\":{\"no\":1}}\n{\"id\":2,\"output\":\"yes\"}\n"});
  EXPECT_NE(said_of("brier", lacks).find("lacks the class 'yes'"), std::string::npos);
  const auto one =
      examples_from("{\"id\":1,\"label\":\"no\"}\n", {"{\"id\":1,\"output\":\"no\",\"probability\":0.1}\n"});
  EXPECT_EQ(said_of("brier", one), "all references have one label");
}

TEST(NamedMetrics, of_numbers_are_the_correlations_of_scipy) {
  for (const auto& golden : goldens("correlations")) {
    const std::size_t count = golden["a"].size();
    const auto examples = examples_from(records(count, "answer", [&](std::size_t i) { return golden["b"][i]; }),
                                        {records(count, "output", [&](std::size_t i) { return golden["a"][i]; })});
    for (const char* name : {"pearson", "spearman", "kendall"}) {
      EXPECT_NEAR(scored(name, examples), golden[name].get<double>(), kGoldenTolerance) << name;
    }
  }
}

TEST(NamedMetrics, of_pairs_compare_numbers_with_mean_ratings) {
  const auto examples = examples_from(
      "{\"id\":1,\"answer\":0,\"ratings\":[1,2]}\n{\"id\":2,\"answer\":0,\"ratings\":[3,\"4\"]}\n"
      "{\"id\":3,\"answer\":0,\"ratings\":[5]}\n",
      {"{\"id\":1,\"output\":0.1}\n{\"id\":2,\"output\":0.5}\n{\"id\":3,\"output\":0.9}\n",
       "{\"id\":1,\"output\":0.9}\n{\"id\":2,\"output\":0.5}\n{\"id\":3,\"output\":0.1}\n"});
  const auto measured = measured_by_name("pairwise_accuracy", examples);
  EXPECT_EQ(value_of(measured, 0), 1);
  EXPECT_EQ(value_of(measured, 1), 0);
  const auto words = examples_from("{\"id\":1,\"answer\":\"1\"}\n", {"{\"id\":1,\"output\":\"good\"}\n"});
  EXPECT_NE(said_of("pearson", words).find("the answer is no number: 'good'"), std::string::npos);
}

TEST(NamedMetrics, of_raters_pass_over_what_nobody_rated) {
  const std::string gold = "{\"id\":1,\"answer\":\"\"}\n{\"id\":2,\"answer\":\"\"}\n{\"id\":3,\"answer\":\"\"}\n";
  const auto examples = examples_from(
      gold, {"{\"id\":1,\"output\":\"\",\"ratings\":[1,null,3]}\n{\"id\":2,\"output\":\"\",\"ratings\":[5]}\n"
             "{\"id\":3,\"output\":\"\",\"ratings\":[]}\n"});
  EXPECT_NEAR(scored("likert", examples), (2 + 5) / 2.0, 1e-12);
  const auto agreed = examples_from(
      gold, {"{\"id\":1,\"output\":\"\",\"ratings\":[1,1]}\n{\"id\":2,\"output\":\"\",\"ratings\":[2,2]}\n"
             "{\"id\":3,\"output\":\"\",\"ratings\":[3,3]}\n"});
  for (const auto level : {Measurement::nominal, Measurement::ordinal, Measurement::interval, Measurement::ratio}) {
    ScoreSettings settings;
    settings.measurement = level;
    EXPECT_NEAR(scored("krippendorff_alpha", agreed, settings), 1, 1e-12);
  }
}

Examples duels(const std::vector<std::string>& winners) {
  std::string gold, games;
  for (std::size_t i = 0; i < winners.size(); ++i) {
    gold += dump_json(Json{{"id", i}, {"answer", ""}}, -1) + "\n";
    games += dump_json(Json{{"id", i}, {"first", "mine"}, {"second", "theirs"}, {"winner", winners[i]}, {"output", ""}},
                       -1) +
             "\n";
  }
  return examples_from(gold, {games});
}

TEST(NamedMetrics, of_players_have_a_value_each) {
  const auto examples = duels({"mine", "first", "theirs", "model_a"});
  const auto rates = measured_by_name("win_rate", examples);
  EXPECT_EQ(rates.names, (std::vector<std::string>{"mine", "theirs"}));
  EXPECT_EQ(value_of(rates, 0), 0.75);
  EXPECT_EQ(value_of(rates, 1), 0.25);
  const auto strengths = measured_by_name("bradley_terry", examples);
  EXPECT_NEAR(value_of(strengths, 0) - value_of(strengths, 1), 400 * std::log10(3.0), 1e-6);
  EXPECT_NEAR(scored("elo", duels({"mine"})), 1016, 1e-9);
  EXPECT_NEAR(scored("elo", duels({"tie"})), 1000, 1e-9);
  EXPECT_NEAR(scored("win_rate", duels({"draw", "second"})), 0.25, 1e-12);
}

/// Elo's rating depends on the order of the games; resampled out of order, its own value lay outside of its interval.
TEST(NamedMetrics, of_players_in_order_lie_within_their_intervals) {
  std::vector<std::string> winners(60, "mine");
  for (std::size_t i = 30; i < winners.size(); ++i) winners[i] = "theirs";
  const auto elo = measured_by_name("elo", duels(winners));
  const auto interval = interval_of(elo, 0, Groups(winners.size()), {});
  EXPECT_LE(interval.low, value_of(elo, 0));
  EXPECT_GE(interval.high, value_of(elo, 0));
}

/// exp(-sum of log-probabilities / units), over the corpus.
TEST(NamedMetrics, of_texts_are_perplexities_of_the_corpus) {
  const auto texts = examples_from("{\"id\":1,\"reference\":\"\"}\n{\"id\":2,\"reference\":\"\"}\n",
                                   {"{\"id\":1,\"output\":\"a cat sat\",\"token_logprobs\":[null,-1,-2]}\n"
                                    "{\"id\":2,\"output\":\"no\",\"token_logprobs\":[-0.5]}\n"});
  EXPECT_NEAR(scored("perplexity", texts), std::exp(3.5 / 3), 1e-12);
  EXPECT_NEAR(scored("word_perplexity", texts), std::exp(3.5 / 4), 1e-12);
  EXPECT_NEAR(scored("byte_perplexity", texts), std::exp(3.5 / 11), 1e-12);
  EXPECT_NEAR(scored("bits_per_byte", texts), 3.5 / 11 / std::log(2.0), 1e-12);
  const auto bare = examples_from("{\"id\":1,\"reference\":\"\"}\n", {"{\"id\":1,\"output\":\"a\"}\n"});
  EXPECT_NE(said_of("perplexity", bare).find("neither 'token_logprobs' nor"), std::string::npos);
}

TEST(NamedMetrics, of_players_refuse_a_winner_who_did_not_play) {
  EXPECT_NE(said_of("elo", duels({"nobody"})).find("'nobody' is neither of the two"), std::string::npos);
  const auto alone = examples_from("{\"id\":1,\"answer\":\"\"}\n",
                                   {"{\"id\":1,\"output\":\"\",\"first\":\"a\",\"second\":\"a\",\"winner\":\"a\"}\n"});
  EXPECT_NE(said_of("elo", alone).find("needs 'first', 'second' (two names)"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::accuracy
