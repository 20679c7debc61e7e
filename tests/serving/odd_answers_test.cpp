// Answers of hostile, broken and merely unusual servers: what is a failure, what is not known, and what may be shown.
#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>

#include "http/message.h"
#include "serving/answers/answer_reader.h"
#include "serving/answers_fixture.h"
#include "serving/results/request_values.h"

namespace warpmark::serving {
namespace {

TEST(OddAnswer, that_ends_with_an_error_an_abort_or_a_filter_has_failed) {
  for (const char* reason : {"error", "abort", "content_filter", "cancelled", "SAFETY"}) {
    const auto finish = event_of(R"({"choices":[{"delta":{},"finish_reason":")" + std::string(reason) + "\"}]}");
    const auto record = read_answer({kWord, finish, event_of("[DONE]")}, "", kChat);
    EXPECT_EQ(record.fault, Fault::finish) << reason;
    EXPECT_EQ(record.message, reason);
  }
  for (const char* reason : {"stop", "length", "tool_calls", "COMPLETE", "end_turn"}) {
    const auto finish = event_of(R"({"choices":[{"delta":{},"finish_reason":")" + std::string(reason) + "\"}]}");
    EXPECT_EQ(read_answer({kWord, finish, event_of("[DONE]")}, "", kChat).fault, Fault::none) << reason;
  }
}

TEST(OddAnswer, ends_with_its_mark_however_it_is_written) {
  for (const char* mark : {"[DONE]", "[DONE]  ", " [DONE]", "[done]", "\"[DONE]\"", "[Done]\t"}) {
    const auto record = read_answer({kWord, event_of(mark)}, "", kChat);
    EXPECT_EQ(record.fault, Fault::none) << mark << ": " << record.message;
  }
  EXPECT_EQ(read_answer({kWord, event_of("[DONE] or not")}, "", kChat).fault, Fault::bad_stream);
}

TEST(OddAnswer, whose_usage_is_zero_has_told_nothing) {
  const auto record =
      read_answer({kWord, kWord, kStop, event_of(R"({"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}})"),
                   event_of("[DONE]")},
                  "", kChat);
  EXPECT_EQ(record.prompt_tokens, -1);
  EXPECT_EQ(record.output_tokens, -1);
  EXPECT_EQ(output_tokens_of(record), 2) << "what arrived";
}

TEST(OddAnswer, of_one_event_has_its_first_token_then) {
  const auto record = read_answer({kWord, kStop + event_of("[DONE]")}, "", kChat);
  EXPECT_NEAR(*ttft_of(record), 0.01, 1e-6);
  EXPECT_FALSE(tpot_of(record)) << "undefined for one token";
}

TEST(OddAnswer, in_one_segment_is_buffered_and_has_no_time_between_tokens) {
  const auto record = read_answer({kWord + kWord + kWord + kStop + event_of("[DONE]")}, "", kChat);
  EXPECT_TRUE(is_buffered(record));
  EXPECT_TRUE(ttft_of(record));
  EXPECT_FALSE(tpot_of(record));
  EXPECT_FALSE(value_of_request(record, "itl"));
  EXPECT_FALSE(is_buffered(read_answer({kWord, kWord, kStop + event_of("[DONE]")}, "", kChat)));
}

TEST(OddAnswer, that_was_no_stream_shows_no_first_token) {
  RequestRecord record;
  record.sent_ns = 1;
  AnswerReader reader(kChat);
  reader.begin(record);
  const std::string body = R"({"choices":[{"message":{"content":"a b"},"finish_reason":"stop"}]})";
  reader.take("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                  "\r\n\r\n" + body,
              5'000'000);
  EXPECT_EQ(record.fault, Fault::none);
  EXPECT_FALSE(ttft_of(record));
  EXPECT_TRUE(e2e_of(record));
}

TEST(OddAnswer, has_no_control_characters_in_its_message) {
  const auto record =
      read_answer({event_of("{\"error\":{\"message\":\"\\u001b[31mred\\u0007 \\u202eback\"}}")}, "", kChat);
  EXPECT_EQ(record.fault, Fault::stream_error);
  EXPECT_EQ(record.message, "\\x1b[31mred\\x07 \\u202eback");
  EXPECT_EQ(read_answer({event_of("\x1b]0;title\x07")}, "", kChat).message, "an event is no JSON: \\x1b]0;title\\x07");
}

TEST(OddAnswer, with_an_event_of_errors_has_failed) {
  const auto record =
      read_answer({kWord, "event: error\ndata: {\"message\":\"boom\",\"type\":\"overloaded_error\"}\n\n"}, "", kChat);
  EXPECT_EQ(record.fault, Fault::stream_error);
  EXPECT_EQ(record.message, "boom");
}

