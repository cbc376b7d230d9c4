#include "caches/infer/colours.hpp"

#include "base/format.hpp"
#include "caches/infer/geometry.hpp"
#include "caches/infer/properties.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace recount::caches {

namespace {

using kernel::dense;
using kernel::Pattern;

/// With pages placed at random, this share of the accesses leaves an LRU cache of 4 to 24 ways when the
/// working set is as large as the cache: sets hold more lines or fewer than they have ways.
constexpr double share_at_capacity = 0.54;
/// The crossing of a cache that replaces at random is at up to 1.5 times its capacity, and that of a cache
/// that others use as well was seen at 0.89 of it: the middle of both.
constexpr double crossing_of_some_policy = 0.88;
constexpr double crossing_least = 0.7, crossing_most = 1.6; ///< of crossing / capacity that confirms it
/// Few pages fill some sets early, random replacement keeps lines. Beyond twice this, one of them is noise.
constexpr double crossing_seen_least = 0.5, crossing_seen_most = 2.6, excluded = 2;

constexpr double sure = 0.999;          ///< probability of a value at high confidence
constexpr double neighbour_rise = 1.15; ///< of the time of pairs, beyond what the line explains

std::string in_bytes(double bytes) {
  return base::format_bytes(std::round(bytes / 1024) * 1024);
}

class PagedLevel {
public:
  PagedLevel(LevelFinding& level, CachedSampler& cached, Sampler& sampler, const PagedTask& task)
      : level_(level), sampler_cache_(cached), sampler_(sampler), task_(task) {}

  void fill() {
    level_.capacity = unknown_property("capacity", "bytes", {});
    level_.ways = unknown_property("ways", "lines", {});
    try {
      find_crossing();
    } catch (const Unknown& unknown) { // the colours do without
      no_crossing_ = unknown.reason;
    }
    find_line();
    try {
      fill_from_colours();
    } catch (const Unknown& unknown) {
      if (!level_.ways.value) level_.ways.unknown = unknown.reason;
      fill_from_crossing(unknown.reason);
    }
  }

private:
  /// Share of the accesses to a dense working set that leave, the cost of translation subtracted.
  [[nodiscard]] double share(std::int64_t bytes, const Reading& reading) const {
    if (reading.misses.size() > task_.level && reading.misses[task_.level])
      return *reading.misses[task_.level];
    const double ns = time_of(reading, "no time was taken around its capacity");
    const std::int64_t pages = bytes / sampler_cache_.abilities().page;
    return (ns - task_.translation->random_cost(pages) - task_.hit) / (task_.next_hit - task_.hit);
  }

  void find_crossing() {
    std::vector<Pattern> patterns;
    for (double size = 0.6 * static_cast<double>(task_.around);
         size < 3.2 * static_cast<double>(task_.around); size *= std::exp2(0.125))
      patterns.push_back(dense(std::llround(size / 4096) * 4096 / task_.line, task_.line));
    const auto readings = sampler_cache_.read(patterns);
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
  }

  /// Pairs far apart enough that the first touch of each leaves the level. Longer lines and lines that come
  /// in pairs look alike.
  void find_line() {
    Property& p = level_.line = unknown_property("line", "bytes", {});
    const auto patterns = pair_patterns(5 * task_.around / pair_block);
    std::vector<double> ns;
    try {
      for (const Reading& reading : sampler_cache_.read(patterns))
        ns.push_back(time_of(reading, "the time of pairs was not measured"));
    } catch (const Unknown& unknown) {
      p.unknown = unknown.reason;
      return;
    }
    const auto points = pair_points(patterns, ns);
    const auto line = line_from_pairs(points);
    for (const PairPoint& point : points)
      if (points.back().near_first > neighbour_rise * point.near_first) fetched_to_ = point.distance;
    p.quantity = "ns per access";
    for (const PairPoint& point : points)
      p.points.push_back({fmt::format("second access {} bytes further", point.distance), point.near_first});
    p.threshold = "midpoint between pairs 8 bytes and pairs 512 bytes apart";
    if (!line) {
      p.unknown = "the second access of a pair misses at no clear distance";
    } else if (line->bytes != task_.line || line->prefetch_seen) {
      p.unknown = fmt::format(
          "accesses {} bytes apart hit together: a line of twice the size, or lines fetched in pairs",
          line->bytes / 2);
    } else {
      p.value = static_cast<double>(line->bytes);
      p.confidence = Confidence::medium;
      p.routes = {{"shortest distance at which the second access of a pair misses", *p.value}};
      p.against = "the second access of a pair further apart hit";
      p.words.push_back(
          fmt::format("Pairs of accesses in random blocks over {}: {:.1f} ns per access at {} bytes, "
                      "{:.1f} ns at {} bytes.",
                      in_bytes(static_cast<double>(patterns.front().count * pair_block)),
                      points[points.size() - 5].near_first, points[points.size() - 5].distance,
                      points[points.size() - 4].near_first, line->bytes));
      p.evidence = fmt::format("pairs of accesses: {:.1f} ns at {} bytes, {:.1f} ns at {} bytes",
                               points[points.size() - 5].near_first, points[points.size() - 5].distance,
                               points[points.size() - 4].near_first, line->bytes);
    }
  }

