// Random results files of the matrix study: every number, difference, ordering and cause that their reports
// state, computed again from the observations alone.
#include "base/format.hpp"
#include "commands/cli/commands.hpp"
#include "random_study.hpp"

#include <recount/error.hpp>

#include <boost/math/distributions/students_t.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <regex>
#include <set>

using namespace recount;
using namespace recount::test;

BOOST_AUTO_TEST_SUITE(random_studies)

namespace {

// The same quantities, computed from the observations alone.

using Values = std::map<int, double>; ///< by repetition
using Optional = std::optional<double>;

Optional middle(const Values& values) {
  if (values.empty()) return {};
  std::vector<double> sorted;
  for (const auto& [repetition, value] : values)
    sorted.push_back(value);
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/// At most 5 values of each: their intervals are their ranges.
bool differ(const Values& a, const Values& b) {
  if (std::min(a.size(), b.size()) < 3) return false;
  struct Moments {
    double mean = 0, error = 0, freedom = 0, low = 1e300, high = -1e300;
  };
  const bool positive = std::ranges::all_of(a, [](const auto& v) { return v.second > 0; }) &&
                        std::ranges::all_of(b, [](const auto& v) { return v.second > 0; });
  const auto moments = [&](const Values& values) {
    Moments m;
    const auto n = static_cast<double>(values.size());
    const auto of = [&](double v) { return positive ? std::log(v) : v; };
    for (const auto& [r, v] : values) {
      m.low = std::min(m.low, v), m.high = std::max(m.high, v);
      m.mean += of(v) / n;
    }
    for (const auto& [r, v] : values)
      m.error += (of(v) - m.mean) * (of(v) - m.mean) / (n - 1) / n;
    m.freedom = n - 1;
    return m;
  };
  const Moments x = moments(a), y = moments(b);
  if (x.low <= y.high && y.low <= x.high) return false;
  const double error = x.error + y.error;
  if (error == 0) return x.mean != y.mean;
  const double freedom = error * error / (x.error * x.error / x.freedom + y.error * y.error / y.freedom);
  const boost::math::students_t student(freedom);
  return 2 * boost::math::cdf(
                 boost::math::complement(student, std::abs(x.mean - y.mean) / std::sqrt(error))) <=
         0.0005;
}

/// A product of one machine: "Some CPU on box0|matmul|blocked|f64|600|32|".
using Name = std::string;

class Oracle {
public:
  explicit Oracle(const result::Results& results) {
    const auto runs = results.runs_by_id();
    for (const auto& o : results.observations) {
      const auto value = result::as_double(o.value);
      const auto* const run = runs.at(o.run);
      const std::string variant = text(o, "variant");
      const Name name = name_of({run->cpu + " on " + run->host,
                                 o.kernel == "matmul"     ? "plain"
                                 : o.kernel == "external" ? text(o, "language")
                                                          : "vectorised",
                                 variant, o.kernel == "external" ? "f64" : text(o, "element"), text(o, "n"),
                                 variant == "blocked" ? text(o, "block") : "",
                                 variant == "transposed" ? text(o, "transpose") : ""});
      auto& of_product = all_[name];
      if (value) of_product[{o.witness.name(), o.metric}][o.repetition] = *value;
      if (o.cpu_seconds) of_product[{o.witness.name(), "cpu_seconds"}][o.repetition] = *o.cpu_seconds;
      if (!o.flags.empty()) disturbed_[name].insert(o.repetition);
    }
  }

  static Name name_of(const std::vector<std::string>& parts) {
    return fmt::format("{}", fmt::join(parts, "|"));
  }

  [[nodiscard]] const auto& all() const { return all_; }
  /// The repetitions that lost time.
  [[nodiscard]] std::size_t disturbed(const Name& name) const {
    return disturbed_.contains(name) ? disturbed_.at(name).size() : 0;
  }
  /// Others lengthen the elapsed time of a disturbed repetition, and hardly its CPU time.
  [[nodiscard]] std::string time_metric(const Name& a, const Name& b) const {
    return disturbed(a) + disturbed(b) > 0 && !values(a, "clock", "cpu_seconds").empty() &&
                   !values(b, "clock", "cpu_seconds").empty()
               ? "cpu_seconds"
               : "seconds";
  }
  [[nodiscard]] Values values(const Name& name, const std::string& witness, const std::string& metric) const {
    const auto product = all_.find(name);
    if (product == all_.end()) return {};
    const auto found = product->second.find({witness, metric});
    return found == product->second.end() ? Values() : found->second;
  }
  /// A metric or what is derived from metrics: of the medians (repetition -1), and by repetition.
  [[nodiscard]] Values quantity(const Name& name, const std::string& witness, const std::string& what) const {
    Values all;
    std::set<int> repetitions{-1};
    const auto product = all_.find(name);
    if (product == all_.end()) return all;
    for (const auto& [key, values] : product->second)
      for (const auto& [repetition, value] : values)
        repetitions.insert(repetition);
    for (const int repetition : repetitions)
      if (const auto value = derive(name, witness, what, repetition)) all[repetition] = *value;
    return all;
  }

private:
  static std::string text(const result::Observation& o, const char* parameter) {
    return result::text(o.params.at(parameter));
  }
  [[nodiscard]] Optional one(const Name& name, const std::string& witness, const std::string& metric,
                             int repetition) const {
    const Values of = values(name, witness, metric);
    if (repetition < 0) return middle(of);
    const auto found = of.find(repetition);
    return found == of.end() ? Optional() : found->second;
  }
  [[nodiscard]] Optional derive(const Name& name, const std::string& witness, const std::string& what,
                                int repetition) const {
    const auto get = [&](const char* metric) { return one(name, witness, metric, repetition); };
    const double n = std::stod(field(name, 4)), operations = 2 * n * n * n;
    const auto ld = get("PAPI_LD_INS"), sr = get("PAPI_SR_INS"), l1 = get("PAPI_L1_DCM"),
               l2 = get("PAPI_L2_DCM"), dca = get("PAPI_L2_DCA"), seconds = get("seconds"),
               cpu = get("cpu_seconds");
    const auto when = [](bool known, const auto& value) { return known ? Optional(value()) : Optional(); };
    if (what == "LST") return when(ld && sr, [&] { return *ld + *sr; });
    if (what == "L1_HIT_RATE") return when(ld && sr && l1, [&] { return 1 - *l1 / (*ld + *sr); });
    if (what == "L2_HIT_RATE") return when(dca && l2, [&] { return 1 - *l2 / *dca; });
    if (what == "GFLOPS") return when(bool(seconds), [&] { return operations / *seconds / 1e9; });
    if (what == "GFLOPS_CPU") return when(bool(cpu), [&] { return operations / *cpu / 1e9; });
    if (what == "L1_PER_FLOP") return when(bool(l1), [&] { return *l1 / operations; });
    if (what == "L2_PER_FLOP") return when(bool(l2), [&] { return *l2 / operations; });
    if (what == "INTENSITY") return {}; // needs the line: not recomputed
    return get(what.c_str());
  }

public:
  static std::string field(const Name& name, std::size_t index) {
    std::size_t from = 0;
    for (; index > 0; --index)
      from = name.find('|', from) + 1;
    return name.substr(from, name.find('|', from) - from);
  }

private:
  std::map<Name, std::map<std::pair<std::string, std::string>, Values>> all_;
  std::map<Name, std::set<int>> disturbed_;
};

bool is_close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-15;
}

bool modelled(const std::string& witness) {
  return witness.starts_with("model");
}

std::string key(const show::Datum& datum, const char* name) {
  const auto found = std::ranges::find(datum.keys, name, [](const auto& pair) { return pair.first; });
  return found == datum.keys.end() ? "" : found->second;
}

Name product_of(const show::Datum& datum) {
  return Oracle::name_of({key(datum, "machine"), key(datum, "build"), key(datum, "variant"),
                          key(datum, "element"), key(datum, "n"), key(datum, "block"),
                          key(datum, "transpose")});
}

/// A machine, element and size: "Some CPU on box0|f64|600".
std::string place(const show::Datum& datum) {
  return key(datum, "machine") + "|" + key(datum, "element") + "|" + key(datum, "n");
}

/// One report, held against the observations.
class Checked {
public:
  Checked(const result::Results& results, const document::Document& document)
      : oracle_(results), document_(document), tables_(tables_in(document)) {
    for (const auto& run : results.runs)
      caches_[run.cpu + " on " + run.host] = run.caches;
    for (const auto* const table : tables_)
      for (const auto& datum : table->data)
        if (!key(datum, "loops").empty())
          loops_[place(datum) + "|" + key(datum, "loops")] = product_of(datum);
  }

