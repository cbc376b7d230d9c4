// Misses that a real counter gives (noise, prefetched lines, pages that lie anywhere) go the same way as any:
// recorded, replayed, inferred; and nothing that is stated has a part in it.
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/measure/study.hpp"
#include "observed.hpp"
#include "unit/caches/model_sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <random>
#include <tuple>

using namespace recount;

BOOST_AUTO_TEST_SUITE(counters)

namespace {

model::MachineDescription skylake() {
  model::MachineDescription machine;
  machine.name = "skylake";
  for (const auto& [name, size, ways] : {std::tuple("L1d", 48 << 10, 12), std::tuple("L2", 256 << 10, 4)}) {
    model::LevelDescription& level = machine.levels.emplace_back();
    level.name = name;
    level.size = size;
    level.line = 64;
    level.ways = ways;
  }
  return machine;
}

/// The model's misses as counters would give them, put on record: times beside the misses, counts a little
/// too high or too low, and of each two neighbouring lines of a pair the second fetched together with the
/// first when touched upwards.
class CounterSampler : public caches::Sampler {
public:
  CounterSampler(double noise, bool prefetch, result::Results& record)
      : model_(skylake(), 64 << 20), noise_(noise), prefetch_(prefetch), record_(record) {
    can_ = model_.abilities();
    can_.exact = false;
    can_.times = true;
    can_.at_once = 12;
    record.runs.push_back({});
    record.runs.back().id = "R";
    record.runs.back().plan = caches::record_plan(can_);
  }
  [[nodiscard]] const caches::Abilities& abilities() const override { return can_; }
  std::vector<caches::Reading> read(std::span<const kernel::Pattern> patterns) override {
    const auto exact = model_.read(patterns);
    std::vector<caches::Reading> all;
    for (std::size_t i = 0; i < patterns.size(); ++i)
      all.push_back(counted(patterns[i], exact[i]));
    return all;
  }

private:
  caches::Reading counted(const kernel::Pattern& pattern, const caches::Reading& exact) {
    caches::TimedRounds times;
    std::vector<std::vector<double>> misses(exact.misses.size());
    const bool together = prefetch_ && pattern.pair >= 64 && pattern.pair < 128 && !pattern.before;
    for (int round = 0; round < 5; ++round) {
      double time = 1.3;
      for (std::size_t level = 0; level < misses.size(); ++level) {
        double share = *exact.misses[level] * (together ? 0.5 : 1);
        share = std::max(0.0,
                         share * (1 + 0.3 * noise_ * spread_(random_)) + noise_ * std::abs(spread_(random_)));
        misses[level].push_back(on_record(pattern, round, caches::miss_metric(level), share));
        time += share * (level == 0 ? 3 : 30);
      }
      times.add(on_record(pattern, round, "seconds", time * 1e-9) * 1e9, false);
    }
    return caches::make_reading(pattern, times, misses);
  }

  /// Puts a value an access on record; gives it as it will be read.
  double on_record(const kernel::Pattern& pattern, int round, const std::string& metric, double each) {
    kernel::Pattern now = pattern;
    now.seed += round * recount::caches::seeds_per_round;
    const std::int64_t passes = 1 + 20'000 / pattern.visits();
    const auto point = kernel::to_point(now, passes);
    const std::int64_t accesses = passes * pattern.visits();
    const double total = each * static_cast<double>(accesses);
    const auto whole = static_cast<std::int64_t>(std::llround(total));
    const bool time = metric == "seconds";
    record_.observations.push_back(test::observed(point.kernel, point.params, time ? "clock" : "papi", metric,
                                                  time ? result::Number(total) : whole, round));
    record_.observations.back().accesses = accesses;
    return time ? each : static_cast<double>(whole) / static_cast<double>(accesses);
  }

