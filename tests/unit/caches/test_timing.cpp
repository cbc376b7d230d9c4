// Machines with a clock only, simulated: what the inference by time states is true.
#include "timing_tally.hpp"

#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/geometry.hpp"
#include "commands/caches/infer/second_level.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <regex>
#include <sstream>

using namespace recount;

BOOST_AUTO_TEST_SUITE(timing)

namespace {

constexpr std::uint64_t usual_machines = RECOUNT_PROPERTY_CASES < 1000 ? 10 : RECOUNT_PROPERTY_CASES / 100;

/// More of them on demand: RECOUNT_TIMING_MACHINES=4000 unit-caches --run_test=timing, which takes half an
/// hour, or the program timing-machines [COUNT [FIRST_SEED]], which also writes what was wrong or unknown.
std::uint64_t machines() {
  const char* const count = std::getenv("RECOUNT_TIMING_MACHINES");
  return count == nullptr ? usual_machines : std::strtoull(count, nullptr, 10);
}

double share(long part, long all) {
  return static_cast<double>(part) / static_cast<double>(all);
}

/// Lines at power-of-two strides of a cache, as a clock has them.
std::vector<caches::StrideReading> strides_of(std::int64_t ways, std::int64_t way_bytes, double noise) {
  std::vector<caches::StrideReading> readings;
  for (std::int64_t stride = 512; stride <= 65536; stride *= 2)
    for (std::int64_t lines = 2; lines <= 65; ++lines) {
      // Counted by hand: lines of set 0 are those whose place is a multiple of a way.
      std::int64_t in_first = 0;
      for (std::int64_t i = 0; i < lines; ++i)
        in_first += i * stride % way_bytes == 0 ? 1 : 0;
      readings.push_back(
          {stride, lines, (in_first > ways ? 0.9 : 0.0) + noise * ((lines * 7 + stride) % 5 == 0 ? 1 : 0)});
    }
  return readings;
}

} // namespace

BOOST_AUTO_TEST_CASE(conflicts_decide_ways_and_way_size_in_spite_of_disturbed_readings) {
  for (const std::int64_t ways : {4, 6, 8, 12, 16})
    for (const std::int64_t way : {2048, 4096, 8192})
      for (const double noise : {0.0, 0.03}) {
        auto readings = strides_of(ways, way, noise);
        for (std::size_t i = 0; i < readings.size(); i += 40) // one in forty is wrong altogether
          readings[i].share = readings[i].share > 0.5 ? 0 : 1.3;
        const auto decision = caches::decide_shape(readings);
        BOOST_TEST_REQUIRE(decision.has_value());
        BOOST_TEST_CONTEXT(ways << " ways of " << way << " bytes, noise " << noise) {
          BOOST_TEST(decision->ways == ways);
          BOOST_TEST(decision->way_bytes == way);
          BOOST_TEST(decision->probability > 0.99);
        }
      }
}

BOOST_AUTO_TEST_CASE(readings_that_tell_nothing_decide_nothing) {
  BOOST_TEST(!caches::decide_shape({}).has_value());
  std::vector<caches::StrideReading> flat;
  for (std::int64_t lines = 2; lines <= 16; ++lines)
    flat.push_back({4096, lines, 0.001});
  BOOST_TEST(caches::decide_shape(flat)->probability < 0.5); // 16 ways or more of 4 KiB, or of any other size
}

BOOST_AUTO_TEST_CASE(an_estimate_is_near_and_does_not_agree) {
  caches::Caches found;
  found.levels.resize(1);
  found.levels[0].name = "L2";
  caches::Property& capacity = found.levels[0].capacity;
  capacity.name = "capacity";
  capacity.unit = "bytes";
  const auto compared = [&](double mebibytes, double tolerance) {
    capacity.value = mebibytes * (1 << 20);
    capacity.tolerance = tolerance;
    caches::compare(found, {"hwloc", {{"L2", 1 << 20, 0, 0}}, {}, {}});
    return caches::to_string(capacity.agreement);
  };
  BOOST_TEST(compared(1.188, 0.2) == "near");
  BOOST_TEST(compared(1.188, 0.1) == "differs");
  BOOST_TEST(compared(1, 0) == "agrees");
}

