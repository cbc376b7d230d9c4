#include "commands/caches/infer/geometry.hpp"

#include "base/statistics/statistics.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <range/v3/numeric/accumulate.hpp>
#include <range/v3/view/transform.hpp>
#include <vector>

namespace recount::caches {

namespace {

constexpr std::int64_t max_ways_decided = 64;
constexpr std::int64_t smallest_way = 512, largest_way = std::int64_t{128} << 10;
constexpr double odd_penalty = 4; ///< log of how much rarer a number of sets that is no power of two is
constexpr double min_noise = 0.004, max_noise = 0.1;
constexpr double disturbed_part = 0.05;                  ///< readings that tell nothing
constexpr double lowest_share = -0.2, highest_share = 4; ///< shares beyond are cut
constexpr double min_loss =
    0.12; ///< of the overfull lines; random replacement keeps most of 17 lines in 16 ways
constexpr double max_loss = 1.3, beyond_most = 0.2; ///< and the probability of more than that
constexpr double likelihood_exponent = 0.5; ///< readings share disturbances: half as many are independent
constexpr std::size_t steps_of_share = 16;

/// Log-likelihoods of one reading by the overfull share under a hypothesis, in steps of 1/16.
using Likelihoods = std::array<double, steps_of_share + 1>;

double density_of_fit(double share, double noise) {
  return boost::math::pdf(boost::math::normal_distribution<double, statistics::Double>(0, noise), share);
}

double density_of_loss(double share, double overfull, double noise) {
  const double low = min_loss * overfull, high = max_loss * overfull;
  if (share > high) return beyond_most / (highest_share - high);
  const double below = std::max(0.0, low - share);
  return (1 - beyond_most) / (high - low) * std::exp(-below * below / (2 * noise * noise));
}

Likelihoods likelihoods(double reading, double noise) {
  const double share = std::clamp(reading, lowest_share, highest_share);
  Likelihoods all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double overfull = static_cast<double>(i) / steps_of_share;
    const double density = i == 0 ? density_of_fit(share, noise) : density_of_loss(share, overfull, noise);
    all[i] = std::log((1 - disturbed_part) * density + disturbed_part / (highest_share - lowest_share));
  }
  return all;
}

/// The share of these lines that fall into sets with more lines than ways, in steps; 0 only for none.
std::size_t overfull_steps(std::int64_t ways, std::int64_t way_bytes, const StrideReading& reading) {
  const std::int64_t sets = way_bytes / std::gcd(reading.stride, way_bytes);
  const std::int64_t each = reading.lines / sets, fuller = reading.lines % sets; // sets with one line more
  const std::int64_t overfull = each > ways       ? reading.lines
                                : each + 1 > ways ? fuller * (each + 1)
                                                  : std::int64_t{0};
  if (overfull == 0) return 0;
  const double share = static_cast<double>(overfull) / static_cast<double>(reading.lines);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * steps_of_share)));
}

/// Deviation of the shares of what fits: that of the normal component around 0 of a mixture with anything
/// else, fitted by expectation maximisation.
double noise_of_fitting(std::span<const StrideReading> readings) {
  double noise = max_noise;
  for (int step = 0; step < 20; ++step) {
    double weight = 0, squares = 0;
    for (const StrideReading& r : readings) {
      const double fits = density_of_fit(r.share, noise), of_fit = fits / (fits + 1 / highest_share);
      weight += of_fit;
      squares += of_fit * r.share * r.share;
    }
    if (weight < 1) return max_noise;
    noise = std::clamp(std::sqrt(squares / weight), min_noise, max_noise);
  }
  return noise;
}

std::optional<ShapeDecision> most_probable(std::span<const StrideReading> readings,
                                           std::span<const std::int64_t> way_sizes) {
  if (readings.empty()) return {};
  const double noise = noise_of_fitting(readings);
  std::vector<Likelihoods> by_reading;
  for (const StrideReading& r : readings)
    by_reading.push_back(likelihoods(r.share, noise));
  std::vector<double> logs;
  ShapeDecision best;
  double highest = -INFINITY;
  for (const std::int64_t way : way_sizes)
    for (std::int64_t ways = 1; ways <= max_ways_decided; ++ways) {
      double log = std::has_single_bit(static_cast<std::uint64_t>(way)) ? 0 : -odd_penalty;
      for (std::size_t i = 0; i < readings.size(); ++i)
        log += likelihood_exponent * by_reading[i][overfull_steps(ways, way, readings[i])];
      if (log > highest) {
        highest = log;
        best = {ways, way, 0};
      }
      logs.push_back(log);
    }
  double all = 0;
  for (const double log : logs)
    all += std::exp(log - highest);
  best.probability = 1 / all;
  return best;
}

} // namespace

