#include "warpmark/scaling/net_report.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/json.h"
#include "base/units.h"
#include "model/fields/fields.h"
#include "stats/summary.h"

namespace warpmark::apps {
namespace {

namespace net = warpmark::collectives::net;

double rate_of(const net::Throughput& throughput) {
  return throughput.seconds > 0 ? throughput.bytes / throughput.seconds : 0;
}

Summary interval_summary(const net::Throughput& throughput) {
  std::vector<double> rates;
  for (const auto& second : throughput.intervals) rates.push_back(second.bytes / (second.to_s - second.from_s));
  return stats::summarize(rates);
}

std::string percentile_text(const Summary& summary, std::size_t which) {
  const auto& percentile = summary.percentiles[which];
  return percentile.value ? format_seconds(*percentile.value) : "-";
}

/// As iperf3 writes numbers: "1.10", "94.1", " 941", in the unit that leaves them below `step`, of five.
std::string three_digits(double value, double step, const char* what) {
  constexpr const char* kPrefixes[] = {"", "K", "M", "G", "T"};
  std::size_t prefix = 0;
  for (; value >= step && prefix + 1 < std::size(kPrefixes); ++prefix) value /= step;
  const std::string number = value < 9.995   ? fmt::format("{:4.2f}", value)
                             : value < 99.95 ? fmt::format("{:4.1f}", value)
                                             : fmt::format("{:4.0f}", value);
  return fmt::format("{} {}{}", number, kPrefixes[prefix], what);
}

Section throughput_section(const NetResult& result) {
  Table table;
  table.columns = {{"streams", Align::right},       {"direction"},
                   {"block", Align::right, 1},      {"throughput", Align::right},
                   {"per second", Align::right, 1}, {"retransmits", Align::right},
                   {"segment", Align::right, 2}};
  for (const auto& item : result.path.throughputs) {
    const auto summary = interval_summary(item);
    table.rows.push_back({{std::to_string(item.streams)},
                          {item.reverse ? "from server" : "to server"},
                          {format_bytes(static_cast<double>(item.block_bytes))},
                          {format_si(rate_of(item) * 8, "bit/s", 4)},
                          {summary.n > 1 ? fmt::format("{} .. {}", format_si(summary.min * 8, "bit/s"),
                                                       format_si(summary.max * 8, "bit/s"))
                                         : "-"},
                          {item.reverse ? "-" : std::to_string(item.retransmits)},
                          {item.facts.segment_bytes > 0 ? fmt::format("{} B", item.facts.segment_bytes) : "-"}});
  }
  return {"TCP throughput", {std::move(table)}, false, false};
}

Section latency_section(const NetResult& result) {
  Table table;
  table.columns = {{"message", Align::right}, {"median", Align::right}, {"95 % interval", Align::right, 1},
                   {"p90", Align::right},     {"p99", Align::right},    {"max", Align::right, 2},
                   {"jitter", Align::right}};
  for (const auto& item : result.path.latencies) {
    const auto summary = stats::summarize(item.round_trips_s);
    if (summary.n == 0) continue;
    table.rows.push_back(
        {{format_bytes(static_cast<double>(item.bytes))},
         {format_seconds(summary.median)},
         {summary.median_interval ? fmt::format("{} .. {}", format_seconds(summary.median_interval->low),
                                                format_seconds(summary.median_interval->high))
                                  : "-"},
         {percentile_text(summary, 0)},
         {percentile_text(summary, 2)},
         {format_seconds(summary.max)},
         {format_seconds(net::jitter(item.round_trips_s))}});
  }
  return {"TCP round trips", {std::move(table)}, false, false};
}

/// ping's mdev: the deviation of these round trips themselves, not an estimate for others.
double mdev_of(const Summary& summary) {
  const auto n = static_cast<double>(summary.n);
  return summary.n > 0 ? summary.stdev * std::sqrt((n - 1) / n) : 0;
}

Section datagram_section(const net::Datagrams& datagrams) {
  const auto summary = stats::summarize(datagrams.round_trips_s);
  const int lost = datagrams.sent - static_cast<int>(summary.n);
  std::string text = fmt::format(
      "{} of {} B sent, {} lost ({}), {} out of order", datagrams.sent, datagrams.bytes, lost,
      format_percent(datagrams.sent > 0 ? static_cast<double>(lost) / datagrams.sent : 0), datagrams.out_of_order);
  if (summary.n > 0) {
    text += fmt::format("; round trip min/avg/max/mdev {} / {} / {} / {}, median {}, jitter {}",
                        format_seconds(summary.min), format_seconds(summary.mean), format_seconds(summary.max),
                        format_seconds(mdev_of(summary)), format_seconds(summary.median),
                        format_seconds(net::jitter(datagrams.round_trips_s)));
  }
  return {"UDP, as ping", {Paragraph{text, lost > 0 ? Tone::warning : Tone::plain}}, false, false};
}

Section path_section(const NetResult& result) {
  Section section{"Path", {}, false, false};
  if (!result.path.throughputs.empty()) {
    section.blocks.push_back(
        Paragraph{result.path.throughputs.front().local + " to " + result.path.throughputs.front().peer});
  }
  if (result.interface) {
    const auto& one = *result.interface;
    section.blocks.push_back(
        Paragraph{fmt::format("interface {}{}, MTU {}{}", one.name, one.driver.empty() ? "" : ", driver " + one.driver,
                              one.mtu, one.speed > 0 ? ", " + format_si(one.speed * 8, "bit/s") : "")});
  }
  for (const auto& [name, value] : result.environment)
    section.blocks.push_back(Paragraph{name + "=" + value, Tone::quiet});
  return section;
}

constexpr Field kSecondFields[] = {
    field<&net::Second::from_s>("from").within(kNonNegative),
    field<&net::Second::to_s>("to").within(kNonNegative),
    field<&net::Second::bytes>("bytes").within(kNonNegative),
    field<&net::Second::retransmits>("retransmits", "-1: the other side sends and knows it."),
};
constexpr RecordOf<net::Second> kSecond{"second", "", kSecondFields};

constexpr Field kThroughputFields[] = {
    field<&net::Throughput::streams>("streams").within(kAtLeastOne),
    field<&net::Throughput::reverse>("reverse"),
    field<&net::Throughput::block_bytes>("block", "Bytes of a call to send.").within(kAtLeastOne),
    field<&net::Throughput::bytes>("bytes").within(kNonNegative),
    field<&net::Throughput::seconds>("seconds").within(kNonNegative),
    derived("rate", "", [](const net::Throughput& of) { return rate_of(of); }).within(kNonNegative),
    field<&net::Throughput::local>("local"),
    field<&net::Throughput::peer>("peer"),
    field<&net::Throughput::stream_rates>("stream_rates").within(kNonNegative),
    field<&net::Throughput::intervals>("intervals", "", kSecond),
    field<&net::Throughput::retransmits>("retransmits").within(kNonNegative).when([](const net::Throughput& of) {
      return !of.reverse;
    }),
};
constexpr RecordOf<net::Throughput> kThroughput{"throughput", "", kThroughputFields};

template <auto kMember>
constexpr Field seconds(const char* key) {
  return field<kMember>(key).within(kNonNegative);
}
template <std::size_t kWhich>
constexpr Field percentile(const char* key) {
  return derived(key, "", [](const Summary& summary) { return summary.percentiles[kWhich].value; })
      .within(kNonNegative);
}
constexpr Field kMiddleFields[] = {field<&Summary::n>("n"), seconds<&Summary::median>("median"),
                                   seconds<&Summary::min>("min"), seconds<&Summary::max>("max")};
constexpr Field kTailFields[] = {percentile<0>("p90"), percentile<1>("p95"), percentile<2>("p99")};
constexpr Field kPingFields[] = {
    seconds<&Summary::min>("min"),
    seconds<&Summary::mean>("mean"),
    seconds<&Summary::median>("median"),
    seconds<&Summary::max>("max"),
    derived("mdev", "Deviation of the round trips, as ping's.", [](const Summary& of) { return mdev_of(of); })
        .within(kNonNegative),
};
constexpr RecordOf<Summary> kMiddle{"middle", "", kMiddleFields}, kTail{"tail", "", kTailFields},
    kPing{"ping", "", kPingFields};

template <typename RoundTrips>
constexpr Field jitter() {
  return derived("jitter", "", [](const RoundTrips& of) { return net::jitter(of.round_trips_s); }).within(kNonNegative);
}
constexpr auto kSummaryOf = [](const net::Latency& of) { return stats::summarize(of.round_trips_s); };
constexpr Field kLatencyFields[] = {
    field<&net::Latency::bytes>("bytes"),
    derived(nullptr, "", kMiddle, kSummaryOf),
    jitter<net::Latency>(),
    derived(nullptr, "", kTail, kSummaryOf),
};
constexpr RecordOf<net::Latency> kLatency{"latency", "", kLatencyFields};

constexpr Field kDatagramsFields[] = {
    field<&net::Datagrams::sent>("sent"),
    field<&net::Datagrams::bytes>("bytes", "Of each datagram."),
    derived("returned", "", [](const net::Datagrams& of) { return of.round_trips_s.size(); }),
    field<&net::Datagrams::out_of_order>("out_of_order"),
    jitter<net::Datagrams>(),
    derived(nullptr, "", kPing,
            [](const net::Datagrams& of) {
              return of.round_trips_s.empty() ? std::nullopt : std::optional(stats::summarize(of.round_trips_s));
            }),
};
constexpr RecordOf<net::Datagrams> kDatagrams{"datagrams", "", kDatagramsFields};

constexpr Field kInterfaceFields[] = {
    field<&net::Interface::name>("name"),
    field<&net::Interface::mtu>("mtu"),
    field<&net::Interface::driver>("driver"),
    field<&net::Interface::speed>("speed", "B/s; 0 if it is unknown.").within(kNonNegative),
};
constexpr RecordOf<net::Interface> kInterface{"interface", "", kInterfaceFields};

using Variable = std::pair<std::string, std::string>;
constexpr Field kNetResultFields[] = {
    field<&NetResult::path, &net::PathResult::throughputs>("throughput", "", kThroughput),
    field<&NetResult::path, &net::PathResult::latencies>("latency", "", kLatency),
    field<&NetResult::path, &net::PathResult::datagrams>("udp", "", kDatagrams),
    field<&NetResult::interface>("interface", "", kInterface),
    keyed<&NetResult::environment, &Variable::first, &Variable::second>("environment").unless_empty(),
};

}  // namespace

std::string interval_head(bool sends) {
  return fmt::format("[ ID] Interval           Transfer     Bitrate{}\n", sends ? "         Retr" : "");
}

std::string interval_line(const net::Second& second) {
  const double seconds = second.to_s - second.from_s;
  const double rate = seconds > 0 ? second.bytes * 8 / seconds : 0;
  const std::string retransmits = second.retransmits < 0 ? "" : fmt::format("  {:3}", second.retransmits);
  // iperf3's units: transfers in powers of 1024, rates in powers of 1000.
  return fmt::format("[SUM] {:6.2f}-{:<6.2f} sec  {}  {}/sec{}\n", second.from_s, second.to_s,
                     three_digits(second.bytes, 1024, "Bytes"), three_digits(rate, 1000, "bits"), retransmits);
}

Report build_net_report(const NetResult& result) {
  Report report;
  report.title = "Network";
  report.sections.push_back(path_section(result));
  if (!result.path.throughputs.empty()) report.sections.push_back(throughput_section(result));
  if (!result.path.latencies.empty()) report.sections.push_back(latency_section(result));
  if (result.path.datagrams) report.sections.push_back(datagram_section(*result.path.datagrams));
  return report;
}

constexpr RecordOf<NetResult> kNetResult{"net_result", "Result of `warpmark net client`. Rates in B/s, times in s.",
                                         kNetResultFields, "warpmark.net/1"};

}  // namespace warpmark::apps