  ModelSampler model_;
  double noise_;
  bool prefetch_;
  result::Results& record_;
  caches::Abilities can_;
  std::mt19937_64 random_{7};
  std::normal_distribution<double> spread_{0, 1};
};

std::vector<const caches::Property*> properties(const caches::Caches& found) {
  std::vector<const caches::Property*> all;
  for (const auto& level : found.levels)
    for (const caches::Property* p :
         {&level.capacity, &level.line, &level.ways, &level.latency, &level.penalty})
      all.push_back(p);
  return all;
}

void check_same(const caches::Caches& a, const caches::Caches& b) {
  const auto left = properties(a), right = properties(b);
  BOOST_TEST_REQUIRE(left.size() == right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    BOOST_TEST(left[i]->value.has_value() == right[i]->value.has_value(), left[i]->name);
    if (left[i]->value && right[i]->value)
      BOOST_TEST(*left[i]->value == *right[i]->value, boost::test_tools::tolerance(1e-9));
    BOOST_TEST((left[i]->unknown == right[i]->unknown));
  }
}

void check_first_level(const caches::Caches& found) {
  BOOST_TEST_REQUIRE(!found.levels.empty());
  const caches::LevelFinding& first = found.levels[0];
  BOOST_TEST(first.capacity.value.value_or(0) == 48 << 10);
  BOOST_TEST(first.line.value.value_or(0) == 64);
  BOOST_TEST(first.ways.value.value_or(0) == 12);
  BOOST_TEST(first.measure.find("PAPI_L1_DCM") != std::string::npos);
}

} // namespace

BOOST_AUTO_TEST_CASE(recorded_counts_lead_to_the_same_findings) {
  for (const auto& [prefetch, noise] : {std::pair(false, 0.0), std::pair(true, 0.005)})
    BOOST_TEST_CONTEXT("noise " << noise << ", prefetch " << prefetch) {
      result::Results record;
      CounterSampler sampler(noise, prefetch, record);
      const caches::Caches live = caches::infer_caches(sampler);
      check_first_level(live);
      caches::RecordSampler replay(record, record.runs[0]);
      check_same(live, caches::infer_caches(replay));
    }
}

BOOST_AUTO_TEST_CASE(counts_that_are_noise_alone_make_nothing_up) {
  for (const double noise : {0.05, 1.0}) {
    result::Results record;
    CounterSampler sampler(noise, false, record);
    for (const caches::LevelFinding& level : caches::infer_caches(sampler).levels)
      for (const auto& [p, truth] :
           {std::pair(&level.capacity, level.name == "L1d" ? 48 << 10 : 256 << 10),
            std::pair(&level.line, 64), std::pair(&level.ways, level.name == "L1d" ? 12 : 4)})
        if (p->value && !level.effective && level.name != "L3")
          BOOST_TEST(std::abs(*p->value - truth) <= p->tolerance * *p->value + 1e-9,
                     level.name << " " << p->name << " " << *p->value << " at noise " << noise);
  }
}

BOOST_AUTO_TEST_CASE(what_is_stated_changes_no_finding) {
  result::Results record;
  CounterSampler sampler(0.002, false, record);
  static_cast<void>(caches::infer_caches(sampler));
  const result::Run honest = record.runs[0];
  result::Run false_ones = honest;
  false_ones.caches = {{"L1d", 16 << 10, 32, 2}, {"L2", 8 << 20, 128, 24}, {"L3", 1 << 20, 16, 1}};
  caches::note_stated(false_ones,
                      {.source = "hwloc", .otherwise = "CPUID: L1d 1 KiB", .shared_by = {{"L3", 64}}});
  const caches::CachesFindings without = caches::findings_on_record(record, honest),
                               with = caches::findings_on_record(record, false_ones);
  check_same(without.found, with.found);
  check_first_level(with.found);
  // They only stand beside it.
  const caches::Property& capacity = with.found.levels[0].capacity;
  BOOST_TEST(capacity.stated.value_or(0) == 16 << 10);
  BOOST_TEST((capacity.agreement == caches::StatedMatch::differs));
  BOOST_TEST(!capacity.remark.empty());
  BOOST_TEST((without.found.levels[0].capacity.agreement == caches::StatedMatch::not_stated));
  // A described machine in their place, as a data sheet.
  const caches::CachesFindings sheet = caches::findings_on_record(record, false_ones, "i7-9700");
  check_same(without.found, sheet.found);
  BOOST_TEST(sheet.found.levels[0].capacity.stated.value_or(0) == 32 << 10);
}