  /// Faults, and how much was compared.
  std::vector<std::string> faults;
  std::map<std::string, int> compared;

  void check() {
    for (const auto* const table : tables_) {
      for (const auto& datum : table->data)
        if (!key(datum, "loops").empty()) check_datum(*table, datum);
      check_disturbed(*table);
    }
    check_answers();
    check_remarks();
    check_summary();
  }

private:
  void fault(const std::string& text) { faults.push_back(text); }

  void expect(const std::string& where, double stated, const Optional& computed) {
    if (!computed || !is_close(stated, *computed))
      fault(fmt::format("{}: {} is stated, {} is computed", where, stated,
                        computed ? fmt::format("{}", *computed) : "nothing"));
  }

  void check_datum(const show::Table& table, const show::Datum& datum) {
    const std::string where =
        fmt::format("{}: {} {} n={}", table.caption, key(datum, "loops"), datum.quantity, key(datum, "n"));
    if (!datum.value && datum.reason.empty()) fault(where + ": neither a value nor a reason");
    if (datum.value && datum.low && (*datum.low > *datum.value || *datum.high < *datum.value))
      fault(where + ": the interval lacks the value");
    if (datum.value) check_cells(table, datum, where);
    if (!key(datum, "compared with").empty()) return check_comparison(datum, where);
    if (!datum.value || datum.quantity == "INTENSITY") return;
    ++compared["numbers"];
    const Name name = product_of(datum);
    if (const std::string repetition = key(datum, "repetition"); !repetition.empty())
      return expect(where, *datum.value,
                    oracle_.values(name, datum.witness, datum.quantity)[std::stoi(repetition) - 1]);
    const Values values = oracle_.quantity(name, datum.witness, datum.quantity);
    expect(where, *datum.value, values.contains(-1) ? Optional(values.at(-1)) : Optional());
  }

