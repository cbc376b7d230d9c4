#include "caches/infer/second_level.hpp"

#include "base/format.hpp"
#include "caches/infer/colour_search.hpp"
#include "caches/infer/colour_sets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace recount::caches {

namespace {

using kernel::dense;
using kernel::Pattern;

constexpr std::size_t second = 1; ///< the level, from 0

/// With pages placed at random, this share of the accesses leaves an LRU cache of 4 to 24 ways when the
/// working set is as large as the cache: sets hold more lines or fewer than they have ways.
constexpr double share_at_capacity = 0.54;
/// The crossing of a cache that replaces at random is at up to 1.5 times its capacity, and that of a cache
/// that others use as well was seen at 0.89 of it: the middle of both.
constexpr double crossing_of_some_policy = 0.88;
constexpr double crossing_least = 0.7, crossing_most = 1.6; ///< of crossing / capacity that confirms it
/// Few pages fill some sets early, random replacement keeps lines. Beyond twice this, one of them is noise.
constexpr double crossing_seen_least = 0.5, crossing_seen_most = 2.6, excluded = 2;

constexpr double sure = 0.999;             ///< probability of a value at high confidence
constexpr double neighbour_rise = 1.15;    ///< of the time of pairs, beyond what the line explains
constexpr std::int64_t least_sample = 768; ///< pages

std::string in_bytes(double bytes) {
  return base::format_bytes(std::round(bytes / 1024) * 1024);
}

class SecondLevel {
public:
  SecondLevel(LevelFinding& level, CachedSampler& cached, Sampler& sampler, const SecondLevelTask& task)
      : level_(level), cached_(cached), sampler_(sampler), task_(task) {}

  void fill() {
    level_.capacity = unknown_property("capacity", "bytes", {});
    level_.line = unknown_property("line", "bytes", {});
    level_.ways = unknown_property("ways", "lines", {});
    try {
      find_crossing();
    } catch (const Unknown& unknown) { // the colours do without
      no_crossing_ = unknown.reason;
    }
    try {
      fill_line_by_pairs(level_.line);
    } catch (const Unknown& unknown) {
      level_.line.unknown = unknown.reason;
    }
    try {
      const PageColours colours = page_colours();
      const ColourSets sets = decide_colour_sets(colours);
      if (sets.line) fill_line(level_.line, sets);
      if (!sets.ways) throw Unknown{sets.ways_unknown};
      fill_ways(level_.ways, colours, sets);
      fill_capacity(level_.capacity, colours, *sets.ways);
    } catch (const Unknown& unknown) {
      if (!level_.ways.value) level_.ways.unknown = unknown.reason;
      refuse_capacity(unknown.reason);
    }
  }

private:
  /// Share of the accesses to a dense working set that leave, the cost of translation subtracted.
  [[nodiscard]] double share(std::int64_t bytes, const Reading& reading) const {
    if (reading.misses.size() > second && reading.misses[second]) return *reading.misses[second];
    const double ns = require_time(reading, "no time was taken around its capacity");
    const std::int64_t pages = bytes / cached_.abilities().page;
    return (ns - task_.translation->random_cost(pages) - task_.hit) / (task_.next_hit - task_.hit);
  }

  void find_crossing() {
    std::vector<Pattern> patterns;
    const auto onset = static_cast<double>(task_.onset);
    for (double size = 0.6 * onset; size < 3.2 * onset; size *= std::exp2(0.125))
      patterns.push_back(dense(std::llround(size / 4096) * 4096 / task_.line, task_.line));
    const auto readings = cached_.read(patterns);
    double highest = 0;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const std::int64_t bytes = patterns[i].count * task_.line;
      highest = std::max(highest, share(bytes, readings[i])); // more data cannot leave less often
      if (!shares_.empty() && crossing_ == 0 && highest > share_at_capacity) {
        const auto& [before, low] = shares_.back();
        const double part = (share_at_capacity - low) / std::max(highest - low, 1e-9);
        crossing_ = before * std::pow(static_cast<double>(bytes) / before, std::clamp(part, 0.0, 1.0));
      }
      shares_.emplace_back(static_cast<double>(bytes), highest);
    }
    if (crossing_ == 0) throw Unknown{"no working set has a miss rate clearly above one half"};
    for (const auto& [bytes, exceeds] : shares_)
      level_.capacity.points.push_back({in_bytes(bytes), exceeds});
    level_.capacity.quantity = fmt::format("{} miss rate", level_.name);
    level_.capacity.threshold = "a miss rate of 54 %";
  }

