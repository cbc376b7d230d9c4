// The figures, as data.
#include "caches/infer/record.hpp"
#include "base/nearest.hpp"
#include "matmul/figures.hpp"
#include "plot/select.hpp"
#include "check/results.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::figure {
const std::vector<Recipe>& recipes() {
  using enum Recipe::Quantity;
  static const std::vector<Recipe> all{
      {{"access-time", "mean access time against stride, one curve a size",
        "times (witness clock) of a kernel with size and stride, at two strides or more"},
       "stride",
       {"size", "stride"},
       time,
       true,
       false},
      {{"working-set", "access time against the size of the working set, with the stated cache capacities",
        "times (witness clock) of a kernel with size, at two sizes or more"},
       "size",
       {"size"},
       time,
       false,
       true},
      {{"misses", "average misses per access against stride, one curve a size",
        "cache misses (witness perf, papi or model) of a kernel with size and stride, at two strides or "
        "more"},
       "stride",
       {"size", "stride"},
       count,
       true,
       false},
      {{"working-set-misses",
        "misses per access against the size of the working set, with the stated capacities",
        "cache misses (witness perf, papi or model) of a kernel with size, at two sizes or more"},
       "size",
       {"size"},
       count,
       false,
       true},
      {{"agreement", "what each preset counts by perf and by PAPI, as a share of what its kernel must count",
        "the results of recount check"},
       "",
       {},
       share,
       false,
       false},
      {{"trace", "rates over time, one metric above the other, with the sections that the program marked",
        "intervals: the results of recount watch, or of recount stat -I"},
       "",
       {},
       trace,
       false,
       false},
      {{"profile", "occurrences over the addresses of the functions with most of them, event above event",
        "the results of recount profile"},
       "",
       {},
       places,
       false,
       false},
      {{"caches", "what recount caches found: latency, line, ways, and misses or times against stride",
        "readings of recount caches -o; all its panels with --grid"},
       "",
       {},
       caches,
       false,
       false},
      {{"caches-latency", "access time against the working set, with the capacities found and those stated",
        "readings of recount caches by time"},
       "",
       {},
       caches,
       false,
       false},
      {{"caches-ways", "lines that stay against their stride: where it no longer falls are the ways",
        "readings of recount caches"},
       "",
       {},
       caches,
       false,
       false},
      {{"caches-line", "touches that leave against the distance of a second touch",
        "readings of recount caches"},
       "",
       {},
       caches,
       false,
       false},
      {{"caches-stopwatch", "mean access time against stride, by the loop and by dependent accesses",
        "readings of recount caches --grid by time"},
       "",
       {},
       caches,
       false,
       false},
      {{"caches-misses", "average misses against stride for L1 and L2, sizes around the capacity",
        "readings of recount caches --grid by counters or a model"},
       "",
       {},
       caches,
       false,
       false},
  };
  static const std::vector<Recipe> with_products = [] {
    std::vector<Recipe> list = all;
    for (const auto& entry : product_figures())
      list.push_back({entry, "n", {}, products, false, false});
    return list;
  }();
  return with_products;
}

const std::vector<Entry>& names() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> list;
    for (const auto& r : recipes())
      list.push_back(r.entry);
    return list;
  }();
  return entries;
}

const Recipe& recipe(const std::string& name) {
  std::vector<std::string> all;
  for (const auto& r : recipes()) {
    if (r.entry.name == name) return r;
    all.push_back(r.entry.name);
  }
  throw bad_input(name, "no such figure", base::did_you_mean(name, all, "recount plot --list"));
}

std::string suitable(const result::Results& results, const Choice& choice) {
  if (study::is_check(results)) return "agreement";
  if (std::ranges::any_of(results.observations, is_interval)) return "trace";
  if (std::ranges::any_of(results.observations, is_profile)) return "profile";
  if (std::ranges::any_of(results.runs, analysis::is_record)) return "caches";
  for (const auto& entry : product_figures())
    if (!compose_products(entry.name, results, choice).panels.empty()) return entry.name;
  // Times before counts; of the two axes the one along which the curves are longer.
  const Recipe* best = nullptr;
  std::size_t longest = 0;
  for (const auto& r : recipes()) {
    const auto selected = select(r, results, choice);
    if (!drawable(selected) || (best && best->quantity != r.quantity)) continue;
    for (const auto& curve : selected.curves) {
      if (best && curve.points.size() <= longest) continue;
      best = &r;
      longest = curve.points.size();
    }
  }
  if (best) return best->entry.name;
  std::string needs;
  for (const auto& r : recipes())
    needs += "\n    " + r.entry.name + " needs " + r.entry.needs;
  throw bad_input("nothing to draw", "the results hold " + inventory(results),
                  "no figure can be made of that:" + needs);
}

} // namespace recount::figure