  void fill_from_colours() {
    const PageColours found = colours_of_level(sampler_, task_);
    const ColourSets sets = decide_colour_sets(found);
    if (sets.line) fill_line(sets);
    if (!sets.ways) throw Unknown{sets.ways_unknown};
    fill_ways(found, sets);
    fill_capacity(found, sets);
  }

  void fill_line(const ColourSets& sets) {
    Property& p = level_.line;
    const auto from_pairs = p.value;
    const double line = static_cast<double>(*sets.line);
    p.value = line;
    p.unknown.clear();
    p.routes = {{"shift that takes lines of one page colour to another set", line}};
    if (from_pairs)
      p.routes.push_back({"shortest distance at which the second access of a pair misses", *from_pairs});
    const bool contradicted = from_pairs && *from_pairs != line;
    p.confidence = contradicted                           ? Confidence::low
                   : sets.with_line == sets.trials.size() ? Confidence::high
                                                          : Confidence::medium;
    p.against = "lines of one colour still overflowed their set when every second one was shifted that far";
    p.evidence =
        fmt::format("lines of one colour leave their set when shifted by {} bytes, in {} of {} colours",
                    *sets.line, sets.with_line, sets.trials.size());
    p.words = {fmt::format(
        "Twice as many lines of one page colour as a set holds overflow it. They fit once every "
        "second one is shifted by {} bytes, and not if it is shifted by less, in {} of {} colours.",
        *sets.line, sets.with_line, sets.trials.size())};
    if (fetched_to_ > *sets.line)
      p.words.push_back(
          fmt::format("The second access of a pair costs less up to a distance of {} bytes than further "
                      "apart: the level fetches neighbouring lines.",
                      fetched_to_));
    if (contradicted)
      p.words.push_back(fmt::format("Contradiction: pairs of accesses show {:.0f} bytes.", *from_pairs));
  }

  void fill_ways(const PageColours& found, const ColourSets& sets) {
    Property& p = level_.ways;
    const std::int64_t ways = *sets.ways;
    p.value = static_cast<double>(ways);
    p.confidence = sets.probability >= sure && sets.with_ways == sets.trials.size() ? Confidence::high
                   : sets.probability >= sure                                       ? Confidence::medium
                                                                                    : Confidence::low;
    p.routes = {{fmt::format("most lines of one page colour that fit, in {} colours", sets.trials.size()),
                 static_cast<double>(ways)}};
    p.quantity = "lines of one page colour that fit";
    for (const ColourTrial& trial : sets.trials)
      if (trial.ways)
        p.points.push_back({fmt::format("colour of page {}", trial.page), static_cast<double>(*trial.ways)});
    p.threshold = "an eighth of the lines missing per pass";
    p.against = "most other colours had another number";
    p.words.push_back(fmt::format(
        "{} {} pages; pages of one colour share {}. Together with lines of other colours, which keep L1d "
        "from holding any, {} of one colour fit {} and {} do not, in {} of {} colours: {}. "
        "Probability of another number: {}.",
        found.whole ? "Several lines in each of" : "One line at the same offset in each of", found.pages,
        found.whole ? "all of their sets" : "a set", base::format_count(ways, "line"), level_.name, ways + 1,
        sets.with_ways, sets.trials.size(), base::format_count(ways, "way"),
        rare_text(1 - sets.probability)));
    p.evidence = fmt::format("lines of one page colour that fit: {}, in {} of {} colours", ways,
                             sets.with_ways, sets.trials.size());
  }

