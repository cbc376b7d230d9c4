// A product of two square matrices as studies compare it: which loops, how built, how large.
#pragma once

#include "result/observation.hpp"
#include "result/results_file.hpp"
#include "statistics/statistics.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::matmul {

struct Product {
  std::string variant;     ///< "ijk", "blocked" ... as the kernel matmul names them; "dgemm"
  std::string build;       ///< empty: the plain build; "vectorised", or another language: "Java"
  std::string element;     ///< "f64" or "i16"
  std::int64_t n = 0;      ///< rows and columns
  std::int64_t block = 0;  ///< rows and columns of a block; 0: no blocks
  bool transposes = false; ///< the measurement includes a transposition
  auto operator<=>(const Product&) const = default;

  [[nodiscard]] std::int64_t element_bytes() const { return element == "i16" ? 2 : 8; }
  /// Multiplications and additions; those of integers are counted alike.
  [[nodiscard]] double operations() const;
};

/// The product that a kernel computes at a point; nothing when it multiplies no matrices.
[[nodiscard]] std::optional<Product> product_of(const std::string& kernel, const result::Params& point);

/// The loops without the size: "line", "block 128", "transposed, with copy", "line, Java". The
/// names are those of the laboratory and the report that the study follows.
[[nodiscard]] std::string loops_name(const Product& product);
/// The same product at another size.
[[nodiscard]] Product at_size(Product product, std::int64_t n);
/// The loops of the source text in the order of the names, for prose: "i, j, k with the sum in a register".
[[nodiscard]] std::string loops_prose(const Product& product);

// Results of matrix products by machine, product, witness and metric.

/// One repetition of a metric that has a value.
struct Repeated {
  int repetition = 0;
  double value = 0;
  std::vector<Flag> disturbances = {}; ///< as of result::disturbances()
  double error = 0;                    ///< of a sampled simulation, see result::sampling_error()
};

/// The repetitions of one metric by one witness.
struct Repetitions {
  std::vector<Repeated> values;               ///< by repetition
  std::optional<statistics::Summary> summary; ///< none: nothing was counted, and `reason` says why
  std::string reason;
  std::size_t flagged = 0; ///< disturbed repetitions
  /// By the model of a machine without some part ("model:X~no-tlb") in a group where the whole machine
  /// answers too: it explains the other and stands for nothing by itself, not even where the other has no
  /// value.
  bool for_comparison = false;
};

using Metrics = std::map<std::pair<Witness, std::string>, Repetitions>; ///< by (witness, metric)

/// A number and its witness.
struct Quantity {
  double value = 0;
  Witness witness;
  /// Its 95 % interval; of a modelled value the range of its draws, widened by the sampling error.
  double low = value, high = value;
  std::vector<std::pair<int, double>> values = {};             ///< by repetition
  std::size_t flagged = 0;                                     ///< disturbed repetitions
  statistics::Evidence evidence = statistics::Evidence::clear; ///< of a comparison
  std::size_t compared = 0; ///< of a comparison: repetitions of the side with fewer

  [[nodiscard]] bool clear() const { return evidence == statistics::Evidence::clear; }
  /// Whether a comparison may be shown with its range: that of two repetitions has one, though it allows no
  /// conclusion.
  [[nodiscard]] bool shown() const {
    return clear() || (evidence == statistics::Evidence::few && compared > 1);
  }
};

/// Whether two quantities differ. Modelled values and those of a published table of averages are exact: the
/// model is deterministic, and an average is compared as it was published. Modelled ranges must be disjoint.
[[nodiscard]] statistics::Evidence evidence(const Quantity& a, const Quantity& b);
/// The quantity in another unit; `factor` is positive.
[[nodiscard]] Quantity scaled(Quantity quantity, double factor);
/// Why a comparison is not stated; empty: it is clear. See statistics::reservation().
[[nodiscard]] std::string reservation(const Quantity& comparison);

/// What the processor does at most, measured.
struct CeilingRate {
  std::string name;       ///< "vector", "scalar": operations; "L1d", "memory": bytes
  bool bandwidth = false; ///< bytes a second; else operations per second
  double rate = 0;        ///< the best repetition
  std::int64_t size = 0;  ///< bytes of the array, of a bandwidth
};

/// The products of one machine, or of one published table.
struct Products {
  const result::Run* run = nullptr; ///< its first; outlived by the results
  std::string machine;              ///< "CPU on HOST"
  bool published = false;           ///< taken over from a table, not measured by recount
  statistics::Statistic statistic = statistics::Statistic::median;
  std::map<Product, Metrics> of;
  std::map<Product, std::string> failed; ///< why a run of it failed
  std::vector<CeilingRate> ceilings;

  /// Bytes of a line of the first level as the machine states it; 64 where it does not.
  [[nodiscard]] std::int64_t line() const;
  /// Bytes of a level ("L1d") as stated; 0: not stated.
  [[nodiscard]] std::int64_t cache(const std::string& level) const;
  /// The sizes at which any product of these loops was observed, ascending.
  [[nodiscard]] std::vector<std::int64_t> sizes(const Product& loops) const;
  /// Each loops once, with n = 0, in the order of Product.
  [[nodiscard]] std::vector<Product> loops() const;
};

/// Why a product has no value: "failed", "not run", "not counted".
[[nodiscard]] const char* absence(const Products& group, const Product& product);

/// By machine, in the order of the runs; published tables last.
[[nodiscard]] std::vector<Products> products(const result::Results& results);

/// Who is asked first: counted before published before modelled, this machine's model before another's.
[[nodiscard]] int preference(const Witness& witness);
/// Whether a witness is the one named, or the model of the same machine in samples or with drawn placement.
[[nodiscard]] bool same_witness(const Witness& witness, const Witness& named);
/// The values behind a metric by the preferred witness that has any (none that is for comparison only), or by
/// that one witness; without its own values by the same_witness().
[[nodiscard]] const Repetitions* repetitions(const Metrics& metrics, const std::string& metric,
                                             const Witness& witness = {});
/// The statistic of their values with its interval.
[[nodiscard]] std::optional<Quantity> central(const Metrics& metrics, const std::string& metric,
                                              const Witness& witness = {});
/// Every witness that has a value of the metric, by preference.
[[nodiscard]] std::vector<Witness> witnesses(const Metrics& metrics, const std::string& metric);

} // namespace recount::matmul
