// Tables that people write by hand: comments, a header, rows of fields, in quotes or not.
#pragma once

#include "base/format.hpp"
#include <recount/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace recount::base {

/// The fields are trimmed, and point into the text that was read.
struct CsvTable {
  struct Line {
    int number = 0; ///< in the file, from 1
    std::vector<std::string_view> fields;
  };
  std::string file;
  char separator = ',';
  std::string comments; ///< the lines that start with #, joined
  Line head;
  std::vector<Line> rows; ///< each with as many fields as `head`

  /// Throws recount::Error (bad_input) about FILE:LINE.
  [[noreturn]] void fail(int line, const std::string& cause, const std::string& fix) const {
    throw bad_input(fmt::format("{}:{}", file, line), cause, fix);
  }
  /// The finite number in a field, also with a decimal comma where no comma separates fields, above 0 (with
  /// `zero`: at least 0) and at most `most`; throws as fail() does, with `what` it should be.
  template <class Number>
  [[nodiscard]] Number number(int line, std::string_view field, const char* what, const std::string& fix,
                              bool zero = false, Number most = std::numeric_limits<Number>::max()) const {
    std::string text(field);
    if (separator != ',') std::ranges::replace(text, ',', '.');
    const Number value = parse<Number>(text).value_or(Number{-1});
    if (!(value > 0 || (zero && value >= 0)) || !(value <= most))
      fail(line, fmt::format("\"{:.40}\" is not a {}", field, what), fix);
    return value;
  }
};

/// Longest file that parse_csv() accepts, in bytes.
inline constexpr std::size_t longest_csv = 1 << 20;

/// Lines end with LF or CRLF; empty ones are skipped. Fields are separated by the first of comma, semicolon
/// and tab that the header has; in double quotes they may contain it. A byte-order mark is skipped. Throws
/// recount::Error (bad_input), with the fix, where the text is too long, or a row has more or fewer fields
/// than the header. `text` must outlive the table.
[[nodiscard]] CsvTable parse_csv(std::string_view text, const std::string& file, const std::string& fix);

/// The text as a field (RFC 4180): in double quotes where it must be, and with an apostrophe before a "=",
/// "+", "-" or
/// "@" that would make a formula of it in a spreadsheet. Numbers and a lone "-" stay as they are.
[[nodiscard]] std::string csv_field(std::string_view text);

} // namespace recount::base
