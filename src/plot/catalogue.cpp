// The table of figures: looking one up, and the figures of curves as data.
#include "base/nearest.hpp"
#include "plot/select.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::plot {
namespace {

/// Times before counts; of the two axes the one along which the curves are longer.
const Recipe* longest_curves(const result::Results& results, const Choice& choice) {
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
  return best;
}

} // namespace

const std::vector<Recipe>& recipes() {
  using enum Recipe::Quantity;
  static const std::vector<Recipe> all{
      {{"access-time", "mean access time against stride, one curve per size",
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
      {{"misses", "average misses per access against stride, one curve per size",
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
      {{"nest-time", "time per access of loop nests against the parameter that takes most values",
        "times (witness clock) of the kernel nest at two values of a number or more"},
       "",
       {},
       time,
       false,
       false,
       "nest"},
      {{"nest-misses", "misses per access of loop nests against the parameter that takes most values",
        "cache misses (witness perf, papi or model) of the kernel nest at two values of a number or more"},
       "",
       {},
       count,
       false,
       false,
       "nest"},
  };
  return all;
}

std::vector<Figure> curve_figures() {
  std::vector<Figure> figures;
  for (const Recipe& recipe : recipes())
    figures.push_back(
        {recipe.entry,
         [&recipe](const auto& results, const auto& choice) { return compose(recipe, results, choice); },
         [&recipe](const auto& results, const auto& choice) {
           return longest_curves(results, choice) == &recipe;
         }});
  return figures;
}

const Figure& find(const std::vector<Figure>& figures, std::string_view name) {
  std::vector<std::string> all;
  for (const auto& figure : figures) {
    if (figure.entry.name == name) return figure;
    all.push_back(figure.entry.name);
  }
  throw bad_input("--figure " + std::string(name), "no such figure",
                  base::did_you_mean(name, all, "recount plot --list"));
}

const Figure& suitable(const std::vector<Figure>& figures, const result::Results& results,
                       const Choice& choice) {
  for (const auto& figure : figures)
    if (figure.suits && figure.suits(results, choice)) return figure;
  std::string needs;
  for (const auto& figure : figures)
    needs += "\n    " + figure.entry.name + " needs " + figure.entry.needs;
  throw bad_input("nothing to draw", "the results have " + inventory(results), "the figures need:" + needs);
}

} // namespace recount::plot
