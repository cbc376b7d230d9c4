// Ways and sets of a physically indexed level: pages that map to the same sets are found by measurement.
#pragma once

#include "caches/infer/inference.hpp"
#include "caches/infer/sampler.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// What the search needs to know of the levels above, in ns a visit.
struct ColourTask {
  double first_hit = 0; ///< a hit in the first level
  double step = 0;      ///< additional time of a hit in the level over a hit in the first level
  double penalty = 0;   ///< additional time of a miss in the level
  std::int64_t line = 64, page = 4096; ///< bytes
  std::int64_t pages = 0;              ///< to try: several times the capacity of the level
  std::int64_t capacity = 0;           ///< pages that the level holds, about
  std::int64_t sample = 0;             ///< of them: kept out of the search for colours, to count these
  std::int64_t offset = 0;             ///< in the page: of the visited line
  std::int64_t ways_above = 0;         ///< at least one more is visited at a time, so that none stays above
  std::int64_t lines_above = 0;        ///< of the first level
  std::int64_t page_sets_above = 1;    ///< sets of the first level that lines at one page offset fall into
  std::uint64_t seed = 1;
  bool whole = false; ///< several lines of each page are visited, whatever set each one falls into:
  std::int64_t lines = 0, apart = 0; ///< so many, and the bytes from one to the next
  /// Where two lines of a page overflow the level as all do, the index mixes the offset with nothing.
  [[nodiscard]] bool mixed() const { return whole && lines > 2; }
};

/// So many of the pages, in order, that as many as possible fall into each set of the level above. Lines that
/// are alone in such a set would stay there, and leave it with the first page added to it: that would look
/// like an overflow of the level.
[[nodiscard]] std::vector<std::int64_t> spread_over_page_sets(const std::vector<std::int64_t>& pages,
                                                              std::size_t count, const ColourTask& task);
/// ColourTask::lines of each page in random order, a few pages at a time; those of page i (i % wrap) * shift
/// bytes further.
[[nodiscard]] std::vector<std::uint64_t> places_of_whole_pages(const std::vector<std::int64_t>& pages,
                                                               const ColourTask& task, std::uint64_t& random,
                                                               std::int64_t shift = 0, std::int64_t wrap = 2);
/// The bytes that take ColourTask::lines of a page to sets that none of them was in.
[[nodiscard]] std::int64_t shift_of(const ColourTask& task);
/// Lines at one page offset fall into as many sets of the level as there are colours of pages. Pages are
/// added until a set overflows, taken out again while it still does, which leaves ways + 1 pages of one
/// colour, and the other pages are tried against these; until no pages overflow any more, or the share of the
/// sample that the known colours have tells how many there are. This is the
/// reduction of eviction sets of Vila, Koepf and Morales, "Theory and Practice of Finding Eviction Sets",
/// IEEE Symposium on Security and Privacy 2019. Where single lines share no set, because the index mixes the
/// offset with other address bits, the search is repeated with several lines of each page: if each set is the
/// exclusive or of address bits, pages still share all of their sets or none. PageColours::unknown when the
/// sampler has no quick_time(), no set overflows, noise hides which pages it takes, or the time for it is
/// over.
[[nodiscard]] PageColours find_colours(Sampler& sampler, const ColourTask& task);

/// What is known of the levels above when it is looked at.
struct PagedTask {
  std::size_t level = 1; ///< 0: the first
  double first_hit = 0, hit = 0,
         next_hit = 0; ///< ns: of the first level, of this one, of the one that serves its misses
  std::int64_t line = 64, capacity_above = 0, ways_above = 0; ///< bytes, bytes, ways
  std::int64_t page_sets_above = 1; ///< sets of the first level that lines at one page offset fall into
  std::int64_t around = 0;          ///< bytes: where it begins to overflow
  bool next_is_level = true;        ///< the miss time is nearly the same at different sizes
  const Translation* translation = nullptr;
};

/// Those on record, or those of a search, which are put on record. Throws Unknown where there are none.
[[nodiscard]] PageColours colours_of_level(Sampler& sampler, const PagedTask& level);

/// How many colours a level has.
struct CountedColours {
  double colours = 0, probability = 0, tolerance = 0;
  bool complete = false; ///< every page was tried
  bool stated = false;   ///< no estimate
  bool sampled = false;  ///< from the share of a sample
};
[[nodiscard]] CountedColours count_colours(const PageColours& found, std::int64_t ways);

/// Fills in capacity, ways and line of the level.
void fill_from_pages(LevelFinding& level, CachedSampler& cached, Sampler& sampler, const PagedTask& task);

/// What the lines of one colour showed.
struct ColourTrial {
  std::int64_t page = 0;            ///< of the colour, to name it
  std::optional<std::int64_t> ways; ///< nothing: undecided
  std::optional<std::int64_t> line; ///< bytes
};

struct ColourSets {
  std::vector<ColourTrial> trials;
  std::optional<std::int64_t> ways, line;   ///< what most colours show
  std::size_t with_ways = 0, with_line = 0; ///< colours that show these values
  double probability = 0;                   ///< of the ways, given the readings of all colours
  std::string ways_unknown, line_unknown;
};

/// Adds readings to colours that were found: 1, 2 ... lines of one colour together with lines of other
/// colours, so many that the level above holds none of them, compared with the same pages and their lines in
/// different sets; then twice as many lines as a set holds, every second one shifted. Ends when the sampler's
/// time is over. `spare`: pages that have none of these colours, for when the other colours have too few
/// lines.
void measure_colour_readings(Sampler& sampler, PageColours& colours, const ColourTask& task,
                             const std::vector<std::int64_t>& spare = {});

/// What the readings of the colours show. Pure.
[[nodiscard]] ColourSets decide_colour_sets(const PageColours& colours);

struct ColourNumber {
  std::int64_t colours = 0;               ///< the most probable number; 0: nothing was sampled
  double probability = 0;                 ///< of it
  std::int64_t least = 0, most = 0;       ///< the number lies between these with a probability of 0.99
  [[nodiscard]] double tolerance() const; ///< of the number, so that the interval lies within
};

/// `groups` colours are known, and of `sample` pages that took no part in finding them, `in_sample` have one
/// of these. Pages lie anywhere, so each colour has the same share of them, less the pages that noise
/// hides, and those that it takes for one of the known. Sets of real caches are a power of two, sometimes
/// times 3 or 5. `of_address_bits`: exclusive ors of address bits choose the set, so it can only be a power
/// of two.
[[nodiscard]] ColourNumber number_of_colours(std::int64_t groups, std::int64_t sample, std::int64_t in_sample,
                                             bool of_address_bits = false);

} // namespace recount::caches
