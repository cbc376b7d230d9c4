// What kernels are compared with: the vectorised build of matmul, dgemm, peak and bandwidth.
#include "kernel/kernel.hpp"
#include "kernel/matmul/matmul.hpp"
#include "kernel/matmul/native_matmul.hpp"
#include "recount/error.hpp"

#include "model/hierarchy.hpp"
#include "skip.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ostream>
#include <random>
#include <vector>

using namespace recount;
using namespace recount::kernel;
using recount::test::skip;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(ceilings)

namespace {

using Loop = native::MatmulLoops::Code native::MatmulLoops::*;
struct Variant {
  std::string name;
  Loop loop;
};
std::ostream& operator<<(std::ostream& out, const Variant& variant) {
  return out << variant.name;
}
const std::vector<Variant> variants = {{"ijk", &native::MatmulLoops::ijk},
                                       {"ijk-mem", &native::MatmulLoops::ijk_mem},
                                       {"ikj", &native::MatmulLoops::ikj},
                                       {"transpose", &native::MatmulLoops::transpose},
                                       {"transposed", &native::MatmulLoops::transposed},
                                       {"blocked", &native::MatmulLoops::blocked}};

/// a, b, c, t, one after the other; small whole numbers, so that sums of doubles are exact in any order.
template <class T>
std::vector<T> multiply(const native::MatmulLoops& loops, Loop loop, std::int64_t n, std::int64_t block) {
  const auto square = static_cast<std::size_t>(n * n);
  std::vector<T> all(4 * square);
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_int_distribution<int> any(-99, 99);
  std::generate(all.begin(), all.end(), [&] { return static_cast<T>(any(random)); });
  T* const first = all.data();
  native::Matmul at{first, first + square, first + 2 * square, first + 3 * square, n, block};
  (loops.*loop)(&at);
  return all;
}

template <class T>
void same(Loop loop, std::int64_t n, std::int64_t block) {
  const bool doubles = sizeof(T) == 8;
  const auto plain = multiply<T>(native::plain_matmul(doubles), loop, n, block);
  BOOST_TEST((multiply<T>(native::vectorised_matmul(doubles), loop, n, block) == plain),
             "n " << n << " block " << block);
}

bool vectors() {
  const std::string reason = missing(native::vectorised().needs);
  if (!reason.empty()) skip(reason);
  return reason.empty();
}

} // namespace

/// The plain loops are held against a reference of their own in test_matmul.cpp.
BOOST_DATA_TEST_CASE(the_vectorised_loops_compute_what_the_plain_ones_do, data::make(variants), variant) {
  if (!vectors()) return;
  for (const std::int64_t n : {1, 2, 7, 16, 31, 45, 67})
    for (const std::int64_t block : {1, 5, 8, 32, 70}) {
      if (variant.name != "blocked" && block != 1) continue;
      same<double>(variant.loop, n, std::min(block, n));
      same<std::int16_t>(variant.loop, n, std::min(block, n));
    }
}

BOOST_AUTO_TEST_CASE(the_vectorised_loops_are_not_modelled) {
  const Kernel& kernel = find("matmul-vectorised");
  BOOST_TEST(!kernel.unsimulated().empty());
  model::MachineDescription machine;
  machine.levels.resize(1);
  machine.levels[0].size = 1024;
  machine.levels[0].ways = 2;
  model::Hierarchy caches(machine);
  BOOST_CHECK_THROW(kernel.simulate({}, caches), Error);
}

BOOST_AUTO_TEST_CASE(dgemm_multiplies_when_it_is_installed) {
  const auto instance = [&]() -> std::unique_ptr<Instance> {
    try {
      return find("dgemm").prepare({{"n", std::int64_t{9}}});
    } catch (const Error& error) {
      BOOST_TEST((error.kind() == ErrorKind::unavailable));
      BOOST_TEST(error.problem().cause == dgemm_missing());
      skip(error.problem().cause);
      return nullptr;
    }
  }();
  if (!instance) return;
  BOOST_TEST(dgemm_missing() == "");
  instance->region()();
  instance->region()(); // c is set, not added to
  const auto* const c = reinterpret_cast<const double*>(instance->placement().base) + 2 * 4096 / 8;
  for (int i = 0; i < 81; ++i) {
    double sum = 0;
    for (int k = 0; k < 9; ++k)
      sum += (1 + (i / 9 * 9 + k) % 7) * (1 + (k * 9 + i % 9) % 5);
    BOOST_TEST(c[i] == sum, i);
  }
}

BOOST_AUTO_TEST_CASE(operations_are_stated) {
  const auto flop = [](const std::string& kernel, const kernel::Params& point) {
    for (const auto& known : find(kernel).expected(point))
      if (known.metric == "PAPI_DP_OPS") return known.value;
    return -1.0;
  };
  BOOST_TEST(flop("matmul", {{"n", std::int64_t{100}}}) == 2e6);
  BOOST_TEST(flop("matmul-vectorised", {{"n", std::int64_t{100}}}) == 2e6);
  BOOST_TEST(flop("matmul", {{"n", std::int64_t{100}}, {"element", std::string("i16")}}) == 0);
  BOOST_TEST(flop("peak", {{"turns", std::int64_t{10}}, {"width", std::string("scalar")}}) == 240);
  BOOST_TEST(flop("peak", {{"turns", std::int64_t{10}}}) == 240 * native::vectorised().doubles);
}

BOOST_AUTO_TEST_CASE(ceilings_execute) {
  if (!vectors()) return;
  for (const std::string width : {"vector", "scalar"}) {
    const auto instance = find("peak").prepare({{"width", width}, {"turns", std::int64_t{100}}});
    instance->warm();
    instance->region()();
  }
  const auto read = find("bandwidth").prepare({{"size", std::int64_t{5000}}, {"passes", std::int64_t{3}}});
  read->warm();
  read->region()();
  BOOST_TEST(read->accesses() == 3 * 4096 / 8); // whole steps of 1024 bytes
}

BOOST_AUTO_TEST_SUITE_END()
