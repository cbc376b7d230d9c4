// Results of several machines, compilers or commits side by side, and which of them is an outlier.
#pragma once

#include "base/statistics/statistics.hpp"
#include "run/result/results_file.hpp"
#include "show/document/section.hpp"
#include "show/plot/sheet.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::compare {

/// One quantity on one node.
struct NodeQuantity {
  std::vector<double> values = {};     ///< by repetition; of a median over points: ratios to the median
  bool listed = false;                 ///< in the results, with or without a value
  Shared<Reason> reason = {};          ///< the first reason for a value that is missing
  double error = 0;                    ///< the largest sampling error of a simulation
  double value = 0, low = 0, high = 0; ///< median and its 95 % interval, where there are values
  std::optional<double> ratio = {};    ///< to the median over the nodes, where that is not 0
  std::optional<double> z = {};        ///< robust z-score over the nodes
  bool outlier = false;
};

/// One metric by one witness, at one point or over all of them.
struct Quantity {
  std::string kernel;
  Witness witness;
  std::string metric, unit;
  result::Params point = {};               ///< without the parameters that do not vary
  std::size_t points = 1;                  ///< more than 1: the median over that many points
  std::vector<NodeQuantity> nodes = {};    ///< in the order of Comparison::nodes
  double median = 0;                       ///< over the nodes
  std::optional<double> limit = {};        ///< |z| of an outlier; none: too few nodes
  [[nodiscard]] std::size_t count() const; ///< nodes with a value
  [[nodiscard]] bool has_outlier() const;
};

/// A fact about the machines that is not the same on all of them.
struct Difference {
  std::string name;                ///< "microcode"
  std::vector<std::string> values; ///< by node
};

/// Why a node is an outlier.
struct Finding {
  std::size_t node = 0;
  std::string subject; ///< "clock seconds", "microcode"
  std::string text;    ///< "1.81 times the median at size=4096"
};

/// A quantity at one point on two nodes, where the nodes are too few for outliers.
struct Pair {
  std::size_t quantity = 0, first = 0, second = 0; ///< indices in Comparison
  double ratio = 0, low = 0, high = 0; ///< of the second to the first, by medians and their intervals
  statistics::Evidence evidence = statistics::Evidence::few;
  bool zero = false; ///< one of them is 0: there is no ratio
};

struct Comparison {
  std::string by;                   ///< the axis: "node", "compiler"
  std::vector<std::string> nodes;   ///< labels, in alphabetical order
  std::vector<Quantity> quantities; ///< those over all points first; each has values on two nodes or more
  std::size_t on_one_node = 0;      ///< quantities that only one node has
  std::vector<Difference> differences;
  std::vector<Finding> findings;
  std::vector<Pair> pairs; ///< of fewer than statistics::min_nodes nodes, the largest difference first
};

/// A property of a machine that the readings of a run imply.
struct MachineProperty {
  std::string name, unit; ///< "L1d capacity", "bytes"
  Witness witness;
  std::optional<double> value; ///< none: `unknown` says why
  double low = 0, high = 0;    ///< the value is between them
  Reason unknown;
};
/// Of one run of these results. Throws recount::Error (bad_input) for a damaged record.
using MachineProperties =
    std::function<std::vector<MachineProperty>(const result::Results& results, const result::Run& run)>;

struct CompareOptions {
  std::vector<std::string> by{"node"};        ///< see recount-compare(1)
  double min_share = 0.05;                    ///< smallest difference from the median that is reported
  std::map<std::string, std::string> files{}; ///< of runs, by id, for the axis "file"
  MachineProperties inferred{}; ///< of runs of recount caches; empty: nothing of them is compared
};

/// Pure. Throws Error (bad_input) where no run states the axis.
[[nodiscard]] Comparison compare(const result::Results& results, const CompareOptions& options);

/// Whether the results are of two nodes or more.
[[nodiscard]] bool several_nodes(const result::Results& results);

/// "size=4096", "median of 12 points"; empty: the kernel has one point.
[[nodiscard]] std::string point_name(const Quantity& quantity);
/// "papi PAPI_L1_DCM (stride)", the subject of findings.
[[nodiscard]] std::string subject_name(const Quantity& quantity);

// A comparison of machines as tables, JSON, a figure and a section of a report.

/// What was found on one screen.
[[nodiscard]] std::string screen_text(const Comparison& comparison, std::size_t columns);
/// Findings, differences, and the ratios of few nodes over all points and with an outlier; at most so many.
[[nodiscard]] std::vector<document::Block> comparison_blocks(const Comparison& comparison,
                                                             std::size_t most = std::string::npos);
/// Outliers, differences and one table of all quantities.
[[nodiscard]] std::vector<document::Block> comparison_tables(const Comparison& comparison);
/// One object, documented in recount-compare(1).
[[nodiscard]] std::string comparison_json(const Comparison& comparison);

/// A dot for each node with its interval: quantities with an outlier first.
[[nodiscard]] plot::Sheet compose_nodes(const Comparison& comparison, const result::Results& results);
[[nodiscard]] plot::Figure nodes_figure(MachineProperties inferred);
/// Of results of several nodes that have quantities in common.
[[nodiscard]] document::Section compare_section(MachineProperties inferred);

} // namespace recount::compare
