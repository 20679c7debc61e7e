// The questions that people ask of a model, each one command, and the answer on its first screen; models from files.
#include <algorithm>

#include "apps/cli_fixture.h"
#include "base/text.h"

namespace warpmark::apps {
namespace {

constexpr std::size_t kScreen = 34;  // lines
constexpr std::size_t kColumns = 80;

/// What stands on the first screen; no line is wider.
std::string first_screen(const std::string& out) {
  std::size_t end = 0, lines = 0;
  while (lines < kScreen && end < out.size()) {
    const auto next = std::min(out.find('\n', end), out.size() - 1) + 1;
    EXPECT_LE(display_width(std::string_view(out).substr(end, next - end - 1)), kColumns)
        << out.substr(end, next - end);
    end = next, ++lines;
  }
  return out.substr(0, end);
}

void expect_parts(const std::string& out) {
  const std::string screen = first_screen(out);
  for (const char* part : {"micro-batches", "largest that fits", "recomputation", "memory per GPU", "- parameters",
                           "- activations", "- CUDA", "- compute", "tokens/s", "MFU", "TFLOP/s"}) {
    EXPECT_NE(screen.find(part), std::string::npos) << part << "\n" << screen;
  }
}

TEST_F(Cli, plan_answers_whether_70b_trains_on_8_gpus_and_with_which_micro_batch) {
  const auto plan = warpmark_narrow({"plan", "--model", "llama3-70b", "--gpus", "8", "--sequence", "8192", "--layout",
                                     "zero=3", "--json", path("plan.json")});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  expect_parts(plan.out);
  EXPECT_NE(plan.out.find("Fits, fastest with"), std::string::npos) << plan.out;
  for (const char* part : {"- gathered layers", "- logits", "host memory"}) {
    EXPECT_NE(first_screen(plan.out).find(part), std::string::npos) << part << plan.out;
  }
  const auto layout = json("plan.json")["layouts"][0];
  EXPECT_TRUE(layout["offload"].get<bool>()) << "141 GB of weights and 16 x 70.6e9 / 8 bytes of state do not fit";
  EXPECT_GE(layout["largest_micro_batch"].get<int>(), 1);
  EXPECT_NE(plan.out.find("Only with offload to host memory: without it the smallest layout needs"), std::string::npos)
      << plan.out;
  const auto small = warpmark_narrow({"plan", "--model", "gpt2", "--gpus", "8"});
  EXPECT_EQ(small.out.find("Only with offload"), std::string::npos) << small.out;
}

TEST_F(Cli, plan_answers_days_and_dollars_of_15_trillion_tokens) {
  const auto plan = warpmark_narrow({"plan", "--model", "llama3-70b", "--gpus", "1024", "--sequence", "8192",
                                     "--tokens", "15e12", "--price", "2", "--json", path("plan.json")});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  expect_parts(plan.out);
  // The model card: 6.4 M GPU hours, 260 days of 1024, within the range that published trainings span.
  EXPECT_NE(plan.out.find("179-258 days"), std::string::npos) << plan.out;
  EXPECT_NEAR(json("plan.json")["layouts"][0]["hours"].get<double>() / 24, 215, 40);
}

TEST_F(Cli, plan_comes_near_published_gpu_hours_without_a_given_utilization) {
  // GPU hours of the papers' tables on A100: Touvron et al. 2023a, table 15, and 2023b, table 2.
  struct Trained {
    const char* model;
    const char* sequence;
    const char* tokens;
    double hours;
  };
  const Trained trained[] = {{"llama-7b", "2048", "1e12", 82432},     {"llama-13b", "2048", "1e12", 135168},
                             {"llama-33b", "2048", "1.4e12", 530432}, {"llama-65b", "2048", "1.4e12", 1022362},
                             {"llama2-7b", "4096", "2e12", 184320},   {"llama2-13b", "4096", "2e12", 368640},
                             {"llama2-70b", "4096", "2e12", 1720320}};
  for (const auto& [model, sequence, tokens, hours] : trained) {
    EXPECT_EQ(warpmark({"plan", "--model", model, "--gpu", "a100-sxm-80gb", "--gpus", "1024", "--sequence", sequence,
                        "--tokens", tokens, "--json", path("plan.json")})
                  .exit_code,
              0);
    EXPECT_NEAR(json("plan.json")["layouts"][0]["hours"].get<double>() * 1024 / hours, 1, 0.15) << model;
  }
}

// GPU hours of the model cards of Llama 3 and 3.1 on H100 lie in the range of days that stands below the table.
TEST_F(Cli, plan_has_a_range_that_holds_published_gpu_hours_on_h100) {
  struct Trained {
    const char* model;
    const char* tokens;
    double hours;
  };
  for (const auto& [model, tokens, hours] : {Trained{"llama3-8b", "15e12", 1.3e6},
                                             {"llama3-8b", "15.6e12", 1.46e6},
                                             {"llama3-70b", "15e12", 6.4e6},
                                             {"llama3-405b", "15.6e12", 30.84e6}}) {
    const auto plan =
        warpmark_narrow({"plan", "--model", model, "--gpus", "1024", "--sequence", "8192", "--tokens", tokens});
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    const auto end = plan.out.rfind("days") - 1, blank = plan.out.find_last_of(" \n", end - 1);
    double low = 0, high = 0;
    ASSERT_EQ(std::sscanf(plan.out.substr(blank + 1, end - blank).c_str(), "%lf-%lf", &low, &high), 2) << plan.out;
    EXPECT_LE(low, hours / 1024 / 24) << model;
    EXPECT_GE(high * 1.02, hours / 1024 / 24) << model;
  }
}

TEST_F(Cli, plan_answers_whether_adapters_of_7b_fit_24_gb) {
  const std::vector<std::string> words{"plan", "--model", "llama2-7b", "--gpu", "rtx-4090", "--gpus", "1", "--tune"};
  for (const char* tuning : {"lora", "qlora:64"}) {
    auto asked = words;
    asked.emplace_back(tuning);
    const auto plan = warpmark_narrow(asked);
    EXPECT_EQ(plan.exit_code, 0) << tuning << plan.err;
    expect_parts(plan.out);
  }
  auto wrong = words;
  wrong.emplace_back("dora");
  EXPECT_EQ(warpmark(wrong).exit_code, 2);
}

TEST_F(Cli, plan_compares_layouts_beside_one_another) {
  const auto plan = warpmark_narrow(
      {"plan", "--model", "llama2-7b", "--layout", "tp=8", "--layout", "pp=8", "--json", path("plan.json")});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  expect_parts(plan.out);
  EXPECT_NE(first_screen(plan.out).find("bubble"), std::string::npos) << plan.out;
  const auto layouts = json("plan.json")["layouts"];
  ASSERT_EQ(layouts.size(), 2U);
  EXPECT_EQ(layouts[0]["tensor"], 8);
  EXPECT_EQ(layouts[1]["pipeline"], 8);
  EXPECT_GT(layouts[1]["bubble"].get<double>(), 0);
}

TEST_F(Cli, plan_takes_as_many_gpus_as_a_layout_needs) {
  const auto plan =
      warpmark_narrow({"plan", "--model", "llama3-70b", "--layout", "tp=8,pp=8", "--json", path("plan.json")});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(json("plan.json")["layouts"][0]["gpus"], 64);
}

TEST_F(Cli, plan_takes_a_layout_as_it_is_given) {
  const auto plan =
      warpmark_narrow({"plan", "--model", "gpt3-175b", "--gpu", "a100-sxm-80gb", "--batch", "1536", "--layout",
                       "tp=8,pp=16,dp=8,mb=1,zero=1,recompute=selective", "--json", path("plan.json")});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const auto layout = json("plan.json")["layouts"][0];
  EXPECT_EQ(layout["gpus"], 1024);
  EXPECT_EQ(layout["recompute"], "selective");
  EXPECT_EQ(layout["micro_batches"], 192);
  for (const char* wrong : {"tp=0", "tp", "zero=4", "recompute=some", "ways=3"}) {
    EXPECT_EQ(warpmark({"plan", "--model", "gpt3-175b", "--layout", wrong}).exit_code, 2) << wrong;
  }
  const auto odd = warpmark_narrow({"plan", "--model", "gpt3-175b", "--gpus", "8", "--layout", "tp=3"});
  EXPECT_EQ(odd.exit_code, 2);
  EXPECT_NE(odd.err.find("no layout tp=3 divides 8 GPUs"), std::string::npos) << odd.err;
}

TEST_F(Cli, plan_answers_which_quantization_fits_to_serve) {
  const auto plan = warpmark_narrow({"plan", "--model", "llama3-70b", "--inference", "--gpus", "1,2,4", "--sequence",
                                     "8192", "--batch", "16", "--json", path("plan.json")});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const std::string screen = first_screen(plan.out);
  for (const char* part : {"KV cache", "fp8/int8", "int4", "requests fit", "hold it in"}) {
    EXPECT_NE(screen.find(part), std::string::npos) << part << plan.out;
  }
  EXPECT_DOUBLE_EQ(json("plan.json")["serving"][0]["cache"].get<double>(), 327680.0 * 8192 * 16);
  EXPECT_EQ(warpmark({"plan", "--model", "llama3-405b", "--inference"}).exit_code, 1);
}

TEST_F(Cli, plan_reads_a_config_of_hugging_face) {
  const auto parameters = [&](const char* config) {
    write("config.json", config);
    const auto plan = warpmark_narrow({"plan", "--config", path("config.json"), "--json", path("plan.json")});
    EXPECT_NE(plan.exit_code, 2) << plan.err;
    return json("plan.json")["parameters"].get<double>();
  };
  EXPECT_EQ(parameters(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256,
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "tie_word_embeddings": false})"),
            8030261248);
  EXPECT_EQ(parameters(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
      "vocab_size": 50257})"),
            124439808);
  EXPECT_EQ(parameters(R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "vocab_size": 152064,
      "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "tie_word_embeddings": false})"),
            7615616512);
  EXPECT_EQ(parameters(R"({"model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384, "head_dim": 256,
      "num_attention_heads": 8, "num_hidden_layers": 18, "num_key_value_heads": 1, "vocab_size": 256000})"),
            2506172416);
  EXPECT_EQ(
      parameters(R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 32000,
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 8,
      "num_experts_per_tok": 2, "tie_word_embeddings": false})"),
      46702792704);
  write("config.json", R"({"model_type": "t5", "d_model": 512})");
  EXPECT_EQ(warpmark({"plan", "--config", path("config.json")}).exit_code, 2);
  write("config.json", R"({"model_type": "llama", "hidden_size": 512})");
  const auto missing = warpmark_narrow({"plan", "--config", path("config.json")});
  EXPECT_NE(missing.err.find("has no num_hidden_layers"), std::string::npos) << missing.err;
}

