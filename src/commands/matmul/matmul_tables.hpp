// Tables, figures, findings and sections of matrix products.
#pragma once

#include "run/result/products.hpp"
#include "show/document/document.hpp"
#include "show/document/section.hpp"
#include "show/plot/sheet.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::matmul {

// Facts of matrix products: each number once, with its interval, witness, evidence and text. Pure.

/// "counted by perf", "modelled", "modelled (i7-9700)": of this machine without how the model was simulated.
[[nodiscard]] std::string describe(const Witness& witness);
/// How a number is written.
enum class Kind { count, per_thousand, number, share, factor, points, place };
/// "27.11" (millions), "98.31 %", "2.0 x", "-0.35".
[[nodiscard]] std::string format(Kind kind, double value);
/// Two significant digits; three where they would hide on which side of 1 it is.
[[nodiscard]] std::string format_factor(double value);

/// A metric of a product: counted, or derived from others of the same witness and processes.
struct MetricRow {
  std::string name;  ///< "PAPI_L1_DCM", "L1_HIT_RATE"
  std::string label; ///< "L1 misses (10^6)"
  Kind kind = Kind::count;
  std::string unit = {}; ///< "s", "GFLOP/s"; empty: a count or a ratio
  /// Of a derived one. The first applies whose metrics were all counted, and of whose values a rate is from 0
  /// to 1. `operations`: 2 n^3; `line`: bytes of a cache line.
  std::vector<const char*> formulas = {};
};
[[nodiscard]] const std::vector<MetricRow>& metric_rows();

/// The statistic of a counted metric, or the formula of a derived one applied to the statistic of each
/// operand; the interval is that of its values by repetition. By `witness`, or if that is empty by the
/// preferred one that counted all operands.
[[nodiscard]] std::optional<Quantity> quantity(const ProductGroup& group, const Product& product,
                                               const std::string& name, const Witness& witness = {});
/// A number of a product, for a figure.
using QuantityOf = std::function<std::optional<Quantity>(const ProductGroup&, const Product&)>;
/// quantity() of this metric.
[[nodiscard]] QuantityOf metric(const std::string& name, const Witness& witness = {});

/// The metric by which the times of two products are compared: "cpu_seconds" where a repetition of either was
/// disturbed, since that lengthens its elapsed time but hardly its CPU time; else "seconds".
[[nodiscard]] std::string time_metric(const ProductGroup& group, const Product& a, const Product& b);

/// One number as it is shown, everywhere the same.
struct Fact {
  std::string machine; ///< "CPU on HOST"
  Product product;
  std::string metric;                    ///< "PAPI_L1_DCM", "seconds"; of a comparison, that of both sides
  std::string name;                      ///< the same, or "speed-up by time"
  std::optional<Product> reference = {}; ///< of a comparison
  Kind kind = Kind::count;
  std::optional<Quantity> quantity = {};
  std::string absence = {}; ///< without a value: "not counted", "-" of a comparison
  std::string reason = {};  ///< why there is no value, or why it allows no conclusion
  statistics::Statistic statistic = statistics::Statistic::median;

  [[nodiscard]] bool known() const { return quantity.has_value(); }
  /// Whether a comparison has a value that its repetitions establish.
  [[nodiscard]] bool clear() const { return quantity && quantity->clear(); }
  [[nodiscard]] double value() const { return quantity->value; }
  /// Of a comparison of times: whether more repetitions would change nothing: there is no value, it is
  /// clear, or both are equal within 2 %.
  [[nodiscard]] bool decided() const;
  /// In a cell: "2.0 x", "2.0 x ?" of one that is not established, or the absence.
  [[nodiscard]] std::string text() const;
  /// In a sentence: "2.0 x", "about 2.0 x (not established)".
  [[nodiscard]] std::string words() const;
  /// The value with its interval, for CSV.
  [[nodiscard]] show::Datum datum() const;
};

[[nodiscard]] Fact fact(const ProductGroup& group, const Product& product, const std::string& name,
                        const Witness& witness = {});
/// How many times faster `product` is than `reference`, by a time or cycles, or the difference of a hit rate,
/// with the evidence. No value where a side is missing or by another witness.
[[nodiscard]] Fact comparison(const ProductGroup& group, const Product& product, const Product& reference,
                              const std::string& name);
/// Of a modelled value, over the published or measured one.
[[nodiscard]] Fact ratio(const Fact& a, const Fact& b);

/// A fact, and the caption of the table that shows it.
struct Shown {
  std::string place;
  Fact fact;
};
/// Throws recount::Error (bad_input) with the place of a fact that contradicts itself or another: a value
/// outside its interval, a rate outside 0 to 1, two values of one fact, a speed-up or a difference that does
/// not follow from the facts of its sides, hits and misses whose sum is not the accesses.
void check_facts(const std::vector<Shown>& all);

