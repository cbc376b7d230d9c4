// What recount matmul prints: the products of each machine and what was found, on one screen.
#include "base/format.hpp"
#include "commands/matmul/matmul_tables.hpp"
#include "show/command/output.hpp"
#include "show/plot/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace recount::matmul {
namespace {

class Screen {
public:
  Screen(const ProductGroup& group, std::size_t columns) : group_(group), columns_(columns) {
    for (const auto& [product, metrics] : group.products)
      if (const auto elapsed = group.quantity(product, "seconds"))
        add_processes(processes_, elapsed->processes);
    disturbed_ = count_disturbed(processes_);
  }

  /// The comparisons of the tables that more repetitions may decide.
  std::vector<Fact> undecided() {
    add_tables();
    std::vector<Fact> all;
    for (const auto& [place, fact] : shown_)
      if (fact.reference && !fact.decided() && !fact.quantity->witness.modelled()) all.push_back(fact);
    return all;
  }

  std::string build(const std::vector<Finding>& findings) {
    add_tables();
    if (text_.empty()) return {};
    check_facts(shown_);
    text_ = head() + text_;
    std::vector<std::string> last;
    if (std::ranges::any_of(shown_, [](const Shown& one) { return one.fact.known() && !one.fact.clear(); }))
      last.emplace_back(narrow()
                            ? "?: not established; more runs (-r) may decide"
                            : "?: not established: intervals overlap, or too few runs; more (-r) may decide");
    add_findings(findings, last);
    for (const std::string& line : last)
      add_line(line);
    return text_;
  }

private:
  void add_tables() {
    for (const auto& [first, in_register, transposed, blocked] : laboratories(group_)) {
      std::vector<Product> products{first};
      for (const auto* const more : {&in_register, &transposed, &blocked})
        products.insert(products.end(), more->begin(), more->end());
      add_table(fmt::format("16-bit integers, n = {}", first.n), products, first, false);
    }
    add_doubles();
  }

  /// CPU time if a repetition was disturbed and it is known, else elapsed time.
  [[nodiscard]] Fact preferred(const Fact& by_cpu, const Fact& elapsed) const {
    return disturbed_ > 0 && by_cpu.known() ? by_cpu : elapsed;
  }

  /// The cell of a fact; elapsed time among CPU times is marked.
  std::string cell(const Fact& fact, const char* unit = "") {
    shown_.push_back({"screen", fact});
    if (!fact.known()) return fact.reference || !fact.product.build.empty() ? "" : fact.text();
    const bool elapsed = fact.metric == "seconds" || fact.metric == "GFLOPS";
    return fact.text() + unit + (elapsed && disturbed_ > 0 ? " *" : "");
  }

  /// Products with their speed-ups over `reference`, at the size of each.
  void add_table(const std::string& title, const std::vector<Product>& products, const Product& reference,
                 bool rates) {
    struct Head {
      const char* text;
      int rank;
      bool used;
    };
    std::vector<Head> heads{{"time", 0, false},      {"GFLOP/s", 2, false}, {"speed-up", 0, false},
                            {"L1 misses", 4, false}, {"L1 hits", 1, false}, {"L2 hits", 3, false}};
    std::vector<std::vector<std::string>> rows;
    for (const Product& product : products) {
      const auto of = [&](const char* name) { return fact(group_, product, name); };
      const auto over = [&](const char* name) {
        return comparison(group_, product, reference.at_size(product.n), name);
      };
      rows.push_back(
          {loops_name(product) + (product.n == reference.n ? "" : fmt::format(", n = {}", product.n)),
           cell(preferred(of("cpu_seconds"), of("seconds")), " s"),
           rates ? cell(preferred(of("GFLOPS_CPU"), of("GFLOPS"))) : "",
           product == reference ? "1" : cell(preferred(over("cpu_seconds"), over("seconds"))),
           cell(of("PAPI_L1_DCM"), " M"), cell(of("L1_HIT_RATE")), cell(of("L2_HIT_RATE"))});
      for (std::size_t i = 0; i < heads.size(); ++i)
        heads[i].used = heads[i].used || rows.back()[i + 1].find_first_of("0123456789") != std::string::npos;
    }
    const std::size_t word = title.find(" integers"); // left out where lines are short
    std::vector<show::Column> columns{
        {title, show::Role::words, 0,
         title.substr(0, word) + (word < title.size() ? title.substr(word + 9) : ""), true}};
    for (const Head& head : heads)
      if (head.used) columns.push_back({head.text, show::Role::number, head.rank});
    show::Table table(std::move(columns));
    for (const auto& row : rows) {
      std::vector<std::string> cells{"  " + row[0]};
      for (std::size_t i = 0; i < heads.size(); ++i)
        if (heads[i].used) cells.push_back(row[i + 1]);
      table.add(std::move(cells));
    }
    text_ += command::table_text(table, stdout, columns_);
  }

