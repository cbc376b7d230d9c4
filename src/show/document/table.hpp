// The one table: what commands print, what reports contain, what CSV and JSON state. Its renderers are
// command::table_text() for terminals, and those of show/document/document.hpp and csv_text() here.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace recount::show {

/// One value as raw data: a line of CSV, see recount-results(5).
struct Datum {
  std::vector<std::pair<std::string, std::string>> keys; ///< what it is of: {"n", "600"}, {"stride", "64"}
  std::string quantity;                                  ///< "PAPI_L1_DCM", "speed-up by time"
  std::string statistic = {};                            ///< "median", "value" of a single one
  std::optional<double> value = {}, low = {}, high = {};
  std::string unit = {};       ///< "s", "ns", "bytes"; empty: a count or a ratio
  std::string witness = {};    ///< "perf", "model:i7-9700"
  std::size_t repetitions = 0; ///< behind the value; 0: not stated
  std::size_t disturbed = 0;   ///< of them
  std::string reason = {};     ///< why there is no value, or why it allows no conclusion

  /// Another value of the same.
  [[nodiscard]] Datum with(std::string of, std::optional<double> number, std::optional<double> least = {},
                           std::optional<double> most = {}) const {
    Datum other = *this;
    other.statistic = std::move(of);
    std::tie(other.value, other.low, other.high) = std::tie(number, least, most);
    return other;
  }
};

/// How a terminal marks a text; other renderers leave it out.
enum class Style { plain, good, bad, warning, faint, strong };

/// Words or a number. All text is plain: whoever renders it escapes it.
struct Cell {
  Cell() = default;
  Cell(std::string of) : text(std::move(of)) {} // NOLINT(*-explicit-*): rows are written as lists of words
  Cell(const char* of) : text(of) {}            // NOLINT(*-explicit-*)
  Cell(std::string of, std::string shorter) : text(std::move(of)), narrow(std::move(shorter)) {}
  Cell(Style as, std::string of) : text(std::move(of)), style(as) {}

  std::string text;
  std::string narrow = {}; ///< for lines that are too short; empty: the text
  Style style = Style::plain;
};

enum class Role {
  words,  ///< aligned to the left, wrapped where lines are too short
  number, ///< aligned to the right, never wrapped
};

struct Column {
  std::string head;
  Role role = Role::words;
  int rank = 0;            ///< where lines are too short, the greatest ranks are left out first; 0: never
  std::string narrow = {}; ///< a shorter head for short lines; empty: none
  bool key = false;        ///< names the row: repeated in each part of a table that is split between columns
};
/// A column of numbers that name the row.
[[nodiscard]] inline Column key_number(std::string head) {
  return {std::move(head), Role::number, 0, {}, true};
}
/// A column of words that name the row.
[[nodiscard]] inline Column key_words(std::string head) {
  return {std::move(head), Role::words, 0, {}, true};
}
[[nodiscard]] inline Column number(std::string head) {
  return {std::move(head), Role::number};
}

/// Rows under one head.
struct Table {
  explicit Table(std::vector<Column> of = {}, std::string title = {})
      : columns(std::move(of)), caption(std::move(title)) {}
  /// A row; cells that are missing at its end are empty.
  void add(std::vector<Cell> row) {
    row.resize(columns.size());
    rows.push_back(std::move(row));
  }
  template <std::same_as<std::vector<std::string>> Words>
  void add(Words row) {
    add(std::vector<Cell>(std::make_move_iterator(row.begin()), std::make_move_iterator(row.end())));
  }
  void add_data(std::vector<Datum> values) {
    data.insert(data.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
  }
  [[nodiscard]] bool empty() const { return rows.empty(); }

  std::vector<Column> columns;
  std::string caption;                 ///< contents, witness and unit
  std::vector<std::vector<Cell>> rows; ///< as long as `columns`
  std::vector<std::string> notes = {}; ///< under it
  std::vector<Datum> data = {};        ///< its values for CSV; none: its cells are words
  std::string file = {}; ///< "products": is NAME.csv beside a document, not in it; empty: within
};

/// As CSV (RFC 4180, but with "\n" at line ends): one line per value where there are data, with the keys in
/// the order in which they first occur, then the other members of Datum, numbers with as many digits as they
/// have; else heads and rows.
[[nodiscard]] std::string csv_text(const Table& table);

} // namespace recount::show