  /// Every repetition is counted once, however many of its values the table has.
  void check_disturbed(const show::Table& table) {
    static const std::regex note(R"(^(\d+) of (\d+) repetitions? disturbed.*)");
    std::set<Name> measured, timed; // only times know of disturbances
    for (const auto& datum : table.data)
      if (!modelled(datum.witness) && !key(datum, "loops").empty()) {
        std::set<Name> both{product_of(datum)};
        const auto other = loops_.find(place(datum) + "|" + key(datum, "compared with"));
        if (other != loops_.end()) both.insert(other->second);
        measured.insert(both.begin(), both.end());
        if (datum.witness == "clock") timed.insert(both.begin(), both.end());
      }
    std::size_t disturbed = 0;
    for (const Name& product : timed)
      disturbed += oracle_.disturbed(product);
    for (const auto& text : table.notes) {
      std::smatch found;
      if (!std::regex_match(text, found, note)) continue;
      ++compared["disturbed"];
      if (std::stoul(found[1]) != disturbed || std::stoul(found[2]) > 5 * measured.size())
        fault(fmt::format("{}: {} of {} products have {} disturbed repetitions", table.caption, text,
                          measured.size(), disturbed));
    }
  }

  /// A cell shows the value.
  void check_cells(const show::Table& table, const show::Datum& datum, const std::string& where) {
    ++compared["cells"];
    const double v = *datum.value;
    const std::string texts[] = {base::format_number(v),   base::format_millions(v),
                                 base::format_share(v),    base::format_points(v),
                                 base::format_number(v),   base::format_number(1000 * v),
                                 fmt::format("{:.2f}", v), fmt::format("{:.0f}", v)};
    for (const auto& row : table.rows)
      for (const auto& cell : row)
        for (const auto& text : texts)
          if (cell.text.starts_with(text)) return;
    fault(fmt::format("{}: no cell shows {}", where, v));
  }

  struct Compared {
    Optional value;
    bool clear = false;
  };
  /// Of one witness: how many times faster, or how much higher the rate.
  [[nodiscard]] Compared compare(const Name& a, const Name& b, const std::string& witness,
                                 const std::string& what, bool ratio) const {
    Values x = oracle_.quantity(a, witness, what), y = oracle_.quantity(b, witness, what);
    if (!x.contains(-1) || !y.contains(-1)) return {};
    const double of_a = x.at(-1), of_b = y.at(-1);
    x.erase(-1), y.erase(-1);
    return {ratio ? of_b / of_a : of_a - of_b, modelled(witness) || differ(x, y)};
  }

  void check_comparison(const show::Datum& datum, const std::string& where) {
    static const std::vector<std::tuple<const char*, const char*, bool>> kinds{
        {"speed-up by time", "seconds", true},
        {"speed-up by CPU time", "cpu_seconds", true},
        {"speed-up by cycles", "PAPI_TOT_CYC", true},
        {"speed-up by TSC cycles", "tsc_cycles", true},
        {"L1 hit rate difference", "L1_HIT_RATE", false},
        {"L2 hit rate difference", "L2_HIT_RATE", false}};
    const auto reference = loops_.find(place(datum) + "|" + key(datum, "compared with"));
    for (const auto& [label, what, ratio] : kinds) {
      if (!datum.quantity.starts_with(label)) continue;
      if (reference == loops_.end()) return fault(where + ": the other side is in no table");
      const Compared computed = compare(product_of(datum), reference->second, datum.witness, what, ratio);
      ++compared["comparisons"];
      if (datum.value) expect(where, *datum.value, computed.value);
      if (computed.clear != datum.reason.empty())
        fault(fmt::format("{}: \"{}\", but the values {}", where, datum.reason,
                          computed.clear ? "differ" : "do not differ"));
      return;
    }
    fault(where + ": an unknown comparison");
  }