std::optional<ShapeDecision> decide_shape(std::span<const StrideReading> readings) {
  std::vector<std::int64_t> way_sizes;
  for (std::int64_t odd = 1; odd <= 15; odd += 2)
    for (std::int64_t bytes = odd * 64; bytes <= largest_way; bytes *= 2)
      if (bytes >= smallest_way) way_sizes.push_back(bytes);
  return most_probable(readings, way_sizes);
}

namespace {

/// The ways of one set, from readings whose `lines` all map to it.
std::optional<ShapeDecision> decide_ways(std::span<const StrideReading> readings) {
  constexpr std::int64_t one_set[] = {1};
  return most_probable(readings, one_set);
}

constexpr double clear_overflow = 0.2;       ///< share of the lines that miss
constexpr double min_ways_probability = 0.6; ///< for one colour, whose ways one reading decides

/// The value that most trials show, and how many; nothing unless three of four that show one agree.
std::optional<std::pair<std::int64_t, std::size_t>>
majority(const std::vector<ColourTrial>& trials, std::optional<std::int64_t> ColourTrial::*value) {
  std::map<std::int64_t, std::size_t> votes;
  std::size_t all = 0;
  for (const ColourTrial& trial : trials)
    if (const auto& vote = trial.*value) {
      ++votes[*vote];
      ++all;
    }
  if (votes.empty()) return {};
  const auto most = *std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  if (most.second < min_colours || 4 * most.second < 3 * all) return {};
  return most;
}

/// The ways that one colour shows: overflow must have been seen.
std::optional<std::int64_t> ways_from(const std::vector<StrideReading>& readings) {
  const auto decision = decide_ways(readings);
  if (!decision || decision->probability < min_ways_probability) return {};
  if (readings.back().lines <= decision->ways || decision->ways < surely_fit) return {};
  return decision->ways;
}

/// The first shift that fits, if all smaller ones overflow and all larger ones fit.
std::optional<std::int64_t> line_from(const std::vector<ColourReading>& shifts) {
  std::optional<std::int64_t> line;
  for (const ColourReading& reading : shifts) {
    const bool overflows = reading.share >= clear_overflow;
    if (overflows && line) return {};
    if (!overflows && !line) line = reading.shift;
  }
  return line && *line > shifts.front().shift ? line : std::nullopt;
}

} // namespace

ColourSets decide_colour_sets(const PageColours& colours) {
  ColourSets found;
  std::map<std::int64_t, std::vector<StrideReading>> counts;
  std::map<std::int64_t, std::vector<ColourReading>> shifts;
  std::vector<StrideReading> all;
  for (const ColourReading& r : colours.readings) {
    if (r.colour < 0 || r.colour >= std::ssize(colours.members)) continue;
    if (r.shift != 0) {
      shifts[r.colour].push_back(r);
    } else {
      all.push_back({1, r.lines, r.share});
      counts[r.colour].push_back(all.back());
    }
  }
  if (counts.size() < min_colours) {
    found.ways_unknown = fmt::format("page colours found: {}, needed: {}{}{}", colours.members.size(),
                                     min_colours, colours.incomplete.empty() ? "" : ": ", colours.incomplete);
    return found;
  }
  for (const auto& [colour, readings] : counts)
    found.trials.push_back({colours.members[static_cast<std::size_t>(colour)].front(), ways_from(readings),
                            shifts.contains(colour) ? line_from(shifts.at(colour)) : std::nullopt});
  const auto ways = majority(found.trials, &ColourTrial::ways),
             line = majority(found.trials, &ColourTrial::line);
  const auto together = decide_ways(all);
  if (!ways || together->ways != ways->first) {
    found.ways_unknown =
        "the page colours do not agree on the lines that a set holds: noise, or a hashed index";
    return found;
  }
  found.ways = ways->first;
  found.with_ways = ways->second;
  found.probability = together->probability;
  if (line) {
    found.line = line->first;
    found.with_line = line->second;
  }
  return found;
}

