#include "serving/client/prepare_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "serving/client/conversation.h"
#include "serving/client/load_clock.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kMostPrepared = 20'000;
constexpr std::int64_t kPreparedWithoutLimit = 2'000;
constexpr std::size_t kMostPreparedBytes = std::size_t{1} << 30;
constexpr double kUsualTemplate = 64;  // tokens, where it was not measured

class Preparation {
 public:
  Preparation(const Target& target, const Traffic& traffic, const TokenFit& fit)
      : target_(target), traffic_(traffic), fit_(fit), random_(stats::derive_seed(traffic.seed, 1)) {}

  Result<LoadPlan> make() {
    WM_TRY(check());
    WM_TRY(add_endpoints());
    plan_.format.streams = target_.stream && target_.api->streams;
    plan_.format.done_mark = plan_.format.streams ? target_.api->done_mark : "";
    plan_.format.keep_texts = target_.keep_texts || target_.tokenizer != nullptr;
    plan_.tokenizer = target_.tokenizer_name;
    plan_.format.hear_texts = traffic_.conversations.turns > 1;
    plan_.template_tokens = fit_.template_tokens;
    plan_.shared_tokens = fit_.measured ? std::max(0.0, fit_.fixed) : kUsualTemplate;
    plan_.prompts = prompts_kind();
    plan_.seed = traffic_.shared_seed;
    plan_.tls = target_.tls;
    plan_.signer = target_.signer;
    plan_.closed = traffic_.arrivals.kind == ArrivalKind::closed;
    plan_.users = traffic_.users;
    plan_.users_per_s = traffic_.users_per_s;
    plan_.most_requests = traffic_.most_requests;
    plan_.most_heads = traffic_.most_conversations;
    plan_.duration_s = traffic_.duration_s;
    add_schedule();
    const std::int64_t wanted = prepared_count();
    std::size_t bytes = 0;
    for (std::int64_t i = 0; i < wanted; ++i) {
      if (bytes >= kMostPreparedBytes && !traffic_.trace.rows.empty()) {
        return usage_error(fmt::format("the prompts of {} requests of the trace fill 1 GiB", i),
                           "replay less: --max-requests-per-run N");
      }
      if (bytes >= kMostPreparedBytes) break;
      const std::size_t first = plan_.requests.size();
      WM_TRY(add_conversation(static_cast<std::size_t>(i)));
      for (std::size_t k = first; k < plan_.requests.size(); ++k) bytes += plan_.requests[k].bytes.size();
    }
    // An open loop connects when it must: what is connected and idle may hold a thread of the server.
    plan_.connect_ahead = plan_.closed && plan_.users_per_s == 0 ? plan_.users : 0;
    plan_.first_serial = stats::random_bits(traffic_.seed, 7) % 100'000'000;
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const char* prompts_kind() const {
    if (!traffic_.trace.rows.empty()) return "trace";
    if (traffic_.scenario.kind == ScenarioKind::dataset) return "data set";
    if (traffic_.prefix_tokens > 0 || traffic_.prefix_ratio > 0) return "shared prefix";
    return traffic_.conversations.turns > 1 ? "conversation" : "unique";
  }

  Status check() const {
    const std::string task = target_.api->task;
    const ScenarioKind kind = traffic_.scenario.kind;
    const bool documents = kind == ScenarioKind::embedding || kind == ScenarioKind::rerank;
    const auto misfit = [&](const char* wanted) {
      return usage_error(fmt::format("scenario {} does not fit the task {}", traffic_.scenario.text, task), wanted);
    };
    if (traffic_.conversations.turns > 1 && !target_.api->streams) {
      return usage_error(fmt::format("--turns needs a conversation, which {} is not", task), "--task text-to-text");
    }
    if (!traffic_.trace.rows.empty()) return {};
    if (task == "text-to-embeddings" && kind != ScenarioKind::embedding && kind != ScenarioKind::dataset)
      return misfit("E(tokens)");
    if (task == "text-to-rerank" && kind != ScenarioKind::rerank) return misfit("R(document,query)");
    if (task == "image-text-to-text" && kind != ScenarioKind::image) return misfit("I(width,height)");
    if (task == "text-to-text" && (documents || kind == ScenarioKind::image)) return misfit("D, N, U, L or dataset");
    if (kind == ScenarioKind::dataset && traffic_.dataset.empty())
      return usage_error("the scenario dataset needs --dataset-path");
    return {};
  }

  Status add_endpoints() {
    for (std::size_t i = 0; i < target_.bases.size(); ++i) {
      const http::Url url = api_url(target_, i);
      WM_ASSIGN(const auto addresses, http::resolve(url.host, url.port));
      plan_.endpoints.push_back({addresses.front(), url.secure() ? url.host : ""});
      http::Headers headers{
          {"Host", url.authority()}, {"User-Agent", "warpmark"}, {"Content-Type", "application/json"}};
      headers.push_back({"Accept", plan_.format.streams ? "text/event-stream" : "application/json"});
      for (const auto& header : api_headers(target_)) headers.push_back(header);
      heads_.push_back({url.target, std::move(headers)});
    }
    return {};
  }

  void add_schedule() {
    if (plan_.closed) return;
    if (traffic_.arrivals.kind == ArrivalKind::trace) {
      for (const auto& row : traffic_.trace.rows) {
        if (traffic_.most_requests > 0 && static_cast<std::int64_t>(plan_.due_ns.size()) >= traffic_.most_requests)
          break;
        plan_.due_ns.push_back(static_cast<std::int64_t>(row.at_s / traffic_.trace_speed * 1e9));
      }
      return;
    }
    if (traffic_.all_at_once) {
      plan_.due_ns.assign(static_cast<std::size_t>(traffic_.most_requests), 0);
      return;
    }
    const double duration_s = traffic_.duration_s > 0 ? traffic_.duration_s : 1e7;
    std::int64_t most = traffic_.most_requests > 0 ? traffic_.most_requests : 5'000'000;
    if (traffic_.most_conversations > 0) most = std::min(most, traffic_.most_conversations);
    plan_.due_ns = due_times_ns(traffic_.arrivals, duration_s, most, stats::derive_seed(traffic_.seed, 2));
  }

  [[nodiscard]] std::int64_t prepared_count() const {
    const auto due = std::max<std::int64_t>(static_cast<std::int64_t>(plan_.due_ns.size()), 1);
    if (!plan_.closed) return traffic_.trace.rows.empty() ? std::min(due, kMostPrepared) : due;
    if (traffic_.most_conversations > 0) return traffic_.most_conversations;
    const std::int64_t wanted =
        traffic_.most_requests > 0 ? traffic_.most_requests : std::max(kPreparedWithoutLimit, traffic_.users);
    // Of rows that are asked as they are, each once before the first comes again.
    const bool rows = traffic_.scenario.kind == ScenarioKind::dataset && traffic_.most_requests == 0;
    const auto all = rows ? static_cast<std::int64_t>(traffic_.dataset.size()) : 0;
    return std::min(std::max(wanted, all), kMostPrepared);
  }

  /// A request, or the turns of a conversation, each with the ones before it: what was asked, and marks for what will
  /// have been answered.
  Status add_conversation(std::size_t number) {
    const auto endpoint = static_cast<std::uint32_t>(number % plan_.endpoints.size());
    plan_.heads.push_back(static_cast<std::uint32_t>(plan_.requests.size()));
    if (traffic_.scenario.kind == ScenarioKind::dataset && traffic_.trace.rows.empty())
      return add_row(number, endpoint);
    std::vector<Message> said;
    std::int64_t asked_tokens = 0;
    for (std::int64_t turn = 0; turn < traffic_.conversations.turns; ++turn) {
      const Lengths lengths = lengths_of(number);
      BodySpec spec = spec_of(lengths);
      fill_texts(spec, lengths, number, turn);
      asked_tokens += lengths.input;
      if (turn > 0) spec.messages.insert(spec.messages.begin(), said.begin(), said.end());
      WM_TRY(add_request(spec, asked_tokens, endpoint_of(endpoint, turn), static_cast<std::int32_t>(turn)));
      said = spec.messages;
      said.push_back({"assistant", answer_mark(static_cast<std::size_t>(turn))});
      asked_tokens += lengths.output;
    }
    return {};
  }

  [[nodiscard]] std::uint32_t endpoint_of(std::uint32_t first, std::int64_t turn) const {
    if (!traffic_.conversations.chained) return first;
    return static_cast<std::uint32_t>((first + static_cast<std::uint64_t>(turn)) % plan_.endpoints.size());
  }

  Status add_row(std::size_t number, std::uint32_t endpoint) {
    const DatasetRow& row = traffic_.dataset[number % traffic_.dataset.size()];
    BodySpec spec = spec_of({0, row.output_tokens});
    if (!row.body.empty()) return add_bodies(row.body, spec, endpoint);
    const std::int64_t turns =
        row.turns.empty()
            ? 1
            : std::min<std::int64_t>(traffic_.conversations.turns, static_cast<std::int64_t>(row.turns.size() / 2));
    std::vector<Message> said;
    for (std::int64_t turn = 0; turn < std::max<std::int64_t>(turns, 1); ++turn) {
      if (row.turns.empty()) {
        spec.messages = row.messages;
      } else {
        if (turn == 0) said = row.messages;
        if (turn > 0) said.push_back({"user", row.turns[static_cast<std::size_t>(2 * turn)]});
        spec.messages = said;
        said.push_back({"assistant", row.turns[static_cast<std::size_t>(2 * turn + 1)]});
      }
      WM_TRY(add_request(spec, 0, endpoint_of(endpoint, turn), static_cast<std::int32_t>(turn)));
    }
    return {};
  }

  [[nodiscard]] Lengths lengths_of(std::size_t number) {
    if (traffic_.trace.rows.empty()) return draw_lengths(traffic_.scenario, random_);
    const TraceRow& row = traffic_.trace.rows[number % traffic_.trace.rows.size()];
    return {row.input_tokens, row.output_tokens};
  }

  [[nodiscard]] BodySpec spec_of(const Lengths& lengths) const {
    BodySpec spec{.model = target_.model, .output_tokens = lengths.output, .stream = plan_.format.streams};
    spec.exact_output = target_.exact_output && lengths.output > 0;
    return spec;
  }

  /// The prompt's words; with a trace's blocks, equal texts for equal blocks.
  [[nodiscard]] std::string prompt_of(const Lengths& lengths, std::size_t number, bool later_turn = false) {
    const std::int64_t words = fit_.words_for(lengths.input);
    if (!traffic_.trace.rows.empty() && !traffic_.trace.rows[number % traffic_.trace.rows.size()].blocks.empty()) {
      return block_text(traffic_.trace.rows[number % traffic_.trace.rows.size()], words);
    }
    std::int64_t shared = traffic_.prefix_tokens > 0 ? fit_.words_for(traffic_.prefix_tokens)
                                                     : std::llround(traffic_.prefix_ratio * static_cast<double>(words));
    shared = std::clamp<std::int64_t>(shared, 0, words);
    std::string text;
    if (later_turn) shared = 0;  // the conversation has it at its beginning
    if (shared > 0) text = words_text(shared, traffic_.shared_seed) + " ";
    if (shared == words) return text;
    return text + std::string(kSerialMark) + " " + words_text(words - shared, random_());
  }

  [[nodiscard]] std::string block_text(const TraceRow& row, std::int64_t words) const {
    std::string text;
    const auto per_block =
        std::max<std::int64_t>(1, std::llround(static_cast<double>(traffic_.trace.block_tokens) / fit_.per_word));
    for (const std::int64_t block : row.blocks) {
      if (words <= 0) break;
      const auto seed = stats::derive_seed(traffic_.shared_seed, static_cast<std::uint64_t>(block));
      text += words_text(std::min(words, per_block), seed) + " ";
      words -= per_block;
    }
    if (words > 0) text += std::string(kSerialMark) + " " + words_text(words, traffic_.shared_seed + 1);
    return text;
  }

  void fill_texts(BodySpec& spec, const Lengths& lengths, std::size_t number, std::int64_t turn) {
    const std::string task = target_.api->task;
    if (task == "text-to-embeddings" || task == "text-to-rerank") {
      for (std::int64_t i = 0; i < traffic_.batch; ++i) spec.messages.push_back({"user", prompt_of(lengths, number)});
      if (task == "text-to-rerank") spec.query = words_text(fit_.words_for(lengths.output), random_());
      return;
    }
    spec.messages.push_back({"user", prompt_of(lengths, number, turn > 0)});
    if (task != "image-text-to-text") return;
    for (std::int64_t i = 0; i < traffic_.scenario.images; ++i) {
      spec.image_urls.push_back(image_url({.width = static_cast<int>(traffic_.scenario.input.a),
                                           .height = static_cast<int>(traffic_.scenario.input.b),
                                           .seed = random_()}));
    }
  }

  /// Of one question; a template adds to each part of a conversation.
  Status count_own(const BodySpec& spec, PreparedRequest& request) {
    if (target_.tokenizer == nullptr || spec.messages.size() != 1 || !spec.image_urls.empty()) return {};
    const std::int64_t began_ns = load_now_ns();
    WM_ASSIGN(const auto ids, target_.tokenizer->encode(spec.messages.front().text));
    request.own_tokens = static_cast<std::int64_t>(ids.size());
    plan_.tokenizing.tokens += request.own_tokens;
    plan_.tokenizing.seconds += static_cast<double>(load_now_ns() - began_ns) * 1e-9;
    return {};
  }

  Status add_request(const BodySpec& spec, std::int64_t input_tokens, std::uint32_t endpoint, std::int32_t turn) {
    Json body = target_.api->body(spec);
    body.merge_patch(target_.more);
    PreparedRequest& request = append(dump_json(body, -1), endpoint);
    const bool has_texts = std::string_view(target_.api->task) == "text-to-text";
    request.input_tokens = has_texts ? input_tokens : 0;
    request.output_tokens = has_texts ? spec.output_tokens : 0;
    if (has_texts) WM_TRY(count_own(spec, request));
    if (turn > 0) follow(turn);
    return {};
  }

  /// Makes the last request the next turn of the one before it.
  void follow(std::int32_t turn) {
    const auto index = static_cast<std::uint32_t>(plan_.requests.size() - 1);
    PreparedRequest& request = plan_.requests[index];
    request.turn = turn;
    request.holds_answers = request.bytes.find(answer_mark(0), request.body_at) != std::string::npos;
    plan_.requests[index - 1].next = index;
    const auto& talk = traffic_.conversations;
    request.tool_ns = static_cast<std::int64_t>(talk.tool_s * 1e9);
    request.pause_ns = request.tool_ns + static_cast<std::int64_t>(
                                             talk.think_s * (talk.think_varies ? draw_exponential(random_) : 1) * 1e9);
  }

  /// What a whole body leaves open: which model, and that its answer is to be a stream.
  void complete(Json& body) const {
    if (!body.contains("model")) body["model"] = target_.model;
    if (body.contains("stream")) return;
    body["stream"] = plan_.format.streams;
    const std::string_view done_mark = target_.api->done_mark;
    if (plan_.format.streams && !done_mark.empty()) body["stream_options"] = {{"include_usage", true}};
  }

  /// A whole body as it is, then again with what was answered and the next question.
  Status add_bodies(const std::string& text, const BodySpec& spec, std::uint32_t endpoint) {
    const auto& talk = traffic_.conversations;
    WM_ASSIGN(Json body, parse_json(text, "a request body"));
    complete(body);
    append(dump_json(body, -1), endpoint).output_tokens = spec.output_tokens;
    if (talk.turns < 2 || talk.next_question.empty()) return {};
    if (!body.contains("messages")) return usage_error("--turns needs a chat", "--endpoint chat");
    for (std::int64_t turn = 1; turn < talk.turns; ++turn) {
      body["messages"].push_back({{"role", "assistant"}, {"content", answer_mark(static_cast<std::size_t>(turn - 1))}});
      body["messages"].push_back({{"role", "user"}, {"content", talk.next_question}});
      append(dump_json(body, -1), endpoint_of(endpoint, turn)).output_tokens = spec.output_tokens;
      follow(static_cast<std::int32_t>(turn));
    }
    return {};
  }

  PreparedRequest& append(const std::string& body, std::uint32_t endpoint) {
    const auto& [path, headers] = heads_[endpoint];
    http::Headers all = headers;
    all.push_back({"Content-Length", std::to_string(body.size())});
    if (target_.signer != nullptr) {  // to be written over when it is sent
      for (auto& header : target_.signer->headers_for("POST", path, *http::find_header(headers, "Host"), body, 0)) {
        all.push_back(std::move(header));
      }
    }
    PreparedRequest request{.bytes = http::request_head("POST", path, all), .endpoint = endpoint};
    request.body_at = request.bytes.size();
    const std::size_t serial = find_serial(body);
    request.bytes += body;
    if (serial != std::string::npos) request.serial_at = request.body_at + serial;
    plan_.requests.push_back(std::move(request));
    return plan_.requests.back();
  }

  const Target& target_;
  const Traffic& traffic_;
  const TokenFit& fit_;
  stats::Random random_;
  LoadPlan plan_;
  std::vector<std::pair<std::string, http::Headers>> heads_;
};

}  // namespace

