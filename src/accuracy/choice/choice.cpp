#include "accuracy/choice/choice.h"

#include <algorithm>

#include "accuracy/text/unicode.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::accuracy {
namespace {

struct MmluSubject {
  std::string_view name;
  std::string_view category;
};

constexpr std::string_view kStem = "STEM", kHumanities = "humanities", kSocial = "social sciences", kOther = "other";

constexpr MmluSubject kMmluSubjects[] = {
    {"abstract_algebra", kStem},
    {"anatomy", kStem},
    {"astronomy", kStem},
    {"business_ethics", kOther},
    {"clinical_knowledge", kOther},
    {"college_biology", kStem},
    {"college_chemistry", kStem},
    {"college_computer_science", kStem},
    {"college_mathematics", kStem},
    {"college_medicine", kOther},
    {"college_physics", kStem},
    {"computer_security", kStem},
    {"conceptual_physics", kStem},
    {"econometrics", kSocial},
    {"electrical_engineering", kStem},
    {"elementary_mathematics", kStem},
    {"formal_logic", kHumanities},
    {"global_facts", kOther},
    {"high_school_biology", kStem},
    {"high_school_chemistry", kStem},
    {"high_school_computer_science", kStem},
    {"high_school_european_history", kHumanities},
    {"high_school_geography", kSocial},
    {"high_school_government_and_politics", kSocial},
    {"high_school_macroeconomics", kSocial},
    {"high_school_mathematics", kStem},
    {"high_school_microeconomics", kSocial},
    {"high_school_physics", kStem},
    {"high_school_psychology", kSocial},
    {"high_school_statistics", kStem},
    {"high_school_us_history", kHumanities},
    {"high_school_world_history", kHumanities},
    {"human_aging", kOther},
    {"human_sexuality", kSocial},
    {"international_law", kHumanities},
    {"jurisprudence", kHumanities},
    {"logical_fallacies", kHumanities},
    {"machine_learning", kStem},
    {"management", kOther},
    {"marketing", kOther},
    {"medical_genetics", kOther},
    {"miscellaneous", kOther},
    {"moral_disputes", kHumanities},
    {"moral_scenarios", kHumanities},
    {"nutrition", kOther},
    {"philosophy", kHumanities},
    {"prehistory", kHumanities},
    {"professional_accounting", kOther},
    {"professional_law", kHumanities},
    {"professional_medicine", kOther},
    {"professional_psychology", kSocial},
    {"public_relations", kSocial},
    {"security_studies", kSocial},
    {"sociology", kSocial},
    {"us_foreign_policy", kSocial},
    {"virology", kOther},
    {"world_religions", kHumanities},
};

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool joins_words(char c) {
  return is_ascii_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '\'' || static_cast<unsigned char>(c) >= 0x80;
}

struct FoundLetter {
  std::size_t place = 0;
  std::size_t choice = 0;
  bool capital = false;
};

/// Single letters that are no part of a word.
std::vector<FoundLetter> lone_letters(std::string_view text, std::size_t choices) {
  std::vector<FoundLetter> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_ascii_letter(text[i])) continue;
    if ((i > 0 && joins_words(text[i - 1])) || (i + 1 < text.size() && joins_words(text[i + 1]))) continue;
    const bool capital = text[i] <= 'Z';
    const auto choice = static_cast<std::size_t>(text[i] - (capital ? 'A' : 'a'));
    if (choice < choices) found.push_back({i, choice, capital});
  }
  return found;
}

bool says_answer_before(const std::string& lower, std::size_t place) {
  // "answer is (b", "answer: b", "answer is therefore **b": nothing but a few words of filling in between.
  const auto said = lower.rfind("answer", place);
  if (said == std::string::npos) return false;
  std::string_view between = std::string_view(lower).substr(said + 6, place - said - 6);
  constexpr std::string_view kFilling[] = {"is", "be", "would", "option", "choice", "therefore", "thus", "letter"};
  for (auto words = words_of(between); auto word : words) {
    while (!word.empty() && !is_ascii_letter(word.front())) word.remove_prefix(1);
    while (!word.empty() && !is_ascii_letter(word.back())) word.remove_suffix(1);
    if (!word.empty() && std::find(std::begin(kFilling), std::end(kFilling), word) == std::end(kFilling)) return false;
  }
  return true;
}

constexpr std::string_view kMark = "#### ";

bool is_number_character(char c) { return is_digit(c) || c == '.' || c == ','; }

/// As long as the characters are accepted.
template <typename Accept>
std::size_t run_length(std::string_view text, std::size_t at, Accept accept) {
  std::size_t end = at;
  while (end < text.size() && accept(text[end])) ++end;
  return end - at;
}

}  // namespace