  void fill_capacity(const PageColours& found, const ColourSets& sets) {
    const std::string each = base::format_count(*sets.ways, "way");
    const auto page = static_cast<double>(sampler_cache_.abilities().page),
               ways = static_cast<double>(*sets.ways);
    const CountedColours count = count_colours(found, *sets.ways);
    const auto groups = static_cast<double>(found.members.size());
    Property& p = level_.capacity;
    p.value = count.colours * ways * page;
    p.tolerance = count.tolerance;
    const bool crossing_agrees =
        crossing_ > crossing_least * *p.value && crossing_ < crossing_most * *p.value;
    const bool contradicted = crossing_ > 0 && (crossing_ < crossing_seen_least * *p.value ||
                                                crossing_ > crossing_seen_most * *p.value);
    p.confidence = !count.stated || contradicted ? Confidence::low
                   : crossing_agrees && count.probability >= sure
                       ? level_.ways.confidence
                       : std::min(Confidence::medium, level_.ways.confidence);
    p.routes = {{"page colours x ways x page size", *p.value}};
    if (crossing_ > 0) p.routes.push_back({"working set with a miss rate of 54 %", crossing_});
    p.threshold = "a miss rate of 54 %";
    p.against = fmt::format("a page had no colour, or the crossing were outside {} to {} times the product",
                            crossing_seen_least, crossing_seen_most);
    if (count.complete)
      p.words.push_back(fmt::format("{0} pages, {1} colours: {1} colours x {2} x {3} per page = {4}.",
                                    found.pages, groups, each, in_bytes(page), in_bytes(*p.value)));
    else if (count.sampled)
      p.words.push_back(fmt::format("{} colours were found. Of {} other pages, which took no part in that, "
                                    "{} have one of these colours: there are {} colours (probability of "
                                    "another number: {}). {} colours x {} x {} per page = {}.",
                                    groups, found.sample, found.in_sample, count.colours,
                                    rare_text(1 - count.probability), count.colours, each, in_bytes(page),
                                    in_bytes(*p.value)));
    else
      p.words.push_back(fmt::format("{} colours were found with a part of {} pages, so there are about "
                                    "{:.0f}: x {} x {} per page = {}.",
                                    groups, found.pages, count.colours, each, in_bytes(page),
                                    in_bytes(*p.value)));
    p.evidence = fmt::format("{:.0f} page colours{} x {} x {} per page", count.colours,
                             count.stated ? "" : " (estimated)", each, in_bytes(page));
    add_crossing_words(p);
    if (contradicted && (crossing_ * excluded < crossing_seen_least * *p.value ||
                         crossing_ > excluded * crossing_seen_most * *p.value)) {
      p.unknown = fmt::format("{} page colours x {} x {} per page are {}, but misses begin around {}",
                              count.colours, each, in_bytes(page), in_bytes(*p.value), in_bytes(crossing_));
      p.value.reset();
    } else if (contradicted)
      p.words.push_back("Contradiction: misses begin around " + in_bytes(crossing_) +
                        ": other users of the cache, or a hashed index.");
  }

  void add_crossing_words(Property& p) const {
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
  /// busy one it gave 576 and 768 KiB for 1 MiB. So it is told, but no value is stated.
  void fill_from_crossing(const std::string& why) {
    Property& p = level_.capacity;
    if (crossing_ == 0 || !task_.next_is_level) {
      p.unknown = (crossing_ == 0 ? no_crossing_ : "the miss time varies too much to derive the miss rate") +
                  "; " + why;
      return;
    }
    p.threshold = "a miss rate of 54 %";
    add_crossing_words(p);
    p.unknown = fmt::format(
        "a miss rate of 54 % at {} suggests about {}, but other programs on the core make it less and "
        "another replacement than LRU more; not confirmed independently: {}",
        in_bytes(crossing_), in_bytes(crossing_of_some_policy * crossing_), why);
  }

  LevelFinding& level_;
  CachedSampler& sampler_cache_;
  Sampler& sampler_;
  const PagedTask& task_;
  std::string no_crossing_;
  double crossing_ = 0;         ///< bytes
  std::int64_t fetched_to_ = 0; ///< bytes: pairs up to this distance cost less than those furthest apart
  std::vector<std::pair<double, double>> shares_; ///< bytes, share that leaves
};

} // namespace

void fill_from_pages(LevelFinding& level, CachedSampler& cached, Sampler& sampler, const PagedTask& task) {
  PagedLevel(level, cached, sampler, task).fill();
}

} // namespace recount::caches
