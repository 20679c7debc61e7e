// Against the published test suite of AWS's Signature Version 4 (names of its cases; 2015-08-30, us-east-1, "service"),
// each of them computed again by botocore 1.29, and against the vectors of Oracle's SDK for Go
// (common/http_signer_test.go).
#include "serving/traffic/signing.h"

#include <gtest/gtest.h>

#include "base/files.h"

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
  const http::Headers json{{"Content-Type", "application/json"}};
  EXPECT_EQ(signature("POST", "/openai/v1/chat/completions", json, "{\"a\": 1}"),
            "45d10eb3877a4622bcc5e89f129f88ac560464beb743fb2a3691abec11360c1f")
      << "botocore alone";
  EXPECT_EQ(signature("POST", "/model/us.meta%3Allama/invoke?x=a%20b&a=%2F", json, "{\"a\": 1}"),
            "d03f2c3333a850eea84e0431a0bf3a5a6d3ce6148f99e097f01b97c2d5c6cf54")
      << "botocore alone: a path is encoded once more";
}

TEST(SigV4, is_written_over_in_place) {
  const auto made = aws_signer(kExample);
  const RequestSigner& signer = *made;
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

OciCredentials oracle_example() {
  return {.key_id =
              "ocid1.tenancy.oc1..aaaaaaaaba3pv6wkcr4jqae5f15p2b2m2yt2j6rx32uzr4h25vqstifsfdsq/"
              "ocid1.user.oc1..aaaaaaaat5nvwcna5j6aqzjcaty5eqbb6qt2jvpkanghtgdaqedqw3rynjq/"
              "20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34",
          .key = *read_file(WARPMARK_SOURCE_DIR "/tests/data/signing/oracle_example_key.pem"),
          .passphrase = ""};
}

constexpr const char* kOracleDate = "Thu, 05 Jan 2014 21:31:40 GMT";

TEST(OciSignature, agrees_with_the_published_vectors) {
  const auto get = oci_authorization(
      oracle_example(), "GET",
      "/20160918/instances?availabilityDomain=Pjwf%3A%20PHX-AD-1&compartmentId=ocid1.compartment.oc1.."
      "aaaaaaaam3we6vgnherjq5q2idnccdflvjsnog7mlr6rtdb25gilchfeyjxa&displayName=TeamXInstances&volumeId="
      "ocid1.volume.oc1.phx.abyhqljrgvttnlx73nmrwfaux7kcvzfs3s66izvxf2h4lgvyndsdsnoiwr5q",
      "iaas.us-phoenix-1.oraclecloud.com", "", kOracleDate);
  ASSERT_TRUE(get.ok()) << get.error().what;
  EXPECT_EQ(*get,
            "Signature version=\"1\",headers=\"date (request-target) host\",keyId=\"" + oracle_example().key_id +
                "\",algorithm=\"rsa-sha256\",signature=\"GBas7grhyrhSKHP6AVIj/h5/Vp8bd/peM79H9Wv8kjoaCivujVXlpbKLjMPe"
                "DUhxkFIWtTtLBj3sUzaFj34XE6YZAHc9r2DmE4pMwOAy/kiITcZxa1oHPOeRheC0jP2dqbTll8fmTZVwKZOKHYPtrLJIJQHJj"
                "NvxFWeHQjMaR7M=\"");
  const std::string body =
      "{\n    \"compartmentId\": "
      "\"ocid1.compartment.oc1..aaaaaaaam3we6vgnherjq5q2idnccdflvjsnog7mlr6rtdb25gilchfeyjxa\","
      "\n    \"instanceId\": \"ocid1.instance.oc1.phx.abuw4ljrlsfiqw6vzzxb43vyypt4pkodawglp3wqxjqofakrwvou52gb6s5a\","
      "\n    \"volumeId\": \"ocid1.volume.oc1.phx.abyhqljrgvttnlx73nmrwfaux7kcvzfs3s66izvxf2h4lgvyndsdsnoiwr5q\"\n}";
  ASSERT_EQ(body.size(), 316U);
  const auto post = oci_authorization(oracle_example(), "POST", "/20160918/volumeAttachments",
                                      "iaas.us-phoenix-1.oraclecloud.com", body, kOracleDate);
  ASSERT_TRUE(post.ok());
  EXPECT_NE(post->find("headers=\"date (request-target) host content-length content-type x-content-sha256\""),
            std::string::npos);
  EXPECT_NE(
      post->find("signature=\"Mje8vIDPlwIHmD/cTDwRxE7HaAvBg16JnVcsuqaNRim23fFPgQfLoOOxae6WqKb1uPjYEl0qIdazWaBy/Ml8D"
                 "RhqlocMwoSXv0fbukP8J5N80LCmzT/FFBvIvTB91XuXI3hYfP9Zt1l7S6ieVadHUfqBedWH0itrtPJBgKmrWso=\""),
      std::string::npos);
}

TEST(OciSignature, is_written_over_in_place) {
  const auto signer = oci_signer(oracle_example());
  ASSERT_TRUE(signer.ok());
  const std::string target = "/20231130/actions/v1/chat/completions", body = "{\"a\": 90000000}";
  std::string head = "POST " + target + " HTTP/1.1\r\nHost: h\r\nContent-Length: 15\r\n";
  for (const auto& header : (*signer)->headers_for("POST", target, "h", body, 0)) {
    head += header.name + ": " + header.value + "\r\n";
  }
  std::string bytes = head + "\r\n{\"a\": 91234567}";
  (*signer)->sign(bytes, 1'388'957'500);
  const auto wanted =
      oci_authorization(oracle_example(), "POST", target, "h", "{\"a\": 91234567}", "Sun, 05 Jan 2014 21:31:40 GMT");
  EXPECT_NE(bytes.find("Authorization: " + *wanted + "\r\n"), std::string::npos);
  EXPECT_NE(bytes.find("Date: Sun, 05 Jan 2014 21:31:40 GMT\r\n"), std::string::npos);
}

TEST(OciSignature, reads_a_profile_and_says_what_it_lacks) {
  const std::string config =
      "# mine\n[DEFAULT]\nuser=u\nfingerprint = f\ntenancy=t\nregion=us-chicago-1\nkey_file=~/k.pem\n[other]\nuser=v\n";
  const auto profile = parse_oci_profile(config, "DEFAULT", false);
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->fingerprint, "f");
  EXPECT_EQ(profile->key_file, "~/k.pem");
  EXPECT_EQ(parse_oci_profile(config, "other", false).error().what,
            "the profile [other] lacks key_file, tenancy, fingerprint");
  EXPECT_EQ(parse_oci_profile(config, "DEFAULT", true).error().what, "the profile [DEFAULT] lacks security_token_file");
  EXPECT_FALSE(parse_oci_profile(config, "none", false).ok());
  EXPECT_FALSE(oci_signer({.key_id = "k", .key = "no key", .passphrase = ""}).ok());
}

}  // namespace
}  // namespace warpmark::serving