std::size_t best_choice(std::span<const double> log_likelihoods, std::span<const std::string> texts, LengthNorm norm) {
  std::size_t best = 0;
  double highest = 0;
  for (std::size_t i = 0; i < log_likelihoods.size(); ++i) {
    double value = log_likelihoods[i];
    if (norm == LengthNorm::characters)
      value /= static_cast<double>(std::max<std::size_t>(1, code_points(texts[i]).size()));
    if (norm == LengthNorm::bytes) value /= static_cast<double>(std::max<std::size_t>(1, texts[i].size()));
    if (i == 0 || value > highest) {
      highest = value;
      best = i;
    }
  }
  return best;
}

std::optional<std::size_t> choice_letter(std::string_view answer, std::size_t choices) {
  const auto letters = lone_letters(answer, choices);
  if (letters.empty()) return std::nullopt;
  const std::string lower = lower_case(answer);
  if (lower.size() == answer.size()) {
    for (auto letter = letters.rbegin(); letter != letters.rend(); ++letter) {
      if (says_answer_before(lower, letter->place)) return letter->choice;
    }
  }
  // At the beginning, behind marks alone, and no article: "A." and "(a)" are letters, "a dog" is none.
  const auto& first = letters.front();
  const std::string_view before = answer.substr(0, first.place);
  const bool leads = std::none_of(before.begin(), before.end(), joins_words);
  const std::string_view after = answer.substr(first.place + 1);
  const bool ends = words_of(after).empty() || !(after.front() == ' ' || after.front() == '\t');
  if (leads && ends) return first.choice;
  std::optional<std::size_t> only;
  for (const auto& letter : letters) {
    if (!letter.capital) continue;
    if (only && *only != letter.choice) return std::nullopt;
    only = letter.choice;
  }
  return only;
}

std::string_view mmlu_category(std::string_view subject) {
  std::string name(subject);
  std::replace(name.begin(), name.end(), ' ', '_');
  for (const auto& known : kMmluSubjects) {
    if (known.name == name) return known.category;
  }
  return {};
}

std::string gsm8k_strict(std::string_view answer) {
  for (auto at = answer.find(kMark); at != std::string_view::npos; at = answer.find(kMark, at + 1)) {
    std::size_t begin = at + kMark.size();
    const std::size_t sign = begin < answer.size() && answer[begin] == '-' ? 1 : 0;
    const std::size_t digits = run_length(answer, begin + sign, is_number_character);
    if (digits > 0) return std::string(answer.substr(begin, sign + digits));
  }
  return kInvalidAnswer;
}

std::string gsm8k_flexible(std::string_view answer) {
  std::string last = kInvalidAnswer;
  for (std::size_t i = 0; i < answer.size();) {
    const std::size_t sign = answer[i] == '-' ? 1 : 0;
    const auto any = [](char c) { return is_number_character(c) || c == '$'; };
    std::size_t length = run_length(answer, i + sign, any);
    if (length < 2) length = run_length(answer, i + sign, is_digit);
    if (length == 0) {
      ++i;
      continue;
    }
    last = std::string(answer.substr(i, sign + length));
    i += sign + length;
  }
  return last;
}

std::string gsm8k_normalized(std::string_view answer) {
  const auto mark = answer.rfind(kMark);
  if (mark != std::string_view::npos) answer.remove_prefix(mark + kMark.size());
  std::string text = lower_case(answer);
  std::erase_if(text, [](char c) { return c == ',' || c == '$'; });
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::optional<double> value_of_number(std::string_view raw) {
  std::string text(stripped(raw));
  std::erase_if(text, [](char c) { return c == ',' || c == '$'; });
  while (text.ends_with('.')) text.pop_back();
  double scale = 1;
  if (text.ends_with('%')) {
    text.pop_back();
    scale = 0.01;
  }
  const auto slash = text.find('/');
  const auto numerator = parse_number(text.substr(0, slash));
  if (!numerator.ok()) return std::nullopt;
  double denominator = 1;
  if (slash != std::string::npos) {
    const auto parsed = parse_number(text.substr(slash + 1));
    if (!parsed.ok() || *parsed == 0) return std::nullopt;
    denominator = *parsed;
  }
  return *numerator / denominator * scale;
}

double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k) {
  if (n - c < k) return 1;
  double all_wrong = 1;
  for (std::int64_t i = n - c + 1; i <= n; ++i) all_wrong *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - all_wrong;
}

}  // namespace warpmark::accuracy
