#include "serving/answers/chunk.h"

#include <charconv>
#include <cstring>

namespace warpmark::serving {
namespace {

constexpr int kMostLevels = 64;

/// Where in the document a value stands.
enum class Place { root, choice, delta, part, usage, details, error, message, other };

class Scanner {
 public:
  Scanner(std::string_view text, ChunkFacts& facts, ChunkTexts* texts)
      : at_(text.data()), end_(at_ + text.size()), facts_(facts), texts_(texts) {
    if (texts != nullptr) visible_before_ = texts->visible.size(), reasoning_before_ = texts->reasoning.size();
  }

  bool document() {
    blanks();
    if (!is('{') || !object(Place::root, 0)) return false;
    blanks();
    resolve_typed_event();
    return at_ == end_;
  }

 private:
  [[nodiscard]] bool is(char c) const { return at_ < end_ && *at_ == c; }
  void blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  /// At the opening quote; gives what is between the quotes.
  bool string(std::string_view& text) {
    const char* begin = ++at_;
    for (;;) {
      const auto* quote = static_cast<const char*>(std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_)));
      if (quote == nullptr) return false;
      const char* back = quote;
      while (back > begin && back[-1] == '\\') --back;
      at_ = quote + 1;
      if ((quote - back) % 2 == 0) {
        text = {begin, static_cast<std::size_t>(quote - begin)};
        return true;
      }
    }
  }

  /// Number, true, false or null.
  bool literal(std::string_view& text) {
    const char* begin = at_;
    while (at_ < end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && static_cast<unsigned char>(*at_) > ' ') ++at_;
    text = {begin, static_cast<std::size_t>(at_ - begin)};
    if (text.empty()) return false;
    const char c = text.front();
    return c == '-' || (c >= '0' && c <= '9') || text == "true" || text == "false" || text == "null";
  }

  bool object(Place place, int level) {
    if (level > kMostLevels) return false;
    ++at_;
    blanks();
    if (is('}')) return ++at_, true;
    for (;;) {
      blanks();
      std::string_view key;
      if (!is('"') || !string(key)) return false;
      blanks();
      if (!is(':')) return false;
      ++at_;
      if (!value(place, key, level)) return false;
      blanks();
      if (is('}')) return ++at_, true;
      if (!is(',')) return false;
      ++at_;
    }
  }

  /// Values of an array stand where the array itself does.
  bool array(Place inside, Place place, std::string_view key, int level, bool& empty) {
    if (level > kMostLevels) return false;
    ++at_;
    blanks();
    empty = is(']');
    if (empty) return ++at_, true;
    for (;;) {
      blanks();
      if (is('{')) {
        if (!object(inside, level + 1)) return false;
      } else if (!value(place, key, level + 1)) {
        return false;
      }
      blanks();
      if (is(']')) return ++at_, true;
      if (!is(',')) return false;
      ++at_;
    }
  }

  bool value(Place place, std::string_view key, int level) {
    blanks();
    if (at_ >= end_) return false;
    if (*at_ == '{') {
      note_object(place, key);
      return object(inside(place, key), level + 1);
    }
    if (*at_ == '[') {
      bool empty = true;
      if (!array(inside(place, key), Place::other, key, level + 1, empty)) return false;
      if (!empty) note_list(place, key);
      return true;
    }
    std::string_view text;
    if (*at_ == '"') {
      if (!string(text)) return false;
      note_text(place, key, text);
      return true;
    }
    if (!literal(text)) return false;
    note_number(place, key, text);
    return true;
  }

  static Place inside(Place place, std::string_view key) {
    if (place == Place::root || place == Place::message) {
      if (key == "choices") return Place::choice;
      if (key == "usage") return Place::usage;
      if (key == "error") return Place::error;
      if (key == "delta") return Place::delta;
      if (key == "message" || key == "response") return Place::message;
      if (key == "chatResponse") return Place::root;
      if (key == "content" || key == "output") return Place::part;
    }
    if (place == Place::choice && (key == "delta" || key == "message")) return Place::delta;
    if (place == Place::delta && key == "message") return Place::delta;
    if (place == Place::delta && key == "usage") return Place::usage;
    if ((place == Place::delta || place == Place::part) && key == "content") return Place::part;
    if (place == Place::usage && (key.ends_with("_details") || key.ends_with("Details"))) return Place::details;
    if (place == Place::usage && key == "tokens") return Place::usage;  // Cohere: {"usage":{"tokens":{...}}}
    return Place::other;
  }

  void note_object(Place place, std::string_view key) {
    const bool top = place == Place::root || place == Place::message;
    if (top && key == "error") facts_.error = true;
    if (place == Place::delta && key == "function_call") facts_.tool_call = true;
  }

  void note_list(Place place, std::string_view key) {
    if (place == Place::delta && key == "tool_calls") facts_.tool_call = true;
    if (place == Place::delta && key == "reasoning_details") facts_.reasoning = true;
    if (place == Place::root && (key == "data" || key == "results" || key == "embeddings")) facts_.answers = true;
  }