TEST_F(Cli, plan_checks_sizes_of_models) {
  const auto odd = warpmark_narrow({"plan", "--layers", "4", "--hidden", "4097", "--heads", "32"});
  EXPECT_EQ(odd.exit_code, 2);
  EXPECT_NE(odd.err.find("4097 does not divide by 32 heads"), std::string::npos) << odd.err;
  EXPECT_EQ(warpmark({"plan", "--model", "llama9"}).exit_code, 2);
  EXPECT_EQ(warpmark({"plan", "--layers", "1e9", "--hidden", "64", "--heads", "4"}).exit_code, 2);
  EXPECT_EQ(warpmark({"plan", "--model", "gpt2", "--layout", "dp=1000000,tp=1000000"}).exit_code, 2);
  const auto logits = [&](const char* vocabulary) {
    EXPECT_EQ(warpmark({"plan", "--model", "gemma-2b", "--vocabulary", vocabulary, "--layout", "dp=8,mb=8,zero=3",
                        "--json", path("plan.json")})
                  .exit_code,
              0);
    return json("plan.json")["layouts"][0]["memory"]["logits"].get<double>();
  };
  EXPECT_NEAR(logits("256000"), 16.9e9, 0.1e9);
  EXPECT_LT(logits("1000"), 0.3e9);
}

}  // namespace
}  // namespace warpmark::apps
