// Traffic scenarios: how many tokens (or pixels, or documents) a request asks for. The strings are those of
// genai-bench, "D(100,100)", "N(480,240)/(300,150)", "U(50,100)/(200,250)", "E(1024)", "R(1024,100)", "I(512,512)",
// "dataset", and "L(mean,std)/(mean,std)" for lognormal lengths. Two things differ there: numbers drawn are rounded to
// the nearest whole one, not cut off, which would make each mean half a token too small; and the upper bound of U can
// be reached. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "stats/random.h"

namespace warpmark::serving {

enum class ScenarioKind { fixed, normal, uniform, lognormal, embedding, rerank, image, dataset };

/// Mean and standard deviation, or least and most.
struct LengthLaw {
  double a = 0;
  double b = 0;
};

struct Scenario {
  ScenarioKind kind = ScenarioKind::fixed;
  std::string text;  ///< as given
  LengthLaw input;   ///< tokens of the prompt; of a document (E, R); width and height in pixels (I)
  LengthLaw output;  ///< tokens of the answer; of the query (R)
  std::int64_t images = 1;
};

struct Lengths {
  std::int64_t input = 0;
  std::int64_t output = 0;  ///< 0: the server decides
  friend bool operator==(const Lengths&, const Lengths&) = default;
};

/// Usage error that shows the grammar.
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view text);

/// The lengths of one request: of the input at least 1, of the output at least 2 where drawn.
[[nodiscard]] Lengths draw_lengths(const Scenario& scenario, stats::Random& random);

/// "N480_240_300_150": as a part of a file name, as genai-bench writes it.
[[nodiscard]] std::string scenario_file_name(std::string_view text);

}  // namespace warpmark::serving
