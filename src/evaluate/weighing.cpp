#include "evaluate/weighing.h"

#include <algorithm>
#include <cmath>

#include "accuracy/text/unicode.h"

namespace warpmark::evaluate {
namespace {

const Json* field_in(const Reply& reply, const char* name) {
  return reply.extra.is_object() && reply.extra.contains(name) ? &reply.extra[name] : nullptr;
}

Result<const Json*> top_in(const Reply& reply) {
  const Json* top = field_in(reply, "top_logprobs");
  if (top != nullptr && top->is_object() && !top->empty()) return top;
  return data_error("comes without log-probabilities of the first token");
}

}  // namespace

Result<double> log_likelihood_of(const Item& item, const Reply& reply) {
  if (const Json* told = field_in(reply, "log_likelihood"); told != nullptr && told->is_number()) {
    return told->get<double>();
  }
  const Json* places = field_in(reply, "text_offset");
  if (places == nullptr || !places->is_array() || places->size() != reply.token_logprobs.size() || places->empty()) {
    return data_error("comes without log-probabilities of the prompt");
  }
  if (!reply.text.starts_with(item.request["prompt"].get<std::string>())) {
    return data_error("does not echo the prompt");
  }
  double sum = 0;
  std::int64_t covered = item.context_characters;
  for (std::size_t i = 0; i < reply.tokens.size(); ++i) {
    const auto begin = (*places)[i].get<std::int64_t>();
    const auto end = begin + static_cast<std::int64_t>(accuracy::code_points(reply.tokens[i]).size());
    if (end <= item.context_characters || begin >= item.whole_characters) continue;
    if (begin > covered) return data_error("comes without the log-probability of a part of the choice");
    covered = std::max(covered, end);
    sum += reply.token_logprobs[i];
  }
  if (covered < item.whole_characters) return data_error("comes without the log-probability of a part of the choice");
  return sum;
}

Result<std::vector<double>> letter_log_likelihoods(const Reply& reply, std::size_t choices) {
  WM_ASSIGN(const Json* top, top_in(reply));
  std::vector<double> mass(choices, 0);
  double least = 0;
  for (const auto& [token, logprob] : top->items()) {
    least = std::min(least, logprob.get<double>());
    const auto letter = accuracy::stripped(token);
    if (letter.size() != 1 || letter[0] < 'A') continue;
    const auto place = static_cast<std::size_t>(letter[0] - 'A');
    if (place < choices) mass[place] += std::exp(logprob.get<double>());
  }
  if (std::all_of(mass.begin(), mass.end(), [](double one) { return one == 0; })) {
    return data_error("lists no letter of a choice among the likeliest first tokens");
  }
  std::vector<double> values;
  for (const double one : mass) values.push_back(one == 0 ? least : std::log(one));
  return values;
}

Result<std::vector<double>> spelling_logprobs(const Reply& reply, std::string_view lower_case_word) {
  WM_ASSIGN(const Json* top, top_in(reply));
  std::vector<double> values;
  for (const auto& [token, logprob] : top->items()) {
    if (accuracy::lower_case(accuracy::stripped(token)) == lower_case_word) values.push_back(logprob.get<double>());
  }
  return values;
}

}  // namespace warpmark::evaluate
