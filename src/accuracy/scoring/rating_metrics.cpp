// Metrics of ratings by people, and of metrics against them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "accuracy/ratings/ratings.h"
#include "accuracy/scoring/each_answer.h"
#include "accuracy/scoring/metric.h"
#include "accuracy/text/unicode.h"
#include "base/units.h"

namespace warpmark::accuracy {
namespace {

Result<double> number_of_text(const std::string& text, const char* whose) {
  const auto value = parse_number(stripped(text));
  if (value.ok() && std::isfinite(*value)) return *value;
  return data_error(fmt::format("{} is no number: '{}'", whose, text),
                    "name the field that is with --ref-field or --out-field");
}

/// All ratings of an answer: a list 'ratings', or the one number; missing ones (null) are left out.
Result<ItemRatings> ratings_of(const Answer& answer) {
  ItemRatings ratings;
  if (answer.fields.is_object() && answer.fields.contains("ratings") && answer.fields["ratings"].is_array()) {
    for (const auto& item : answer.fields["ratings"]) {
      if (item.is_null()) continue;
      WM_ASSIGN(const double rating, number_of_text(field_text(item), "a rating"));
      ratings.push_back(rating);
    }
    return ratings;
  }
  std::vector<Json> samples = answer.samples;
  for (const auto& sample : samples) {
    if (!sample.is_object() || !sample.contains("rating")) return data_error("a record has no field 'rating'");
    WM_ASSIGN(const double rating, number_of_text(field_text(sample["rating"]), "a rating"));
    ratings.push_back(rating);
  }
  if (!samples.empty() || !answer.problem.empty()) return ratings;
  WM_ASSIGN(const double rating, number_of_text(answer.text, "the rating"));
  return ItemRatings{rating};
}

Result<std::vector<ItemRatings>> all_ratings(const Examples& examples) {
  std::vector<ItemRatings> all;
  WM_TRY(try_each_answer(examples, [&](const Example&, const Answer& answer) -> Status {
    WM_ASSIGN(auto ratings, ratings_of(answer));
    all.push_back(std::move(ratings));
    return {};
  }));
  return all;
}

Result<Measured> measure_likert(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(const auto ratings, all_ratings(examples));
  std::vector<double> each;
  std::vector<char> rated;
  for (const auto& item : ratings) {
    double sum = 0;
    for (const double rating : item) sum += rating;
    each.push_back(item.empty() ? 0 : sum / static_cast<double>(item.size()));
    rated.push_back(item.empty() ? 0 : 1);
  }
  Measured measured = measured_of(examples, "mean of the items' mean ratings");
  measured.each = each;
  measured.value = [each, rated](Rows rows) {
    double sum = 0, count = 0;
    for (const auto row : rows) {
      sum += rated[row] != 0 ? each[row] : 0;
      count += rated[row];
    }
    return count > 0 ? sum / count : 0;
  };
  return measured;
}

Result<Measured> measure_alpha(const Examples& examples, const ScoreSettings& settings) {
  WM_ASSIGN(const auto ratings, all_ratings(examples));
  Measured measured = measured_of(examples);
  measured.value = [ratings, level = settings.measurement](Rows rows) {
    std::vector<ItemRatings> items;
    for (const auto row : rows) items.push_back(ratings[row]);
    return krippendorff_alpha(items, level);
  };
  constexpr const char* kLevels[] = {"nominal", "ordinal", "interval", "ratio"};
  measured.signature = fmt::format("level:{}", kLevels[static_cast<std::size_t>(settings.measurement)]);
  return measured;
}

struct NumberPairs {
  std::vector<double> metric;
  std::vector<double> human;
};

/// An example's human number: its reference, or the mean of a list of ratings.
Result<double> human_number(const Example& example) {
  if (example.references.empty()) return data_error("the reference has no number");
  const Json* list = nullptr;
  if (example.fields.is_object() && example.fields.contains("ratings")) list = &example.fields["ratings"];
  if (list == nullptr || !list->is_array() || list->empty())
    return number_of_text(example.references.front(), "the reference");
  double sum = 0;
  for (const auto& item : *list) {
    WM_ASSIGN(const double rating, number_of_text(field_text(item), "a rating"));
    sum += rating;
  }
  return sum / static_cast<double>(list->size());
}

using Correlate = double (*)(std::span<const double> metric, std::span<const double> human);

Result<Measured> correlated(const Examples& examples, Correlate correlate) {
  NumberPairs pairs;
  WM_TRY(try_each_answer(examples, [&](const Example& example, const Answer& answer) -> Status {
    if (!answer.problem.empty()) return data_error(answer.problem, "each example needs a number");
    WM_ASSIGN(const double human, human_number(example));
    WM_ASSIGN(const double metric, number_of_text(answer.text, "the answer"));
    pairs.human.push_back(human);
    pairs.metric.push_back(metric);
    return {};
  }));
  Measured measured = measured_of(examples);
  measured.value = [pairs = std::move(pairs), correlate](Rows rows) {
    std::vector<double> metric, human;
    for (const auto row : rows) {
      metric.push_back(pairs.metric[row]);
      human.push_back(pairs.human[row]);
    }
    return correlate(metric, human);
  };
  return measured;
}

template <Correlate kCorrelate>
Result<Measured> measure_correlation(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(auto measured, correlated(examples, kCorrelate));
  measured.signature = "over examples";
  measured.undefined = "the answers or the references are all the same";
  return measured;
}

double pairwise_share(std::span<const double> metric, std::span<const double> human) {
  return pairwise_accuracy(metric, human).accuracy;
}

Result<Measured> measure_pairwise(const Examples& examples, const ScoreSettings&) {
  constexpr std::size_t kMost = 3000;
  if (examples.size() > kMost) {
    return data_error(fmt::format("pairwise accuracy of {} examples takes too long", examples.size()),
                      fmt::format("at most {}; kendall is fast for any number", kMost));
  }
  WM_ASSIGN(auto measured, correlated(examples, pairwise_share));
  measured.signature = "ties:calibrated (Deutsch et al. 2023)";
  return measured;
}

struct Duels {
  std::vector<std::string> players;
  std::vector<Duel> duels;
};

/// Records {"first": A, "second": B, "winner": A, B or "tie"}; other spellings of arenas as well.
Result<Duels> duels_of(const Examples& examples) {
  if (examples.systems.size() != 1) return data_error("comparisons stand in one file", "name one with --predictions");
  Duels result;
  std::map<std::string, std::size_t> numbers;
  const auto player = [&](const std::string& name) {
    const auto [place, is_new] = numbers.emplace(name, result.players.size());
    if (is_new) result.players.push_back(name);
    return place->second;
  };
  WM_TRY(try_each_answer(examples, [&](const Example&, const Answer& answer) -> Status {
    const Json& fields = answer.fields;
    const auto text = [&](const char* name, const char* other) {
      if (!fields.is_object()) return std::string();
      return fields.contains(name) ? field_text(fields[name]) : fields.contains(other) ? field_text(fields[other]) : "";
    };
    const std::string first = text("first", "model_a"), second = text("second", "model_b");
    const std::string winner = text("winner", "preference");
    if (first.empty() || second.empty() || winner.empty() || first == second) {
      return data_error("a comparison needs 'first', 'second' (two names) and 'winner'");
    }
    double win = 0.5;
    if (winner == first || winner == "first" || winner == "model_a") {
      win = 1;
    } else if (winner == second || winner == "second" || winner == "model_b") {
      win = 0;
    } else if (!winner.starts_with("tie") && winner != "both" && winner != "draw") {
      return data_error("its winner '" + winner + "' is neither of the two, nor 'tie'");
    }
    const std::size_t a = player(first), b = player(second);
    result.duels.push_back({a, b, win});
    return {};
  }));
  return result;
}

using RatePlayers = std::vector<double> (*)(std::span<const Duel> duels, std::size_t players);

/// One value a player: each is a "system" whose rows are all duels.
Result<Measured> rated_players(const Examples& examples, RatePlayers rate) {
  WM_ASSIGN(const auto all, duels_of(examples));
  Measured measured{
      .examples = all.duels.size(), .systems = all.players.size(), .value = {}, .each = {}, .signature = {}};
  measured.names = all.players;
  measured.value = [duels = all.duels, players = all.players.size(), rate](Rows rows) {
    if (rows.empty()) return 0.0;
    const std::size_t player = rows.front() / duels.size();
    std::vector<std::uint32_t> in_order(rows.begin(), rows.end());  // Elo's depends on it, resampled or not
    std::sort(in_order.begin(), in_order.end());
    std::vector<Duel> chosen;
    for (const auto row : in_order) chosen.push_back(duels[row % duels.size()]);
    return rate(chosen, players)[player];
  };
  return measured;
}

std::vector<double> win_rates(std::span<const Duel> duels, std::size_t players) {
  std::vector<double> rates;
  for (const auto& share : win_shares(duels, players))
    rates.push_back(share.games > 0 ? share.wins / share.games : 0.5);
  return rates;
}

constexpr double kPriorGames = 0.5;

std::vector<double> bradley_terry_ratings(std::span<const Duel> duels, std::size_t players) {
  return bradley_terry(duels, players, is_connected_by_wins(duels, players) ? 0 : kPriorGames);
}

std::vector<double> elo_ratings(std::span<const Duel> duels, std::size_t players) { return elo(duels, players); }

template <RatePlayers kRate>
Result<Measured> measure_players(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(auto measured, rated_players(examples, kRate));
  if (kRate == bradley_terry_ratings) {
    measured.signature = "scale:elo|mean:1000|ties:half|prior:half a drawn game a pair where wins do not connect all";
  } else if (kRate == elo_ratings) {
    measured.signature = "k:32|start:1000|in the order of the file";
  } else {
    measured.signature = "ties:half";
  }
  return measured;
}

}  // namespace

std::span<const ScoreMetric> rating_metrics() {
  constexpr auto kHigher = Better::higher;
  static constexpr ScoreMetric kMetrics[] = {
      {"likert", "mean rating of the items", kHigher, true, measure_likert},
      {"krippendorff_alpha", "agreement of raters, at the --level of measurement", kHigher, true, measure_alpha},
      {"pearson", "linear correlation of the answers' numbers with the references'", kHigher, false,
       measure_correlation<pearson>},
      {"spearman", "correlation of ranks", kHigher, false, measure_correlation<spearman>},
      {"kendall", "Kendall's tau-b", kHigher, false, measure_correlation<kendall_tau_b>},
      {"pairwise_accuracy", "share of pairs ordered as people do, ties calibrated", kHigher, false, measure_pairwise},
      {"win_rate", "share of comparisons won, ties half; by player", kHigher, false, measure_players<win_rates>},
      {"bradley_terry", "strength on Elo's scale; by player", kHigher, false, measure_players<bradley_terry_ratings>},
      {"elo", "Elo's rating in the order of the file; by player", kHigher, false, measure_players<elo_ratings>},
  };
  return kMetrics;
}

}  // namespace warpmark::accuracy
