// The source of readings of an inference, and a cache of its readings.
#pragma once

#include "kernel/loops/pattern.hpp"
#include "run/result/results_file.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace recount::caches {

/// The cost per visit of one pattern with warm caches.
struct Reading {
  std::optional<double> ns; ///< absent: no clock, or not on record
  /// What three rounds did not exceed (of fewer, the longest): far above `ns`, others used the same hardware.
  std::optional<double> repeated_ns;
  std::size_t rounds = 0, disturbed = 0; ///< of the time; disturbed: interrupted, see result::disturbances()
  std::string why;                       ///< why there is no time; may be empty
  std::vector<std::optional<double>> misses;       ///< of each counted level, from the core outwards
  std::vector<std::optional<double>> translations; ///< misses of each counted data TLB
  /// Whether the time is one of interrupted rounds only.
  [[nodiscard]] bool time_disturbed() const { return rounds > 0 && disturbed == rounds; }
};

/// Times of one pattern per visit, a value per round.
struct TimedRounds {
  std::vector<double> undisturbed, disturbed;
  void add(double ns, bool was_disturbed) { (was_disturbed ? disturbed : undisturbed).push_back(ns); }
};

/// A metric of misses.
struct CountedMiss {
  std::string metric; ///< as witnesses count it: "PAPI_L1_DCM", "cpu/event=0xd1,umask=0x08/"
  std::string name;   ///< the vendor's; empty: the metric has one

  /// "MEM_LOAD_RETIRED.L1_MISS, cpu/event=0xd1,umask=0x08/"
  [[nodiscard]] std::string text() const { return name.empty() ? metric : name + ", " + metric; }
};

/// The abilities of a sampler.
struct Abilities {
  Witness witness;
  bool times = false;           ///< Reading::ns
  std::size_t counted = 0;      ///< levels whose misses are counted
  std::size_t counted_tlbs = 0; ///< data TLBs whose misses are counted
  bool exact = false; ///< counts or times without noise; sets are chosen by the addresses of the pattern
  std::int64_t page = 4096;   ///< bytes
  std::int64_t max_bytes = 0; ///< largest extent of a dense pattern
  std::size_t at_once = 1;    ///< readings that are best requested together
  /// What the misses of levels and of data TLBs are counted by; empty: miss_metric() and tlb_metric().
  std::vector<CountedMiss> events = {}, tlb_events = {};

  /// What the misses of a level, and of a data TLB, are counted by.
  [[nodiscard]] CountedMiss counted_by(std::size_t level) const;
  [[nodiscard]] CountedMiss tlb_counted_by(std::size_t level) const;
};

/// Lines of one page colour visited in turn, together with lines of others.
struct ColourReading {
  std::int64_t colour = 0, lines = 0; ///< which colour; how many of its pages
  std::int64_t shift = 0;             ///< bytes by which the lines of every second page are shifted
  double share = 0;                   ///< of these lines that miss
};

/// Pages by the sets of a level that their lines fall into, found by trying.
struct PageColours {
  std::int64_t pages = 0;     ///< tried in all
  std::int64_t left_over = 0; ///< of them, in no colour: too few of their kind to overflow a set
  std::string unknown;        ///< why there are none; empty: there are
  /// For each colour: pages that overflow a set and fit without any one of them.
  std::vector<std::vector<std::int64_t>> smallest;
  /// For each colour: all pages that were found to be of it, those of `smallest` first.
  std::vector<std::vector<std::int64_t>> members;
  bool mixed = false; ///< single lines at one offset share no set: other address bits change that of each
  std::vector<ColourReading> readings;
  std::string incomplete; ///< why there may be more colours, a clause; empty: nothing hindered the search
  /// Pages that took no part in finding the colours, and how many of them have one of these colours.
  std::int64_t sample = 0, in_sample = 0;
};

/// Large pages of the patterns that request them.
struct HugePages {
  std::int64_t requested = 0, granted = 0; ///< bytes
};