  /// The words of each answer are in the cells that prove it.
  void check_answers() {
    static const std::regex proof(R"(^Table (\d+): (column|row) (.+)$)"),
        number(R"([+-]?\d+(\.\d+)?( %)?( \[[^\]]*\])?$)");
    for (const auto* const table : tables_) {
      if (!table->caption.starts_with("Questions and answers")) continue;
      for (const auto& row : table->rows) {
        std::smatch found;
        if (!std::regex_match(row[2].text, found, proof)) continue;
        const auto index = std::stoul(found[1]) - 1;
        if (index >= tables_.size()) return fault("no " + row[2].text);
        const std::vector<std::string> cells = cells_of(*tables_[index], found[2], found[3]);
        if (cells.empty()) fault(fmt::format("{} of \"{}\" is not there", row[2].text, row[0].text));
        if (row[0].text.starts_with("Products of doubles"))
          compared["speed-ups of doubles"] += check_speed_ups(
              table->caption.substr(table->caption.find(": ") + 2), row[0].text + ": " + row[1].text);
        if (found[2] != "column") continue;
        std::string answer = row[1].text.substr(0, row[1].text.find(". Not answered"));
        for (std::size_t from = 0; from < answer.size();) {
          const std::size_t to = std::min(answer.find("; ", from), answer.size());
          const std::string part = answer.substr(from, to - from);
          from = to + 2;
          std::smatch value;
          ++compared["answers"];
          if (!std::regex_search(part, value, number))
            fault("no number in the answer " + part);
          else if (std::ranges::none_of(cells,
                                        [&](const auto& cell) { return cell.starts_with(value.str()); }))
            fault(fmt::format("{}: {} is not in {}", row[0].text, part, row[2].text));
        }
      }
    }
  }

  static std::vector<std::string> cells_of(const show::Table& table, const std::string& direction,
                                           const std::string& head) {
    std::vector<std::string> cells;
    for (const auto& row : table.rows)
      if (direction == "row" && row[0].text == head)
        std::ranges::transform(row.begin() + 1, row.end(), std::back_inserter(cells), &show::Cell::text);
      else if (direction == "column")
        for (std::size_t i = 0; i < row.size(); ++i)
          if (table.columns[i].head == head) cells.push_back(row[i].text);
    return cells;
  }

  /// The loops of a machine by name: "line", "block 32".
  [[nodiscard]] std::map<std::string, Name> loops_at(const std::string& where) const {
    std::map<std::string, Name> all;
    for (const auto& [name, product] : loops_)
      if (name.starts_with(where + "|")) all[name.substr(where.size() + 1)] = product;
    return all;
  }

  [[nodiscard]] std::set<std::string> places() const {
    std::set<std::string> all;
    for (const auto& [name, product] : loops_)
      all.insert(name.substr(0, name.rfind('|')));
    return all;
  }

  /// The first witness that has the quantity: counters, the clock, the model.
  [[nodiscard]] std::string source(const Name& name, const std::string& what) const {
    for (const char* witness : {"perf", "papi", "clock", "model"})
      if (oracle_.quantity(name, witness, what).contains(-1)) return witness;
    return {};
  }

  [[nodiscard]] Optional value(const Name& name, const std::string& witness, const std::string& what) const {
    const Values all = oracle_.quantity(name, witness, what);
    return all.contains(-1) ? Optional(all.at(-1)) : Optional();
  }

  using Found = std::multimap<std::string, std::string>; ///< headings and their texts, or list items

  void check_remarks() {
    Found stated, items;
    std::string heading, last;
    for (const auto& block : document_.blocks) {
      if (const auto* const head = std::get_if<document::Heading>(&block)) heading = last = head->text;
      if (const auto* const paragraph = std::get_if<document::Paragraph>(&block))
        if (!heading.empty()) stated.emplace(heading, paragraph->text), heading.clear();
      if (const auto* const list = std::get_if<document::List>(&block))
        for (const std::string& item : list->items)
          items.emplace(last, item);
    }
    check_faster(stated);
    check_jumps(stated);
    check_languages(stated);
    check_items(items, "Cost of the transposition", transposition());
    check_items(items, "Cache levels that hold a block", capacities(stated));
    std::erase_if(items, [](const auto& one) { return one.second.ends_with("in this repetition only"); });
    check_items(items, "Outliers", outliers());
  }

  using Pieces = std::vector<std::string>; ///< what an item begins with, and what else it contains

