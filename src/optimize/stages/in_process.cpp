#include "optimize/stages/in_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/units.h"
#include "optimize/answers.h"

namespace warpmark::optimize {
namespace {

constexpr double kBlock_s = 1;
constexpr std::int64_t kMostSteps = 100'000;

bool names_loader(const Settings& settings) {
  return std::ranges::any_of(settings, [](const Setting& one) { return is_of_loader(one.knob); });
}

Json variant_json(const Settings& settings) {
  Json knobs = Json::object();
  for (const auto& setting : settings) {
    const Knob* knob = find_in(warpmark::optimize::knobs(), setting.knob);
    if (knob != nullptr && knob->switchable) knobs[setting.knob] = setting.value;
  }
  return {{"knobs", std::move(knobs)}};
}

Json block_json(std::size_t variant, const BlockLength& length) {
  return {{"variant", variant},    {"wash", length.wash},   {"steps", length.steps},
          {"least", length.least}, {"whole", length.whole}, {"seconds", length.seconds}};
}

double number_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json& list_at(const Json& json, const char* name) {
  static const Json kEmpty = Json::array();
  if (!json.is_object()) return kEmpty;
  const auto found = json.find(name);
  return found != json.end() && found->is_array() ? *found : kEmpty;
}

void note_nothing(VariantResult& result, const std::string& knob, const std::string& why) {
  const bool known = std::ranges::any_of(result.nothing, [&](const auto& one) { return one.first == knob; });
  if (!known) result.nothing.emplace_back(knob, why);
}

void add_variant(const Json& variant, VariantResult& result) {
  if (const auto failed = text_at(variant, "failed"); !failed.empty()) result.failure = failed;
  if (const auto nothing = variant.find("nothing"); nothing != variant.end() && nothing->is_object()) {
    for (const auto& [knob, why] : nothing->items()) {
      if (why.is_string()) note_nothing(result, knob, why.get<std::string>());
    }
  }
  for (const auto& knob : list_at(variant, "elsewhere")) {
    if (knob.is_string()) result.elsewhere.push_back(knob.get<std::string>());
  }
  if (const auto notes = variant.find("notes"); notes != variant.end() && notes->is_object()) {
    result.notes.clear();
    for (const auto& [knob, note] : notes->items()) {
      if (note.is_string()) result.notes += (result.notes.empty() ? "" : "; ") + note.get<std::string>();
    }
  }
  result.warm_s = std::max(result.warm_s, number_at(variant, "warm_seconds"));
}

/// Of block `i` in all ranks: seconds per step of the slowest; 0 where it was not timed. Where one rank evaluates the
/// others wait for it, and only it knows how long.
double step_time(const Json& answers, std::size_t i) {
  double slowest = 0, of_evaluating = 0;
  for (const auto& answer : answers) {
    const auto& blocks = list_at(answer, "blocks");
    if (i >= blocks.size()) return 0;
    const double steps = number_at(blocks[i], "steps");
    if (steps < 1) return 0;
    const double time_s = number_at(blocks[i], "seconds") / steps;
    slowest = std::max(slowest, time_s);
    if (number_at(blocks[i], "left_out") > 0) of_evaluating = std::max(of_evaluating, time_s);
  }
  return of_evaluating > 0 ? of_evaluating : slowest;
}

}  // namespace

bool is_of_loader(std::string_view knob) { return knob.starts_with("loader."); }

BlockLength block_length(const ProgramFacts& facts, const Settings& settings, double step_s, bool switches_loader) {
  const auto workers = switches_loader ? loader_workers(facts, settings) : 0;
  BlockLength length{.wash = std::max<std::int64_t>(2, workers), .whole = facts.short_epoch()};
  length.least = whole_multiple(std::max<std::int64_t>(3, 2 * workers), length.whole);
  if (facts.report.world > 1) {
    const auto wanted = static_cast<std::int64_t>(std::ceil(kBlock_s / std::max(step_s, 1e-4)));
    length.steps = length.least = whole_multiple(std::clamp<std::int64_t>(wanted, length.least, 1000), length.whole);
    return length;
  }
  length.steps = whole_multiple(kMostSteps, length.whole);
  length.seconds = kBlock_s;
  return length;
}

Json blocks_command(const ProgramFacts& facts, const Settings& base, std::span<const Variant> variants,
                    const std::vector<bool>& skip, double step_s, std::int64_t rounds, bool first_forward) {
  bool switches_loader = names_loader(base);
  for (const auto& variant : variants) switches_loader = switches_loader || names_loader(variant.settings);
  Json settings = Json::array({variant_json(base)}), own = Json::array(), round = Json::array();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    settings.push_back(variant_json(variants[i].settings));
    if (i < skip.size() && skip[i]) continue;
    own.push_back(block_json(i + 1, block_length(facts, variants[i].settings, step_s, switches_loader)));
  }
  // One block of the base between each two variants.
  const Json of_base = block_json(0, block_length(facts, base, step_s, switches_loader));
  if (own.empty()) round.push_back(of_base);
  for (std::size_t k = 0; k < own.size(); ++k) {
    const bool last = k % 2 == 0 && k + 1 == own.size();
    if (last || k % 2 == 1) round.push_back(of_base);
    round.push_back(own[k]);
  }
  Json blocks = Json::array();
  for (std::int64_t i = 0; i < rounds; ++i) {
    const bool forward = (i % 2 == 0) == first_forward;
    for (std::size_t k = 0; k < round.size(); ++k) blocks.push_back(round[forward ? k : round.size() - 1 - k]);
  }
  return {{"do", "blocks"}, {"variants", std::move(settings)}, {"blocks", std::move(blocks)}};
}