/// One source of readings. Not thread-safe.
class Sampler {
public:
  Sampler() = default;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  virtual ~Sampler() = default;
  [[nodiscard]] virtual const Abilities& abilities() const = 0;
  /// One reading per pattern, in order; patterns of one call may be measured interleaved.
  [[nodiscard]] virtual std::vector<Reading> read(std::span<const kernel::Pattern> patterns);
  /// A short measurement of a cycle through these places, in ns per visit, for searches of thousands of
  /// steps. Negative: it cannot be had (no clock, or nothing but a record). `quickly`: one slice, which noise
  /// may lengthen.
  [[nodiscard]] virtual double quick_time([[maybe_unused]] std::span<const std::uint64_t> places,
                                          [[maybe_unused]] bool quickly = false) {
    return -1;
  }
  /// Whether large pages were granted, once a pattern has requested them. Nothing: none did, or it is not on
  /// record.
  [[nodiscard]] virtual std::optional<HugePages> huge_pages() const { return {}; }
  /// Whether the time that may be spent is over: searches end, and readings not yet taken have no value.
  [[nodiscard]] virtual bool out_of_time() const { return false; }
  /// Page colours that are known already. Nothing: they must be searched for.
  [[nodiscard]] virtual std::optional<PageColours> colours() { return {}; }
  /// Searches for page colours so far: another one starts with other pages.
  [[nodiscard]] virtual std::uint64_t searches() const { return 0; }
  /// Stores the result of a search; returns the best one so far.
  virtual PageColours keep(const PageColours& colours) { return colours; }

protected:
  /// One of several that are read one after the other.
  [[nodiscard]] virtual Reading read_one([[maybe_unused]] const kernel::Pattern& pattern) { return {}; }
};

/// The seed of a pattern increases by this number per round, so that each round has another order.
inline constexpr std::int64_t seeds_per_round = 1000;

/// Why a search or a reading was given up once Sampler::out_of_time().
inline constexpr const char* gave_up = "out of time because of noise";

/// What a visit would have taken at another clock rate of the core: `reference` is what a chain of arithmetic
/// took at the same time, `base` what it takes at that other rate, in the same unit. Patterns that reach
/// levels shared with other cores are left as they are: these levels have clocks of their own. Pure.
[[nodiscard]] double normalised_time(double base, double reference, const kernel::Pattern& pattern,
                                     double ns);

/// One reading from what was measured in several rounds (per visit): of times the minimum where the pattern
/// fits private caches, since disturbances only add time, else the median; of counts the median. Disturbed
/// rounds count where there are no others.
[[nodiscard]] Reading make_reading(const kernel::Pattern& pattern, const TimedRounds& times,
                                   std::span<const std::vector<double>> misses);

/// Requests each pattern from the sampler once. Not thread-safe.
class CachedSampler {
public:
  explicit CachedSampler(Sampler& sampler) : sampler_(sampler) {}
  [[nodiscard]] const Abilities& abilities() const { return sampler_.abilities(); }
  /// The readings, in order; missing ones are requested from the sampler together.
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns);
  Reading read(const kernel::Pattern& pattern) { return read(std::span(&pattern, 1)).front(); }
  /// What is not a reading: page colours, huge pages.
  [[nodiscard]] Sampler& source() { return sampler_; }
  /// All readings so far.
  [[nodiscard]] const std::map<kernel::Pattern, Reading>& taken() const { return taken_; }

private:
  Sampler& sampler_;
  std::map<kernel::Pattern, Reading> taken_;
};

/// Why a property cannot be determined; thrown within an inference and caught where the property is made.
struct Unknown {
  Reason reason;
};

/// The time of a reading; throws Unknown with the reason of the reading, or `otherwise`.
[[nodiscard]] double require_time(const Reading& reading, const char* otherwise);

// An inference on record: its readings as observations, and the same inference from such a record.

