// Embeddings and scores in arrays.
#include "accuracy/scoring/examples.h"

#include <gtest/gtest.h>

#include <cstring>

#include "accuracy/scoring/scores.h"

namespace warpmark::accuracy {
namespace {

std::string tensors(const std::string& header, const std::vector<float>& numbers) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof(length) + numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  std::memcpy(bytes.data() + sizeof(length), numbers.data(), numbers.size() * sizeof(float));
  return bytes.substr(0, sizeof(length)) + header + bytes.substr(sizeof(length));
}

double scored(const std::string& metric, std::vector<Record> references, std::vector<Record> answers) {
  const auto examples = join_examples({std::move(references)}, {{"a", "a.safetensors", std::move(answers)}}, {});
  EXPECT_TRUE(examples.ok()) << examples.error().what;
  const auto scores = score_systems(*examples, *metrics_named({metric}, {}), {});
  EXPECT_TRUE(scores.ok()) << scores.error().what;
  return scores.ok() ? scores->front().value : -1;
}

TEST(SafetensorsRecords, are_the_rows_of_one_tensor) {
  const std::string two = tensors(R"({"e":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                                  R"("scores":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}})",
                                  {3, 4, 1, 0, 0.5, 0.25});
  const auto rows = safetensors_records(two, "a.safetensors", "e");
  ASSERT_TRUE(rows.ok()) << rows.error().what;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].embedding, (std::vector<double>{3, 4}));
  EXPECT_EQ((*safetensors_records(two, "a.safetensors", "scores"))[1].text, "0.25");
  const std::string one = tensors(R"({"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})", {4, 3, 1, 0});
  const auto answers = parse_records(one, "a.safetensors", Side::output, {});
  ASSERT_TRUE(answers.ok()) << answers.error().what;
  EXPECT_NEAR(scored("cosine", *rows, *answers), (0.96 + 1) / 2, 1e-12);
  EXPECT_NEAR(scored("clipscore", *rows, *answers), 2.5 * (0.96 + 1) / 2, 1e-12);
}

TEST(SafetensorsRecords, are_tensors_by_their_ids) {
  const auto reference = safetensors_records(tensors(R"({"p":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                                                     R"("q":{"dtype":"F32","shape":[1,2],"data_offsets":[16,24]}})",
                                                     {1, 0, 0, 1, 1, 0}),
                                             "r.safetensors", "");
  const auto answers = safetensors_records(tensors(R"({"q":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                                                   R"("p":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}})",
                                                   {1, 0, 0, 1}),
                                           "a.safetensors", "");
  ASSERT_TRUE(reference.ok() && answers.ok());
  EXPECT_NEAR(scored("bertscore", *reference, *answers), (2 * 0.5 / 1.5 + 1) / 2, 1e-12);
}

TEST(SafetensorsRecords, say_what_does_not_fit) {
  const std::string mixed = tensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                    R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}})",
                                    {1, 2, 3, 4});
  EXPECT_FALSE(safetensors_records(mixed, "a.safetensors", "").ok());
  const auto unknown = safetensors_records(mixed, "a.safetensors", "c");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().hint, "it has: a, b");
  const std::string scalar = tensors(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", {1});
  EXPECT_FALSE(safetensors_records(scalar, "a.safetensors", "").ok());
  EXPECT_FALSE(safetensors_records("abc", "a.safetensors", "").ok());
}

}  // namespace
}  // namespace warpmark::accuracy