/// Of a machine whose first level has ways of four pages, and whose pages lie in runs of four, so that lines
/// of one page colour also share a set of the first level.
BOOST_AUTO_TEST_CASE(page_colours_below_a_first_level_with_large_ways) {
  TimedMachine m = timed_machine(1);
  m.l1 = {64 << 10, 4, 64, 1.8, Replacement::lru, false, 0};
  m.l2 = {1 << 20, 8, 64, 5, Replacement::lru, false, 0};
  m.l3_size = 22 << 20;
  m.l3_ns = 15;
  m.memory_ns = 72;
  m.run = 4;
  m.disturbances = {};
  for (const std::uint64_t seed : {1U, 2U}) {
    TimingSampler sampler(m, seed);
    const caches::Caches found = caches::infer_caches(sampler);
    BOOST_TEST_REQUIRE(found.levels.size() >= 2u);
    BOOST_TEST(found.levels[1].ways.value.value_or(0) == 8);
    BOOST_TEST(found.levels[1].capacity.value.value_or(0) == 1 << 20);
    BOOST_TEST((caches::settled(found) >= caches::Settled::first_level));
  }
}

/// The index mixes three bits of the offset in the page with bits of the frame: lines at one offset share no
/// set, pages do, and eight of their lines are enough.
BOOST_AUTO_TEST_CASE(page_colours_behind_a_folded_index) {
  for (const auto& [replacement, folded] : {std::pair(Replacement::lru, std::size_t{0b111000}),
                                            std::pair(Replacement::nru, std::size_t{0b000111}),
                                            std::pair(Replacement::random, std::size_t{0b111000})}) {
    TimedMachine m = timed_machine(1);
    m.l1 = {32 << 10, 8, 64, 1.1, Replacement::lru, false, 0};
    m.l2 = {1 << 20, 8, 64, 4, replacement, false, folded};
    m.l3_size = 12 << 20;
    m.l3_ns = 14;
    m.memory_ns = 90;
    m.run = 1;
    m.neighbours_fetched = false;
    m.disturbances = {};
    BOOST_TEST_CONTEXT("folded " << folded << ", replacement " << static_cast<int>(replacement)) {
      TimingSampler sampler(m, 5);
      const caches::Caches found = caches::infer_caches(sampler);
      BOOST_TEST_REQUIRE(found.levels.size() >= 2u);
      BOOST_TEST(found.levels[1].ways.value.value_or(0) == 8);
      BOOST_TEST(found.levels[1].capacity.value.value_or(0) == 1 << 20);
      // Shifted by a line, lines of low mixed bits take the place of others.
      if (folded == 0b111000U) BOOST_TEST(found.levels[1].line.value.value_or(0) == 64);
    }
  }
}

/// More pages than the first TLB has entries take longer, whatever set their lines are in; and where there
/// are few colours, most lines of each of the others keep L1 from holding any.
BOOST_AUTO_TEST_CASE(translation_is_no_conflict_of_page_colours, *boost::unit_test::label("more")) {
  struct Case {
    std::int64_t l1, l1_ways, l2, l2_ways, tlb; ///< KiB
    Replacement replacement;
    std::size_t folded;
  };
  for (const Case& of :
       {Case{8, 2, 1536, 8, 128, Replacement::lru, 0}, Case{32, 2, 2048, 16, 64, Replacement::nru, 0},
        Case{32, 8, 2048, 16, 32, Replacement::nru, 0b111000}, Case{64, 16, 576, 18, 64, Replacement::nru, 0},
        Case{32, 4, 512, 16, 48, Replacement::random, 0b111000}}) {
    TimedMachine m = timed_machine(1);
    m.l1 = {of.l1 << 10, of.l1_ways, 64, 1.2, Replacement::lru, false, 0};
    m.l2 = {of.l2 << 10, of.l2_ways, 64, 4, of.replacement, false, of.folded};
    m.l3_size = 32 << 20;
    m.l3_ns = 12;
    m.tlb = of.tlb;
    m.tlb_ns = 3;
    m.run = 1;
    m.disturbances = {};
    BOOST_TEST_CONTEXT("L1 of " << of.l1 << " KiB, L2 of " << of.l2 << " KiB") {
      TimingSampler sampler(m, 1);
      const caches::Caches found = caches::infer_caches(sampler);
      BOOST_TEST_REQUIRE(found.levels.size() >= 2u);
      BOOST_TEST(found.levels[1].ways.value.value_or(0) == of.l2_ways, found.levels[1].ways.unknown.text());
      BOOST_TEST(found.levels[1].capacity.value.value_or(0) == of.l2 << 10,
                 found.levels[1].capacity.unknown.text());
    }
  }
}

