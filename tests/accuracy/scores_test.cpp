#include <limits>

#include "accuracy/choice/choice.h"
#include "accuracy/datasets/datasets.h"
#include "accuracy/embeddings/similarity.h"
#include "accuracy/goldens.h"
#include "accuracy/ratings/ratings.h"
#include "accuracy/scored.h"
#include "accuracy/significance/comparison.h"
#include "base/text.h"

namespace warpmark::accuracy {
namespace {

TEST(Examples, are_joined_by_id_and_keep_what_is_missing) {
  const auto examples =
      examples_from("{\"id\":1,\"answers\":[\"a\",\"b\"]}\n{\"id\":2,\"answers\":{\"text\":[\"c\"]}}\n",
                    {"{\"id\":2,\"output\":\"c\"}\n"});
  EXPECT_EQ(examples.examples[0].references, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(examples.examples[1].references, (std::vector<std::string>{"c"}));
  EXPECT_EQ(examples.answer(0, 0).problem, "there is no answer");
  EXPECT_EQ(examples.answer(0, 1).text, "c");
}

TEST(Metrics, of_choices_take_letters_likelihoods_and_norms) {
  EXPECT_EQ(choice_letter("The answer is (B).", 4), 1U);
  EXPECT_EQ(choice_letter("A. because of a dog", 4), 0U);
  EXPECT_EQ(choice_letter("a dog is an animal", 4), std::nullopt);
  EXPECT_EQ(choice_letter("I think it is either A or B", 4), std::nullopt);
  EXPECT_EQ(choice_letter("Not A. The answer is therefore **D**", 4), 3U);
  EXPECT_EQ(choice_letter("C", 2), std::nullopt);
  const std::string gold = "{\"id\":1,\"answer\":1,\"choices\":[\"yes\",\"certainly not\"]}\n";
  const auto examples = examples_from(gold, {"{\"id\":1,\"log_likelihoods\":[-2.0,-3.0]}\n"});
  EXPECT_EQ(scored("acc", examples), 0);
  EXPECT_EQ(scored("acc_norm", examples), 1);
  EXPECT_EQ(scored("acc_bytes", examples), 1);
  EXPECT_EQ(scored("mmlu", examples), 0);
  EXPECT_EQ(mmlu_category("high school us history"), "humanities");
}

TEST(Metrics, of_subjects_weigh_by_size_or_not) {
  const auto examples = examples_from(
      "{\"id\":1,\"answer\":\"A\",\"subject\":\"x\"}\n{\"id\":2,\"answer\":\"A\",\"subject\":\"x\"}\n"
      "{\"id\":3,\"answer\":\"A\",\"subject\":\"x\"}\n{\"id\":4,\"answer\":\"B\",\"subject\":\"y\"}\n",
      {"{\"id\":1,\"output\":\"A\"}\n{\"id\":2,\"output\":\"A\"}\n{\"id\":3,\"output\":\"A\"}\n{\"id\":4,\"output\":"
       "\"A\"}\n"});
  EXPECT_NEAR(scored("mmlu", examples), 0.75, 1e-12);
  EXPECT_NEAR(scored("mmlu_macro", examples), 0.5, 1e-12);
}

TEST(Metrics, of_samples_estimate_pass_at_k_and_refuse_too_few) {
  const auto examples = examples_from("{\"task_id\":\"a\",\"answer\":\"\"}\n{\"task_id\":\"b\",\"answer\":\"\"}\n",
                                      {"{\"task_id\":\"a\",\"passed\":true}\n{\"task_id\":\"a\",\"passed\":false}\n"
                                       "{\"task_id\":\"b\",\"passed\":false}\n{\"task_id\":\"b\",\"passed\":false}\n"});
  EXPECT_NEAR(scored("pass@1", examples), 0.25, 1e-12);
  EXPECT_NEAR(scored("pass@2", examples), 0.5, 1e-12);
  EXPECT_NE(said_of("pass@3", examples).find("pass@3 needs as many samples"), std::string::npos);
  EXPECT_NE(said_of("exact_match", examples).find("has 2 answers to 'a'"), std::string::npos);
}

TEST(Metrics, of_numbers_compare_texts_as_the_harness_or_values) {
  const auto examples = examples_from("{\"id\":1,\"answer\":\"72\"}\n{\"id\":2,\"answer\":\"1000\"}\n",
                                      {"{\"id\":1,\"output\":\"so 72.00\"}\n{\"id\":2,\"output\":\"#### 1,000.\"}\n"});
  EXPECT_EQ(scored("gsm8k_strict", examples), 0.5);
  EXPECT_EQ(scored("gsm8k_flexible", examples), 0.5);
  EXPECT_EQ(scored("numeric", examples), 1);
}

TEST(Metrics, of_groups_are_those_of_superglue) {
  const auto examples = examples_from(
      "{\"id\":1,\"label\":1,\"group\":\"q1\"}\n{\"id\":2,\"label\":0,\"group\":\"q1\"}\n{\"id\":3,\"label\":1,"
      "\"group\":\"q2\"}\n",
      {"{\"id\":1,\"output\":1}\n{\"id\":2,\"output\":1}\n{\"id\":3,\"output\":1}\n"});
  EXPECT_EQ(scored("group_accuracy", examples), 0.5);
  EXPECT_EQ(scored("group_parity", examples), 1);
  EXPECT_NEAR(scored("f1_binary", examples), 0.8, 1e-12);
  for (const auto& task : official_tasks()) {
    EXPECT_TRUE(metrics_named({task.id}, {}).ok()) << task.id;
  }
}

TEST(Metrics, are_found_by_the_names_of_other_tools) {
  const auto ids = [](const std::string& name) {
    const auto named = metrics_named({name}, {});
    EXPECT_TRUE(named.ok()) << name;
    std::vector<std::string> found;
    if (named.ok()) {
      for (const auto& one : *named) found.push_back(one.name);
    }
    return found;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids("rouge"), (Ids{"rouge1", "rouge2", "rougeL"}));
  EXPECT_EQ(ids("em"), Ids{"exact_match"});
  EXPECT_EQ(ids("BLEU"), Ids{"bleu"});
  EXPECT_EQ(ids("ROUGE-L"), Ids{"rougeL"});
  EXPECT_EQ(ids("f1_score"), Ids{"f1"});
  EXPECT_EQ(ids("rougelsum"), Ids{"rougeLsum"});
  const auto unknown = metrics_named({"blue"}, {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().hint, "did you mean 'bleu'?");
}

TEST(Metrics, of_people_are_the_published_examples) {
  // Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers, missing data.
  constexpr double kNone = -1;
  const std::vector<std::vector<double>> observers{{1, 2, 3, 3, 2, 1, 4, 1, 2, kNone, kNone, kNone},
                                                   {1, 2, 3, 3, 2, 2, 4, 1, 2, 5, kNone, 3},
                                                   {kNone, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, kNone},
                                                   {1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, kNone}};
  std::vector<ItemRatings> items(12);
  for (const auto& observer : observers) {
    for (std::size_t i = 0; i < observer.size(); ++i) {
      if (observer[i] != kNone) items[i].push_back(observer[i]);
    }
  }
  EXPECT_NEAR(krippendorff_alpha(items, Measurement::nominal), 0.743, 0.0005);
  EXPECT_NEAR(krippendorff_alpha(items, Measurement::ordinal), 0.815, 0.0005);
  EXPECT_NEAR(krippendorff_alpha(items, Measurement::interval), 0.849, 0.0005);
  EXPECT_NEAR(krippendorff_alpha(items, Measurement::ratio), 0.797, 0.0005);
  // Two players: 3 wins to 1 are odds of 3, 400 log10(3) points apart.
  const std::vector<Duel> duels{{0, 1, 1}, {0, 1, 1}, {1, 0, 0}, {0, 1, 0}};
  const auto strengths = bradley_terry(duels, 2);
  EXPECT_NEAR(strengths[0] - strengths[1], 400 * std::log10(3.0), 1e-6);
  EXPECT_NEAR(elo(std::vector<Duel>{{0, 1, 1}}, 2)[0], 1016, 1e-9);
  EXPECT_TRUE(is_connected_by_wins(duels, 2));
  EXPECT_FALSE(is_connected_by_wins(std::vector<Duel>{{0, 1, 1}}, 2));
}

TEST(Metrics, of_pairs_calibrate_ties) {
  const std::vector<double> human{1, 1, 2, 3}, metric{0.10, 0.12, 0.50, 0.90};
  const auto calibrated = pairwise_accuracy(metric, human);
  EXPECT_EQ(calibrated.accuracy, 1);
  EXPECT_NEAR(calibrated.epsilon, 0.02, 1e-12);
  EXPECT_NEAR(pairwise_accuracy(metric, std::vector<double>{4, 3, 2, 1}).accuracy, 0, 1e-12);
}

TEST(Metrics, of_embeddings_are_cosines) {
  const std::string gold = "{\"id\":1,\"answer\":\"\",\"embedding\":[1,0]}\n", out = "{\"id\":1,\"embedding\":[1,1]}\n";
  const auto examples = examples_from(gold, {out});
  EXPECT_NEAR(scored("clipscore", examples), 2.5 / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(scored("pickscore", examples), 100 / std::sqrt(2.0), 1e-12);
  const std::vector<double> reference{1, 0, 0, 1}, candidate{1, 0};
  const auto score = bert_score({reference, 2}, {candidate, 2});
  EXPECT_NEAR(score.precision, 1, 1e-12);
  EXPECT_NEAR(score.recall, 0.5, 1e-12);
  EXPECT_NEAR(yes_mass(std::vector<double>{std::log(0.5), std::log(0.25)}), 0.75, 1e-12);
}

TEST(Datasets, are_read_in_their_publishers_formats) {
  const FieldNames names;
  const auto squad = parse_dataset(
      R"({"version":"v2.0","data":[{"title":"T","paragraphs":[{"context":"C","qas":[
            {"id":"q1","question":"Q?","answers":[{"text":"x","answer_start":0},{"text":"y","answer_start":2}]},
            {"id":"q2","question":"R?","answers":[],"is_impossible":true}]}]}]})",
      "dev.json", "auto", names);
  ASSERT_TRUE(squad.ok()) << squad.error().what;
  ASSERT_EQ(squad->size(), 2U);
  EXPECT_EQ((*squad)[0].fields["references"].size(), 2U);
  EXPECT_EQ((*squad)[1].text, "");
  EXPECT_EQ((*squad)[0].fields["group"], (*squad)[1].fields["group"]);
  const auto mmlu =
      parse_dataset("\"What, \"\"this\"\"?\",1,2,3,4,C\n", "data/test/college_physics_test.csv", "mmlu", names);
  ASSERT_TRUE(mmlu.ok()) << mmlu.error().what;
  EXPECT_EQ((*mmlu)[0].fields["subject"], "college_physics");
  EXPECT_EQ((*mmlu)[0].text, "C");
  const auto gsm =
      parse_dataset("{\"question\":\"How many?\",\"answer\":\"1+1\\n#### 1,002\"}\n", "test.jsonl", "auto", names);
  ASSERT_TRUE(gsm.ok()) << gsm.error().what;
  EXPECT_EQ((*gsm)[0].text, "1002");
  const auto human = parse_dataset(
      "{\"task_id\":\"HumanEval/0\",\"prompt\":\"def f():\\n\",\"entry_point\":\"f\",\"canonical_solution\":\" "
      "pass\",\"test\":\"def check(c): pass\"}\n",
      "HumanEval.jsonl", "auto", names);
  ASSERT_TRUE(human.ok()) << human.error().what;
  EXPECT_EQ((*human)[0].id, "HumanEval/0");
  const auto glue = parse_dataset("sentence\tlabel\nit \"is good\t1\nbad\t0\n", "dev.tsv", "glue", names);
  ASSERT_TRUE(glue.ok()) << glue.error().what;
  EXPECT_EQ((*glue)[0].fields["sentence"], "it \"is good");
  const auto cola = parse_dataset("gj04\t1\t\tFine.\nbc81\t0\t*\tBad am.\n", "dev.tsv", "glue", names);
  ASSERT_TRUE(cola.ok()) << cola.error().what;
  EXPECT_EQ((*cola)[1].text, "0");
  const auto genai =
      parse_dataset(R"({"00000":{"prompt":"two cats","tags":{"basic":["object"],"advanced":["counting"]}}})",
                    "prompts.json", "auto", names);
  ASSERT_TRUE(genai.ok()) << genai.error().what;
  EXPECT_EQ((*genai)[0].fields["subject"], Json::array({"object", "counting", "(advanced)"}));
  for (const char* format : {"squad", "mmlu", "gsm8k", "humaneval", "glue", "genai-bench"}) {
    EXPECT_FALSE(parse_dataset("[1, 2]\n", "x.json", format, names).ok()) << format;
  }
  EXPECT_FALSE(parse_dataset("", "x", "squd", names).ok());
}

