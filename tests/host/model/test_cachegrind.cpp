// The model's LRU caches against cachegrind's, over the same machine code.
#include "../../skip.hpp"
#include "base/process/child.hpp"
#include "kernel/kernel.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

using namespace recount;

BOOST_AUTO_TEST_SUITE(cachegrind)

namespace {

/// What cachegrind counts in the function that multiplies: loads, their misses in both levels, stores,
/// theirs.
struct Watched {
  std::array<std::int64_t, 3> loads{}, stores{};
};

struct Shape {
  std::int64_t l1_size, l1_ways, l2_size, l2_ways, line;
};

/// Nothing where there is no valgrind.
std::optional<Watched> watch(const std::string& variant, std::int64_t n, const Shape& s) {
  const std::string out = "recount-cachegrind.out";
  process::Spawn spawn;
  spawn.argv = {"valgrind",
                "--tool=cachegrind",
                "--cache-sim=yes",
                "--log-file=/dev/null",
                fmt::format("--D1={},{},{}", s.l1_size, s.l1_ways, s.line),
                fmt::format("--I1={},{},{}", 1 << 16, 16, s.line),
                fmt::format("--LL={},{},{}", s.l2_size, s.l2_ways, s.line),
                "--cachegrind-out-file=" + out,
                MODEL_SUBJECT,
                variant,
                std::to_string(n)};
  try {
    if (!process::Child(spawn).wait(std::chrono::seconds(100)).ok()) return {};
  } catch (const process::CannotRun&) {
    return {};
  }
  std::ifstream file(out);
  Watched sum;
  bool ours = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("fn=")) ours = line.find("recount_kernel_matmul_" + variant) != line.npos;
    if (!ours || line.empty() || line[0] < '0' || line[0] > '9') continue;
    std::istringstream words(line); // line Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
    std::int64_t skipped = 0;
    for (int i = 0; i < 4; ++i)
      words >> skipped;
    for (auto* const group : {&sum.loads, &sum.stores})
      for (std::int64_t& field : *group) {
        std::int64_t value = 0;
        words >> value;
        field += value;
      }
  }
  std::remove(out.c_str());
  return sum;
}

model::Counts modelled(const std::string& variant, std::int64_t n, const Shape& s) {
  model::MachineDescription machine;
  machine.name = "cachegrind";
  for (const auto& [size, ways] : {std::pair{s.l1_size, s.l1_ways}, std::pair{s.l2_size, s.l2_ways}}) {
    model::LevelDescription level;
    level.size = size;
    level.ways = ways;
    level.line = s.line;
    machine.levels.push_back(level);
  }
  model::Hierarchy caches(machine);
  const kernel::Kernel& matmul = kernel::find("matmul");
  matmul.simulate(kernel::complete(matmul, {{"variant", variant}, {"n", n}}), caches);
  return caches.counts();
}

} // namespace

BOOST_AUTO_TEST_CASE(lru_caches_miss_as_often) {
  // The function's own accesses to its argument and the stack are none of the model's.
  constexpr std::int64_t strays = 24;
  for (const Shape& s : {Shape{32768, 8, 262144, 4, 64}, Shape{8192, 2, 65536, 8, 32}})
    for (const auto& [variant, n] :
         {std::pair{"ijk", 100}, std::pair{"ijk", 101}, std::pair{"ikj", 100}, std::pair{"ikj", 67}}) {
      const auto theirs = watch(variant, n, s);
      if (!theirs) return test::skip("valgrind is not installed or does not run here");
      const auto ours = modelled(variant, n, s);
      BOOST_TEST_CONTEXT(variant << " " << n << " on " << s.l1_size << "/" << s.l1_ways) {
        const auto near = [](std::int64_t x, std::int64_t y) { return std::abs(x - y) <= strays; };
        const auto l1 = ours.levels[0];
        using enum model::Cause;
        BOOST_TEST(near(theirs->loads[0], ours.loads), theirs->loads[0] << " loads, not " << ours.loads);
        BOOST_TEST(near(theirs->stores[0], ours.stores), theirs->stores[0] << " stores, not " << ours.stores);
        BOOST_TEST(near(theirs->loads[1], l1.missed(load)),
                   theirs->loads[1] << " load misses, not " << l1.missed(load));
        BOOST_TEST(near(theirs->stores[1], l1.missed(store)),
                   theirs->stores[1] << " store misses, not " << l1.missed(store));
        std::printf("cachegrind %s %d on %ld/%ld: L1 %ld+%ld, model %ld+%ld; L2 %ld, model %ld\n", variant, n,
                    s.l1_size, s.l1_ways, theirs->loads[1], theirs->stores[1], l1.missed(load),
                    l1.missed(store), theirs->loads[2] + theirs->stores[2],
                    ours.levels[1].missed(load) + ours.levels[1].missed(store));
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