/// Machines whose pages overflow some sets of four or eight ways far below the capacity: page colours decide,
/// and the confidence tells that the onset does not confirm them.
BOOST_AUTO_TEST_CASE(an_early_onset_lowers_the_confidence_of_page_colours) {
  int medium = 0;
  for (const std::uint64_t seed : {65U, 311U}) {
    const TimedMachine machine = timed_machine(seed);
    TimingSampler sampler(machine, seed);
    const caches::Caches found = caches::infer_caches(sampler);
    BOOST_TEST_REQUIRE(found.levels.size() >= 2u);
    const caches::Property& p = found.levels[1].capacity;
    BOOST_TEST(p.value.value_or(0) == machine.l2.size, "seed " << seed << ": " << p.unknown.text());
    BOOST_TEST((p.confidence != caches::Confidence::high), "seed " << seed);
    medium += p.confidence == caches::Confidence::medium ? 1 : 0;
  }
  BOOST_TEST(medium >= 1);
}

/// Of an L1 of 8 ways, others use one all the time: 7 ways hold what lies at conflicting strides, but working
/// sets up to the whole capacity seem to fit.
BOOST_AUTO_TEST_CASE(an_onset_beyond_an_odd_number_of_ways_leaves_it_unknown) {
  class Contradictory : public TimingSampler {
  public:
    Contradictory(const TimedMachine& conflicts, const TimedMachine& sizes)
        : TimingSampler(conflicts, 1), sizes_(sizes, 1) {}
    std::vector<caches::Reading> read(std::span<const kernel::Pattern> patterns) override {
      auto readings = TimingSampler::read(patterns);
      const auto of_sizes = sizes_.read(patterns);
      for (std::size_t i = 0; i < patterns.size(); ++i)
        if (patterns[i].stride == 64 && kernel::is_dense(patterns[i])) readings[i] = of_sizes[i];
      return readings;
    }

  private:
    TimingSampler sizes_;
  };
  TimedMachine m = timed_machine(1);
  m.disturbances = {};
  TimedMachine whole = m;
  whole.l1 = {32 << 10, 8, 64, 1.1, Replacement::lru, false, 0};
  m.l1 = {28 << 10, 7, 64, 1.1, Replacement::lru, false, 0};
  Contradictory sampler(m, whole);
  const caches::Caches found = caches::infer_caches(sampler);
  BOOST_TEST_REQUIRE(!found.levels.empty());
  BOOST_TEST(!found.levels[0].ways.value.has_value());
  BOOST_TEST(found.levels[0].capacity.unknown.cause.find(
                 "conflict misses show 28 KiB in 7 ways, but misses begin") == 0u,
             found.levels[0].capacity.unknown.text());
  BOOST_TEST((caches::settled(found) == caches::Settled::nothing));
}

/// Times that rise with every size within L1: there is no hit time to state, whatever the capacity.
BOOST_AUTO_TEST_CASE(a_hit_time_that_no_working_sets_share_is_refused) {
  class Sloping : public TimingSampler {
  public:
    explicit Sloping(const TimedMachine& machine) : TimingSampler(machine, 1) {}
    std::vector<caches::Reading> read(std::span<const kernel::Pattern> patterns) override {
      auto readings = TimingSampler::read(patterns);
      for (std::size_t i = 0; i < patterns.size(); ++i)
        if (kernel::is_dense(patterns[i]) && patterns[i].stride == 64 && patterns[i].count <= 512)
          *readings[i].ns *= 1 + 0.02 * std::log2(static_cast<double>(patterns[i].count) / 32);
      return readings;
    }
  };
  TimedMachine m = timed_machine(1);
  m.disturbances = {};
  m.l1 = {32 << 10, 8, 64, 1.1, Replacement::lru, false, 0};
  const auto latency = [](caches::Sampler&& sampler) {
    return caches::infer_caches(sampler).levels.at(0).latency;
  };
  BOOST_TEST(latency(TimingSampler(m, 1)).value.has_value());
  BOOST_TEST(!latency(Sloping(m)).value.has_value());
}

