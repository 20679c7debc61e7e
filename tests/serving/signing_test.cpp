// Against the published test suite of AWS's Signature Version 4 (names of its cases; 2015-08-30, us-east-1, "service").
#include "serving/traffic/signing.h"

#include <gtest/gtest.h>

namespace warpmark::serving {
namespace {

const AwsCredentials kExample{.access_key = "AKIDEXAMPLE",
                              .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                              .session_token = "",
                              .region = "us-east-1",
                              .service = "service"};

std::string signature(std::string_view method, std::string_view target, http::Headers more = {},
                      std::string_view body = "") {
  http::Headers headers{{"Host", "example.amazonaws.com"}, {"X-Amz-Date", "20150830T123600Z"}};
  headers.insert(headers.begin(), more.begin(), more.end());
  const std::string text = sigv4_authorization(kExample, method, target, headers, body, "20150830T123600Z");
  return text.substr(text.find("Signature=") + 10);
}

TEST(SigV4, agrees_with_the_published_suite) {
  EXPECT_EQ(signature("GET", "/"), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31") << "get-vanilla";
  EXPECT_EQ(signature("POST", "/"), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b")
      << "post-vanilla";
  EXPECT_EQ(signature("GET", "/?Param2=value2&Param1=value1"),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500")
      << "get-vanilla-query-order-key-case";
  EXPECT_EQ(signature("GET", "/", {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}}),
            "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea")
      << "get-header-key-duplicate";
  EXPECT_EQ(signature("GET", "/", {{"My-Header1", "value1,value2,value3"}}),
            "ba17b383a53190154eb5fa66a1b836cc297cc0a3d70a5d00705980573d8ff790")
      << "get-header-value-multiline";
  EXPECT_EQ(signature("POST", "/", {{"Content-Type", "application/x-www-form-urlencoded"}}, "Param1=value1"),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a")
      << "post-x-www-form-urlencoded";
}

TEST(SigV4, is_written_over_in_place) {
  const RequestSigner signer(kExample);
  const std::string body = "{\"a\": 1}";
  std::string head = "POST /openai/v1/chat/completions HTTP/1.1\r\nHost: h\r\n";
  for (const auto& header : signer.headers_for("POST", "/openai/v1/chat/completions", "h", body, 0)) {
    head += header.name + ": " + header.value + "\r\n";
  }
  std::string bytes = head + "\r\n" + body;
  const std::size_t size = bytes.size();
  signer.sign(bytes, 1'440'938'160);
  EXPECT_EQ(bytes.size(), size);
  EXPECT_NE(bytes.find("X-Amz-Date: 20150830T123600Z\r\n"), std::string::npos);
  const auto wanted = signer.headers_for("POST", "/openai/v1/chat/completions", "h", body, 1'440'938'160);
  EXPECT_NE(bytes.find("Authorization: " + wanted.back().value + "\r\n"), std::string::npos);
  EXPECT_EQ(sigv4_time(1'440'938'160), "20150830T123600Z");
}

}  // namespace
}  // namespace warpmark::serving
