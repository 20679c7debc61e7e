#include "report/well_formed.h"

#include <regex>
#include <set>
#include <vector>

namespace warpmark::report {
namespace {

std::string at(std::string_view text, std::size_t place, const std::string& what) {
  const std::size_t from = place > 40 ? place - 40 : 0;
  return what + " near: " + std::string(text.substr(from, 90));
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte >> 5 == 6 ? 2 : byte >> 4 == 14 ? 3 : byte >> 3 == 30 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0U) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

/// The attributes of a tag: each quoted, none twice, nothing between them.
bool attributes_are_sound(const std::string& attributes) {
  static const std::regex kOne("\\s+([A-Za-z:-]+)=\"[^\"<]*\"");
  std::set<std::string> names;
  std::size_t read = 0;
  for (auto match = std::sregex_iterator(attributes.begin(), attributes.end(), kOne); match != std::sregex_iterator();
       ++match) {
    if (static_cast<std::size_t>(match->position()) != read) return false;
    read += static_cast<std::size_t>(match->length());
    if (!names.insert((*match)[1]).second) return false;
  }
  return attributes.find_first_not_of(" /", read) == std::string::npos;
}

std::string text_error(std::string_view text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    if (text[i] == '>') return at(text, i, "a bare >");
    if (text[i] != '&') continue;
    const auto name = text.substr(i, text.find(';', i) - i + 1);
    if (name != "&amp;" && name != "&lt;" && name != "&gt;" && name != "&quot;" && name != "&#39;") {
      return at(text, i, "a bare &");
    }
  }
  return {};
}

}  // namespace

std::string markup_error(std::string_view text) {
  static const std::regex kTag("(/?)([A-Za-z][A-Za-z0-9]*)([^]*)");
  if (!is_utf8(text)) return "not UTF-8";
  std::vector<std::string> open;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t tag = std::min(text.find('<', i), text.size());
    const bool style = !open.empty() && open.back() == "style";
    if (auto error = style ? std::string() : text_error(text, i, tag); !error.empty()) return error;
    if (tag == text.size()) break;
    const std::size_t end = text.find('>', tag);
    if (end == std::string_view::npos) return at(text, tag, "a tag without end");
    i = end + 1;
    const std::string inside(text.substr(tag + 1, end - tag - 1));
    if (inside.starts_with("!DOCTYPE")) continue;
    std::smatch match;
    if (!std::regex_match(inside, match, kTag)) return at(text, tag, "not a tag");
    const std::string name = match[2];
    if (match[1].length() > 0) {
      if (open.empty() || open.back() != name) return at(text, tag, "</" + name + "> closes nothing");
      open.pop_back();
      continue;
    }
    if (!attributes_are_sound(match[3])) return at(text, tag, "bad attributes");
    if (!inside.ends_with('/') && name != "meta") open.push_back(name);
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

}  // namespace warpmark::report