/// Two of twelve ways are in use by others until the ways are decided, and no longer some seconds later.
BOOST_AUTO_TEST_CASE(a_repetition_that_finds_more_ways_makes_them_effective) {
  class Relieved : public TimingSampler {
  public:
    Relieved(const TimedMachine& shared, const TimedMachine& alone)
        : TimingSampler(shared, 1), alone_(alone, 1) {}
    std::vector<caches::Reading> read(std::span<const kernel::Pattern> patterns) override {
      const bool later = std::ranges::any_of(patterns, [](const auto& p) { return p.seed > 1; });
      return later ? alone_.read(patterns) : TimingSampler::read(patterns);
    }

  private:
    TimingSampler alone_;
  };
  TimedMachine alone = timed_machine(1);
  alone.disturbances = {};
  alone.l1 = {48 << 10, 12, 64, 1.1, Replacement::lru, false, 0};
  TimedMachine shared = alone;
  shared.l1 = {40 << 10, 10, 64, 1.1, Replacement::lru, false, 0};
  Relieved relieved(shared, alone);
  caches::Caches found = caches::infer_caches(relieved);
  BOOST_TEST_REQUIRE(!found.levels.empty());
  BOOST_TEST(found.levels[0].effective);
  BOOST_TEST((found.levels[0].ways.confidence == caches::Confidence::low));
  BOOST_TEST_REQUIRE(found.levels[0].shared_use.size() == 1u);
  BOOST_TEST((found.levels[0].shared_use[0].sign == caches::SharingSign::repetition_differs));
  BOOST_TEST(found.levels[0].shared_use[0].measured == 12);
  Relieved constant(alone, alone);
  found = caches::infer_caches(constant);
  BOOST_TEST(!found.levels[0].effective);
  BOOST_TEST((found.levels[0].ways.confidence == caches::Confidence::high));
}

/// Lines of pages in runs, at offsets that repeat with a power of two, would overflow sets of this second
/// level at fewer pages than its TLB has entries.
BOOST_AUTO_TEST_CASE(conflicts_of_lines_are_no_tlb, *boost::unit_test::label("more")) {
  int known = 0;
  for (const std::int64_t entries : {512, 3072})
    for (const std::int64_t ways : {4, 8}) {
      TimedMachine m = timed_machine(1);
      m.l1 = {32 << 10, 8, 64, 1.7, Replacement::lru, false, 0};
      m.l2 = {ways << 16, ways, 64, 6, Replacement::lru, false, 0};
      m.l3_size = 0;
      m.memory_ns = 83;
      m.tlb = 72;
      m.tlb2 = entries;
      m.tlb_ns = 2.3;
      m.walk_ns = 33;
      m.run = 4;
      m.disturbances = {};
      TimingSampler sampler(m, 1);
      const caches::Caches found = caches::infer_caches(sampler);
      if (found.tlbs.size() < 2 || !found.tlbs[1].entries.value) continue;
      ++known;
      const caches::Property& p = found.tlbs[1].entries;
      BOOST_TEST(std::abs(*p.value - static_cast<double>(entries)) <= p.tolerance * *p.value,
                 entries << " entries, L2 of " << ways << " ways: found " << *p.value);
    }
  BOOST_TEST(known >= 2);
}

