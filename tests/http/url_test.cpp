// URLs as people give them.
#include "http/url.h"

#include <gtest/gtest.h>

namespace warpmark::http {
namespace {

TEST(Url, is_taken_apart) {
  const auto url = parse_url("HTTPS://Example.org:8443/v1/chat?x=1#top");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "example.org");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->target, "/v1/chat?x=1");
  EXPECT_EQ(url->authority(), "example.org:8443");
}

TEST(Url, has_the_port_of_its_scheme_and_a_path) {
  const auto url = parse_url("http://localhost?a");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->port, 80);
  EXPECT_EQ(url->target, "/?a");
  EXPECT_EQ(url->authority(), "localhost");
}

TEST(Url, holds_ipv6_without_brackets_and_writes_them) {
  const auto url = parse_url("http://[::1]:8000/v1");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->text(), "http://[::1]:8000/v1");
}

TEST(Url, refuses_what_is_none_when_asked) {
  for (const char* text :
       {"", "localhost:8000", "ftp://x", "http://", "http://a b", "http://x:0", "http://x:65536", "http://x:a",
        "http://[::1", "http://::1/", "http://u:secret@host/", "http://x/a b", "http://x/\r\nHost: y"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().kind, ErrorKind::usage) << text;
    EXPECT_EQ(url.error().what.find("secret"), std::string::npos);
  }
}

TEST(Url, goes_below_a_base_and_keeps_its_query) {
  const auto base = parse_url("http://h/openai/?api-version=2");
  ASSERT_TRUE(base.ok());
  EXPECT_EQ(below(*base, "/chat").target, "/openai/chat?api-version=2");
}

TEST(PercentEncoding, keeps_what_rfc_3986_calls_unreserved) {
  EXPECT_EQ(percent_encode("a-Z_0.~/ é"), "a-Z_0.~%2F%20%C3%A9");
  EXPECT_EQ(percent_encode("a/b", true), "a/b");
}

}  // namespace
}  // namespace warpmark::http
