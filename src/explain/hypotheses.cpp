#include "explain/hypotheses.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "explain/hypotheses_data.hpp"

#include <recount/error.hpp>

namespace recount::explain {

double Hypotheses::allowance(const std::string& loops, std::int64_t n) const {
  double share = 0;
  for (const Allowance& row : allowances)
    if (row.loops == loops && n >= row.from) share = row.share;
  return share;
}

Hypotheses parse_hypotheses(std::string_view text, const std::string& file) {
  Hypotheses all;
  const auto number = [](const base::DataRow& row, std::string_view word) {
    const auto value = base::parse<double>(word);
    if (!value || !(*value >= 0) || !(*value <= 1e6))
      throw bad_input(row.where, "\"" + std::string(word) + "\" is not a number from 0 to 1000000");
    return *value;
  };
  for (const base::DataRow& row : base::data_rows(text, file)) {
    const auto& cells = row.cells;
    if (cells.size() == 3 && cells[0] == "L1") {
      for (const bool huge : {false, true})
        if (!huge || cells[1].find('~') == cells[1].npos)
          all.machines.push_back(
              {std::string(cells[1]) + (huge ? "~huge" : ""), huge, std::string(cells[2])});
    } else if (cells.size() == 4 && cells[0] == "L2") {
      const auto bounds = base::words(cells[2]);
      if (bounds.size() != 2) throw bad_input(row.where, "two bounds are needed");
      all.counts.push_back(
          {std::string(cells[1]), number(row, bounds[0]), number(row, bounds[1]), std::string(cells[3])});
    } else if (cells.size() == 4 && cells[0] == "allowance") {
      all.allowances.push_back({std::string(cells[1]), static_cast<std::int64_t>(number(row, cells[2])),
                                number(row, cells[3]) / 100});
    } else {
      throw bad_input(row.where, "is not a row of L1, L2 or allowance");
    }
  }
  return all;
}

const Hypotheses& shipped_hypotheses() {
  static const Hypotheses all = parse_hypotheses(hypotheses_data, "hypotheses.txt");
  return all;
}

} // namespace recount::explain