  /// Each expected item is there, and no other.
  void check_items(const Found& items, const std::string& heading, const std::vector<Pieces>& expected) {
    const auto [from, to] = items.equal_range(heading);
    if (static_cast<std::size_t>(std::distance(from, to)) != expected.size())
      fault(fmt::format("{}: {} items, {} are computed", heading, std::distance(from, to), expected.size()));
    for (const Pieces& pieces : expected) {
      ++compared[heading];
      if (std::none_of(from, to, [&](const auto& item) {
            return item.second.starts_with(pieces.front()) &&
                   std::ranges::all_of(pieces, [&](const auto& piece) {
                     return item.second.find(piece) != std::string::npos;
                   });
          }))
        fault(fmt::format("{}: no item has {}", heading, fmt::join(pieces, " ... ")));
    }
  }

  [[nodiscard]] std::vector<Pieces> transposition() const {
    std::vector<Pieces> items;
    for (const std::string& where : places()) {
      const auto loops = loops_at(where);
      const auto with = loops.find("transposed, with copy"), without = loops.find("transposed, without copy");
      if (with == loops.end() || without == loops.end()) continue;
      Pieces item{fmt::format("n = {}: ", Oracle::field(with->second, 4))};
      const Compared time = compare(with->second, without->second, "clock", "seconds", true);
      if (time.value)
        item.push_back(time.clear ? fmt::format("time {:+.1f} %", 100 * (1 / *time.value - 1))
                                  : "time no"); // "not distinguishable", "no conclusion"
      const std::string witness = source(with->second, "L1_HIT_RATE");
      const Compared rate = compare(with->second, without->second, witness, "L1_HIT_RATE", false);
      if (rate.value)
        item.push_back(rate.clear ? "L1 hit rate " + base::format_points(*rate.value) + " points"
                                  : "L1 hit rate no");
      if (item.size() > 1) items.push_back(item);
    }
    return items;
  }

  /// A square of whole elements in so many bytes.
  static std::int64_t side(std::int64_t bytes, std::int64_t element) {
    std::int64_t n = 0;
    while ((n + 1) * (n + 1) * element <= bytes)
      ++n;
    return n;
  }

  std::vector<Pieces> capacities(const Found& stated) {
    std::vector<Pieces> items;
    for (const auto& [machine, caches] : caches_) {
      std::set<std::pair<std::int64_t, std::int64_t>> blocks; // rows, bytes of an element
      for (const auto& [name, values] : oracle_.all())
        if (Oracle::field(name, 0) == machine && Oracle::field(name, 1) == "plain" &&
            !Oracle::field(name, 5).empty())
          blocks.emplace(std::stoll(Oracle::field(name, 5)), Oracle::field(name, 3) == "i16" ? 2 : 8);
      if (blocks.empty()) continue;
      const auto& first = caches.front();
      const std::int64_t element = blocks.rbegin()->second;
      const std::string text =
          fmt::format("{0} of this machine holds {1}: one block of {2} x {2} elements of {3} bytes, or three "
                      "(of a, b and c) of {4} x {4}.",
                      first.level, base::format_bytes(first.size), side(first.size, element), element,
                      side(first.size / 3, element));
      const auto [from, to] = stated.equal_range("Cache levels that hold a block");
      if (std::none_of(from, to, [&](const auto& one) { return one.second == text; }))
        fault("not stated: " + text);
      for (const auto& [rows, bytes] : blocks) {
        const std::int64_t size = rows * rows * bytes;
        const auto fits = std::ranges::find_if(caches, [&](const auto& cache) { return cache.size >= size; });
        items.push_back(
            {fmt::format("block {0} x {0}", rows),
             fmt::format(": {} each, {} three; ", base::format_bytes(size), base::format_bytes(3 * size)),
             "fits one: " + (fits == caches.end() ? "none of the 2" : fits->level)});
      }
    }
    return items;
  }

  /// Of four or more repetitions, one that is 10 % off the median of the others and three times their spread.
  [[nodiscard]] std::vector<Pieces> outliers() const {
    std::vector<Pieces> items;
    for (const auto& [text, product] : loops_) {
      const auto found = oracle_.all().find(product);
      if (found == oracle_.all().end()) continue;
      for (const auto& [by, values] : found->second) {
        const auto& [witness, metric] = by;
        if (modelled(witness) || metric == "tsc_cycles" || values.size() < 4) continue;
        for (const auto& [repetition, value] : values) {
          Values others = values;
          others.erase(repetition);
          double least = 1e300, most = -1e300;
          for (const auto& [r, v] : others)
            least = std::min(least, v), most = std::max(most, v);
          const double median = *middle(others), off = std::abs(value - median);
          if (off < 0.1 * median || off < 3 * (most - least)) continue;
          items.push_back(
              {fmt::format("{}, n = {}, {} {}, repetition {}: ", text.substr(text.rfind('|') + 1),
                           Oracle::field(product, 4), metric, base::format_witness(witness), repetition + 1),
               fmt::format(", {:.0f} % {} the median of the other {}, which differ by at most "
                           "{:.1f} %",
                           100 * off / median, value < median ? "below" : "above", others.size(),
                           100 * (most - least) / median)});
        }
      }
    }
    return items;
  }

