// Which curves of the results go into a figure.
#pragma once

#include "run/result/curves.hpp"
#include "show/plot/sheet.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace recount::plot {

/// What a figure of curves is made of.
struct Recipe {
  enum class Quantity { time, count };
  Entry entry;
  std::string x = {};                     ///< the parameter on the x axis, in bytes
  std::vector<std::string> required = {}; ///< parameters that every observation must have
  Quantity quantity = Quantity::time;
  bool panel_each = false; ///< a panel for each kernel, metric and witness; else they are curves
  bool capacities = false; ///< x can be held against cache sizes
  bool program = false;    ///< values of the user's program, over the number that takes most values
};

/// The recipes behind curve_figures(), in its order.
[[nodiscard]] const std::vector<Recipe>& recipes();

/// A metric that was requested from a witness and never counted.
struct Missing {
  std::string metric;
  Witness witness;
  std::string reason;
};

struct Selected {
  std::vector<result::Curve> curves; ///< each with at least one value
  std::vector<Missing> missing;
  std::vector<std::string> warnings;
  std::string x; ///< the parameter on the x axis
};

/// The curves of the recipe: metrics and witnesses as chosen; by default the times of the clock, or the
/// cache misses by the first witness of perf, papi, model that has any. Empty when nothing fits.
[[nodiscard]] Selected select(const Recipe& recipe, const result::Results& results, const Choice& choice);
/// Whether the curves make a picture: one of them has two points.
[[nodiscard]] bool drawable(const Selected& selected);
/// "kernel stride: clock seconds; kernel chase: ...", the contents of the results, for messages.
[[nodiscard]] std::string inventory(const result::Results& results);

/// Of an interval, as `recount watch` and `recount stat -I` count them: a part of what its command counted.
[[nodiscard]] bool in_interval(const result::Observation& observation);
/// A count of an interval with its place in time; not the time that it took.
[[nodiscard]] bool is_interval(const result::Observation& observation);
/// Of `recount profile`.
[[nodiscard]] bool is_profile(const result::Observation& observation);

/// "Intel Core i7-9700 CPU @ 3.00GHz (virtual machine: KVM)": without "(R)" and "(TM)".
[[nodiscard]] std::string machine_name(const result::Run& run);
/// The CPUs behind the results, each once, of those machines ("CPU on HOST") that are wanted.
[[nodiscard]] std::vector<std::string> machine_names(
    const result::Results& results,
    const std::function<bool(const std::string&)>& wanted = [](const std::string&) { return true; });

/// "median of 5 repetitions", "band: range": for captions. `least` and `most` repetitions per point.
[[nodiscard]] std::vector<std::string> statistic_texts(statistics::Statistic statistic, std::size_t least,
                                                       std::size_t most);
/// "dashed: modelled, not measured", or by open markers where no modelled series has a line; without
/// `measured` values nothing has to be told from them.
[[nodiscard]] std::string modelled_text(const Sheet& sheet, bool measured);
/// "2 of 24 repetitions disturbed (more than 1 % of their time lost)".
[[nodiscard]] std::string disturbed_text(std::size_t disturbed, std::size_t all);

/// Fills in caption and warnings: machines, statistics, what was not counted, multiplexed or disturbed.
void write_caption(Sheet& sheet, const result::Results& results, const Selected& selected);

/// Throws recount::Error (bad_input), naming the contents of the results and the needs of the figure, when
/// they cannot fill it or would have more panels than fit on a page.
[[nodiscard]] Sheet compose(const Recipe& recipe, const result::Results& results, const Choice& choice);

/// One size, one colour and marker, in all panels and figures: of the ordered scale, from 4 KiB in its first
/// step, a step per doubling. Series whose sizes would share a step keep what their panel gives them.
void colour_by_bytes(std::vector<Series>& series, const std::vector<std::int64_t>& bytes);

/// More curves than these, which no scale of shades orders, are told apart in several panels only.
inline constexpr std::size_t max_curves = 8;
/// The panel, or panels of at most max_curves named curves each on the same axes, numbered in their titles.
[[nodiscard]] std::vector<Panel> small_multiples(Panel panel);

} // namespace recount::plot
