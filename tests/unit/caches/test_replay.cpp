// Recorded runs of real machines: what the inference states of them is true. A file of tests/data/caches has
// a line per pattern that the inference asked for: count, stride, shift, wrap, pair, before, offset, huge,
// and the ns per access that its rounds gave, at one clock rate, and that three rounds reached, where that is
// kept; then the page colours, where that run found any.
#include "commands/caches/infer/findings.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

using namespace recount;

BOOST_AUTO_TEST_SUITE(replay)

namespace {

class RecordedTimes : public caches::Sampler {
public:
  explicit RecordedTimes(const std::string& name) {
    can_.witness = "clock";
    can_.times = true;
    can_.max_bytes = std::int64_t{128} << 20;
    can_.at_once = 12;
    std::ifstream file(RECOUNT_CACHES_DATA "/" + name);
    BOOST_TEST_REQUIRE(file.good(), name);
    for (std::string line; std::getline(file, line);)
      take(line);
  }
  [[nodiscard]] const caches::Abilities& abilities() const override { return can_; }
  std::vector<caches::Reading> read(std::span<const kernel::Pattern> patterns) override {
    std::vector<caches::Reading> all;
    for (const kernel::Pattern& pattern : patterns) {
      caches::Reading& reading = all.emplace_back();
      if (const auto found = times_.find(pattern); found != times_.end()) reading = found->second;
    }
    return all;
  }
  std::optional<caches::PageColours> colours() override { return colours_; }
  [[nodiscard]] std::size_t readings() const { return times_.size(); }

private:
  void take(const std::string& line) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "time") {
      kernel::Pattern p;
      double ns = 0;
      words >> p.count >> p.stride >> p.shift >> p.wrap >> p.pair >> p.before >> p.offset >> p.huge >> ns;
      BOOST_TEST_REQUIRE(!words.fail(), line);
      times_[p].ns = ns;
      if (words >> ns) times_[p].repeated_ns = ns;
    } else if (kind == "colours") {
      caches::PageColours& c = colours_.emplace();
      std::int64_t offset = 0;
      words >> offset >> c.pages >> c.left_over >> c.mixed;
    } else if (kind == "sample") {
      words >> colours_->sample >> colours_->in_sample;
    } else if (kind == "unknown" || kind == "incomplete") {
      std::getline(words >> std::ws, kind == "unknown" ? colours_->unknown : colours_->incomplete);
    } else if (kind == "smallest" || kind == "members") {
      auto& pages = (kind == "smallest" ? colours_->smallest : colours_->members).emplace_back();
      for (std::int64_t page = 0; words >> page;)
        pages.push_back(page);
    } else if (kind == "share") {
      caches::ColourReading& r = colours_->readings.emplace_back();
      words >> r.colour >> r.lines >> r.shift >> r.share;
    }
  }

  caches::Abilities can_;
  std::map<kernel::Pattern, caches::Reading> times_;
  std::optional<caches::PageColours> colours_;
};

void check_true(const caches::Property& p, double truth) {
  if (p.value) BOOST_TEST(std::abs(*p.value - truth) <= p.tolerance * *p.value, p.name << " " << *p.value);
}

} // namespace

// AMD64 Architecture Programmer's Manual, CPUID leaf 8000_001Dh of these guests: L1d 32 KiB, 8 ways, 64 B; L2
// 1 MiB, 8 ways, 64 B; AMD's optimisation guide for family 19h, model 11h: 72 and 3072 entries of the data
// TLBs.
BOOST_AUTO_TEST_CASE(zen_4) {
  for (const char* name : {"zen4-quiet1", "zen4-quiet2", "zen4-quiet3", "zen4-hog1", "zen4-hog2", "busy-9",
                           "busy-10", "busy-17"})
    BOOST_TEST_CONTEXT(name) {
      RecordedTimes sampler(std::string(name) + ".txt");
      BOOST_TEST(sampler.readings() > 200u);
      const caches::Caches found = caches::infer_caches(sampler);
      BOOST_TEST_REQUIRE(found.levels.size() >= 2u);
      const caches::LevelFinding &first = found.levels[0], &second = found.levels[1];
      BOOST_TEST(first.capacity.value.value_or(0) == 32 << 10);
      BOOST_TEST(first.line.value.value_or(0) == 64);
      BOOST_TEST(first.ways.value.value_or(0) == 8);
      BOOST_TEST(!first.effective);
      BOOST_TEST((first.ways.confidence == caches::Confidence::high));
      check_true(second.capacity, 1 << 20);
      check_true(second.line, 64);
      check_true(second.ways, 8);
      // The earlier runs found no page colours: they did not yet visit whole pages.
      if (std::string(name).starts_with("busy")) {
        BOOST_TEST(second.ways.value.value_or(0) == 8);
        BOOST_TEST(second.capacity.value.has_value());
      }
      for (const caches::TlbFinding& tlb : found.tlbs)
        check_true(tlb.entries, tlb.name == "L1 DTLB" ? 72 : 3072);
    }
}

// The same leaf of this guest: L1d 48 KiB, 12 ways, 64 B; L2 1 MiB, 16 ways.
BOOST_AUTO_TEST_CASE(zen_5) {
  RecordedTimes sampler("zen5-quiet1.txt");
  const caches::Caches found = caches::infer_caches(sampler);
  BOOST_TEST_REQUIRE(found.levels.size() >= 2u);
  for (const auto& [level, bytes, ways] :
       {std::tuple(&found.levels[0], 48 << 10, 12), std::tuple(&found.levels[1], 1 << 20, 16)}) {
    BOOST_TEST(level->capacity.value.value_or(0) == bytes);
    BOOST_TEST(level->ways.value.value_or(0) == ways);
    BOOST_TEST(level->line.value.value_or(0) == 64);
    BOOST_TEST(!level->effective);
    for (const caches::Property* p : {&level->capacity, &level->ways, &level->line})
      BOOST_TEST((p->confidence == caches::Confidence::high));
  }
  BOOST_TEST((caches::settled(found) >= caches::Settled::first_level));
}

// Two of the ways were in use by another guest: what is left is an effective share, and no finding.
BOOST_AUTO_TEST_CASE(ways_that_another_guest_uses_leave_an_effective_share) {
  RecordedTimes sampler("zen5-smt1.txt");
  const caches::Caches found = caches::infer_caches(sampler);
  BOOST_TEST_REQUIRE(found.levels.size() >= 2u);
  for (const caches::LevelFinding* level : {&found.levels[0], &found.levels[1]}) {
    BOOST_TEST(level->effective);
    for (const caches::Property* p : {&level->capacity, &level->ways})
      BOOST_TEST((!p->value || p->confidence == caches::Confidence::low));
  }
  const auto& signs = found.levels[0].shared_use;
  const auto shows = [&](caches::SharingSign sign) {
    return std::ranges::find(signs, sign, &caches::SharedUse::sign) != signs.end();
  };
  BOOST_TEST(shows(caches::SharingSign::hit_times_drift));
  BOOST_TEST(shows(caches::SharingSign::next_level_varies));
  BOOST_TEST_REQUIRE(!signs.empty());
  BOOST_TEST(signs.front().measured > 1.1 * signs.front().expected);
  BOOST_TEST((caches::settled(found) == caches::Settled::nothing)); // --patient waits for its end
}

BOOST_AUTO_TEST_SUITE_END()
