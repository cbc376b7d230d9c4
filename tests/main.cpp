// The one main of every Boost.Test program here. The folder of its file is a label of each case:
// `--run_test=@event`.
#define BOOST_TEST_NO_MAIN
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/tree/traverse.hpp>
#include <boost/test/tree/visitor.hpp>
#include <boost/test/unit_test.hpp>

#include "skip.hpp"

#include <cstdio>
#include <filesystem>
#include <set>
#include <string>

namespace {
using namespace boost::unit_test;

/// Says at the end how many cases passed and failed, for tests/summary.py.
class Tally : public test_observer {
public:
  /// After Boost's own of priority 0, which in 1.74 is read before it was set when another comes first, and
  /// the run then ends without having begun.
  int priority() override { return 1; }
  void test_unit_finish(const test_unit& unit, unsigned long /*microseconds*/) override {
    if (unit.p_type != TUT_CASE) return;
    ran.insert(unit.p_id);
    if (recount::test::case_skipped.exchange(false)) skipped.insert(unit.p_id);
  }
  void test_unit_start(const test_unit& /*unit*/) override { recount::test::case_skipped = false; }
  /// A precondition that does not hold (tests/needs.hpp): each case is a skip with its reason.
  void test_unit_skipped(const test_unit& unit, const_string reason) override {
    struct : test_tree_visitor {
      std::set<test_unit_id>* skipped = nullptr;
      std::string reason;
      void visit(const test_case& one) override {
        if (!one.is_enabled() || !skipped->insert(one.p_id).second) return;
        std::printf("\nSKIP: %s: %s\n", one.full_name().c_str(), reason.c_str());
      }
    } tell;
    tell.skipped = &skipped;
    tell.reason.assign(reason.begin(), reason.end());
    if (const auto at = tell.reason.find("failed: "); at != std::string::npos)
      tell.reason.erase(0, at + std::string("failed: ").size());
    traverse_test_tree(unit.p_id, tell, true);
  }
  void test_finish() override {
    struct : test_tree_visitor {
      int passed = 0, failed = 0, skipped = 0;
      const Tally* tally = nullptr;
      void visit(const test_case& one) override {
        const auto& result = results_collector.results(one.p_id);
        const bool skip = tally->skipped.contains(one.p_id), ran = tally->ran.contains(one.p_id);
        if (!one.is_enabled() || (result.p_skipped && !skip)) return;
        const bool good = result.passed() && ran;
        ++(skip && (good || !ran) ? skipped : good ? passed : failed);
      }
    } count;
    count.tally = this;
    traverse_test_tree(framework::master_test_suite().p_id, count, true);
    std::printf("\ncases: %d passed, %d failed, %d skipped\n", count.passed, count.failed, count.skipped);
  }

private:
  std::set<test_unit_id> skipped;
  std::set<test_unit_id> ran; // one that was not even tried would count as passed
};

struct WithTally {
  WithTally() { framework::register_observer(tally); }
  ~WithTally() { framework::deregister_observer(tally); }
  Tally tally;
};
// Made before main, so that it is there when the tests start.
const WithTally with_tally;

void label_folders() {
  struct : test_tree_visitor {
    void visit(const test_case& one) override {
      for (const auto& decorator : one.p_decorators.get())
        if (dynamic_cast<const decorator::enable_if<false>*>(decorator.get()))
          return; // runs where it is named
      const std::filesystem::path file(one.p_file_name.begin(), one.p_file_name.end());
      framework::get<test_case>(one.p_id).add_label(file.parent_path().filename().string());
    }
  } label;
  traverse_test_tree(framework::master_test_suite().p_id, label, true);
}
} // namespace

#ifdef BOOST_TEST_DYN_LINK
namespace {
bool init() {
  label_folders();
  return true;
}
} // namespace

int main(int argc, char** argv) {
  return unit_test_main(init, argc, argv);
}
#else // the static library has main()
test_suite* init_unit_test_suite(int /*argc*/, char** /*argv*/) {
  label_folders();
  return nullptr;
}
#endif