double expected_s(const Json& command, double step_s) {
  double total = 0;
  for (const auto& block : list_at(command, "blocks")) {
    const double least = number_at(block, "least") * step_s, seconds = number_at(block, "seconds");
    total += number_at(block, "wash") * step_s + std::max(least, seconds) + step_s;
  }
  return total;
}

Json check_command(std::span<const Variant> variants) {
  Json settings = Json::array({variant_json({})});
  for (const auto& variant : variants) settings.push_back(variant_json(variant.settings));
  return {{"do", "check"}, {"variants", std::move(settings)}};
}

bool program_ended(const Json& answers) {
  return answers.is_array() &&
         std::ranges::any_of(answers, [](const Json& one) { return one.is_object() && one.value("ended", false); });
}

TimeLeftOut time_left_out(const Json& answers) {
  TimeLeftOut most;
  for (const auto& answer : answers.is_array() ? answers : Json::array()) {
    TimeLeftOut here;
    for (const auto& block : list_at(answer, "blocks")) {
      if (number_at(block, "variant") != 0) continue;
      here.left_out_s += number_at(block, "left_out_seconds");
      here.counted_s += number_at(block, "seconds");
    }
    if (here.left_out_s >= most.left_out_s) most = here;
  }
  return most;
}

void add_blocks(const Json& answers, std::span<VariantResult> results) {
  if (!answers.is_array() || answers.empty()) return;
  for (const auto& answer : answers) {
    const auto& variants = list_at(answer, "variants");
    for (std::size_t i = 0; i < results.size() && i + 1 < variants.size(); ++i)
      add_variant(variants[i + 1], results[i]);
  }
  const auto& blocks = list_at(answers.front(), "blocks");
  const auto variant_of = [&](std::size_t i) {
    return static_cast<std::size_t>(std::max(0.0, number_at(blocks[i], "variant")));
  };
  // The block of the base next to it: both saw the same program and the same machine.
  const auto base_time = [&](std::size_t i) {
    if (i > 0 && variant_of(i - 1) == 0) return step_time(answers, i - 1);
    return i + 1 < blocks.size() && variant_of(i + 1) == 0 ? step_time(answers, i + 1) : 0.0;
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto variant = variant_of(i);
    if (variant == 0 || variant > results.size()) continue;
    const double time_s = step_time(answers, i), base_s = base_time(i);
    if (!(time_s > 0)) continue;
    auto& result = results[variant - 1];
    if (const double memory = number_at(blocks[i], "reserved"); memory > 0) result.memory_bytes = memory;
    result.data_share = number_at(blocks[i], "wait") / std::max(number_at(blocks[i], "seconds"), 1e-9);
    if (!(base_s > 0)) continue;
    result.base_s.push_back(base_s);
    result.times_s.push_back(time_s);
  }
}

void add_checks(const Json& answers, std::span<const Variant> variants, std::span<VariantResult> results) {
  if (!answers.is_array()) return;
  for (const auto& answer : answers) {
    if (!answer.is_object() || !text_at(answer, "why_not").empty()) continue;
    StateCheck check{.trains = answer.value("trains", false), .finite_before = answer.value("finite", true)};
    for (const auto& [name, difference] : {std::pair("noise", &check.noise), std::pair("rounding", &check.rounding),
                                           std::pair("spread", &check.spread)}) {
      if (!answer.contains(name) || !answer[name].is_object()) continue;
      *difference = {number_at(answer[name], "outputs"), number_at(answer[name], "gradients")};
    }
    const Difference spread = check.spread;
    for (const auto& one : list_at(answer, "checks")) {
      const auto variant = static_cast<std::size_t>(std::max(0.0, number_at(one, "variant")));
      if (variant < 1 || variant > results.size()) continue;
      auto& result = results[variant - 1];
      if (const auto failed = text_at(one, "failed"); !failed.empty()) {
        if (result.failure.empty()) result.failure = failed;
        continue;
      }
      check.difference = {number_at(one, "outputs"), number_at(one, "gradients")};
      check.cosine = one.contains("cosine") ? number_at(one, "cosine") : 1;
      check.finite = one.value("finite", true);
      check.spread = one.value("calm", false) ? Difference{} : spread;  // nothing was drawn
      const auto verdict = judge_state(check, variants[variant - 1].numerics);
      if (!result.answers.text.empty() && !result.answers_same) continue;  // another rank refused it
      result.answers = verdict.check;
      result.answers_same = verdict.same;
    }
  }
}

}  // namespace warpmark::optimize
