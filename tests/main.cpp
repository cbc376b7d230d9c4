// The one main of every Boost.Test program here.
#define BOOST_TEST_MODULE recount
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/tree/traverse.hpp>
#include <boost/test/tree/visitor.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <set>

namespace {
using namespace boost::unit_test;

/// Says at the end how many cases passed and failed, for tests/summary.py.
class Tally : public test_observer {
public:
  /// After Boost's own of priority 0, which in 1.74 is read before it was set when another comes first, and
  /// the run then ends without having begun.
  int priority() override { return 1; }
  void test_unit_finish(const test_unit& unit, unsigned long /*microseconds*/) override {
    if (unit.p_type == TUT_CASE) ran.insert(unit.p_id);
  }
  void test_finish() override {
    struct : test_tree_visitor {
      int passed = 0, failed = 0;
      const std::set<test_unit_id>* ran = nullptr;
      void visit(const test_case& one) override {
        const auto& result = results_collector.results(one.p_id);
        if (!one.is_enabled() || result.p_skipped) return;
        ++(result.passed() && ran->contains(one.p_id) ? passed : failed);
      }
    } count;
    count.ran = &ran;
    traverse_test_tree(framework::master_test_suite().p_id, count, true);
    std::printf("\ncases: %d passed, %d failed\n", count.passed, count.failed);
  }

private:
  std::set<test_unit_id> ran; // one that was not even tried would count as passed
};

struct WithTally {
  WithTally() { framework::register_observer(tally); }
  ~WithTally() { framework::deregister_observer(tally); }
  Tally tally;
};
// Made before main, so that it is there when the tests start.
const WithTally with_tally;
} // namespace