TEST(Datasets, are_recognized_without_their_name) {
  const auto mmlu = parse_dataset("\xEF\xBB\xBFOne?,1,2,3,4,A\nTwo?,1,2,3,4,D\n", "law_val.csv", "auto", {});
  ASSERT_TRUE(mmlu.ok()) << mmlu.error().what;
  ASSERT_EQ(mmlu->size(), 2U) << "the first row is a question, too";
  EXPECT_EQ((*mmlu)[0].fields["question"], "One?") << "without the byte order mark";
  EXPECT_EQ((*mmlu)[1].text, "D");
  const auto glue = parse_dataset("index\tsentence\tlabel\n0\tit \"is good\t1\n", "dev.tsv", "auto", {});
  ASSERT_TRUE(glue.ok()) << glue.error().what;
  EXPECT_EQ((*glue)[0].fields["sentence"], "it \"is good");
  const auto cola = parse_dataset("gj04\t1\t\tFine.\nbc81\t0\t*\tBad am.\n", "dev.tsv", "auto", {});
  ASSERT_TRUE(cola.ok()) << cola.error().what;
  EXPECT_EQ(cola->size(), 2U);
  const auto table = parse_dataset("id,reference\n1,x\n", "gold.csv", "auto", {});
  ASSERT_TRUE(table.ok()) << table.error().what;
  EXPECT_EQ((*table)[0].id, "1") << "a table of one's own is read by its header";
  const std::string gsm = R"({"question":"Q?","answer":"#### 2"})";
  const auto gsm8k =
      parse_dataset(gsm + "\n" + R"({"id":"a7","question":"Q?","answer":"#### 3"})" + "\n", "t.jsonl", "auto", {});
  ASSERT_TRUE(gsm8k.ok()) << gsm8k.error().what;
  EXPECT_EQ((*gsm8k)[0].id, "0");
  EXPECT_EQ((*gsm8k)[1].id, "a7");
  const auto records = parse_records("\xEF\xBB\xBF{\"id\":1,\"output\":\"x\"}\n", "a.jsonl", Side::output, {});
  ASSERT_TRUE(records.ok()) << records.error().what;
  EXPECT_EQ(records->front().text, "x");
}

TEST(Scores, that_are_undefined_say_so_and_leave_the_others) {
  const auto same = examples_from("{\"id\":1,\"label\":\"0\"}\n{\"id\":2,\"label\":\"0\"}\n",
                                  {"{\"id\":1,\"output\":\"0\"}\n{\"id\":2,\"output\":\"0\"}\n"});
  const auto scores = score_systems(same, *metrics_named({"accuracy", "f1_binary", "pearson", "kendall"}, {}), {});
  ASSERT_TRUE(scores.ok()) << scores.error().what;
  EXPECT_EQ((*scores)[0].value, 1);
  EXPECT_EQ((*scores)[0].undefined, "");
  EXPECT_EQ((*scores)[1].undefined, "all labels are '0'; --positive names a class");
  for (const std::size_t i : {1U, 2U, 3U}) {
    EXPECT_TRUE(std::isnan((*scores)[i].value)) << (*scores)[i].metric;
    EXPECT_NE((*scores)[i].undefined, "");
    EXPECT_EQ((*scores)[i].interval.method, "");
    EXPECT_EQ(run_of((*scores)[i]).outcome, Outcome::skipped);
  }
  EXPECT_TRUE(to_json(*scores)["scores"][1]["value"].is_null() || std::isnan((*scores)[1].value));
}

TEST(Scores, warn_where_the_metric_does_not_fit_the_text) {
  const auto thai =
      examples_from("{\"id\":1,\"reference\":\"แมวนั่งบนเสื่อ\"}\n", {"{\"id\":1,\"output\":\"แมวนั่งบนเสื่อ\"}\n"});
  EXPECT_NE(measured_by_name("bleu", thai).warning.find("script without spaces"), std::string::npos);
  EXPECT_NE(measured_by_name("rouge1", thai).warning.find("a-z and 0-9 only"), std::string::npos);
  EXPECT_EQ(measured_by_name("bleu", thai, {.tokenize = "char"}).warning, "");
  const auto tokenized =
      examples_from("{\"id\":1,\"reference\":\"Here it is.\"}\n", {"{\"id\":1,\"output\":\"Here it is .\"}\n"});
  EXPECT_NE(measured_by_name("bleu", tokenized).warning.find("look tokenized already"), std::string::npos);
  const auto plain =
      examples_from("{\"id\":1,\"reference\":\"Here it is.\"}\n", {"{\"id\":1,\"output\":\"Here it is.\"}\n"});
  EXPECT_EQ(measured_by_name("bleu", plain).warning, "");
  EXPECT_EQ(measured_by_name("rouge1", plain).warning, "");
}

TEST(Scores, count_an_example_of_several_skills_under_each) {
  const auto examples = examples_from(
      "{\"id\":1,\"label\":1,\"skill\":[\"scene\",\"counting\",\"scene\"]}\n{\"id\":2,\"label\":1,\"skill\":\"scene\"}"
      "\n"
      "{\"id\":3,\"label\":1,\"skill\":\"scene\"}\n{\"id\":4,\"label\":1}\n",
      {"{\"id\":1,\"output\":1}\n{\"id\":2,\"output\":0}\n{\"id\":3,\"output\":0}\n{\"id\":4,\"output\":1}\n",
       "{\"id\":1,\"output\":1}\n{\"id\":2,\"output\":1}\n{\"id\":3,\"output\":0}\n{\"id\":4,\"output\":1}\n"});
  const auto metrics = metrics_named({"accuracy"}, {});
  ScoreOptions options;
  options.by_subject = true;
  const auto scores = score_systems(examples, *metrics, options);
  ASSERT_TRUE(scores.ok()) << scores.error().what;
  const auto& by = scores->front().by;
  ASSERT_EQ(by.size(), 2U);
  EXPECT_EQ(by[0].subject, "counting");
  EXPECT_EQ(by[0].n, 1);
  EXPECT_DOUBLE_EQ(by[0].value, 1);
  EXPECT_EQ(by[1].subject, "scene");
  EXPECT_EQ(by[1].n, 3);
  EXPECT_DOUBLE_EQ(by[1].value, 1.0 / 3);
  CompareSystemsOptions compare;
  compare.by_subject = true;
  const auto compared = compare_systems(examples, *metrics, compare);
  ASSERT_TRUE(compared.ok()) << compared.error().what;
  ASSERT_EQ(compared->front().by.size(), 2U);
  EXPECT_DOUBLE_EQ(compared->front().by[1].second, 2.0 / 3);
}

TEST(Comparison, tells_the_relative_change_with_an_interval_of_its_own) {
  std::string gold, first, second;
  for (int i = 0; i < 400; ++i) {
    const auto id = "{\"id\":" + std::to_string(i);
    gold += id + ",\"label\":1}\n";
    first += id + ",\"output\":" + (i % 2 == 0 ? "1" : "0") + "}\n";    // 200 of 400 right
    second += id + ",\"output\":" + (i % 10 == 0 ? "1" : "0") + "}\n";  // 40: a fifth of that
  }
  const auto metrics = metrics_named({"accuracy"}, {});
  const auto compared = compare_systems(examples_from(gold, {first, second}), *metrics, {});
  ASSERT_TRUE(compared.ok()) << compared.error().what;
  const auto& relative = compared->front().bootstrap.relative;
  ASSERT_TRUE(relative.has_value());
  // 40 of 200 that stay right: a share with a standard error of sqrt(0.2 * 0.8 / 200) = 0.028.
  EXPECT_NEAR(relative->low, -0.8 - 1.96 * 0.028, 0.015);
  EXPECT_NEAR(relative->high, -0.8 + 1.96 * 0.028, 0.015);
  const auto from_nothing = compare_systems(examples_from("{\"id\":1,\"label\":1}\n{\"id\":2,\"label\":1}\n",
                                                          {"{\"id\":1,\"output\":0}\n{\"id\":2,\"output\":0}\n",
                                                           "{\"id\":1,\"output\":1}\n{\"id\":2,\"output\":1}\n"}),
                                            *metrics, {});
  ASSERT_TRUE(from_nothing.ok()) << from_nothing.error().what;
  EXPECT_FALSE(from_nothing->front().bootstrap.relative.has_value());
}

TEST(Scores, keep_clusters_together_and_become_runs) {
  std::string gold, out;
  for (int i = 0; i < 100; ++i) {
    gold += "{\"id\":" + std::to_string(i) + ",\"label\":1,\"group\":\"g" + std::to_string(i / 10) + "\"}\n";
    out += "{\"id\":" + std::to_string(i) + ",\"output\":" + std::to_string(i / 10 % 2) + "}\n";
  }
  const auto clustered = examples_from(gold, {out});
  FieldNames alone;
  alone.group = "no such field";
  const auto single = examples_from(gold, {out}, alone);
  const auto metrics = metrics_named({"accuracy"}, {});
  const auto wide = score_systems(clustered, *metrics, {}), narrow = score_systems(single, *metrics, {});
  ASSERT_TRUE(wide.ok() && narrow.ok());
  EXPECT_EQ(wide->front().interval.method, "clustered bootstrap");
  EXPECT_EQ(narrow->front().interval.method, "exact");
  EXPECT_EQ(wide->front().groups, 10);
  EXPECT_GT(wide->front().interval.high - wide->front().interval.low,
            2 * (narrow->front().interval.high - narrow->front().interval.low));
  const ::warpmark::Run run = run_of(wide->front());
  EXPECT_EQ(run.workload, "eval");
  EXPECT_EQ(run.metrics.front().summary.median, 0.5);
}

TEST(RunOf, has_no_value_of_an_infinite_perplexity) {
  Score score;
  score.metric = "word_perplexity";
  score.value = std::numeric_limits<double>::infinity();
  const ::warpmark::Run run = run_of(score);
  EXPECT_EQ(run.outcome, Outcome::skipped);
  EXPECT_EQ(run.reason, "word_perplexity is infinite");
  EXPECT_TRUE(run.metrics.empty());
}

TEST(Divergence, finds_the_first_different_token_and_the_change_of_log_probabilities) {
  const auto examples =
      examples_from("{\"id\":1,\"answer\":\"x\"}\n{\"id\":2,\"answer\":\"x\"}\n",
                    {"{\"id\":1,\"output\":\"a b\",\"tokens\":[\"a\",\" b\"],\"token_logprobs\":[-0.1,-0.2]}\n"
                     "{\"id\":2,\"output\":\"c\",\"tokens\":[\"c\"],\"token_logprobs\":[-1]}\n",
                     "{\"id\":1,\"output\":\"a d\",\"tokens\":[\"a\",\" d\"],\"token_logprobs\":[-0.3,-0.2]}\n"
                     "{\"id\":2,\"output\":\"c\",\"tokens\":[\"c\"],\"token_logprobs\":[-1]}\n"});
  const auto found = divergence_of(examples, 0, 1);
  EXPECT_TRUE(found.in_tokens);
  EXPECT_EQ(found.equal, 1);
  EXPECT_EQ(found.first_difference, 1);
  EXPECT_NEAR(*found.mean_logprob_change, 0.1, 1e-12);
  EXPECT_NEAR(*found.most_logprob_change, 0.2, 1e-12);
}

TEST(SystemNames, are_what_differs_in_the_paths) {
  const auto names = [](std::vector<std::string> paths) { return system_names(paths); };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({"runs/base.jsonl", "/tmp/new.csv"}), (Names{"base", "new"}));
  EXPECT_EQ(names({"/tmp/q/full/answers.jsonl", "/tmp/q/q40/answers.jsonl"}), (Names{"full", "q40"}));
  EXPECT_EQ(names({"a/b/x/answers.jsonl", "a/c/x/answers.jsonl", "a/b/y/answers.jsonl"}), (Names{"b/x", "c/x", "b/y"}));
  EXPECT_EQ(names({"out.jsonl", "old/out.jsonl"}), (Names{"out", "old/out"}));
  // The same file twice, and files that differ in the ending alone.
  EXPECT_EQ(names({"a.jsonl", "a.jsonl"}), (Names{"a.jsonl", "a.jsonl"}));
  EXPECT_EQ(names({"run/a.jsonl", "run/a.csv"}), (Names{"run/a.jsonl", "run/a.csv"}));
}

}  // namespace
}  // namespace warpmark::accuracy