TEST(ServerText, is_valid_utf8_on_one_line_and_as_long_as_allowed) {
  EXPECT_EQ(server_text("a\nb\tc"), "a b c");
  EXPECT_EQ(server_text("ü\xff"), "ü\\xff");
  EXPECT_EQ(server_text("\xc2\x9b"
                        "2J"),
            "\\x9b2J")
      << "a control character of the second kind";
  EXPECT_EQ(server_text("日本語", 7), "日本") << "cut between characters";
  EXPECT_EQ(server_text("\xe6\x97"), "\\xe6\\x97");
  EXPECT_EQ(server_text("<b>"), "<b>") << "pages escape for themselves";
}

std::string packed(const std::string& text, int wrapper, bool flush) {
  std::string bytes(text.size() + 1000, '\0');
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = static_cast<std::uint16_t>(wrapper);
  stream.flush = flush ? SYNC_FLUSH : NO_FLUSH;
  stream.end_of_stream = flush ? 0 : 1;
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<std::uint32_t>(text.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(bytes.data());
  stream.avail_out = static_cast<std::uint32_t>(bytes.size());
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  bytes.resize(bytes.size() - stream.avail_out);
  return bytes;
}

TEST(OddAnswer, is_decoded_where_it_is_compressed_unasked) {
  const std::string events = kWord + kWord + kStop + event_of("[DONE]");
  for (const auto& [name, wrapper] :
       {std::pair("gzip", IGZIP_GZIP), {"deflate", IGZIP_ZLIB}, {"deflate", IGZIP_DEFLATE}}) {
    const std::string bytes = packed(events, wrapper, false);
    const auto record =
        read_answer({bytes.substr(0, 20), bytes.substr(20)}, "Content-Encoding: " + std::string(name) + "\r\n", kChat);
    EXPECT_EQ(record.fault, Fault::none) << name << ": " << record.message;
    EXPECT_EQ(record.events, 2);
  }
  const auto first = read_answer({packed(kWord, IGZIP_GZIP, true)}, "Content-Encoding: gzip\r\n", kChat);
  EXPECT_EQ(first.events, 1) << "an event is read when its bytes are there";
  const auto unknown = read_answer({"x"}, "Content-Encoding: br\r\n", kChat);
  EXPECT_EQ(unknown.fault, Fault::bad_http);
  EXPECT_NE(unknown.message.find("'br' is not decoded"), std::string::npos);
  EXPECT_EQ(read_answer({"no gzip at all, and long enough"}, "Content-Encoding: gzip\r\n", kChat).fault,
            Fault::bad_http);
}

TEST(OddAnswer, that_has_the_form_of_two_interfaces_at_once_is_read_once) {
  for (const char* choice :
       {R"({"message":{"content":"B"},"text":"B"})", R"({"text":"B","message":{"content":"B"}})"}) {
    const auto record = read_answer({event_of(R"({"choices":[)" + std::string(choice) + "]}"), kStop}, "",
                                    {.streams = true, .keep_texts = true});
    ASSERT_NE(record.said, nullptr) << record.message;
    EXPECT_EQ(record.said->visible, "B") << choice;
  }
}

TEST(OddAnswer, of_oracles_and_coheres_apis_is_understood) {
  const AnswerFormat plain{.streams = true};
  const auto generic =
      read_answer({event_of(R"({"index":0,"message":{"role":"ASSISTANT","content":[{"type":"TEXT","text":"a"}]}})"),
                   event_of(R"({"message":{"role":"ASSISTANT"},"finishReason":"stop"})"),
                   event_of(R"({"usage":{"promptTokens":9,"completionTokens":1,"totalTokens":10}})")},
                  "", plain);
  EXPECT_EQ(generic.fault, Fault::none) << generic.message;
  EXPECT_EQ(generic.events, 1);
  EXPECT_EQ(generic.prompt_tokens, 9);
  EXPECT_EQ(generic.output_tokens, 1);
  const auto cohere =
      read_answer({event_of(R"({"apiFormat":"COHERE","text":"a"})"), event_of(R"({"apiFormat":"COHERE","text":"b"})"),
                   event_of(R"({"apiFormat":"COHERE","text":"ab","finishReason":"COMPLETE"})")},
                  "", plain);
  EXPECT_EQ(cohere.fault, Fault::none) << cohere.message;
  EXPECT_EQ(cohere.events, 2) << "the last one repeats all";
  const auto v2 =
      read_answer({event_of(R"({"type":"message-start","delta":{"message":{"role":"assistant","content":[]}}})"),
                   event_of(R"({"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"a"}}}})"),
                   event_of(R"({"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"billed_units":{},)"
                            R"("tokens":{"input_tokens":7,"output_tokens":1}}}})")},
                  "", plain);
  EXPECT_EQ(v2.fault, Fault::none) << v2.message;
  EXPECT_EQ(v2.events, 1);
  EXPECT_EQ(v2.prompt_tokens, 7);
  EXPECT_EQ(v2.output_tokens, 1);
}

}  // namespace
}  // namespace warpmark::serving
