// Products of square matrices in results: by machine, product, witness and metric.
#pragma once

#include "base/statistics/statistics.hpp"
#include "run/result/observation.hpp"
#include "run/result/results_file.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount::matmul {

/// Which loops, how built, how large. Ordered as the studies show them: by element, plain builds first, then
/// by loops, size and block.
struct Product {
  std::string variant;     ///< "ijk", "blocked" ... as the kernel matmul names them; "dgemm"
  std::string build;       ///< empty: the plain build; "vectorised", or another language: "Java"
  std::string element;     ///< "f64" or "i16"
  std::int64_t n = 0;      ///< rows and columns
  std::int64_t block = 0;  ///< rows and columns of a block; 0: no blocks
  bool transposes = false; ///< the measurement includes a transposition
  std::strong_ordering operator<=>(const Product& other) const;
  bool operator==(const Product&) const = default;

  [[nodiscard]] std::int64_t element_bytes() const { return element == "i16" ? 2 : 8; }
  /// Multiplications and additions.
  [[nodiscard]] double operations() const;
  /// The same product at another size.
  [[nodiscard]] Product at_size(std::int64_t size) const;
  /// The product of other loops at the same size, without blocks and transposition.
  [[nodiscard]] Product with_variant(const std::string& other) const;
  [[nodiscard]] Product with_build(const std::string& other) const;
};

/// The product that a kernel computes at a point; nothing when it multiplies no matrices.
[[nodiscard]] std::optional<Product> parse_product(const std::string& kernel, const result::Params& point);
/// The variant of the kernel matmul that a study calls by this name ("simple", "line", "block") or that has
/// it; nothing: there is none.
[[nodiscard]] std::optional<std::string> parse_variant(std::string_view name);
/// The loops without the size: "line", "block 128", "transposed, with copy", "line, Java".
[[nodiscard]] std::string loops_name(const Product& product);

/// One repetition of a product in a run: the values of one process belong together. In the order of the runs.
struct Process {
  const result::Run* run = nullptr;
  int repetition = 0;
  const Product* product = nullptr; ///< the key in ProductGroup::products
  auto operator<=>(const Process&) const = default;
};

/// A value of a metric in one repetition.
struct Repeated {
  Process process;
  double value = 0;
  std::vector<Flag> disturbances = {}; ///< see result::disturbances()
  double error = 0;                    ///< of a sampled simulation, see result::sampling_error()
};

/// The repetitions of one metric by one witness.
struct Repetitions {
  std::vector<Repeated> values;               ///< by process
  std::optional<statistics::Summary> summary; ///< none: nothing was counted, and `reason` says why
  Shared<Reason> reason;

  [[nodiscard]] std::size_t disturbed() const;
};

using Processes = std::map<Process, bool>; ///< measured ones, and whether each was disturbed
[[nodiscard]] std::size_t count_disturbed(const Processes& processes);
void add_processes(Processes& all, const Processes& more);

using Metrics = std::map<std::pair<Witness, std::string>, Repetitions>; ///< by (witness, metric)

/// A number and its witness.
struct Quantity {
  double value = 0;
  Witness witness;
  /// Its 95 % interval; of a modelled value the range of its draws, widened by the sampling error.
  double low = value, high = value;
  std::vector<double> values = {};                             ///< by process
  Processes processes = {};                                    ///< of both sides of a comparison
  statistics::Evidence evidence = statistics::Evidence::clear; ///< of a comparison
  std::size_t compared = 0; ///< of a comparison: repetitions of the side with fewer
  bool repeatable = false;  ///< further repetitions would be equal: one is enough

  [[nodiscard]] bool clear() const { return evidence == statistics::Evidence::clear; }
  /// Whether a comparison is shown with its range: that of two repetitions has one, though it allows no
  /// conclusion.
  [[nodiscard]] bool shown() const {
    return clear() || (evidence == statistics::Evidence::few && compared > 1);
  }
};

/// Whether both are the same, or model one machine: completely, in samples or with drawn placement.
[[nodiscard]] bool same_witness(const Witness& a, const Witness& b);
/// Whether two quantities differ. Modelled values are exact, since the model is deterministic, unless they
/// are ranges; so are an average that was published and values of an emulation without noise. Ranges must be
/// disjoint.
[[nodiscard]] statistics::Evidence evidence(const Quantity& a, const Quantity& b);
/// The quantity in another unit; `factor` is positive.
[[nodiscard]] Quantity scaled(Quantity quantity, double factor);
/// Why a comparison is not stated; empty: it is clear. See statistics::reservation().
[[nodiscard]] std::string reservation(const Quantity& comparison);

/// A measured peak rate.
struct CeilingRate {
  std::string name;       ///< "vector", "scalar": operations; "L1d", "memory": bytes
  bool bandwidth = false; ///< bytes per second; else operations per second
  double rate = 0;        ///< the best repetition
  std::int64_t size = 0;  ///< bytes of the array, of a bandwidth
  bool disturbed = false; ///< the best repetition was: the rate may be higher
};