/// The plan of a run that holds the readings of an inference, as in the header of a results file.
[[nodiscard]] std::map<std::string, std::string> record_plan(const Abilities& abilities);
/// Levels that have such a metric.
inline constexpr std::size_t counted_levels = 3;
/// The metric of the misses of a level: PAPI_L1_DCM for 0.
[[nodiscard]] std::string miss_metric(std::size_t level);
/// The level whose misses a metric counts: 0 for PAPI_L1_DCM. Nothing for another metric.
[[nodiscard]] std::optional<std::size_t> level_of_misses(std::string_view metric);
/// The metric of the misses of a data TLB: MODEL_TLB1_MISSES for 0.
[[nodiscard]] std::string tlb_metric(std::size_t level);

/// The metric of the core clock rate during a measurement: seconds of a chain of dependent multiplications
/// taken right before, between and after the slices, the minimum. Same kernel, parameters and repetition.
inline constexpr const char* reference_metric = "reference_seconds";

/// Huge pages in the placement of an observation.
void note_huge_pages(result::Observation& observation, const HugePages& pages);

/// An observation of the pattern without run and witness; `passes` over it.
[[nodiscard]] result::Observation make_observation(const kernel::Pattern& pattern, std::int64_t passes,
                                                   const std::string& metric);

/// Page colours as observations (without run and witness).
[[nodiscard]] std::vector<result::Observation> colour_observations(const PageColours& colours,
                                                                   std::int64_t page);

/// The readings of one recorded run. What is not on record has no value.
class RecordSampler : public Sampler {
public:
  /// Throws recount::Error (bad_input) when the run is none that result::is_inference() accepts, or its plan
  /// does not read.
  RecordSampler(const result::Results& results, const result::Run& run);
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  std::optional<PageColours> colours() override { return colours_; }
  [[nodiscard]] std::optional<HugePages> huge_pages() const override { return huge_pages_; }

private:
  struct Rounds {
    TimedRounds times;
    std::vector<std::vector<double>> misses, translations;
    std::string why;
  };
  using Moment = std::pair<kernel::Pattern, int>; ///< a pattern with its order, a repetition
  Reading read_one(const kernel::Pattern& pattern) override;
  void add_reference(const result::Observation& observation);
  void add_reading(const result::Observation& observation);
  bool add_colours(const result::Observation& observation);

  Abilities abilities_;
  double base_ = 0; ///< reference of the first reading, seconds; 0: none is on record
  std::map<Moment, double> references_;
  std::map<kernel::Pattern, Rounds> rounds_;
  std::optional<PageColours> colours_;
  std::optional<HugePages> huge_pages_;
};

// The miss rate of a pattern in a level, from counted misses or from time, and the plateaus of access time.

/// Whether a pattern fits a level.
enum class Fit { fits, unclear, exceeds };

/// A miss rate, 0 to 1 (slightly outside by noise), or the reason why there is none.
struct Share {
  std::optional<double> value;
  std::string unknown;
};

/// Miss rates of the visits in one level.
class Gauge {
public:
  /// Shares up to which all visits fit, and from which some do not; between them is noise. `exact`: one miss
  /// per pass separates them instead.
  struct Limits {
    bool exact = false;
    const char* unit = "";
    double fits = 0.02, exceeds = 0.05;
  };
  explicit Gauge(const Limits& limits) : limits_(limits) {}
  Gauge(const Gauge&) = delete;
  Gauge& operator=(const Gauge&) = delete;
  virtual ~Gauge() = default;
  /// One share per pattern.
  virtual std::vector<Share> measure(std::span<const kernel::Pattern> patterns) = 0;
  /// The same; throws Unknown when one cannot be had.
  std::vector<double> shares(std::span<const kernel::Pattern> patterns);
  double share(const kernel::Pattern& pattern) { return shares(std::span(&pattern, 1)).front(); }
  /// The meaning of a share for a pattern of `visits` visits.
  [[nodiscard]] Fit judge(double share, std::int64_t visits) const;
  [[nodiscard]] bool exact() const { return limits_.exact; }
  /// The thresholds in words: "one miss per pass".
  [[nodiscard]] std::string thresholds() const;

private:
  Limits limits_;
};