namespace {

constexpr std::int64_t max_colours = 1024;
constexpr double outside = 0.005;                         ///< probability on either side of the interval
constexpr double max_seen = 0.998;                        ///< of the pages, even if all colours are known
constexpr double impossible = 1e-300, never_built = 1e-7; ///< priors

/// A share of pages that noise misplaces, and how probable it is.
struct Misplaced {
  double share, probability;
};
/// Of the known colours: not recognised.
constexpr std::array<Misplaced, 4> hidden_shares{{{0, 0.4}, {0.02, 0.3}, {0.05, 0.2}, {0.1, 0.1}}};
/// Of other colours: taken for one of the known. While other programs ran, 28 of 32 colours seemed to have
/// all pages.
constexpr std::array<Misplaced, 5> strays{
    {{0.002, 0.957}, {0.03, 0.04}, {0.1, 0.001}, {0.3, 0.001}, {0.8, 0.001}}};

std::int64_t odd_part(std::int64_t number) {
  return number == 0 ? 0 : number >> std::countr_zero(static_cast<std::uint64_t>(number));
}

double prior(std::int64_t colours, bool of_address_bits) {
  const std::int64_t odd = odd_part(colours);
  if (odd == 1) return 1;
  if (of_address_bits) return impossible;
  return odd == 3 || odd == 5 ? 0.1 : never_built;
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
  // Relative to the likelihood of the observed share, so that none is 0.
  const double observed = std::min(hits / static_cast<double>(sample), max_seen);
  const double reference = hits * std::log(observed) + misses * std::log1p(-observed);
  std::vector<double> weights; // of groups, groups + 1 ... colours
  for (std::int64_t colours = groups; colours <= std::max(groups, max_colours); ++colours) {
    const double part = static_cast<double>(groups) / static_cast<double>(colours);
    double weight = 0;
    for (const Misplaced& hidden : hidden_shares)
      for (const Misplaced& stray : strays) {
        const double p = std::clamp(part * (1 - hidden.share) + (1 - part) * stray.share, 1e-6, max_seen);
        weight += hidden.probability * stray.probability *
                  std::exp(hits * std::log(p) + misses * std::log1p(-p) - reference);
      }
    weights.push_back(weight * prior(colours, of_address_bits));
  }
  const double all = ranges::accumulate(weights, 0.0);
  if (all == 0) return {};
  const auto best = std::ranges::max_element(weights);
  ColourNumber number{groups + (best - weights.begin()), *best / all, 0, 0};
  double below = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    below += weights[i] / all;
    const std::int64_t colours = groups + static_cast<std::int64_t>(i);
    if (number.least == 0 && below > outside) number.least = colours;
    if (number.most == 0 && below >= 1 - outside) number.most = colours;
  }
  return number;
}

namespace {

constexpr double min_number_probability = 0.99; ///< of a number that is stated without an interval
constexpr double min_of_estimate = 0.34; ///< of an estimated number: the next usual ones are 3/4 and 4/3
/// Colours that were found have more pages than the others: these overflow first. Pages that are not seen to
/// overflow count for no colour.
constexpr double sampling_bias = 0.1;

} // namespace

CountedColours count_colours(const PageColours& found, std::int64_t ways) {
  const auto groups = static_cast<double>(found.members.size()), pages = static_cast<double>(found.pages);
  const double members = ranges::accumulate(
      found.members | ranges::views::transform([](const auto& m) { return static_cast<double>(m.size()); }),
      0.0);
  // Pages without a colour that are as many as half of a colour has may be a colour that was not found.
  const bool all_pages = pages < members * (1 + 0.5 / groups);
  const bool complete = found.incomplete.empty() && 2 * found.left_over <= ways && all_pages;
  const bool usual = odd_part(std::ssize(found.members)) <= (found.mixed ? 1 : 5);
  if (complete && (usual || found.sample == 0))
    return {groups, 1, usual ? 0 : sampling_bias + 1.5 / groups, true, false};
  const ColourNumber number =
      number_of_colours(std::ssize(found.members), found.sample, found.in_sample, found.mixed);
  // Pages are placed at random, so all pages are a sample, too.
  if (number.colours == 0)
    return {std::max(groups, pages * groups / members), 0, sampling_bias + 4 / std::sqrt(members), false,
            false};
  const bool stated = number.probability >= min_number_probability;
  return {static_cast<double>(number.colours), number.probability,
          stated ? 0 : std::max(number.tolerance(), min_of_estimate), stated, true};
}

} // namespace recount::caches
