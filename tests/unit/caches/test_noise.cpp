// Disturbances add time: a working set that stays outweighs smaller ones that seem to leave.
#include "caches/infer/gauge.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

BOOST_AUTO_TEST_SUITE(noise)

namespace {

/// Fits up to this number of lines, with some disturbed counts.
class Disturbed : public recount::caches::Gauge {
public:
  Disturbed(std::int64_t fits, std::set<std::int64_t> disturbed, bool only_too_high)
      : fits_(fits), disturbed_(std::move(disturbed)), only_too_high_(only_too_high) {}
  std::vector<double> shares(std::span<const recount::kernel::Pattern> patterns) override {
    std::vector<double> all;
    for (const auto& p : patterns)
      all.push_back(p.count > fits_ || disturbed_.contains(p.count) ? 1 : 0);
    return all;
  }
  [[nodiscard]] recount::caches::Fit judge(double share, std::int64_t) const override {
    return share > 0.5 ? recount::caches::Fit::exceeds : recount::caches::Fit::fits;
  }
  [[nodiscard]] bool only_too_high(const recount::kernel::Pattern&) const override { return only_too_high_; }
  [[nodiscard]] std::string thresholds() const override { return {}; }

private:
  std::int64_t fits_;
  std::set<std::int64_t> disturbed_;
  bool only_too_high_;
};

const recount::caches::Family lines = [](std::int64_t n) { return recount::kernel::dense(n, 64); };

} // namespace

BOOST_AUTO_TEST_CASE(a_disturbed_member_does_not_end_the_search) {
  Disturbed gauge(768, {4, 32, 64, 128, 700}, true);
  recount::caches::Boundary b = recount::caches::double_until_exceeds(gauge, lines, 4, 1 << 20);
  BOOST_TEST(b.fits == 512);
  BOOST_TEST(b.exceeds == 1024);
  b = recount::caches::narrow(gauge, lines, b, 12);
  BOOST_TEST(b.fits == 768);
  BOOST_TEST(b.exceeds == 769);
}

BOOST_AUTO_TEST_CASE(where_both_may_be_wrong_the_first_that_leaves_counts) {
  Disturbed gauge(768, {32}, false);
  BOOST_TEST(recount::caches::double_until_exceeds(gauge, lines, 4, 1 << 20).exceeds == 32);
}

BOOST_AUTO_TEST_SUITE_END()
