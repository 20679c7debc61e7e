#include <algorithm>
#include <cmath>

#include "accuracy/choice/choice.h"
#include "accuracy/classification/classification.h"
#include "accuracy/goldens.h"
#include "accuracy/ratings/ratings.h"
#include "accuracy/significance/intervals.h"

namespace warpmark::accuracy {
namespace {

using Numbers = std::vector<double>;

double average_named(const Confusion& counts, const std::string& name) {
  const auto score = name.starts_with("precision") ? ClassScore::precision
                     : name.starts_with("recall")  ? ClassScore::recall
                                                   : ClassScore::f1;
  const auto average = name.ends_with("micro")   ? Average::micro
                       : name.ends_with("macro") ? Average::macro
                                                 : Average::weighted;
  return average_score(counts, score, average);
}

double class_value(const std::string& name, const Confusion& counts, const Json& golden) {
  if (name == "accuracy") return accuracy_of(counts);
  if (name == "balanced_accuracy") return balanced_accuracy_of(counts);
  if (name == "mcc") return matthews_correlation(counts);
  if (name == "kappa") return cohens_kappa(counts, KappaWeights::none);
  if (name == "kappa_linear") return cohens_kappa(counts, KappaWeights::linear);
  if (name == "kappa_quadratic") return cohens_kappa(counts, KappaWeights::quadratic);
  if (name == "f1") return class_score(counts, ClassScore::f1, 1);
  if (name.find('_') != std::string::npos && name != "log_loss" && name != "auc_tied")
    return average_named(counts, name);
  double sum = 0;
  std::vector<double> second;
  std::vector<bool> positive;
  for (std::size_t i = 0; i < golden["truth"].size(); ++i) {
    const auto p = golden["probabilities"][i].get<Numbers>();
    const auto truth = golden["truth"][i].get<std::size_t>();
    sum += name == "log_loss" ? log_loss_of(p, truth) : brier_of(p, truth);
    second.push_back(name == "auc_tied" ? std::round(p[1] * 10) / 10 : p[1]);
    positive.push_back(truth == 1);
  }
  if (name.starts_with("auc")) return roc_area(second, positive);
  return sum / static_cast<double>(golden["truth"].size());
}

TEST(ClassGoldens, are_those_of_scikit_learn) {
  std::size_t checked = 0;
  for (const auto& golden : goldens("classes")) {
    const auto truth = golden["truth"].get<std::vector<std::uint32_t>>();
    const auto predicted = golden["predicted"].get<std::vector<std::uint32_t>>();
    const auto classes = 1 + std::max(*std::max_element(truth.begin(), truth.end()),
                                      *std::max_element(predicted.begin(), predicted.end()));
    Confusion counts(classes);
    for (std::size_t i = 0; i < truth.size(); ++i) counts.add(truth[i], predicted[i]);
    for (const auto& [name, value] : golden["values"].items()) {
      EXPECT_NEAR(class_value(name, counts, golden), value.get<double>(), kGoldenTolerance) << name;
      ++checked;
    }
  }
  EXPECT_GE(checked, 80U);
}

TEST(ClassGoldens, are_the_correlations_of_scipy) {
  for (const auto& golden : goldens("correlations")) {
    const auto a = golden["a"].get<Numbers>(), b = golden["b"].get<Numbers>();
    EXPECT_NEAR(pearson(a, b), golden["pearson"].get<double>(), kGoldenTolerance);
    EXPECT_NEAR(spearman(a, b), golden["spearman"].get<double>(), kGoldenTolerance);
    EXPECT_NEAR(kendall_tau_b(a, b), golden["kendall"].get<double>(), kGoldenTolerance);
  }
}

TEST(ClassGoldens, are_the_tests_of_scipy) {
  const Json file = goldens("tests");
  for (const auto& golden : file["mcnemar"]) {
    const auto result = mcnemar(golden["b"], golden["c"]);
    EXPECT_NEAR(result.p, golden["p"].get<double>(), kGoldenTolerance) << golden;
    EXPECT_NEAR(result.mid_p, golden["mid_p"].get<double>(), kGoldenTolerance) << golden;
  }
  for (const auto& golden : file["paired_t"]) {
    auto both = golden["a"].get<Numbers>();
    const auto n = both.size();
    const auto b = golden["b"].get<Numbers>();
    both.insert(both.end(), b.begin(), b.end());
    const auto result = paired_means(mean_metric(n, 2, both), 0, 1, Groups(n), 0.95);
    ASSERT_TRUE(result.has_value());
    EXPECT_NEAR(result->p, golden["p"].get<double>(), kGoldenTolerance);
    EXPECT_NEAR(result->interval.low, golden["low"].get<double>(), kGoldenTolerance);
    EXPECT_NEAR(result->interval.high, golden["high"].get<double>(), kGoldenTolerance);
  }
  for (const auto& golden : file["clopper_pearson"]) {
    const auto interval = clopper_pearson(golden["k"], golden["n"], 0.95);
    EXPECT_NEAR(interval.low, golden["low"].get<double>(), kGoldenTolerance) << golden;
    EXPECT_NEAR(interval.high, golden["high"].get<double>(), kGoldenTolerance) << golden;
  }
  for (const auto& golden : file["pass_at_k"]) {
    EXPECT_NEAR(pass_at_k(golden["n"], golden["c"], golden["k"]), golden["value"].get<double>(), kGoldenTolerance);
  }
}

TEST(McNemar, gives_the_published_values) {
  EXPECT_NEAR(mcnemar(10, 2).p, 0.03857421875, 1e-12);
  EXPECT_NEAR(mcnemar(10, 2).mid_p, 0.0224609375, 1e-12);
  EXPECT_NEAR(mcnemar(0, 6).p, 0.03125, 1e-12);
  EXPECT_NEAR(mcnemar(121, 59).p, 4.434449e-6, 1e-12);
}

}  // namespace
}  // namespace warpmark::accuracy