BOOST_AUTO_TEST_CASE(events_are_those_of_the_cpu_and_its_core_type) {
  const auto rows = [](const char* vendor, int family, int model) {
    return caches::miss_events(
        host::Cpu{.name = {}, .vendor = vendor, .family = family, .model = model, .microcode = {}});
  };
  BOOST_TEST(rows("GenuineIntel", 6, 999).empty());
  BOOST_TEST(rows("AuthenticAMD", 6, 94).empty());
  BOOST_REQUIRE(rows("GenuineIntel", 6, 94).size() == 1U);
  BOOST_TEST(rows("GenuineIntel", 6, 94)[0].levels[1]->text() ==
             "MEM_LOAD_RETIRED.L2_MISS, cpu/event=0xd1,umask=0x10/");
  BOOST_TEST(rows("GenuineIntel", 6, 94)[0].tlbs[0]->metric == "cpu/event=0x08,umask=0x2e/");
  const auto hybrid = rows("GenuineIntel", 6, 151);
  BOOST_REQUIRE(hybrid.size() == 2U);
  BOOST_TEST(hybrid[0].pmu == "cpu_core");
  BOOST_TEST(hybrid[1].levels[0]->metric == "cpu_atom/event=0xd1,umask=0x86/");
  BOOST_TEST(rows("AuthenticAMD", 25, 17).size() == 1U);
  BOOST_TEST(rows("AuthenticAMD", 25, 80).empty()); // Zen 3
  const auto absent =
      caches::miss_events({.name = {}, .vendor = "V", .family = 1, .model = 3, .microcode = {}},
                          "V 1 2..3 | cpu | A 1.2 | - | - | B 3.4\n");
  BOOST_REQUIRE(absent.size() == 1U);
  BOOST_TEST((!absent[0].levels[1] && !absent[0].tlbs[0] && absent[0].tlbs[1]));
}

BOOST_AUTO_TEST_CASE(a_record_names_the_event_of_each_level) {
  caches::Abilities can;
  can.witness = Witness(Witness::perf);
  can.exact = true;
  can.counted = can.counted_tlbs = 1;
  can.max_bytes = 1 << 23;
  can.events = {{"cpu/event=0xd1,umask=0x08/", "L1_MISS"}};
  can.tlb_events = {{"cpu/event=0x08,umask=0x0e/", ""}};
  result::Results record;
  record.runs.emplace_back(result::new_run()).plan = caches::record_plan(can);
  const auto pattern = kernel::dense(4, 64);
  for (const auto& [metric, misses] :
       {std::pair(can.events[0].metric, 2), std::pair(can.tlb_events[0].metric, 1)}) {
    result::Observation& o = record.observations.emplace_back(caches::make_observation(pattern, 1, metric));
    o.run = record.runs[0].id;
    o.value = std::int64_t{misses};
    o.accesses = 4;
  }
  caches::RecordSampler sampler(record, record.runs[0]);
  BOOST_TEST(sampler.abilities().counted_by(0).text() == "L1_MISS, cpu/event=0xd1,umask=0x08/");
  BOOST_TEST(sampler.abilities().tlb_counted_by(0).text() == "cpu/event=0x08,umask=0x0e/");
  const auto readings = sampler.read(std::span(&pattern, 1));
  BOOST_TEST(readings[0].misses.at(0).value_or(0) == 0.5);
  BOOST_TEST(readings[0].translations.at(0).value_or(0) == 0.25);
}

BOOST_AUTO_TEST_SUITE_END()