/// Counted misses per visit of level `level` (0: the first) of the caches or of the data TLBs.
class CountGauge : public Gauge {
public:
  using Counts = std::vector<std::optional<double>> Reading::*;
  CountGauge(CachedSampler& cached, std::size_t level, Counts counts = &Reading::misses)
      : Gauge({cached.abilities().exact, "misses per access"}),
        cached_(cached),
        level_(level),
        counts_(counts) {}
  std::vector<Share> measure(std::span<const kernel::Pattern> patterns) override;

private:
  CachedSampler& cached_;
  std::size_t level_;
  Counts counts_;
};

/// Time beyond a hit in a level, as a share of the miss penalty. Where elements lie pages apart, the same
/// pages are visited again with the elements spread over the cache sets: what that takes beyond a hit in the
/// first level is the cost of translation, and is subtracted.
class TimeGauge : public Gauge {
public:
  /// `hit` and `penalty` in ns, `line` in bytes; `first_hit`: of the first level, where this is another.
  TimeGauge(CachedSampler& cached, double hit, double penalty, std::int64_t line,
            std::optional<double> first_hit = {})
      : Gauge({cached.abilities().exact, "of the step between the plateaus"}),
        cached_(cached),
        first_hit_(first_hit.value_or(hit)),
        hit_(hit),
        penalty_(penalty),
        line_(line) {}
  std::vector<Share> measure(std::span<const kernel::Pattern> patterns) override;

private:
  CachedSampler& cached_;
  double first_hit_, hit_, penalty_;
  std::int64_t line_;
};

/// A growing family of patterns: the n-th has n elements, or n times some size.
using Family = std::function<kernel::Pattern(std::int64_t n)>;

/// The largest n known to fit and the smallest known not to. Consecutive without noise.
struct Boundary {
  std::int64_t fits = 0, exceeds = 0;
};

/// Narrows a boundary as far as the gauge can tell. `from` is assumed to fit and `to` not to.
[[nodiscard]] Boundary narrow(Gauge& gauge, const Family& family, Boundary from, std::size_t at_once);

/// Doubles from `first` until a member does not fit; smaller ones are assumed to fit. Above `most` it ends
/// with Boundary::exceeds 0. A first member that does not fit gives fits 0.
[[nodiscard]] Boundary double_until_exceeds(Gauge& gauge, const Family& family, std::int64_t first,
                                            std::int64_t most);

// The curve of access time against the size of the working set, and its plateaus.

/// One dense working set.
struct SizePoint {
  std::int64_t bytes = 0;
  double ns = 0; ///< per access
  /// Reading::repeated_ns / ns: 1 where rounds agree, or are not distinguished.
  double spread = 1;
  bool disturbed = false; ///< every round was interrupted
};

/// Times of dense working sets from 2 KiB to `most` bytes, by rising size. Throws Unknown where a time is
/// missing.
[[nodiscard]] std::vector<SizePoint> survey(CachedSampler& cached, std::int64_t most);
/// The pattern of one of its points.
[[nodiscard]] kernel::Pattern survey_pattern(std::int64_t bytes);

/// The time of the flattest stretch of at least three points with sizes in [from, to]; nothing when times
/// there differ by more than a tenth everywhere.
[[nodiscard]] std::optional<double> flattest(const std::vector<SizePoint>& curve, std::int64_t from,
                                             std::int64_t to);
/// The least time that several points share: one alone that is less is an error. Of a curve that is not
/// empty.
[[nodiscard]] double floor_of(const std::vector<SizePoint>& curve);
/// Whether as many points as `floor_points` are within 1 % of it, and fewer are below: else noise decides it.
[[nodiscard]] bool agree_at_floor(const std::vector<SizePoint>& curve);
inline constexpr std::size_t floor_points = 4;
/// Why no time can be stated from the points with sizes in [from, to]: every round of them was interrupted,
/// or their rounds differ by more than a third. Empty: one can.
[[nodiscard]] std::string describe_noise(const std::vector<SizePoint>& curve, std::int64_t from,
                                         std::int64_t to);
/// The first size from which on every time exceeds `limit` ns; 0: there is none.
[[nodiscard]] std::int64_t first_above(const std::vector<SizePoint>& curve, double limit);

} // namespace recount::caches