  void note_text(Place place, std::string_view key, std::string_view text) {
    if (text.empty()) return;
    switch (place) {
      case Place::root:
      case Place::message:
        if (place == Place::root && key == "type") type_ = text;
        if (place == Place::root && key == "delta") typed_delta_ = true, delta_text_ = text;
        if (place == Place::root && key == "object" && text == "error") facts_.error = true;  // as vLLM has it
        if (key == "stop_reason" || key == "finishReason") finish(text);
        if (place == Place::root && key == "text") root_text_ = text;
        if (place == Place::root && key == "apiFormat") api_format_ = text;
        if (place == Place::message && key == "reasoningContent") reasoning(text);
        if (key == "error") facts_.error = true, facts_.error_message = text;
        if (key == "message" && facts_.error_message.empty()) facts_.error_message = text;
        return;
      case Place::choice:
        if (key == "text" && text != message_text_) choice_text_ = text, visible(text);
        if (key == "finish_reason" || key == "finishReason") finish(text);
        return;
      case Place::delta:
      case Place::part:
        if (place == Place::delta && key == "content") message_text_ = text;
        // Some servers give one answer in the form of both interfaces: as "text" and as "message".
        if ((key == "content" && text != choice_text_) || key == "text" || key == "refusal") visible(text);
        if (key == "reasoning" || key == "reasoning_content" || key == "thinking") reasoning(text);
        if (key == "partial_json" || key == "arguments") facts_.tool_call = true;
        if (key == "stop_reason" || key == "finish_reason") finish(text);
        return;
      case Place::error:
        if (key == "message") facts_.error_message = text;
        if (key == "code") number(text, facts_.error_code);
        return;
      default: return;
    }
  }

  void note_number(Place place, std::string_view key, std::string_view text) {
    if (place == Place::usage) {
      if (key == "prompt_tokens" || key == "input_tokens" || key == "promptTokens") number(text, facts_.prompt_tokens);
      if (key == "completion_tokens" || key == "output_tokens" || key == "completionTokens")
        number(text, facts_.output_tokens);
      if (key == "cache_read_input_tokens") number(text, facts_.cached_tokens);
    } else if (place == Place::details) {
      if (key == "reasoning_tokens" || key == "reasoningTokens") number(text, facts_.reasoning_tokens);
      if (key == "cached_tokens" || key == "cachedTokens") number(text, facts_.cached_tokens);
    } else if (place == Place::error && key == "code") {
      number(text, facts_.error_code);
    } else if (place == Place::root && key == "warpmark_sent_ns") {
      number(text, facts_.sent_ns);
    } else if (place == Place::root && key == "code" && facts_.error_code == 0) {
      number(text, facts_.error_code);
    }
  }

  void visible(std::string_view text) {
    facts_.content = true;
    if (texts_ != nullptr) texts_->visible += text;
  }
  void reasoning(std::string_view text) {
    facts_.reasoning = true;
    if (texts_ != nullptr) texts_->reasoning += text;
  }
  void finish(std::string_view reason) {
    facts_.finished = true;
    facts_.finish_reason = reason;
    if (reason == "length" || reason == "max_tokens" || reason == "MAX_TOKENS") facts_.cut_off = true;
  }

  static void number(std::string_view text, std::int64_t& into) {
    std::int64_t parsed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (error == std::errc() && end == text.data() + text.size() && parsed >= 0) into = parsed;
  }

  /// Events of OpenAI's responses and Anthropic's messages are told apart by their type, Oracle's Cohere by its format.
  void resolve_typed_event() {
    if (api_format_ == "COHERE" && !root_text_.empty() && !facts_.finished)
      visible(root_text_);  // the last repeats all
    if (typed_delta_) {
      if (type_.find("reasoning") != std::string_view::npos) {
        reasoning(delta_text_);
      } else if (type_.find("arguments") != std::string_view::npos) {
        facts_.tool_call = true;
      } else if (type_.find("text") != std::string_view::npos || type_.find("refusal") != std::string_view::npos) {
        visible(delta_text_);
      }
    }
    const bool whole_text = !typed_delta_ && type_.starts_with("response.");  // repeats what the deltas had
    if (whole_text) {
      facts_.content = facts_.reasoning = facts_.tool_call = false;
      if (texts_ != nullptr) texts_->visible.resize(visible_before_), texts_->reasoning.resize(reasoning_before_);
    }
    if (type_ == "response.incomplete") facts_.cut_off = true;
    if (type_ == "response.completed" || type_ == "response.incomplete" || type_ == "message_stop")
      facts_.finished = true;
    if (type_ == "response.failed" || type_ == "error") facts_.error = true;
    if (!facts_.error && type_ != "error") facts_.error_message = {};
  }

  const char* at_;
  const char* end_;
  ChunkFacts& facts_;
  ChunkTexts* texts_;
  std::size_t visible_before_ = 0, reasoning_before_ = 0;
  std::string_view type_, root_text_, api_format_, choice_text_, message_text_;
  std::string_view delta_text_;
  bool typed_delta_ = false;
};

}  // namespace

bool scan_chunk(std::string_view json, ChunkFacts& facts, ChunkTexts* texts) {
  facts = {};
  return Scanner(json, facts, texts).document();
}

}  // namespace warpmark::serving
