// What `warpmark trend` marks in simulated series: changes in constant ones, steps of which only the newest sessions
// tell, and single sessions that are off. Prints markdown. Arguments: trials (default 2000).
#include <fmt/format.h>

#include <array>
#include <string>

#include "arguments.h"
#include "stats/change_point_simulation.h"

namespace {

using namespace warpmark::stats;

constexpr ChangePointOptions kTrend{};
constexpr ChangePointOptions kAnySize{.min_magnitude = 0};

void print_constant(int trials) {
  constexpr std::array<std::size_t, 7> kLengths{10, 14, 17, 25, 50, 100, 200};
  struct Row {
    const char* name;
    double rho;
    ChangePointOptions options;
  };
  const std::array rows{
      Row{"0, any size", 0, kAnySize},
      Row{"0.3, any size", 0.3, kAnySize},
      Row{"0.6, any size", 0.6, kAnySize},
      Row{"0.8, any size", 0.8, kAnySize},
      Row{"0, at least 5 %", 0, kTrend},
      Row{"0.3, at least 5 %", 0.3, kTrend},
      Row{"0.6, at least 5 %", 0.6, kTrend},
      Row{"0.8, at least 5 %", 0.8, kTrend},
      Row{"0.6, any size, autocorrelation ignored", 0.6, {.min_magnitude = 0, .autocorrelation = false}},
  };
  fmt::print("Constant series in which a change is found ({} trials, spread of a session 2 %):\n\n| rho |", trials);
  for (const auto n : kLengths) fmt::print(" {} sessions |", n);
  fmt::print("\n| --- |");
  for (std::size_t i = 0; i < kLengths.size(); ++i) fmt::print(" ---: |");
  for (const auto& row : rows) {
    fmt::print("\n| {} |", row.name);
    for (const auto n : kLengths) {
      fmt::print(" {:.1f} % |", share_with_changes({.n = n, .rho = row.rho}, row.options, trials) * 100);
    }
  }
  fmt::print("\n");
}

void print_steps(double rho, int trials) {
  struct Column {
    std::size_t n, last;
  };
  constexpr std::array kColumns{Column{14, 3}, Column{14, 5},  Column{14, 8},  Column{17, 3},
                                Column{17, 4}, Column{17, 5},  Column{17, 8},  Column{30, 3},
                                Column{30, 8}, Column{100, 3}, Column{100, 50}};
  fmt::print(
      "\nSteps of which the place is found to one session, and nothing else, rho {} ({} trials; those of 3 % and 5 % "
      "among changes of any size):\n\n",
      rho, trials);
  fmt::print("| step, spread |");
  for (const auto& column : kColumns) fmt::print(" last {} of {} |", column.last, column.n);
  fmt::print("\n| --- |");
  for (std::size_t i = 0; i < kColumns.size(); ++i) fmt::print(" ---: |");
  for (const double step : {0.03, 0.05, 0.1, 0.2}) {
    for (const double cv : {0.002, 0.01, 0.02}) {
      fmt::print("\n| {:.0f} %, {:.1f} % |", step * 100, cv * 100);
      for (const auto& column : kColumns) {
        const SimulatedSeries what{.n = column.n, .rho = rho, .cv = cv, .step = step, .last = column.last};
        // A step of 5 % measured with noise is smaller than 5 % in half of the series.
        const ChangePointOptions options{.min_magnitude = step > 0.05 ? kTrend.min_magnitude : 0};
        fmt::print(" {:.1f} % |", share_of_steps_found(what, options, trials) * 100);
      }
    }
  }
  fmt::print("\n");
}

void print_spikes(int trials) {
  constexpr std::array<std::size_t, 4> kLengths{14, 17, 30, 50};
  fmt::print("\nSeries in which one session that is 20 % off is taken for a change ({} trials):\n\n", trials);
  fmt::print("| sessions, rho, spread | middle one | last but two | last but one | last |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: |\n");
  for (const auto n : kLengths) {
    for (const double rho : {0.0, 0.6}) {
      for (const double cv : {0.002, 0.02}) {
        fmt::print("| {}, {}, {:.1f} % |", n, rho, cv * 100);
        for (const auto at : {n / 2, n - 3, n - 2, n - 1}) {
          const SimulatedSeries what{.n = n, .rho = rho, .cv = cv, .spike = 0.2, .at = at};
          fmt::print(" {:.1f} % |", share_with_changes(what, kTrend, trials) * 100);
        }
        fmt::print("\n");
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "change_point_simulation [TRIALS]   prints its tables, of 2000 trials unless told otherwise";
  if (const auto code = warpmark::bench::end_with_usage(argc, argv, usage, 0, 1)) return *code;
  const auto wanted = warpmark::bench::count_at(1, argc, argv, 2000);
  if (!wanted) return 2;
  const int trials = static_cast<int>(*wanted);
  print_constant(trials);
  for (const double rho : {0.0, 0.6}) print_steps(rho, trials);
  print_spikes(trials);
  return 0;
}
