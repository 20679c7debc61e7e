// How likely a model says that given texts are: out of the log-probabilities in its replies. Pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "evaluate/items.h"
#include "evaluate/models/model.h"

namespace warpmark::evaluate {

/// The sum over the tokens that hold a character of the text that is weighed, as lm-evaluation-harness sums them; of a
/// command's reply also its "log_likelihood". Data error where the reply does not tell.
[[nodiscard]] Result<double> log_likelihood_of(const Item& item, const Reply& reply);

/// Of A, B, ... as the first token: the mass over its spellings with and without space. A letter that is not among the
/// tokens the server lists gets the log-probability of the least of these, which is more than its own. Data error where
/// no letter is listed.
[[nodiscard]] Result<std::vector<double>> letter_log_likelihoods(const Reply& reply, std::size_t choices);

/// Log-probabilities of the spellings of a word as the first token, whatever their case and the white space around
/// them; empty if none is listed. Data error where the server lists nothing.
[[nodiscard]] Result<std::vector<double>> spelling_logprobs(const Reply& reply, std::string_view lower_case_word);

}  // namespace warpmark::evaluate
