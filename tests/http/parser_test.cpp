// Messages as connections deliver them: cut anywhere.
#include "http/parser.h"

#include <gtest/gtest.h>

namespace warpmark::http {
namespace {

struct Parsed {
  std::string body;
  bool done = false;
  std::string problem;
  int status = 0;
  bool reusable = false;
  std::size_t left_over = 0;
};

/// Gives the bytes in pieces of `size`, then ends the connection if asked.
Parsed parse(std::string_view bytes, std::size_t size, bool end = true, bool to_head_request = false) {
  ResponseParser parser;
  parser.begin(to_head_request);
  Parsed parsed;
  while (!bytes.empty() && !parser.done() && !parser.failed()) {
    std::string_view piece = bytes.substr(0, size);
    while (!piece.empty() && !parser.done() && !parser.failed()) {
      const Decoded taken = parser.take(piece);
      parsed.body += taken.body;
      piece.remove_prefix(taken.consumed);
      bytes.remove_prefix(taken.consumed);
      if (taken.consumed == 0) break;
    }
  }
  if (end) parser.end_of_connection();
  parsed.done = parser.done();
  parsed.problem = parser.problem();
  parsed.status = parser.has_head() ? parser.head().status : 0;
  parsed.reusable = parser.reusable();
  parsed.left_over = bytes.size();
  return parsed;
}

constexpr std::string_view kChunked =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5;name=\"x\"\r\nhello\r\nC \r\n, wide world\r\n0\r\nX-Trailer: 1\r\n\r\n";

TEST(ResponseParser, reads_chunks_however_they_are_cut) {
  for (std::size_t size = 1; size <= kChunked.size(); ++size) {
    const Parsed parsed = parse(kChunked, size, false);
    EXPECT_TRUE(parsed.done) << size << ": " << parsed.problem;
    EXPECT_EQ(parsed.body, "hello, wide world") << size;
    EXPECT_EQ(parsed.status, 200);
    EXPECT_TRUE(parsed.reusable);
  }
}

TEST(ResponseParser, leaves_the_next_message_alone) {
  const std::string two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 500 no\r\n\r\n";
  const Parsed parsed = parse(two, 1000, false);
  EXPECT_TRUE(parsed.done);
  EXPECT_EQ(parsed.body, "ab");
  EXPECT_EQ(parsed.left_over, 19U);
}

TEST(ResponseParser, reads_until_the_connection_ends_where_no_length_is_told) {
  const Parsed parsed = parse("HTTP/1.0 200 OK\n\nall of it", 3);
  EXPECT_TRUE(parsed.done);
  EXPECT_EQ(parsed.body, "all of it");
  EXPECT_FALSE(parsed.reusable);
}

TEST(ResponseParser, knows_answers_without_a_body) {
  EXPECT_TRUE(parse("HTTP/1.1 204 No Content\r\n\r\n", 4, false).done);
  EXPECT_TRUE(parse("HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n", 4, false).done);
  EXPECT_TRUE(parse("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 4, false, true).done);
}

TEST(ResponseParser, is_not_done_where_the_connection_ended_within) {
  for (const char* text : {"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}) {
    const Parsed parsed = parse(text, 7);
    EXPECT_FALSE(parsed.done) << text;
    EXPECT_NE(parsed.problem, "") << text;
  }
}

TEST(ResponseParser, refuses_what_is_no_http_or_contradicts_itself) {
  for (const char* text :
       {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno header\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab"}) {
    EXPECT_NE(parse(text, 1000, false).problem, "") << text;
  }
}

TEST(ResponseParser, gives_up_on_interim_answers_without_end) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "HTTP/1.1 100 Continue\r\n\r\n";
  const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  EXPECT_EQ(parse(text + whole, 4096, false).problem, "");
  EXPECT_NE(parse(text + text + whole, 4096, false).problem.find("without end"), std::string::npos);
}

TEST(ResponseParser, gives_up_on_a_head_without_end) {
  const std::string head = "HTTP/1.1 200 OK\r\n" + std::string(100'000, 'x');
  EXPECT_NE(parse(head, 4096, false).problem.find("64 KiB"), std::string::npos);
}

TEST(RequestParser, reads_a_request_in_pieces) {
  const std::string text = "\r\nPOST /v1/x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET";
  for (std::size_t size = 1; size < 20; ++size) {
    RequestParser parser;
    std::string body;
    std::string_view bytes = text;
    while (!bytes.empty() && !parser.done()) {
      std::string_view piece = bytes.substr(0, size);
      const Decoded taken = parser.take(piece);
      body += taken.body;
      bytes.remove_prefix(taken.consumed);
    }
    EXPECT_TRUE(parser.done());
    EXPECT_EQ(parser.head().target, "/v1/x?y");
    EXPECT_EQ(body, "abc");
    EXPECT_EQ(bytes, "GET");
  }
}

TEST(Header, is_refused_where_it_would_split_the_request) {
  EXPECT_TRUE(parse_header("X-Session: 7").ok());
  EXPECT_EQ(parse_header(" X-A:\tb ")->value, "b");
  for (const char* line : {"", "novalue", ": x", "a b: c", "X: a\r\nY: b", "X: a\x01"})
    EXPECT_FALSE(parse_header(line).ok()) << line;
}

TEST(KeepAlive, follows_version_and_header) {
  EXPECT_TRUE(keeps_alive(1, {}));
  EXPECT_FALSE(keeps_alive(0, {}));
  EXPECT_FALSE(keeps_alive(1, {{"connection", "foo, Close"}}));
  EXPECT_TRUE(keeps_alive(0, {{"Connection", "keep-alive"}}));
}

}  // namespace
}  // namespace warpmark::http
