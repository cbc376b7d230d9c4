// Tables, figures, findings and sections of matrix products.
#pragma once

#include "commands/matmul/facts.hpp"
#include "show/document/section.hpp"
#include "show/plot/sheet.hpp"

#include <string>
#include <vector>

namespace recount::matmul {

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
