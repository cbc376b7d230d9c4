// The one main of every Boost.Test program here.
#define BOOST_TEST_MODULE recount
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/tree/traverse.hpp>
#include <boost/test/tree/visitor.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdio>

namespace {
using namespace boost::unit_test;

/// Says at the end how many cases passed and failed, for tests/summary.py.
class Tally : public test_observer {
public:
  void test_finish() override {
    struct : test_tree_visitor {
      int passed = 0, failed = 0;
      void visit(const test_case& one) override {
        const auto& result = results_collector.results(one.p_id);
        if (!one.is_enabled() || result.p_skipped) return;
        ++(result.passed() ? passed : failed);
      }
    } count;
    traverse_test_tree(framework::master_test_suite().p_id, count, true);
    std::printf("\ncases: %d passed, %d failed\n", count.passed, count.failed);
  }
};

struct WithTally {
  WithTally() { framework::register_observer(tally); }
  ~WithTally() { framework::deregister_observer(tally); }
  Tally tally;
};
// Made before main, so that it is there when the tests start.
const WithTally with_tally;
} // namespace
