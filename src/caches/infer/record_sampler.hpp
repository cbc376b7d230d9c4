// An inference on record: its readings as observations, and the same inference from such a record.
#pragma once

#include "caches/infer/sampler.hpp"
#include "result/results_file.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::caches {

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
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns) override;
  std::optional<PageColours> colours() override { return colours_; }
  [[nodiscard]] std::optional<HugePages> huge_pages() const override { return huge_pages_; }

private:
  struct Rounds {
    TimedRounds times;
    std::vector<std::vector<double>> misses, translations;
    std::string why;
  };
  using Moment = std::pair<kernel::Pattern, int>; ///< a pattern with its order, a repetition
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

} // namespace recount::caches
