#include "caches/infer/colour_number.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace recount::caches {

namespace {

constexpr std::int64_t most_colours = 1024;
constexpr double outside = 0.005;                         ///< probability on either side of the interval
constexpr double most_seen = 0.998;                       ///< of the pages, even if all colours are known
constexpr double impossible = 1e-300, never_built = 1e-7; ///< priors

/// A share of pages that noise misplaces, and how probable it is.
struct Misplaced {
  double share, probability;
};
/// Of the known colours: not recognised.
constexpr std::array<Misplaced, 4> hidden_shares{{{0, 0.4}, {0.02, 0.3}, {0.05, 0.2}, {0.1, 0.1}}};
/// Of other colours: taken for one of the known. Beside other programs, 28 of 32 colours seemed to have all
/// pages.
constexpr std::array<Misplaced, 5> strays{
    {{0.002, 0.957}, {0.03, 0.04}, {0.1, 0.001}, {0.3, 0.001}, {0.8, 0.001}}};

double prior(std::int64_t colours, bool of_address_bits) {
  std::int64_t odd = colours;
  while (odd % 2 == 0)
    odd /= 2;
  if (of_address_bits) return odd == 1 ? 1 : impossible;
  return odd == 1 ? 1 : odd == 3 || odd == 5 ? 0.1 : never_built;
}

} // namespace

double ColourNumber::tolerance() const {
  const auto best = static_cast<double>(colours);
  constexpr double rounding = 1e-9;
  return std::max(static_cast<double>(most) / best - 1, 1 - static_cast<double>(least) / best) + rounding;
}

ColourNumber number_of_colours(std::int64_t groups, std::int64_t sample, std::int64_t in_sample,
                               bool of_address_bits) {
  if (groups < 1 || sample < 1 || in_sample < 1 || in_sample > sample) return {};
  const auto hits = static_cast<double>(in_sample), misses = static_cast<double>(sample - in_sample);
  std::vector<double> logs;
  double highest = -INFINITY;
  for (std::int64_t colours = groups; colours <= std::max(groups, most_colours); ++colours)
    for (const Misplaced& hidden : hidden_shares)
      for (const Misplaced& stray : strays) {
        const double part = static_cast<double>(groups) / static_cast<double>(colours);
        const double p = std::clamp(part * (1 - hidden.share) + (1 - part) * stray.share, 1e-6, most_seen);
        logs.push_back(std::log(prior(colours, of_address_bits) * hidden.probability * stray.probability) +
                       hits * std::log(p) + misses * std::log1p(-p));
        highest = std::max(highest, logs.back());
      }
  std::vector<double> weights;
  double all = 0, most = 0;
  std::size_t best = 0;
  constexpr std::size_t of_each = hidden_shares.size() * strays.size();
  for (std::size_t i = 0; i < logs.size(); i += of_each) {
    double weight = 0;
    for (std::size_t j = 0; j < of_each; ++j)
      weight += std::exp(logs[i + j] - highest);
    if (weight > most) best = weights.size();
    most = std::max(most, weight);
    all += weight;
    weights.push_back(weight);
  }
  ColourNumber number{groups + static_cast<std::int64_t>(best), most / all, 0, 0};
  double below = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    below += weights[i] / all;
    const std::int64_t colours = groups + static_cast<std::int64_t>(i);
    if (number.least == 0 && below > outside) number.least = colours;
    if (number.most == 0 && below >= 1 - outside) number.most = colours;
  }
  return number;
}

} // namespace recount::caches
