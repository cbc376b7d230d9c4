#include "show/document/document.hpp"

#include "base/csv.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::document {

std::string plain_line(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char32_t c = base::next_character(text);
    base::append_character(out, base::is_control(c) ? U' ' : c);
  }
  return out;
}

std::vector<Block> under(const std::string& title, std::vector<Block> blocks) {
  if (!blocks.empty()) blocks.insert(blocks.begin(), Heading{title, 1});
  return blocks;
}

std::string_view take_exponent(char32_t before, std::string_view& text) {
  const bool base = (before >= '0' && before <= '9') || before == 'n';
  const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
  if (!base || !text.starts_with('^') || end < 2) return {};
  const auto exponent = text.substr(1, end - 1);
  text.remove_prefix(end);
  return exponent;
}

namespace {

std::string csv_line(const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += (i > 0 ? "," : "") + base::csv_field(cells[i]);
  return text + "\n";
}

/// Empty where there is none, and for what no number of CSV is.
std::string raw_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : std::string();
}

std::string csv_data(const std::vector<show::Datum>& data) {
  std::vector<std::string> heads;
  for (const show::Datum& datum : data)
    for (const auto& [name, value] : datum.keys)
      if (std::ranges::find(heads, name) == heads.end()) heads.push_back(name);
  const std::size_t keys = heads.size();
  for (const char* head : {"quantity", "statistic", "value", "low", "high", "unit", "witness", "repetitions",
                           "disturbed", "reason"})
    heads.emplace_back(head);
  std::string text = csv_line(heads);
  for (const show::Datum& datum : data) {
    std::vector<std::string> cells(keys);
    for (const auto& [name, value] : datum.keys)
      cells[static_cast<std::size_t>(std::ranges::find(heads, name) - heads.begin())] = value;
    const bool any = datum.value && std::isfinite(*datum.value);
    cells.insert(cells.end(), {datum.quantity, datum.statistic, raw_number(datum.value),
                               raw_number(datum.low), raw_number(datum.high), datum.unit, datum.witness,
                               datum.repetitions > 0 ? std::to_string(datum.repetitions) : "",
                               any && datum.repetitions > 0 ? std::to_string(datum.disturbed) : "",
                               any || !datum.reason.empty() ? datum.reason : "no reason given"});
    text += csv_line(cells);
  }
  return text;
}

} // namespace
} // namespace recount::document

std::string recount::show::csv_text(const Table& table) {
  if (!table.data.empty()) return document::csv_data(table.data);
  std::string text = document::csv_line(base::mapped(table.columns, &Column::head));
  for (const auto& row : table.rows)
    text += document::csv_line(base::mapped(row, &Cell::text));
  return text;
}