Result<LoadPlan> prepare_load(const Target& target, const Traffic& traffic, const TokenFit& fit) {
  WM_ASSIGN(LoadPlan plan, Preparation(target, traffic, fit).make());
  plan.secret = target.signer ? target.signer->secret() : target.key;
  return plan;
}

http::Url api_url(const Target& target, std::size_t base) {
  http::Url url = target.bases[base];
  url.target = path_below(url.target, target.api->path);
  return url;
}

http::Headers api_headers(const Target& target) {
  http::Headers headers = target.api->headers(target.key);
  headers.insert(headers.end(), target.headers.begin(), target.headers.end());
  return headers;
}

std::string probe_text(std::int64_t words, std::uint64_t seed) {
  std::string text = std::string(kSerialMark) + " " + words_text(words, seed);
  write_serial(text, 0, seed);
  return text;
}

std::string body_of(const Target& target, std::int64_t words, std::int64_t output_tokens, bool stream,
                    std::uint64_t seed) {
  BodySpec spec{.model = target.model, .output_tokens = output_tokens, .stream = stream};
  // With a serial number, as all prompts have: its tokens are part of what is learned.
  spec.messages.push_back({"user", probe_text(words, seed)});
  if (std::string_view(target.api->task) == "text-to-rerank") spec.query = words_text(4, seed);
  Json body = target.api->body(spec);
  body.merge_patch(target.more);
  return dump_json(body, -1);
}

}  // namespace warpmark::serving