  /// Pairs far apart enough that the first touch of each leaves the level. Longer lines and lines that come
  /// in pairs look alike.
  void fill_line_by_pairs(Property& p) {
    const auto patterns = pair_patterns(5 * task_.onset / pair_block);
    std::vector<double> ns;
    for (const Reading& reading : cached_.read(patterns))
      ns.push_back(require_time(reading, "the time of pairs was not measured"));
    const auto points = pair_points(patterns, ns);
    const auto line = line_from_pairs(points);
    p.quantity = "ns per access";
    p.threshold = "midpoint between pairs 8 bytes and pairs 512 bytes apart";
    for (const PairPoint& point : points) {
      p.points.push_back({fmt::format("second access {} bytes further", point.distance), point.near_first});
      if (points.back().near_first > neighbour_rise * point.near_first) fetched_to_ = point.distance;
    }
    if (!line) throw Unknown{"the second access of a pair misses at no clear distance"};
    if (line->bytes != task_.line || line->prefetch_seen)
      throw Unknown{fmt::format(
          "accesses {} bytes apart hit together: a line of twice the size, or lines fetched in pairs",
          line->bytes / 2)};
    p.value = static_cast<double>(line->bytes);
    p.confidence = Confidence::medium;
    p.routes = {{"shortest distance at which the second access of a pair misses", *p.value}};
    p.against = "the second access of a pair further apart hit";
    const auto at = std::ranges::find(points, line->bytes, &PairPoint::distance);
    p.evidence = fmt::format("pairs of accesses: {:.1f} ns at {} bytes, {:.1f} ns at {} bytes",
                             (at - 1)->near_first, (at - 1)->distance, at->near_first, at->distance);
  }

  /// Those on record, or those of a search, which are put on record. Throws Unknown where there are none.
  [[nodiscard]] PageColours page_colours() {
    auto colours = sampler_.colours();
    if (!colours) {
      ColourTask search;
      search.hit = task_.hit;
      // Neighbours can push what leaves this level out of the next one, too; here it only matters whether
      // anything leaves.
      search.penalty = std::min(task_.next_hit - task_.hit, 6 * task_.hit);
      search.line = task_.line;
      search.page = cached_.abilities().page;
      search.capacity = task_.onset / search.page;
      search.sample = std::max(least_sample, 4 * search.capacity);
      search.pages = 3 * search.capacity + search.sample;
      search.ways_above = task_.ways_above;
      search.page_sets_above = task_.page_sets_above;
      search.seed = 1 + 10 * sampler_.searches();
      colours = sampler_.keep(find_colours(sampler_, search));
    }
    if (!colours->unknown.empty()) throw Unknown{colours->unknown};
    if (colours->members.empty()) colours->members = colours->smallest; // a record of version 0.1.0
    return *colours;
  }

  void fill_line(Property& p, const ColourSets& sets) const {
    const auto by_pairs = p.value;
    p.value = static_cast<double>(*sets.line);
    p.unknown.clear();
    p.routes = {{"shift that takes lines of one page colour to another set", *p.value}};
    if (by_pairs)
      p.routes.push_back({"shortest distance at which the second access of a pair misses", *by_pairs});
    const bool contradicted = by_pairs && *by_pairs != *p.value;
    p.confidence = contradicted                           ? Confidence::low
                   : sets.with_line == sets.trials.size() ? Confidence::high
                                                          : Confidence::medium;
    p.against = "lines of one colour still overflowed their set when every second one was shifted that far";
    p.evidence =
        fmt::format("lines of one colour leave their set when shifted by {} bytes, in {} of {} colours",
                    *sets.line, sets.with_line, sets.trials.size());
    if (fetched_to_ > *sets.line)
      p.words.push_back(fmt::format("The second access of a pair costs less up to a distance of {} bytes "
                                    "than further apart, as if neighbouring lines were fetched.",
                                    fetched_to_));
    if (contradicted)
      p.words.push_back(fmt::format("Contradiction: pairs of accesses show {:.0f} bytes.", *by_pairs));
  }

  void fill_ways(Property& p, const PageColours& colours, const ColourSets& sets) const {
    p.value = static_cast<double>(*sets.ways);
    p.confidence = sets.probability < sure                ? Confidence::low
                   : sets.with_ways == sets.trials.size() ? Confidence::high
                                                          : Confidence::medium;
    p.routes = {
        {fmt::format("most lines of one page colour that fit, in {} colours", sets.trials.size()), *p.value}};
    p.quantity = "lines of one page colour that fit";
    for (const ColourTrial& trial : sets.trials)
      if (trial.ways)
        p.points.push_back({fmt::format("colour of page {}", trial.page), static_cast<double>(*trial.ways)});
    p.threshold = "an eighth of the lines missing per pass";
    p.against = "most other colours had another number";
    p.evidence = fmt::format("lines of one page colour that fit: {}, in {} of {} colours", *sets.ways,
                             sets.with_ways, sets.trials.size());
    p.words = {fmt::format("Of {} pages, those of one colour share their sets. Lines of other colours keep "
                           "L1d from holding any. Probability of another number of ways: {}.",
                           colours.pages, rare_text(1 - sets.probability))};
  }

