#include "warpmark/scaling/plan_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "collectives/alpha_beta.h"
#include "device/datasheet.h"
#include "warpmark/scaling/plan_options.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

namespace coll = warpmark::collectives;
using validate::Cluster;
using validate::Precision;
using validate::TrainingJob;
using validate::TrainingNumbers;
using validate::Tuning;

constexpr double kAmpere = 400e12;  // FLOP/s in 16 bits: A100 and before are below
constexpr coll::Link kUsualNetwork{coll::kNetworkAlpha_s, 1 / 50e9};
constexpr int kUsualNode = 8;
constexpr double kUsualTokens = 1 << 22;  // per step: published trainings take 4 to 16 M

Result<double> price_of(const ParsedOptions& options, const std::string& gpu) {
  double price = 0;
  for (const auto& text : options.all("--price")) {
    const auto equals = text.find('=');
    if (equals != std::string::npos && text.substr(0, equals) != gpu) continue;
    WM_ASSIGN(price, parse_number(equals == std::string::npos ? text : text.substr(equals + 1)));
    if (!(price > 0)) return usage_error("--price must be above 0");
  }
  return price;
}

Status read_tuning(const ParsedOptions& options, TrainingNumbers& numbers) {
  const std::string given = options.get("--tune", "all");
  const auto colon = given.find(':');
  const std::string kind = given.substr(0, colon);
  if (kind != "all" && kind != "lora" && kind != "qlora") {
    return usage_error("there is no --tune " + given, "all, lora[:RANK] or qlora[:RANK]");
  }
  numbers.tuning = kind == "lora" ? Tuning::lora : kind == "qlora" ? Tuning::qlora : Tuning::all;
  if (colon == std::string::npos) return {};
  WM_ASSIGN(const auto rank, parse_integer(given.substr(colon + 1)));
  if (rank < 1 || rank > 4096) return usage_error("LoRA's rank is 1 to 4096");
  numbers.lora_rank = static_cast<double>(rank);
  return {};
}

Result<TrainingNumbers> numbers_of(const ParsedOptions& options) {
  const std::string precision = options.get("--precision", "bf16"), optimizer = options.get("--optimizer", "adam");
  const auto known = value_named<validate::Precision>(precision);
  if (!known) return usage_error("there is no precision '" + precision + "'", "fp32, tf32, bf16, fp16 or fp8");
  const auto by = value_named<validate::Optimizer>(optimizer);
  if (!by) return usage_error("there is no optimizer '" + optimizer + "'", "adam, sgd, momentum or adam8bit");
  TrainingNumbers numbers{.precision = *known, .optimizer = *by};
  const std::string bits = options.get("--gradient-bits", "32");
  if (bits != "16" && bits != "32") return usage_error("--gradient-bits is 16 or 32");
  numbers.wide_gradients = bits == "32";
  numbers.flash = !options.has("--no-flash");
  numbers.causal_flops = options.has("--causal");
  WM_TRY(read_tuning(options, numbers));
  return numbers;
}

/// Of the precision asked for; else of 16 bits, which every datasheet has in one kind or the other.
Result<double> rate_of(const ParsedOptions& options, const device::Datasheet& sheet) {
  const std::string given = options.get("--precision", sheet.peak_rate.contains("bf16") ? "bf16" : "fp16");
  const auto precision = value_named<validate::Precision>(given);
  const auto rate = precision ? sheet.peak_rate.find(validate::flop_type_of(*precision)) : sheet.peak_rate.end();
  if (rate != sheet.peak_rate.end()) return rate->second;
  std::vector<std::string> types;
  for (const auto& [type, value] : sheet.peak_rate) types.push_back(type);
  return usage_error("the datasheet of " + sheet.id + " has no rate in " + given, "it has " + join(types, ", "));
}

/// Share of the peak that training's kernels reach while they run. HFU without a network, of runs with micro-batches
/// that fill the GPU (mosaicml/llm-foundry, scripts/train/benchmarking): A100 52 to 77 %, H100 40 to 58 %; in fp8 20 to
/// 42 % (the same, and NVIDIA NeMo 24.12). Published trainings of whole clusters lie at the lower end.
double usual_kernel_share(double peak_16_bits, Precision precision) {
  if (precision == Precision::fp8) return 0.38;
  return peak_16_bits < kAmpere ? 0.52 : 0.46;
}