  /// A table at the largest size of simple, or else of line, with the fastest block at its largest size.
  void add_doubles() {
    Product reference;
    std::vector<Product> products, blocked;
    for (const auto& [product, metrics] : group_.products) { // by loops, ascending sizes
      if (product.element != "f64") continue;
      if (product.block > 0 && product.build.empty()) blocked.push_back(product);
      if (product.build.empty() && product.block == 0 &&
          (product.variant == "ijk" || (product.variant == "ikj" && reference.variant != "ijk")))
        reference = product;
    }
    for (const auto& [product, metrics] : group_.products)
      if (product.element == "f64" && product.block == 0 && product.n == reference.n)
        products.push_back(product);
    const auto time = [&](const Product& p) {
      const Fact found = preferred(fact(group_, p, "cpu_seconds"), fact(group_, p, "seconds"));
      return std::pair(-p.n, found.known() ? found.value() : 1e300);
    };
    if (const auto fastest = std::ranges::min_element(blocked, {}, time); fastest != blocked.end()) {
      if (products.empty()) reference = *fastest;
      products.push_back(*fastest);
    }
    if (!products.empty()) add_table(fmt::format("doubles, n = {}", reference.n), products, reference, true);
  }

  /// Machine, time and witnesses of the columns.
  [[nodiscard]] std::string head() const {
    std::string times, misses;
    for (const auto& [place, fact] : shown_) {
      if (!fact.known()) continue;
      if (times.empty() && fact.metric.ends_with("seconds") && !fact.reference)
        times = fmt::format("{}, {} of {}", fact.metric == "seconds" ? "elapsed time" : "CPU time",
                            statistics::name_of(fact.statistic),
                            base::format_count(fact.quantity->values.size(), "run"));
      if (misses.empty() && fact.metric == "PAPI_L1_DCM")
        misses = "misses " + describe(fact.quantity->witness);
    }
    if (disturbed_ > 0)
      times += fmt::format(" ({} of {} disturbed; *: elapsed)", disturbed_, processes_.size());
    const std::string name = group_.run ? plot::machine_name(*group_.run) : group_.machine;
    return command::wrap("Matrix products on " + name, columns_, 2) + "\n" +
           command::wrap(times + (times.empty() || misses.empty() ? "" : "; ") + misses, columns_, 2) + "\n";
  }

  [[nodiscard]] bool narrow() const { return columns_ < 80; }
  void add_line(const std::string& line) { text_ += command::wrap(line, columns_, 2) + "\n"; }

  /// Those that fit the rest of the screen, in their order; longer ones are skipped.
  void add_findings(const std::vector<Finding>& findings, std::vector<std::string>& last) {
    const auto lines_of = [](const std::string& text) {
      return static_cast<std::size_t>(std::ranges::count(text, '\n'));
    };
    std::size_t left = command::screen_lines(columns_), shown = 0;
    left -= std::min(left, lines_of(text_) + last.size() + 1);
    for (const Finding& finding : findings) {
      const std::string text = command::wrap(finding.text, columns_, 2) + "\n";
      if (lines_of(text) > left) continue;
      left -= lines_of(text);
      text_ += text;
      ++shown;
    }
    const std::size_t more = findings.size() - shown;
    if (narrow()) return last.push_back("More: -v, recount report");
    last.push_back(more > 0 ? fmt::format("More: -v (all tables, {}), recount report",
                                          base::format_count(more, "more finding"))
                            : "More: -v (all tables), recount report");
  }

  const ProductGroup& group_;
  std::size_t columns_;
  Processes processes_;
  std::size_t disturbed_ = 0;
  std::string text_;
  std::vector<Shown> shown_;
};

} // namespace

std::string screen_text(const std::vector<ProductGroup>& groups, std::size_t columns) {
  std::string text;
  for (const ProductGroup& group : groups)
    text += (text.empty() ? "" : "\n") + Screen(group, columns).build(findings({group}));
  return text;
}

std::vector<Fact> undecided(const std::vector<ProductGroup>& groups) {
  std::vector<Fact> all;
  for (const ProductGroup& group : groups)
    if (!group.published) std::ranges::move(Screen(group, 80).undecided(), std::back_inserter(all));
  return all;
}

} // namespace recount::matmul