  void check_faster(const Found& stated) {
    static const std::vector<std::tuple<std::string, std::string, std::string>> pairs{
        {"i16", "transposed", "straightforward"},
        {"i16", "block", "straightforward"},
        {"i16", "block", "transposed, without copy"},
        {"f64", "line", "simple"},
        {"f64", "block", "line"}};
    Found expected;
    for (const std::string& where : places())
      for (const auto& [loops, product] : loops_at(where))
        for (const auto& [element, first, second] : pairs) {
          const std::string build = Oracle::field(product, 1) == "plain" ? "" : ", vectorised";
          const std::string name = loops.substr(0, loops.size() - build.size());
          if (Oracle::field(product, 3) != element ||
              (name != first && !name.starts_with(first + (first == "block" ? " " : ","))))
            continue;
          const auto others = loops_at(where);
          const auto other = others.find(second + build);
          if (other == others.end()) continue;
          const std::string witness = source(product, "L1_HIT_RATE");
          const Compared time = compare(product, other->second, "clock",
                                        oracle_.time_metric(product, other->second), true),
                         rate = compare(product, other->second, witness, "L1_HIT_RATE", false);
          if (!time.value || !rate.value || !time.clear || !rate.clear || *time.value <= 1 ||
              *rate.value >= 0)
            continue;
          expected.emplace(fmt::format("{} is faster than {} with a lower L1 hit rate, n = {}", loops,
                                       second + build, Oracle::field(product, 4)),
                           cause_of(product, other->second, witness));
        }
    for (const auto& [heading, text] : stated)
      if (heading.find(" is faster than ") != std::string::npos && !expected.contains(heading))
        fault("unsupported: " + heading);
    for (const auto& [heading, cause] : expected) {
      ++compared["causes"];
      const auto [from, to] = stated.equal_range(heading);
      if (std::none_of(from, to,
                       [&](const auto& one) { return one.second.find(cause) != std::string::npos; }))
        fault(fmt::format("{}: \"{}\" is not stated, but: {}", heading, cause,
                          from == to ? "nothing" : from->second));
    }
  }

  /// What the misses of L2 explain of the time that `product` takes less.
  [[nodiscard]] std::string cause_of(const Name& product, const Name& other,
                                     const std::string& witness) const {
    const auto here = value(product, witness, "PAPI_L2_DCM"), there = value(other, witness, "PAPI_L2_DCM");
    if (!here || !there) return "L2 was not counted, so the cause is open.";
    if (!compare(product, other, witness, "PAPI_L2_DCM", false).clear)
      return "not distinguishable from noise";
    if (*there <= *here) return "L2 does not explain it";
    const std::string time = oracle_.time_metric(product, other);
    const double saved = *value(other, "clock", time) - *value(product, "clock", time),
                 share = (*there - *here) * 150e-9 / saved; // no third level is stated
    return fmt::format("they are {} of the {} s{}", share >= 1 ? "all" : fmt::format("{:.0f} %", 100 * share),
                       base::format_number(saved), time == "seconds" ? ", and less" : " by CPU time");
  }

  /// Another language is compared with plain C++ at the largest size at which both were timed.
  void check_languages(const Found& stated) {
    std::map<std::string, std::map<int, Name>> sizes; // of a machine, language and variant
    for (const auto& [name, values] : oracle_.all())
      if (const std::string build = Oracle::field(name, 1); build == "Java" || build == "Python")
        if (value(name, "clock", "seconds") && value(rebuilt(name, "plain"), "clock", "seconds"))
          sizes[Oracle::field(name, 0) + build + Oracle::field(name, 2)][std::stoi(Oracle::field(name, 4))] =
              name;
    Found expected;
    for (const auto& [where, by_size] : sizes) {
      const Name &name = by_size.rbegin()->second, plain = rebuilt(name, "plain");
      const Compared factor = compare(name, plain, "clock", "seconds", true);
      if (!factor.clear) continue;
      const std::string language = Oracle::field(name, 1);
      const Compared gain = compare(rebuilt(name, "vectorised"), plain, "clock", "seconds", true);
      expected.emplace(
          fmt::format("{}, {} compared with C++, n = {}", Oracle::field(name, 2) == "ijk" ? "simple" : "line",
                      language, Oracle::field(name, 4)),
          fmt::format("{0} takes {1} s and C++ {2} s: {0} is {3} as fast|{4}", language,
                      base::format_number(*value(name, "clock", "seconds")),
                      base::format_number(*value(plain, "clock", "seconds")),
                      base::format_times(*factor.value),
                      gain.value && gain.clear
                          ? fmt::format("{} as fast as the plain build", base::format_times(*gain.value))
                          : "not measured or does not differ, so the cause is open"));
    }
    const auto found = std::ranges::count_if(stated, [](const auto& one) {
      return one.first.find(" compared with C++, n = ") != std::string::npos;
    });
    if (found != std::ssize(expected))
      fault(fmt::format("{} comparisons of languages, {} are computed", found, expected.size()));
    for (const auto& [heading, texts] : expected) {
      ++compared["languages"];
      const auto bar = texts.find('|');
      const auto [from, to] = stated.equal_range(heading);
      if (std::none_of(from, to, [&](const auto& one) {
            return one.second.starts_with(texts.substr(0, bar)) &&
                   one.second.find(texts.substr(bar + 1)) != std::string::npos;
          }))
        fault(fmt::format("{}: \"{}\" is not stated, but: {}", heading, texts,
                          from == to ? "nothing" : from->second));
    }
  }