Status replace_sizes(const ParsedOptions& options, Transformer& model) {
  const std::pair<const char*, double*> sizes[] = {
      {"--layers", &model.layers},         {"--hidden", &model.hidden},
      {"--heads", &model.heads},           {"--kv-heads", &model.kv_heads},
      {"--head-size", &model.head_size},   {"--ffn", &model.ffn},
      {"--vocabulary", &model.vocabulary}, {"--positions", &model.positions},
      {"--experts", &model.experts},       {"--active-experts", &model.active_experts},
      {"--expert-ffn", &model.expert_ffn}, {"--window", &model.window}};
  const double layers_before = model.layers;
  for (const auto& [name, size] : sizes) {
    WM_ASSIGN(*size, number_option(options, name, *size));
    if (*size != std::floor(*size)) return usage_error(fmt::format("{} {} is no whole number", name, *size));
  }
  if (layers_before > 0) model.window_layers = std::round(model.window_layers * model.layers / layers_before);
  if (options.has("--window")) model.window_layers = model.layers;
  if (options.has("--gated")) model.gated = true, model.bias = false;
  if (options.has("--untied")) model.tied = false;
  return {};
}

/// Sequences per step as trainings of such a size take them, a multiple of the GPUs where those are fewer: else of
/// their odd part, so that many layouts divide it.
double usual_batch(const TrainingJob& job, const std::vector<int>& gpus) {
  long long common = 1;
  for (const int count : gpus) common = std::lcm<long long, long long>(common, count);
  const double all = *std::ranges::max_element(gpus);
  double tokens = std::clamp(kUsualTokens / 512 * all, kUsualTokens, 4 * kUsualTokens);
  if (job.numbers.tuning != Tuning::all) tokens = kUsualTokens / 64;
  const double sequences = std::max(1.0, tokens / job.sequence);
  auto multiple = static_cast<double>(common);
  while (multiple > sequences && std::fmod(multiple, 2) == 0) multiple /= 2;
  return multiple * std::max(1.0, std::round(sequences / multiple));
}

}  // namespace

Result<Transformer> model_option(const ParsedOptions& options) {
  Transformer model{.vocabulary = 51200};
  if (options.has("--model") && options.has("--config")) {
    return usage_error("--model and --config both describe the model", "give one of them");
  }
  const bool named = options.has("--model") || options.has("--config");
  if (options.has("--model")) {
    WM_ASSIGN(model, known_transformer(options.get("--model")));
  }
  if (options.has("--config")) {
    const std::string path = options.get("--config");
    WM_ASSIGN(const auto text, read_file(path));
    WM_ASSIGN(const auto config, parse_json(text, path));
    WM_ASSIGN(model, transformer_of_config(config, path));
  }
  WM_TRY(replace_sizes(options, model));
  // GPT's learned positions are as many as tokens (Narayanan et al. 2021, equation 2).
  if (!named && !model.gated && !options.has("--positions")) {
    WM_ASSIGN(model.positions, number_option(options, "--sequence", 2048));
  }
  WM_TRY(check_transformer(model));
  return model;
}

Result<TrainingJob> training_job_of(const ParsedOptions& options, const std::vector<int>& gpus) {
  TrainingJob job;
  WM_ASSIGN(job.model, model_option(options));
  WM_ASSIGN(job.sequence, number_option(options, "--sequence", 2048));
  WM_ASSIGN(job.numbers, numbers_of(options));
  WM_ASSIGN(job.batch, number_option(options, "--batch", usual_batch(job, gpus)));
  WM_ASSIGN(job.tokens, number_option(options, "--tokens", 1e9, false, 1e18));
  WM_ASSIGN(job.overlap, ratio_of(options, "--overlap", job.overlap));
  WM_ASSIGN(job.contention, contention_of(options, job.contention));
  const bool wide = validate::element_bytes(job.numbers.precision) == 4;
  WM_ASSIGN(const auto compression, compression_of(options, wide ? "none" : "half"));
  job.compression = compression.kind;
  job.power_sgd_rank = compression.power_sgd_rank;
  return job;
}

std::vector<std::string> gpu_kinds(const ParsedOptions& options) {
  auto ids = options.all("--gpu");
  if (ids.empty()) ids.push_back("h100-sxm");
  return ids;
}

