#include "explain/measured.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "matmul/products.hpp"
#include "matmul/published.hpp"
#include "statistics/statistics.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

namespace recount::explain {

std::string Cell::text() const {
  matmul::Product product{loops, "", "f64", n, block};
  return fmt::format("{}, n = {}", matmul::loops_name(product), n);
}

Values::Values(std::vector<double> all) : runs(std::move(all)) {
  // Runs of one program differ by a percent or two; where more do, by more.
  constexpr double usual = 0.03, deviations = 5;
  median = low = high = statistics::median(runs);
  const double most = std::max(usual * median, deviations * statistics::median_absolute_deviation(runs));
  for (const double run : runs) {
    if (std::abs(run - median) > most && runs.size() > 2) {
      outliers.push_back(run);
      continue;
    }
    low = std::min(low, run);
    high = std::max(high, run);
  }
}

const Column& Group::column(const std::string& metric) const {
  static const Column none;
  const auto at = columns.find(metric);
  return at == columns.end() ? none : at->second;
}

std::vector<Group> measured_groups(const std::vector<matmul::ProductGroup>& all) {
  std::vector<Group> groups;
  for (const auto& from : all) {
    Group group{from.published ? from.version("published") : from.machine, from.run ? from.run->cpu : "", {}};
    for (const auto& [product, metrics] : from.products) {
      if (product.element != "f64" || !product.build.empty() || product.transposes) continue;
      for (const auto& [key, repetitions] : metrics) {
        const auto& [witness, metric] = key;
        if (witness.modelled()) continue;
        std::vector<double> runs;
        for (const auto& one : repetitions.values)
          runs.push_back(one.value);
        if (!runs.empty())
          group.columns[metric].try_emplace(Cell{product.variant, product.block, product.n}, std::move(runs));
      }
    }
    if (!group.columns.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

namespace {

constexpr std::array product_names{"variant", "n", "block"};
constexpr std::array counted_names{"seconds", "l1_dcm", "l1_icm", "l1_tcm", "l2_dcm", "l2_icm", "l2_tcm"};

/// "PAPI_L1_DCM" and "L1 DCM" are l1_dcm; "Time" is seconds.
std::string normal_name(std::string_view name) {
  std::string normal;
  for (const char c : name)
    normal += std::isalnum(static_cast<unsigned char>(c)) != 0
                  ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                  : '_';
  if (normal.starts_with("papi_")) normal.erase(0, 5);
  return normal == "time" ? "seconds" : normal;
}

template <class Names>
bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The name before a colon, an equals sign or the last blank, and the first word behind it.
std::pair<std::string, std::string> split_line(std::string_view line) {
  auto at = line.find_first_of(":=");
  if (at == line.npos) at = line.find_last_of(" \t");
  if (at == line.npos) return {};
  const auto value = base::trim(line.substr(at + 1));
  return {normal_name(base::trim(line.substr(0, at))),
          std::string(value.substr(0, value.find_first_of(" \t")))};
}

class TextReader {
public:
  explicit TextReader(const std::string& file) : file_(file) {}

  void read_line(std::string_view line) {
    ++line_;
    const auto [name, value] = split_line(base::trim(line));
    if (contains(product_names, name))
      set_product(name, value);
    else if (contains(counted_names, name))
      add_count(name, value);
  }

  std::string table() {
    end_run();
    return fmt::format("{},{}\n{}", fmt::join(product_names, ","), fmt::join(counted_names, ","), rows_);
  }

private:
  using Fields = std::map<std::string, std::string>;

  [[noreturn]] void fail(const std::string& cause, const std::string& fix) const {
    throw bad_input(fmt::format("{}:{}", file_, line_), cause, fix);
  }

  void set_product(const std::string& name, const std::string& value) {
    end_run();
    if (name == "variant") {
      if (!matmul::parse_variant(value))
        fail(fmt::format("\"{:.40}\" is not a variant", value), "simple, line or block");
      product_.erase("block");
    } else if (base::parse<std::int64_t>(value).value_or(0) < 1) {
      fail(fmt::format("\"{:.40}\" is not a whole number above 0", value), name + ": 600");
    }
    product_[name] = value;
  }

  void add_count(const std::string& name, const std::string& value) {
    if (!product_.contains("variant") || !product_.contains("n"))
      fail("a count before its product", "lines \"variant: simple\" and \"n: 600\" before it");
    const bool whole = name != "seconds";
    if (whole ? base::parse<std::int64_t>(value).value_or(-1) < 0 : !(base::parse<double>(value) > 0.0))
      fail(fmt::format("\"{:.40}\" is not a {}", value, whole ? "count" : "time in seconds"),
           name + (whole ? ": 244526955" : ": 0.19"));
    if (run_.contains(name)) end_run();
    run_[name] = value;
  }

  void end_run() {
    if (run_.empty()) return;
    std::vector<std::string> fields;
    for (const char* name : product_names)
      fields.push_back(product_[name]);
    for (const char* name : counted_names)
      fields.push_back(run_[name]);
    rows_ += fmt::format("{}\n", fmt::join(fields, ","));
    run_.clear();
  }

  const std::string& file_;
  int line_ = 0;
  Fields product_, run_;
  std::string rows_;
};

} // namespace

std::string table_from_text(std::string_view text, const std::string& file) {
  TextReader reader(file);
  for (const auto line : base::split(text, '\n'))
    reader.read_line(line);
  return reader.table();
}

namespace {

std::vector<matmul::Published> read_tables(const std::string& file) {
  if (file.ends_with(".csv")) return matmul::read_published(file, {}, matmul::Duplicates::keep);
  const auto text = base::read_file(file);
  if (!text) throw bad_input(file, "cannot be read");
  return matmul::parse_published(table_from_text(*text, file), file, {}, matmul::Duplicates::keep);
}

} // namespace

std::vector<Group> read_measured(const std::string& file) {
  result::Results results;
  if (file.ends_with(".csv") || file.ends_with(".txt")) {
    for (auto& table : read_tables(file)) {
      results.runs.push_back(std::move(table.run));
      std::ranges::move(table.observations, std::back_inserter(results.observations));
    }
  } else {
    results = result::read(file);
  }
  auto groups = measured_groups(matmul::group_products(results));
  if (groups.empty())
    throw bad_input(file, "has no counts of products of doubles",
                    "rows of recount-matmul(1), PUBLISHED TABLES, or a results file of recount matmul");
  return groups;
}

} // namespace recount::explain