/// Chooses a side of a comparison from the product of a row.
using Side = std::function<Product(const Product&)>;

/// A column of facts.
struct Column {
  std::string label; ///< followed by the witness, if it is neither the clock nor that of the whole table
  std::function<Fact(const ProductGroup&, const Product&)> fact;
  bool plain = false; ///< the label names the witness
};

/// Tables with the notes that they share.
class Page {
public:
  enum class Direction {
    down,  ///< one row per product, one column per fact
    across ///< one row per fact, one column per product
  };
  /// A column of text that identifies the product of a row.
  struct Key {
    std::string head;
    std::string (*text)(const Product&);
  };
  /// Appends a table of products; nothing where no number is known.
  void add_table(const ProductGroup& group, const std::string& caption, const std::vector<Key>& keys,
                 const std::vector<Product>& products, const std::vector<Column>& columns,
                 Direction direction = Direction::down);
  /// What the marks in the tables mean, and how many repetitions were disturbed. Throws as check_facts()
  /// does.
  [[nodiscard]] std::vector<document::Block> notes() const;

  std::vector<document::Block> blocks;
  std::vector<Shown> shown; ///< the facts of all tables
};

/// The laboratory's tables: straightforward, transposed, blocked, and both comparisons; 16-bit integers.
void add_laboratory(Page& page, const ProductGroup& group);
/// Times, rates, misses, hit rates and speed-ups of products of doubles by size and by block.
void add_doubles(Page& page, const ProductGroup& group);
/// The short form of both: what was multiplied how, and a table of averages of each.
void add_averages(Page& page, const ProductGroup& group, const std::string& element);
/// Published values compared with the values in `all` of the same products, mainly the model of their
/// machine; not `full`: all in one table.
void add_published(Page& page, const std::vector<ProductGroup>& all, bool full);

/// The products of one size of the laboratory.
struct Laboratory {
  Product first;                                         ///< straightforward, the sum in memory
  std::vector<Product> in_register, transposed, blocked; ///< the first: the same with the sum in a register
};
[[nodiscard]] std::vector<Laboratory> laboratories(const ProductGroup& group);

// The study in a report.

/// Appends these figures of a machine.
using AddFigures = std::function<void(std::vector<document::Block>&, const ProductGroup&,
                                      const std::vector<const char*>& figures)>;
/// All tables with their figures, and comments: the findings and what marks mean; not `full`: the averages
/// and the figures of the assignment. Throws as check_facts() does.
[[nodiscard]] std::vector<document::Block>
product_blocks(const std::vector<ProductGroup>& groups, const AddFigures& add_figures = {}, bool full = true);
/// Its section, and all its values at the end.
[[nodiscard]] std::vector<document::Section> product_sections();
/// "high", "low", "modelled", and whether some are modelled: the least confidence in facts that are known.
void state_confidence(document::Answer& answer, const std::vector<Fact>& facts);
/// The laboratory's part of recount laboratory: its tables, and an answer of a line for each question.
[[nodiscard]] document::Section laboratory_section();
/// The speed-ups over a variant at the largest size at which it was timed; nothing where there are none.
[[nodiscard]] std::optional<document::Answer>
answer_speed_ups(const ProductGroup& group, const std::string& element, const std::string& reference);

/// What a reader of the tables could miss.
struct Finding {
  std::string title;                  ///< "More misses in L2 than in L1"
  std::string text;                   ///< one sentence
  std::vector<Product> products = {}; ///< of faster_with_fewer_hits: the faster one and the other
  bool operator==(const Finding&) const = default;
};

// Titles.
constexpr const char *faster_with_fewer_hits = "Faster with fewer hits",
                     *cost_of_transposition = "Cost of the transposition";

/// Misses out of order, parts of published presets, the transposition, speed-ups with fewer hits, jumps in
/// cost, languages, capacities, outliers, in the order of the groups: what the values establish. Pure.
[[nodiscard]] std::vector<Finding> findings(const std::vector<ProductGroup>& groups);

/// The products of each machine and its findings, on a screen each: at most 24 lines of 80 columns. Throws as
/// check_facts() does.
[[nodiscard]] std::string screen_text(const std::vector<ProductGroup>& groups, std::size_t columns);
/// The speed-ups on these screens that are measured and not decided. Pure.
[[nodiscard]] std::vector<Fact> undecided(const std::vector<ProductGroup>& groups);

// Figures of matrix products: time, rate, misses and what follows from them, by size and by block.

/// All of them, in the order in which a reader would look at them.
[[nodiscard]] std::vector<plot::Figure> product_figures();

/// One of them; without panels where the results cannot fill it.
[[nodiscard]] plot::Sheet compose_products(const std::string& name, const result::Results& results,
                                           const plot::Choice& choice);

} // namespace recount::matmul