PublishedMfu published_mfu(double peak_flops, Precision precision, double parameters) {
  // GPU hours of the papers and model cards; llm-foundry's tables for MPT; NVIDIA NeMo 24.12's performance summary.
  if (precision == Precision::fp8) return {0.20, 0.42, "DeepSeek-V3, MPT and NeMo in fp8"};
  if (peak_flops < kAmpere) return {0.42, 0.62, "LLaMA, Llama 2 and MPT on A100"};
  // Small models reach a lower MFU in large clusters: the 1.3 M hours of Llama 3 8B are 19 % of the peak and the 1.46 M
  // of Llama 3.1 8B 17 %, the 6.4 M of 70B 32 %, and the 30.8 M of 405B 37 %.
  constexpr double kSmall = 20e9;
  if (parameters < kSmall) return {0.17, 0.46, "Llama 3.1 8B and MPT on H100"};
  return {0.32, 0.46, "Llama 3 and MPT on H100"};
}

Result<Cluster> cluster_of(const ParsedOptions& options, const std::string& id, const TrainingNumbers& numbers,
                           const std::optional<PlanLinks>& links) {
  const auto sheets = device::built_in_datasheets();
  const auto* sheet = device::find_datasheet(sheets, id);
  if (sheet == nullptr) {
    std::vector<std::string> ids;
    for (const auto& one : sheets) ids.push_back(one.id);
    const auto meant = nearest(id, ids);
    return usage_error("there is no datasheet '" + id + "'",
                       (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "GPUs: " + join(ids, ", "));
  }
  Cluster cluster{.gpu = id};
  WM_ASSIGN(const auto reported, given_links(options));
  cluster.per_node = links ? links->per_node : reported.per_node.value_or(kUsualNode);
  cluster.memory_bytes = device::visible_memory(*sheet);
  cluster.memory_bandwidth = sheet->memory_bandwidth;
  WM_ASSIGN(cluster.peak_flops, rate_of(options, *sheet));
  const auto half = sheet->peak_rate.find("f16");
  const double peak_16_bits = half == sheet->peak_rate.end() ? cluster.peak_flops : half->second;
  WM_ASSIGN(cluster.kernel_share, ratio_of(options, "--kernels", usual_kernel_share(peak_16_bits, numbers.precision)));
  if (options.has("--utilization")) {
    WM_ASSIGN(cluster.mfu, ratio_of(options, "--utilization", 0.4));
  }
  const double inside = sheet->nvlink_bandwidth > 0 ? sheet->nvlink_bandwidth * 8 / 9 : sheet->pcie_bandwidth * 0.8;
  cluster.within = {5e-6, 1 / inside};
  cluster.between = reported.between.value_or(kUsualNetwork);
  if (links) cluster.within = links->within->fit.link;
  if (links) cluster.between = links->between.link;
  cluster.host_link = sheet->pcie_bandwidth * 0.8;
  if (options.has("--host-memory")) {
    WM_ASSIGN(const auto bytes, parse_bytes(options.get("--host-memory")));
    cluster.host_memory_bytes = static_cast<double>(bytes);
  }
  WM_ASSIGN(cluster.dollars_per_hour, price_of(options, id));
  return cluster;
}

Result<std::optional<PlanLinks>> measured_links(const ParsedOptions& options) {
  WM_ASSIGN(auto sweeps, read_sweeps(options.all("--measured-links")));
  if (sweeps.empty()) return std::optional<PlanLinks>();
  WM_ASSIGN(const auto reported, given_links(options));
  WM_ASSIGN(auto links, plan_links(std::move(sweeps), reported));
  if (!links.within) {
    return usage_error("a sweep over several hosts does not measure the link within one",
                       "give a sweep of one host as well");
  }
  // A sweep may have left out GPUs of its host; one over hosts was fitted with as many as those had.
  if (links.network != Network::fitted) links.per_node = reported.per_node.value_or(kUsualNode);
  if (links.network == Network::unknown) {
    links.network = Network::supposed;
    links.between.link = kUsualNetwork;
  }
  return std::optional(std::move(links));
}

Result<std::vector<validate::LayoutRequest>> layout_requests(const ParsedOptions& options) {
  std::vector<validate::LayoutRequest> requests;
  for (const auto& text : options.all("--layout")) {
    WM_ASSIGN(auto request, validate::parse_layout(text));
    requests.push_back(std::move(request));
  }
  if (requests.empty()) requests.emplace_back();
  return requests;
}

}  // namespace warpmark::apps