  static Name rebuilt(const Name& name, const std::string& build) {
    const std::string first = Oracle::field(name, 0);
    return first + "|" + build + name.substr(name.find('|', first.size() + 1));
  }

  [[nodiscard]] Optional per_step(const Name& name, const std::string& witness,
                                  const std::string& what) const {
    const auto all = value(name, witness, what);
    if (!all) return {};
    const double n = std::stod(Oracle::field(name, 4));
    return *all * ((what.ends_with("seconds") ? 1e9 : 1) / (n * n * n));
  }

  void check_jumps(const Found& stated) {
    std::multiset<std::string> expected;
    std::map<std::string, std::map<std::string, std::map<int, Name>>> sizes; // by machine and element, loops
    for (const auto& [text, product] : loops_)
      if (Oracle::field(product, 1) == "plain") {
        const std::string loops = text.substr(text.rfind('|') + 1);
        sizes[Oracle::field(product, 0) + Oracle::field(product, 3)][loops]
             [std::stoi(Oracle::field(product, 4))] = product;
      }
    for (const auto& [where, by_loops] : sizes)
      for (const auto& [loops, products] : by_loops)
        for (auto at = products.begin(); at != products.end() && std::next(at) != products.end(); ++at) {
          const auto& [n, a] = *at;
          const auto& [m, b] = *std::next(at);
          const std::string heading = fmt::format("Jump in cost: {} between n = {} and {}", loops, n, m);
          std::vector<std::string> texts;
          for (const std::string& what :
               {oracle_.time_metric(a, b), std::string("PAPI_L1_DCM"), std::string("PAPI_L2_DCM")})
            if (const std::string text = jump(a, b, what); !text.empty()) texts.push_back(text);
          if (texts.empty()) continue;
          expected.insert(heading);
          const auto [from, to] = stated.equal_range(heading);
          ++compared["jumps"];
          const std::string cause = causes(a, b);
          for (const auto& text : texts)
            if (std::none_of(from, to, [&](const auto& one) {
                  return one.second.find(text) != std::string::npos &&
                         one.second.find(cause) != std::string::npos;
                }))
              fault(fmt::format("{}: \"{}\" and \"{}\" are not stated, but: {}", heading, text, cause,
                                from == to ? "nothing" : from->second));
        }
    for (const auto& [heading, text] : stated)
      if (heading.starts_with("Jump in cost") && !expected.contains(heading))
        fault("unsupported: " + heading);
  }

  /// Counted, and clear: "time 1.2 to 3.4 ns".
  [[nodiscard]] std::string jump(const Name& a, const Name& b, const std::string& what) const {
    const std::string witness = source(a, what);
    if (witness.empty() || witness != source(b, what) || modelled(witness)) return {};
    const auto from = per_step(a, witness, what), to = per_step(b, witness, what);
    const bool time = what.ends_with("seconds");
    if (time ? *to <= 1.5 * *from : *to - *from <= 0.15) return {};
    Values x = oracle_.quantity(a, witness, what), y = oracle_.quantity(b, witness, what);
    x.erase(-1), y.erase(-1);
    const double steps_a = std::pow(std::stod(Oracle::field(a, 4)), 3),
                 steps_b = std::pow(std::stod(Oracle::field(b, 4)), 3);
    for (auto& [r, v] : x)
      v /= steps_a;
    for (auto& [r, v] : y)
      v /= steps_b;
    if (!differ(x, y)) return {};
    return fmt::format("{} {} to {}",
                       what == "cpu_seconds" ? "CPU time"
                       : time                ? "time"
                                             : what.substr(5, 2) + " misses",
                       base::format_number(*from), base::format_number(*to));
  }