  void fill_capacity(Property& p, const PageColours& found, std::int64_t ways) {
    const auto page = static_cast<double>(cached_.abilities().page);
    const CountedColours count = count_colours(found, ways);
    p.value = count.colours * static_cast<double>(ways) * page;
    p.tolerance = count.tolerance;
    const double crossing = crossing_ / *p.value; // 0: there is none
    const bool agrees = crossing > crossing_least && crossing < crossing_most;
    const bool contradicted =
        crossing > 0 && (crossing < crossing_seen_least || crossing > crossing_seen_most);
    p.confidence = !count.stated || contradicted ? Confidence::low
                   : agrees && count.probability >= sure
                       ? level_.ways.confidence
                       : std::min(Confidence::medium, level_.ways.confidence);
    p.routes = {{"page colours x ways x page size", *p.value}};
    if (crossing > 0) p.routes.push_back({"working set with a miss rate of 54 %", crossing_});
    p.against = fmt::format("a page had no colour, or the crossing were outside {} to {} times the product",
                            crossing_seen_least, crossing_seen_most);
    const std::string product =
        fmt::format("{:.0f} page colours{} x {} x {} per page", count.colours,
                    count.stated ? "" : " (estimated)", base::format_count(ways, "way"), in_bytes(page));
    p.evidence = product;
    p.words = {fmt::format("{} colours were found in {} pages.", found.members.size(), found.pages)};
    if (count.sampled)
      p.words.push_back(fmt::format("Of {} other pages, which took no part in that, {} have one of these "
                                    "colours. Probability of another number of colours: {}.",
                                    found.sample, found.in_sample, rare_text(1 - count.probability)));
    add_crossing(p);
    if (!contradicted) return;
    if (crossing * excluded < crossing_seen_least || crossing > excluded * crossing_seen_most)
      p.forget(fmt::format("{} are {}, but misses begin around {}", product, in_bytes(*p.value),
                           in_bytes(crossing_)));
    else
      p.words.push_back("Contradiction: misses begin around " + in_bytes(crossing_) +
                        ": other users of the cache, or a hashed index.");
  }

  void add_crossing(Property& p) const {
    if (crossing_ == 0) return;
    std::vector<std::string> rising;
    double next = 0.05;
    for (const auto& [bytes, exceeds] : shares_) {
      if (exceeds < next) continue;
      rising.push_back(fmt::format("{:.2f} at {}", exceeds, in_bytes(bytes)));
      next = exceeds + 0.2;
    }
    p.words.push_back(
        fmt::format("The {} miss rate rises gradually, because random page placement fills some sets "
                    "before others: {}; 54 % at {}.",
                    level_.name, fmt::join(rising, ", "), in_bytes(crossing_)));
  }

  /// Without colours the rule of 54 % is left. It holds for LRU and for a core without other programs: on a
  /// busy one it gave 576 and 768 KiB for 1 MiB. So it is reported, but no value is stated.
  void refuse_capacity(const std::string& why) {
    Property& p = level_.capacity;
    add_crossing(p);
    if (crossing_ > 0 && task_.next_is_level)
      p.forget(fmt::format(
          "a miss rate of 54 % at {} suggests about {}, but other programs on the core make it less and "
          "another replacement than LRU more; not confirmed independently: {}",
          in_bytes(crossing_), in_bytes(crossing_of_some_policy * crossing_), why));
    else
      p.forget((crossing_ == 0 ? no_crossing_ : "the miss time varies too much to derive the miss rate") +
               "; " + why);
  }

  LevelFinding& level_;
  CachedSampler& cached_;
  Sampler& sampler_;
  const SecondLevelTask& task_;
  std::string no_crossing_;
  double crossing_ = 0;         ///< bytes
  std::int64_t fetched_to_ = 0; ///< bytes: pairs up to this distance cost less than those furthest apart
  std::vector<std::pair<double, double>> shares_; ///< bytes, share that leaves
};

} // namespace

void fill_second_level(LevelFinding& level, CachedSampler& cached, Sampler& sampler,
                       const SecondLevelTask& task) {
  SecondLevel(level, cached, sampler, task).fill();
}

} // namespace recount::caches
