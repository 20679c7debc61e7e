// The definitions once more, plain and slow: a trace through nlohmann-json, each event as one line of text with every
// field. Numbers are taken as the file has them and shifted as text.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/profile/timeline.h"

namespace warpmark::profile::test {

using OracleJson = nlohmann::ordered_json;

/// Builds JSON in which each number with a fraction is a text with its digits.
class ExactNumbers : public nlohmann::detail::json_sax_dom_parser<OracleJson> {
 public:
  using json_sax_dom_parser::json_sax_dom_parser;
  bool number_float(double, const std::string& digits) {
    std::string text = "number " + digits;
    return string(text);
  }
};

inline OracleJson parse_exactly(const std::string& text) {
  OracleJson json;
  ExactNumbers handler(json);
  OracleJson::sax_parse(text, &handler);
  return json;
}

/// Microseconds with at most three decimals, in ns.
inline std::int64_t oracle_ns(const OracleJson& value) {
  if (value.is_number()) return value.get<std::int64_t>() * 1000;
  const std::string digits = value.get<std::string>().substr(7);
  const auto point = digits.find('.');
  std::string decimals = digits.substr(point + 1);
  decimals.resize(3, '0');
  return std::stoll(digits.substr(0, point) + decimals);
}

inline double oracle_number(const OracleJson& value) {
  return value.is_number() ? value.get<double>() : std::stod(value.get<std::string>().substr(7));
}

inline std::string line(std::int64_t start, std::int64_t duration, const std::string& kind, const std::string& name,
                        const std::string& row, std::int64_t correlation, std::int64_t link, const std::string& rest) {
  return std::to_string(start) + " +" + std::to_string(duration) + " " + kind + " '" + name + "' " + row + " c" +
         std::to_string(correlation) + " l" + std::to_string(link) + " " + rest;
}

inline std::string collective_line(const std::string& name, const std::string& type, std::int64_t in, std::int64_t out,
                                   std::int64_t size) {
  return name + "/" + type + "/" + std::to_string(in) + "/" + std::to_string(out) + "/" + std::to_string(size);
}

/// Sorted lines for all complete events of a trace.
std::vector<std::string> oracle_lines(const OracleJson& trace);
/// The same of a timeline.
std::vector<std::string> timeline_lines(const Timeline& timeline);

}  // namespace warpmark::profile::test