/// As virtual machines have them: the event opens, is scheduled, and counts nothing.
BOOST_AUTO_TEST_CASE(dead_counters_are_named_after_one_reading) {
  class Dead : public TimingSampler {
  public:
    Dead() : TimingSampler(timed_machine(1), 1), can_(TimingSampler::abilities()) {
      can_.witness = "perf";
      can_.counted = 1;
    }
    [[nodiscard]] const caches::Abilities& abilities() const override { return can_; }
    std::vector<caches::Reading> read(std::span<const kernel::Pattern> patterns) override {
      requested += patterns.size();
      auto readings = TimingSampler::read(patterns);
      for (caches::Reading& reading : readings)
        reading.misses = {0.0};
      return readings;
    }
    std::size_t requested = 0;

  private:
    caches::Abilities can_;
  };
  Dead sampler;
  const caches::Caches found = caches::infer_caches(sampler);
  BOOST_TEST(sampler.requested == 1u);
  BOOST_TEST((caches::settled(found) == caches::Settled::all));
  BOOST_TEST_REQUIRE(found.levels.size() == 1u);
  for (const caches::Property* p :
       {&found.levels[0].capacity, &found.levels[0].line, &found.levels[0].ways}) {
    BOOST_TEST(!p->value.has_value());
    BOOST_TEST(
        p->unknown.cause.find("PAPI_L1_DCM counts nothing here: 0.0000 misses per access over 4 MiB") == 0u,
        p->unknown.text());
    BOOST_TEST(p->unknown.fix == "--witness clock needs no counters");
  }
}

BOOST_AUTO_TEST_CASE(patience_waits_for_all_levels_and_tlbs) {
  TimingSampler sampler(timed_machine(44), 44);
  caches::Caches found = caches::infer_caches(sampler);
  BOOST_TEST_REQUIRE(found.tlbs.size() == 2u);
  BOOST_TEST((caches::settled(found) == caches::Settled::all));
  found.tlbs[1].entries.value.reset();
  BOOST_TEST((caches::settled(found) == caches::Settled::two_levels));
}

BOOST_AUTO_TEST_CASE(simulated_machines_are_told_rightly, *boost::unit_test::label("more")) {
  std::ostringstream log;
  const TimingTallies all = tally_machines(1, machines(), log);
  std::cout << all;
  for (const char* property : {"L1d capacity", "L1d ways", "L1d line"}) {
    const TimingTally& t = all.at(property);
    BOOST_TEST(t.wrong == 0, property << "\n" << log.str());
    BOOST_TEST(share(t.exact, t.all()) >= 0.98, property << "\n" << log.str());
  }
  const auto within = [&](const char* property) {
    return share(all.at(property).exact + all.at(property).within, all.at(property).all());
  };
  BOOST_TEST(within("L2 capacity") >= 0.9, log.str());
  for (const char* property : {"L1 DTLB entries", "L2 DTLB entries"})
    BOOST_TEST(share(all.at(property).wrong, all.at(property).all()) <= 0.05, property << "\n" << log.str());
  const TimingTally& capacity = all.at("L2 capacity");
  BOOST_TEST(share(capacity.wrong, capacity.all()) <= 0.03, log.str());
  BOOST_TEST(within("L2 ways") >= 0.85, log.str());
  for (const auto& [property, t] : all)
    BOOST_TEST(t.wrong_at_high == 0, property << "\n" << log.str());
}

/// Evidence is rounded so that it does not contradict the value.
BOOST_AUTO_TEST_CASE(evidence_agrees_with_the_value) {
  BOOST_TEST(caches::boundary_text({2 << 20, (2 << 20) + 64}, 2 << 20) ==
             "fits: 2097152 B; does not fit: 2097216 B");
  BOOST_TEST(caches::boundary_text({46080, 47677}, 49152) ==
             "misses begin between 45 KiB and 46.56 KiB; capacity by conflict misses: 48 KiB");
  std::mt19937 random(1);
  const auto below = [&](unsigned most) { return static_cast<std::int64_t>(random() % most); };
  for (int i = 0; i < 2000; ++i) {
    caches::TranslationLevel level;
    level.cost = 1;
    level.at_exceeds = static_cast<double>(below(2));
    level.pages.fits = 8 + below(4000);
    level.pages.exceeds = level.pages.fits + 1 + below(100);
    level.half = level.pages.fits + below(2000);
    const auto found = caches::tlb_findings({{}, {level}});
    const caches::Property& p = found.front().entries;
    std::smatch bounds;
    if (!p.value) continue;
    BOOST_REQUIRE(std::regex_match(p.evidence, bounds, std::regex("\\D+(\\d+)\\D+(\\d+)")));
    BOOST_TEST((std::stod(bounds[1]) <= *p.value && *p.value <= std::stod(bounds[2])), p.evidence);
  }
}

BOOST_AUTO_TEST_SUITE_END()
