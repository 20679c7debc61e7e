// A command line of another load tester, taken apart: which of its options were given, and what was not theirs. Part of
// peer_options.h.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "warpmark/load/peers/peer_options.h"

namespace warpmark::apps {

struct PeerLine {
  bool is_vllm = false;
  std::map<std::string, std::vector<std::string>> given;  ///< by the peer's option
  OwnWords own;                                           ///< words that are ours already, and notes
  Json parameters = Json::object();                       ///< keys for the request body

  [[nodiscard]] bool has(const std::string& name) const { return given.contains(name); }
  [[nodiscard]] std::string get(const std::string& name, const std::string& otherwise = "") const;
  void add(const std::string& option, const std::string& value);
};

[[nodiscard]] Result<PeerLine> peer_line_of(std::span<const std::string> words);

[[nodiscard]] Result<OwnWords> words_of_genai(PeerLine line);
[[nodiscard]] Result<OwnWords> words_of_vllm(PeerLine line);

}  // namespace warpmark::apps
