// Wrong scores that people reported of published tools, recreated: each example is that of the report, and the right
// value is what its thread, the paper, or the corrected tool (sacreBLEU at 2.6.0) says. docs/results has the table.
#include <gtest/gtest.h>

#include "accuracy/choice/choice.h"
#include "accuracy/scored.h"
#include "accuracy/significance/intervals.h"
#include "base/json.h"

namespace warpmark::accuracy {
namespace {

/// One example a pair of reference and answer.
Examples pairs(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string references, answers;
  int id = 0;
  for (const auto& [reference, answer] : texts) {
    references += dump_json(Json{{"id", id}, {"answer", reference}}, -1) + "\n";
    answers += dump_json(Json{{"id", id++}, {"output", answer}}, -1) + "\n";
  }
  return examples_from(references, {answers});
}

// mjpost/sacrebleu#239: one empty hypothesis made the score 0 or left it at 100, as references were given crosswise.
TEST(PublicReports, sacrebleu_239_an_empty_answer_costs_its_own_share) {
  EXPECT_NEAR(scored("chrf", pairs({{"A B C", "A B C"}, {"B C D", "B C D"}, {"C D E", "C D E"}})), 100, 1e-9);
  EXPECT_NEAR(scored("chrf", pairs({{"A B C", ""}, {"B C D", "B C D"}, {"C D E", "C D E"}})), 71.42857142857142, 1e-9);
  EXPECT_NEAR(scored("chrf", pairs({{"A B C", "A B C"}, {"B C D", ""}, {"C D E", "C D E"}})), 71.42857142857142, 1e-9);
  EXPECT_NEAR(scored("chrf", pairs({{"A B C", "A B C"}, {"B C D", ""}, {"C D E", ""}})), 38.46153846153846, 1e-9);
}

// mjpost/sacrebleu#121: a single reference was taken letter by letter.
TEST(PublicReports, sacrebleu_121_a_reference_is_a_text_and_no_list_of_letters) {
  EXPECT_NEAR(scored("chrf", pairs({{"h", "hi there"}})), 45.454545454545446, 1e-9);
}

// mjpost/sacrebleu#165: another tokenizer than the leaderboard's; Chinese is no single word.
TEST(PublicReports, sacrebleu_165_chinese_needs_its_tokenizer) {
  const auto examples = pairs({{"你好,世界。今天天气非常好。", "你好世界,今天天气很好。"}});
  EXPECT_NEAR(scored("bleu", examples, {.tokenize = "zh"}), 27.48254571080017, 1e-9);
  EXPECT_NEAR(scored("bleu", examples, {.tokenize = "13a"}), 0, 1e-9);
}

// mjpost/sacrebleu#259, huggingface/lighteval#1112: references by example and by stream were confused.
TEST(PublicReports, lighteval_1112_every_example_has_its_own_references) {
  EXPECT_NEAR(scored("chrf++", pairs({{"GOOD", "GOOD"}, {"REF2", "PRED2"}})), 58.74459645270104, 1e-9);
  const auto several = examples_from(
      "{\"id\":1,\"answers\":[\"the cat sat down\",\"a cat sat\"]}\n{\"id\":2,\"answers\":[\"the dog\",\"a dog\"]}\n",
      {"{\"id\":1,\"output\":\"the cat sat\"}\n{\"id\":2,\"output\":\"a dog\"}\n"});
  EXPECT_NEAR(scored("chrf", several), 71.7820464906054, 1e-9);
}

// Lightning-AI/torchmetrics#3480: a sentence without any match lost its reference, and the corpus gained.
TEST(PublicReports, torchmetrics_3480_a_worthless_answer_keeps_its_reference) {
  const auto examples =
      pairs({{"the cat sat on the mat", "the cat sat on the mat"}, {"a quick brown fox jumps", "zzzz"}});
  EXPECT_NEAR(scored("chrf++", examples), 53.840297078113785, 1e-9);
}

// nltk/nltk#1785: equal texts, one of them shorter than four words, had no BLEU of 1.
TEST(PublicReports, nltk_1785_short_sentences_do_not_lower_the_bleu_of_equal_texts) {
  const auto examples =
      pairs({{"John loves Mary", "John loves Mary"}, {"John still loves Mary a lot", "John still loves Mary a lot"}});
  EXPECT_NEAR(scored("bleu", examples), 100, 1e-9);
}

// Nealcly/KE-Blender#5: answers and references were exchanged. F1 is the same, BLEU is not.
TEST(PublicReports, ke_blender_5_bleu_is_not_symmetric) {
  const std::string a = "the cat sat on the mat", b = "the cat is on the mat today";
  EXPECT_NEAR(scored("bleu", pairs({{a, b}})), 30.739407647563215, 1e-9);
  EXPECT_NEAR(scored("bleu", pairs({{b, a}})), 32.159351091190125, 1e-9);
  EXPECT_EQ(scored("f1", pairs({{a, b}})), scored("f1", pairs({{b, a}})));
}

// amazon-science/hr-multiwoz-tod-llm-agent#8: F1 of equal texts with a repeated word was 0.2.
TEST(PublicReports, hr_multiwoz_8_repeated_words_count_as_often_as_they_come) {
  EXPECT_EQ(scored("f1", pairs({{"b b b b b", "b b b b b"}})), 1);
}

// huggingface/transformers#7313: exact match was reported as F1, and F1 as exact match.
TEST(PublicReports, transformers_7313_exact_match_is_no_f1) {
  const auto examples = pairs({{"Denver Broncos", "the Denver Broncos won"}});
  EXPECT_EQ(scored("exact_match", examples), 0);
  EXPECT_NEAR(scored("f1", examples), 0.8, 1e-12) << "articles are left out";
}

// Lightning-AI/torchmetrics#2167: a mean of F below the means of precision and recall is right, and was taken for a
// bug.
TEST(PublicReports, torchmetrics_2167_a_mean_f_lies_below_mean_precision_and_recall) {
  const auto examples = pairs({{"a", "a b c d e f g h"}, {"a b c d e f g h", "a"}});
  EXPECT_NEAR(scored("rouge1_precision", examples), 0.5625, 1e-12);
  EXPECT_NEAR(scored("rouge1_recall", examples), 0.5625, 1e-12);
  EXPECT_NEAR(scored("rouge1", examples), 2.0 / 9, 1e-12);
}

// EleutherAI/lm-evaluation-harness#2890: ROUGE-L of all LongBench tasks was near 1, the best so far instead of each.
TEST(PublicReports, harness_2890_one_good_summary_does_not_lift_the_others) {
  const auto examples = pairs({{"one two", "one two"}, {"x", "y"}, {"a dog ran far", "the cat sat"}});
  EXPECT_NEAR(scored("rougeL", examples), 1.0 / 3, 1e-12);
}

// EleutherAI/lm-evaluation-harness#1204: right answers with a sentence around them were wrong.
TEST(PublicReports, harness_1204_a_number_in_a_sentence_is_found) {
  const auto examples =
      pairs({{"540", "James runs 3*3=9 sprints a week. So he runs 9*60=540 meters. The answer is 540."}});
  EXPECT_EQ(scored("gsm8k_flexible", examples), 1);
  EXPECT_EQ(scored("gsm8k_strict", examples), 0) << "which asks for ####, and says so by its name";
}

// EleutherAI/lm-evaluation-harness#2279: mmlu_generative was 0, as letters were compared with texts around them.
TEST(PublicReports, harness_2279_letters_are_read_from_generated_answers) {
  for (const char* answer : {"B", "B.", "(B)", "The answer is B.", "**B**", "B. a dog"}) {
    EXPECT_EQ(choice_letter(answer, 4), 1U) << answer;
  }
}

Examples samples(int passed, int all) {
  std::string answers;
  for (int i = 0; i < all; ++i) {
    answers += std::string("{\"task_id\":\"a\",\"passed\":") + (i < passed ? "true" : "false") + "}\n";
  }
  return examples_from("{\"task_id\":\"a\",\"answer\":\"\"}\n", {answers});
}

// confident-ai/deepeval#2967: any passing sample made the task pass, whatever k was.
TEST(PublicReports, deepeval_2967_pass_at_1_of_one_in_200_is_half_a_percent) {
  EXPECT_NEAR(scored("pass@1", samples(1, 200)), 0.005, 1e-12);
  EXPECT_NEAR(scored("pass@200", samples(1, 200)), 1, 1e-12);
}

// openai/human-eval#35: with fewer samples than k the estimate was 1, though none had passed.
TEST(PublicReports, human_eval_35_fewer_samples_than_k_have_no_estimate) {
  EXPECT_NE(said_of("pass@10", samples(0, 5)).find("pass@10 needs as many samples"), std::string::npos);
}

// openai/human-eval#16: the example of its own page is 3 passed of 6, and was 1.0 as long as nothing was executed.
TEST(PublicReports, human_eval_16_half_of_the_example_passes) {
  EXPECT_NEAR(scored("pass@1", samples(3, 6)), 0.5, 1e-12);
}

// EleutherAI/lm-evaluation-harness#1303: a rule for articles took "an", "a" and "the" out of words.
TEST(PublicReports, harness_1303_articles_go_as_words_and_not_out_of_words) {
  EXPECT_EQ(scored("exact_match", pairs({{"Spice Girls", "The Spice Girls"}})), 1);
  EXPECT_EQ(scored("exact_match", pairs({{"Spice Girls", "spice girls."}})), 1);
  EXPECT_EQ(scored("exact_match", pairs({{"banana", "bnn"}, {"leather", "ler"}})), 0);
}

// EleutherAI/lm-evaluation-harness#3254: "$29.00" for 29 is wrong by the harness's texts, and the same number.
TEST(PublicReports, harness_3254_a_price_with_zeros_is_the_same_number) {
  const auto examples = pairs({{"#### 29", "He pays $29.00."}, {"#### 29", "He pays $29."}});
  EXPECT_EQ(scored("numeric", examples), 1);
  EXPECT_EQ(scored("gsm8k_flexible", examples), 0.5) << "as the harness has it";
}

// EleutherAI/lm-evaluation-harness#3957: without its rule for commas a right answer to "1,234" is wrong.
TEST(PublicReports, harness_3957_a_comma_of_thousands_is_no_difference) {
  EXPECT_EQ(scored("gsm8k_strict", pairs({{"#### 1,234", "#### 1234"}, {"#### 1234", "#### 1,234"}})), 1);
  EXPECT_EQ(scored("gsm8k_strict", pairs({{"#### 1,234", "#### 1.234"}})), 0);
}

// EleutherAI/lm-evaluation-harness#3880: blanks left where punctuation was taken out made "( B )" another letter.
TEST(PublicReports, harness_3880_blanks_around_a_letter_are_no_difference) {
  EXPECT_EQ(choice_letter("( B )", 4), 1U);
  EXPECT_EQ(scored("exact_match", pairs({{"(B)", "( B )"}})), 1);
}

// huggingface/evaluate#699: F1 of a class that is neither predicted nor there cannot be told apart from a bad one.
TEST(PublicReports, evaluate_699_a_class_that_never_comes_does_not_lower_the_mean) {
  const auto examples = pairs({{"0", "0"}, {"1", "0"}, {"0", "0"}, {"1", "0"}, {"2", "0"}});
  EXPECT_NEAR(scored("f1_macro", examples), (4.0 / 7) / 3, 1e-12) << "three classes, and not a fourth of zero";
}

// huggingface/evaluate#120, #409: one metric was in percent and the other a ratio, under names that do not tell.
TEST(PublicReports, evaluate_120_exact_match_and_f1_have_one_scale) {
  const auto examples = pairs({{"cat", "cat"}, {"theater", "theaters"}, {"yelling", "yell"}, {"agent", "agents"}});
  EXPECT_EQ(scored("exact_match", examples), 0.25);
  EXPECT_EQ(scored("f1", examples), 0.25);
}

// huggingface/evaluate#81: McNemar's test divided by zero where no pair differs.
TEST(PublicReports, evaluate_81_systems_that_never_differ_are_no_division_by_zero) { EXPECT_EQ(mcnemar(0, 0).p, 1); }

// mjpost/sacrebleu#278: equal phrases of two words have a BLEU of 0, and of four words 100.
TEST(PublicReports, sacrebleu_278_equal_phrases_shorter_than_four_words) {
  EXPECT_EQ(scored("bleu", pairs({{"Zhongjian Plaza", "Zhongjian Plaza"}})), 0);
  EXPECT_NEAR(scored("bleu", pairs({{"China Railway Heavy Industry", "China Railway Heavy Industry"}})), 100, 1e-9);
  EXPECT_NEAR(scored("sentence_bleu", pairs({{"Zhongjian Plaza", "Zhongjian Plaza"}})), 100, 1e-9) << "effective order";
  EXPECT_NEAR(scored("chrf", pairs({{"Zhongjian Plaza", "Zhongjian Plaza"}})), 100, 1e-9);
}

}  // namespace
}  // namespace warpmark::accuracy