  /// What the model counts more of, the largest increase first.
  [[nodiscard]] std::string causes(const Name& a, const Name& b) const {
    std::vector<std::pair<double, std::string>> rises;
    bool any = false;
    for (const auto& [metric, name] :
         {std::pair("PAPI_TLB_DM", "page walks"), {"PAPI_L2_DCM", "L2 misses"}}) {
      const auto from = per_step(a, "model", metric), to = per_step(b, "model", metric);
      if (!from || !to) continue;
      any = true;
      if (*to - *from >= 0.05)
        rises.emplace_back(*to - *from, fmt::format("{} {} to {}", name, base::format_number(*from),
                                                    base::format_number(*to)));
    }
    if (!any) return "The cause is open";
    if (rises.empty()) return ""; // none of these, or not determined
    std::ranges::stable_sort(rises, std::greater{}, [](const auto& rise) { return rise.first; });
    std::string text = "the largest increase first: " + rises[0].second;
    for (std::size_t i = 1; i < rises.size(); ++i)
      text += "; " + rises[i].second;
    return text + ".";
  }

  /// "Products of doubles, n = 1000: speed-up over simple: line, by CPU time: 2.67; ...".
  void check_summary() {
    for (const auto& block : document_.blocks) {
      const auto* const list = std::get_if<document::List>(&block);
      if (!list) continue;
      for (const std::string& item : list->items)
        for (std::size_t at = item.find("Products of "); at != std::string::npos;) {
          const std::size_t next = item.find("Products of ", at + 1);
          compared["summary"] +=
              check_speed_ups(item.starts_with("Some CPU on box1") ? "Some CPU on box1" : "Some CPU on box0",
                              item.substr(at, next - at));
          at = next;
        }
    }
  }

  /// Speed-ups over one of the products of a machine; returns how many there are.
  int check_speed_ups(const std::string& machine, const std::string& text) {
    static const std::regex claim(
        R"(Products of (16-bit integers|doubles), n = (\d+): speed-up over (\w+): ((?:.|\n)*))"),
        part(R"((?:^|; )([^;:]+), by (CPU )?time: (\d+\.\d+))");
    std::smatch found;
    if (!std::regex_match(text, found, claim)) return fault("not understood: " + text), 0;
    const auto loops = loops_at(machine + (found[1] == "doubles" ? "|f64|" : "|i16|") + found[2].str());
    const std::string claims = found[4];
    int count = 0;
    for (std::sregex_iterator one(claims.begin(), claims.end(), part), end; one != end; ++one, ++count) {
      const std::string name = (*one)[1];
      if (!loops.contains(name) || !loops.contains(found[3])) {
        fault("unknown loops: " + name);
        continue;
      }
      const Name &product = loops.at(name), &reference = loops.at(found[3]);
      const std::string time = oracle_.time_metric(product, reference);
      const Compared faster = compare(product, reference, "clock", time, true);
      if (!faster.clear || fmt::format("{:.2f}", faster.value.value_or(0)) != (*one)[3] ||
          (*one)[2].matched != (time == "cpu_seconds"))
        fault(fmt::format("speed-up: {}", one->str()));
    }
    return count;
  }

  Oracle oracle_;
  const document::Document& document_;
  std::vector<const show::Table*> tables_;
  std::map<std::string, Name> loops_; ///< by place and loops: "Some CPU on box0|f64|600|line"
  std::map<std::string, std::vector<result::CacheNote>> caches_; ///< by machine
};

} // namespace

BOOST_AUTO_TEST_CASE(numbers_orderings_and_causes_follow_from_the_observations) {
  std::map<std::string, int> compared;
  int faulty = 0;
  for (int i = 0; i < cases(); ++i) {
    Random random(static_cast<std::uint64_t>(i));
    const result::Results results = RandomFile(random).build();
    document::Document document;
    try {
      document =
          report::build_report(results, {{"random"}, "0", ""}, {cli::figures(), cli::sections()}).document;
    } catch (const Error&) { // every run of it is missing
      continue;
    }
    Checked checked(results, document);
    checked.check();
    for (const auto& [what, count] : checked.compared)
      compared[what] += count;
    faulty += checked.faults.empty() ? 0 : 1;
    for (std::size_t f = 0; f < std::min<std::size_t>(3, checked.faults.size()); ++f)
      if (faulty <= 5) BOOST_ERROR("file " << i << ": " << checked.faults[f]);
  }
  BOOST_TEST(faulty == 0);
  for (const char* what :
       {"numbers", "cells", "comparisons", "answers", "causes", "jumps", "summary", "disturbed", "languages",
        "speed-ups of doubles", "Cost of the transposition", "Cache levels that hold a block", "Outliers"}) {
    BOOST_TEST_MESSAGE(what << " compared: " << compared[what]);
    if (cases() >= 100) BOOST_TEST(compared[what] > cases() / 10, what);
  }
}

BOOST_AUTO_TEST_SUITE_END()
