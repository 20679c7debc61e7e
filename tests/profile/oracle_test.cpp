#include <gtest/gtest.h>

#include <map>
#include <random>

#include "profile/oracle.h"
#include "profile/trace_text.h"

namespace warpmark::profile {
namespace test {

std::vector<std::string> oracle_lines(const OracleJson& trace) {
  const std::map<std::string, std::string> kinds{{"cpu_op", "op"},
                                                 {"user_annotation", "annotation"},
                                                 {"cuda_runtime", "runtime"},
                                                 {"cuda_driver", "driver"},
                                                 {"python_function", "python"},
                                                 {"overhead", "overhead"},
                                                 {"gpu_user_annotation", "gpu_annotation"},
                                                 {"kernel", "kernel"},
                                                 {"gpu_memcpy", "memcpy"},
                                                 {"gpu_memset", "memset"}};
  const std::int64_t base = trace.value("baseTimeNanoseconds", std::int64_t{0});
  std::vector<std::string> lines;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::string kind = kinds.at(event.at("cat"));
    const OracleJson args = event.value("args", OracleJson::object());
    const bool on_gpu = kind == "kernel" || kind == "memcpy" || kind == "memset" || kind == "gpu_annotation";
    const auto first =
        on_gpu ? args.value("device", event.at("pid").get<std::int64_t>()) : event.at("pid").get<std::int64_t>();
    const auto second =
        on_gpu ? args.value("stream", event.at("tid").get<std::int64_t>()) : event.at("tid").get<std::int64_t>();
    std::string rest;
    if (kind == "kernel") {
      rest = args.at("grid").dump() + args.at("block").dump() + args.at("registers per thread").dump() +
             args.at("shared memory").dump() + " " +
             std::to_string(static_cast<float>(oracle_number(args.at("blocks per SM")))) + " " +
             std::to_string(static_cast<float>(oracle_number(args.at("est. achieved occupancy %")) / 100));
    } else if (kind == "memcpy" || kind == "memset") {
      rest = args.at("bytes").dump();
    } else if (kind == "op" && args.contains("Input Dims")) {
      rest = args.at("Input Dims").dump();
    }
    if (args.contains("Collective name")) {
      rest += collective_line(args["Collective name"], args["dtype"], args["In msg nelems"], args["Out msg nelems"],
                              args["Group size"]);
    }
    lines.push_back(line(base + oracle_ns(event.at("ts")), oracle_ns(event.at("dur")), kind, event.at("name"),
                         std::to_string(first) + ":" + std::to_string(second), args.value("correlation", 0),
                         args.value("External id", 0), rest));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> timeline_lines(const Timeline& timeline) {
  const std::map<EventKind, std::string> kinds{{EventKind::op, "op"},
                                               {EventKind::annotation, "annotation"},
                                               {EventKind::runtime_api, "runtime"},
                                               {EventKind::driver_api, "driver"},
                                               {EventKind::python, "python"},
                                               {EventKind::overhead, "overhead"},
                                               {EventKind::gpu_annotation, "gpu_annotation"},
                                               {EventKind::kernel, "kernel"},
                                               {EventKind::memcpy, "memcpy"},
                                               {EventKind::memset, "memset"}};
  std::vector<std::string> lines;
  const EventColumns& events = timeline.events;
  const auto triple = [](const std::uint32_t(&v)[3]) {
    return "[" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + "]";
  };
  std::size_t next_collective = 0;
  for (EventIndex i = 0; i < events.size(); ++i) {
    const Track& track = timeline.tracks[events.track[i]];
    const std::string kind = kinds.at(events.kind[i]);
    std::string rest;
    if (kind == "kernel") {
      const LaunchShape& shape = timeline.launch_shapes[events.detail[i]];
      rest = triple(shape.grid) + triple(shape.block) + std::to_string(shape.registers_per_thread) +
             std::to_string(shape.shared_bytes) + " " + std::to_string(shape.blocks_per_sm) + " " +
             std::to_string(shape.occupancy);
    } else if (kind == "memcpy" || kind == "memset") {
      rest = std::to_string(events.value[i]);
    } else if (kind == "op" && events.detail[i] != 0) {
      rest = OracleJson::parse(timeline.names.at(events.detail[i])).dump();
    }
    const auto& collectives = timeline.collectives;
    if (next_collective < collectives.size() && collectives[next_collective].event == i) {
      const Collective& one = collectives[next_collective++];
      rest += collective_line(std::string(timeline.names.at(one.name)), std::string(timeline.names.at(one.data_type)),
                              one.in_elements, one.out_elements, one.group_size);
    }
    const bool on_gpu = track.kind == TrackKind::gpu_stream;
    lines.push_back(line(clock_start(timeline, i), events.duration[i], kind, std::string(timeline.name_of(i)),
                         std::to_string(on_gpu ? track.device : track.process) + ":" + std::to_string(track.thread),
                         events.correlation[i], events.link[i], rest));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace test

namespace {

using test::OracleJson;

/// Random values in every field, in the forms PyTorch uses.
class RandomTrace {
 public:
  explicit RandomTrace(unsigned seed) : random_(seed) {}

  OracleJson make(int events) {
    OracleJson trace;
    trace["schemaVersion"] = 1;
    trace["deviceProperties"] = OracleJson::array({{{"id", 0}, {"name", "GPU"}}});
    trace["baseTimeNanoseconds"] = 1790857026000000000;
    trace["traceEvents"] = OracleJson::array();
    for (int i = 0; i < events; ++i) trace["traceEvents"].push_back(event());
    trace["traceName"] = "x";
    return trace;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  OracleJson us() {
    const int form = pick(4);
    const std::int64_t whole = 4'361'643'201'600 + pick(1'000'000);
    if (form == 0) return whole;
    std::string digits = std::to_string(whole) + ".";
    for (int i = 0; i < form; ++i) digits += static_cast<char>('0' + pick(10));
    return "number " + digits;
  }

  OracleJson event() {
    const char* const categories[] = {
        "cpu_op",      "cpu_op",          "cpu_op",    "user_annotation",     "cuda_runtime",
        "cuda_driver", "python_function", "overhead",  "gpu_user_annotation", "kernel",
        "kernel",      "gpu_memcpy",      "gpu_memset"};
    const char* const names[] = {"aten::linear",
                                 "void k<{lambda(int)#1}, \"q\">(a[], b)",
                                 "x",
                                 "caf\xC3\xA9 \\ / \n",
                                 "Memcpy HtoD (Pinned -> Device)",
                                 "}, {\"ph\": \"X\"",
                                 "]",
                                 ""};
    OracleJson event;
    if (pick(8) == 0)
      return {{"ph", "s"}, {"id", pick(99)}, {"pid", 1}, {"tid", 2}, {"ts", us()}, {"cat", "ac2g"}, {"name", "ac2g"}};
    event["ph"] = "X";
    event["cat"] = categories[pick(13)];
    event["name"] = names[pick(8)];
    event["pid"] = pick(3);
    event["tid"] = pick(4);
    event["ts"] = us();
    event["dur"] = pick(2) == 0 ? OracleJson(pick(1000)) : OracleJson("number " + std::to_string(pick(1000)) + ".001");
    event["args"] = args(event["cat"]);
    return event;
  }

  OracleJson args(const std::string& category) {
    OracleJson args = OracleJson::object();
    if (pick(2) == 0) args["External id"] = pick(1'000'000) + 1;
    if (category == "cpu_op" && pick(3) != 0) {
      args["Concrete Inputs"] = {"", "[1, 2]", "say \"]\" \\", "}"};
      args["Input Dims"] = {{pick(4096), 8}, OracleJson::array(), {{1, 2}, {3}}};
    }
    if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" || category.starts_with("cuda_")) {
      args["correlation"] = pick(100'000) + 1;
    }
    if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") {
      args["device"] = pick(8);
      args["stream"] = pick(40);
      args["bytes"] = std::int64_t{pick(1 << 30)} * 8;
    }
    if (category == "kernel") {
      args["grid"] = {pick(70'000), pick(9), 1};
      args["block"] = {pick(1025), 1, pick(4)};
      args["registers per thread"] = pick(256);
      args["shared memory"] = pick(232'448);
      args["blocks per SM"] = "number " + std::to_string(pick(300)) + "." + std::to_string(100'000 + pick(900'000));
      args["est. achieved occupancy %"] = pick(101);
      if (pick(5) == 0) {
        args["Collective name"] = "allreduce";
        args["dtype"] = "BFloat16";
        args["In msg nelems"] = pick(1 << 30);
        args["Out msg nelems"] = pick(1 << 30);
        args["Group size"] = pick(64);
      }
    }
    return args;
  }

  std::mt19937 random_;
};

/// The numbers that were kept as texts, as numbers again.
std::string as_file(const test::OracleJson& json, int indent) {
  std::string text = json.dump(indent), file;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 8, "\"number ") == 0) {
      const auto end = text.find('"', at + 8);
      file += text.substr(at + 8, end - at - 8);
      at = end;
    } else {
      file += text[at];
    }
  }
  return file;
}

TEST(Oracle, agrees_on_every_field_of_random_traces) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    for (const int indent : {-1, 0, 1, 4}) {
      const std::string file = as_file(RandomTrace(seed).make(400), indent);
      const auto expected = test::oracle_lines(test::parse_exactly(file));
      for (const std::size_t block : {std::size_t{0}, std::size_t{200}, std::size_t{5'000}}) {
        const Timeline timeline = test::timeline_of(file, {.threads = 3, .block_bytes = block});
        ASSERT_EQ(test::timeline_lines(timeline), expected)
            << "seed " << seed << " indent " << indent << " block " << block;
        EXPECT_EQ(test::fact(timeline, "rows"), "400");
      }
    }
  }
}

}  // namespace
}  // namespace warpmark::profile