/// The products of one machine, or of one published table.
struct ProductGroup {
  const result::Run* run = nullptr; ///< its first; outlived by the results
  std::string machine;              ///< "CPU on HOST"
  bool published = false;           ///< taken over from a table, not measured by recount
  statistics::Statistic statistic = statistics::Statistic::median;
  std::map<Product, Metrics> products;
  /// By preference: counted before published before modelled. Without models of a machine without some part
  /// ("model:X~no-tlb") where the whole machine is modelled too: these are for comparison only.
  std::vector<Witness> witnesses;
  std::map<Product, std::string> failed; ///< why a run of it failed
  std::vector<CeilingRate> ceilings;
  bool repeatable = false; ///< measured in an emulation without noise

  /// Bytes of a line of the first level as the machine states it; 64 where it does not.
  [[nodiscard]] std::int64_t line() const;
  /// Of the run's versions; `otherwise` where it is not stated.
  [[nodiscard]] std::string version(const std::string& name, const std::string& otherwise = {}) const;
  /// The witness that models the machine of a published table, "model:NAME"; empty: the machine is unknown.
  [[nodiscard]] Witness model_witness() const;
  /// The sizes at which any product of these loops was observed, ascending.
  [[nodiscard]] std::vector<std::int64_t> sizes(const Product& loops) const;
  /// Each loops once, with n = 0.
  [[nodiscard]] std::vector<Product> loops() const;
  /// The metrics of a product; none where it was not run.
  [[nodiscard]] const Metrics& metrics(const Product& product) const;
  /// The statistic of a metric with its interval: by this witness, or, without its own values, by the model
  /// of the same machine in samples or draws. Without a witness, by the first of `witnesses` that has any.
  [[nodiscard]] std::optional<Quantity> quantity(const Product& product, const std::string& metric,
                                                 const Witness& witness = {}) const;
  /// Whether the witness was to count the metric of this product, and has no value.
  [[nodiscard]] bool undetermined(const Product& product, const std::string& metric,
                                  const Witness& witness) const;
  static constexpr std::string_view not_run = "not run";
  /// Why a product has no value: "failed", not_run, "not counted".
  [[nodiscard]] std::string absence(const Product& product) const;
  /// Whether the witness, or the model of the same machine in samples or draws, is one of `witnesses`.
  [[nodiscard]] bool has_witness(const Witness& witness) const;
};

/// By machine, in the order of the runs; published tables last.
[[nodiscard]] std::vector<ProductGroup> group_products(const result::Results& results);

/// What the values of a published table are: "one value per product ...", "median of up to 5 repetitions".
[[nodiscard]] std::string published_clause(const ProductGroup& table);

// Tables of matrix products that others have published, as results: values taken over, never measured here.

/// A published table.
struct Published {
  /// Its source; `versions` has "published" (the file's name), "source" (its comments) and, where known,
  /// "machine" (the described machine that it was measured on), "group", "cpu", "microarchitecture", "pages"
  /// and "flags".
  result::Run run;
  std::vector<result::Observation> observations; ///< witness "published"
  std::vector<result::Params> points;            ///< of kernel matmul, each once
};

/// What becomes of a second row for one repetition of a product.
enum class Duplicates {
  refuse, ///< an error
  keep    ///< a further repetition
};

/// Reads CSV: comments begin with #; the first other line names the columns, of which `variant` and `n` are
/// needed: variant is simple, line, block or a name of the kernel matmul; block; seconds, seconds_cpp or
/// seconds_LANGUAGE; repetition, from 1 or words, where a product has several rows; and presets in small
/// letters without PAPI_: l1_dcm, l2_dcm, l2_dca ... An empty field is no value. The column `group` separates
/// the machines of a file: a table for each, in the order of the file. Others describe them: cpu,
/// microarchitecture, pages (4K or huge), pages_basis, flags; note is for readers. `machine`: a described
/// machine; empty: the shipped one that the cpu, else the comments or the file's name mention, or that of the
/// microarchitecture, with huge pages where stated. Throws recount::Error (bad_input) naming file, line and
/// column. At least one table.
[[nodiscard]] std::vector<Published> parse_published(std::string_view text, const std::string& file,
                                                     const std::string& machine = {},
                                                     Duplicates duplicates = Duplicates::refuse);
/// The same from a file.
[[nodiscard]] std::vector<Published> read_published(const std::string& file, const std::string& machine = {},
                                                    Duplicates duplicates = Duplicates::refuse);

/// The shipped description of a microarchitecture ("skylake-client"); empty: there is none.
[[nodiscard]] std::string machine_of_microarchitecture(std::string_view microarchitecture);

// The formulas of presets on a CPU, one line each, recorded so that results are self-contained.

/// "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS (DERIVED_SUB, papi_events.csv:837)" by preset, for those that the
/// table which PAPI reads defines. `cpu`: libpfm4's name of a core PMU ("skl"); empty: this machine's.
/// Nothing, and no error, where there is no table or nobody knows the CPU.
[[nodiscard]] std::map<std::string, std::string> preset_notes(const std::vector<std::string>& presets,
                                                              const std::string& cpu = {});

} // namespace recount::matmul
