// The kernel matmul: its results, its accesses, its points.
#include "../model/random_machine.hpp"
#include "kernel/matmul/matmul.hpp"
#include "kernel/matmul/matmul_loops.hpp"
#include "kernel/matmul/native_matmul.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"
#include "replay_matmul.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <random>
#include <type_traits>

using namespace recount;
using namespace recount::kernel;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(matmul)

namespace {

struct Native {
  std::string name;
  void (*f64)(void*);
  void (*i16)(void*);
  bool adds; ///< to what c holds
};
std::ostream& operator<<(std::ostream& out, const Native& native) {
  return out << native.name;
}
const std::vector<Native> natives = {
    {"ijk", native::recount_kernel_matmul_ijk_f64, native::recount_kernel_matmul_ijk_i16, false},
    {"ijk-mem", native::recount_kernel_matmul_ijk_mem_f64, native::recount_kernel_matmul_ijk_mem_i16, true},
    {"ikj", native::recount_kernel_matmul_ikj_f64, native::recount_kernel_matmul_ikj_i16, true},
    {"transposed", native::recount_kernel_matmul_transposed_f64, native::recount_kernel_matmul_transposed_i16,
     true},
    {"blocked", native::recount_kernel_matmul_blocked_f64, native::recount_kernel_matmul_blocked_i16, true}};

template <class T>
using Matrix = std::vector<T>;

/// Whole numbers: exact for doubles (small ones), modulo 65536 for integers (any).
template <class T>
Matrix<T> random_matrix(std::int64_t n, std::mt19937& engine) {
  std::uniform_int_distribution<int> any(std::is_integral_v<T> ? -32768 : -99,
                                         std::is_integral_v<T> ? 32767 : 99);
  Matrix<T> matrix(static_cast<std::size_t>(n * n));
  for (T& x : matrix)
    x = static_cast<T>(any(engine));
  return matrix;
}

template <class T>
Matrix<T> product(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& start, std::int64_t size) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  const auto n = static_cast<std::size_t>(size);
  Matrix<T> c = start;
  for (std::size_t at = 0; at < n * n; ++at) {
    auto sum = static_cast<Sum>(c[at]);
    for (std::size_t k = 0; k < n; ++k)
      sum += static_cast<Sum>(a[at / n * n + k]) * static_cast<Sum>(b[k * n + at % n]);
    c[at] = static_cast<T>(sum);
  }
  return c;
}

template <class T>
void check(void (*code)(void*), bool adds, std::int64_t n, std::int64_t block) {
  std::mt19937 engine(static_cast<unsigned>(n * 100 + block));
  Matrix<T> a = random_matrix<T>(n, engine), b = random_matrix<T>(n, engine), c = random_matrix<T>(n, engine),
            t(a.size());
  const Matrix<T> expected = product(a, b, adds ? c : Matrix<T>(c.size()), n);
  native::Matmul context{a.data(), b.data(), c.data(), t.data(), n, block};
  code(&context);
  BOOST_TEST((c == expected), "n " << n << " block " << block);
}

} // namespace

BOOST_DATA_TEST_CASE(the_product_is_right, data::make(natives), native) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 17, 31, 32, 45})
    for (const std::int64_t block : {1, 3, 8, 16, 45}) {
      if (block > n || (native.name != "blocked" && block != 1)) continue;
      check<double>(native.f64, native.adds, n, block);
      check<std::int16_t>(native.i16, native.adds, n, block);
    }
}

BOOST_DATA_TEST_CASE(an_instance_multiplies, data::make(natives), native) {
  for (const std::string element : {"f64", "i16"})
    for (const std::string transpose : {"included", "excluded"}) {
      const auto instance = find("matmul").prepare({{"variant", native.name},
                                                    {"element", element},
                                                    {"transpose", transpose},
                                                    {"n", std::int64_t{13}},
                                                    {"block", std::int64_t{5}}});
      instance->region()();
      const auto offset = static_cast<std::uint64_t>(instance->placement().offset);
      BOOST_TEST(offset == 16u);
      // c begins two pitches behind a; its first element is the sum of a's first row times b's first column.
      const std::int64_t bytes = element == "f64" ? 8 : 2,
                         pitch = (13 * 13 * bytes + 16 + 4095) / 4096 * 4096;
      const auto* const c =
          reinterpret_cast<const std::byte*>(instance->placement().base) + 2 * pitch; // NOLINT
      std::int64_t expected = 0;
      for (std::int64_t k = 0; k < 13; ++k)
        expected += (1 + k * 3 % 7) * (1 + 13 * k * 5 % 7);
      const double got = bytes == 8 ? *reinterpret_cast<const double*>(c)
                                    : static_cast<double>(*reinterpret_cast<const std::int16_t*>(c));
      BOOST_TEST(got == static_cast<double>(expected), element << " " << transpose);
    }
}

BOOST_DATA_TEST_CASE(every_access_reaches_the_model, data::make(natives), native) {
  model::MachineDescription machine;
  machine.levels.emplace_back();
  machine.levels[0].size = 1024;
  machine.levels[0].ways = 2;
  for (const std::int64_t n : {1, 5, 12})
    for (const std::string transpose : {"included", "excluded"}) {
      const kernel::Params point = {
          {"variant", native.name}, {"n", n}, {"block", std::int64_t{5}}, {"transpose", transpose}};
      model::Hierarchy caches(machine);
      const std::int64_t accesses = test::replay_matmul(point, caches);
      BOOST_TEST(accesses == caches.counts().loads + caches.counts().stores);
      BOOST_TEST(accesses == find("matmul").prepare(point)->accesses());
      const std::int64_t steps = n * n * n, sums = native.name == "ijk" ? n * n : steps;
      const std::int64_t moved = native.name == "transposed" && transpose == "included" ? n * n : 0;
      BOOST_TEST(caches.counts().stores == sums + moved);
    }
}

BOOST_AUTO_TEST_CASE(simulation_counts_as_the_replay) {
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES / 4; ++seed) {
    Chance chance(seed);
    const auto any = [&](std::vector<std::string> words) {
      return words[static_cast<std::size_t>(chance.from(0, static_cast<std::int64_t>(words.size()) - 1))];
    };
    model::MachineDescription machine = random_machine(chance, chance.one_in(4));
    if (seed % 4 == 0) machine = with_huge_pages(std::move(machine));
    const std::string element = any({"f64", "i16"});
    const std::int64_t bytes = element == "f64" ? 8 : 2;
    const kernel::Params point = {{"variant", any({"ijk", "ijk-mem", "ikj", "transposed", "blocked"})},
                                  {"element", element},
                                  {"n", chance.one_in(20) ? chance.from(25, 50) : chance.from(1, 24)},
                                  {"block", chance.from(1, 12)},
                                  {"transpose", any({"included", "excluded"})},
                                  {"offset", chance.one_in(3) ? 16 : chance.from(0, 4095 / bytes) * bytes}};
    model::Hierarchy fast(machine), warm(machine), plain(machine);
    find("matmul").simulate(point, fast);
    test::replay_matmul(point, plain);
    BOOST_TEST_CONTEXT("seed " << seed << ": " << kernel::describe(point) << " on " << describe(machine)) {
      BOOST_TEST((fast.counts() == plain.counts()));
      BOOST_TEST((fast.state() == plain.state()));
      find("matmul").simulate_warm(point, warm);
      plain.reset_counters();
      test::replay_matmul(point, plain);
      BOOST_TEST((warm.counts() == plain.counts()));
      BOOST_TEST((warm.state() == plain.state()));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_bad_point_is_refused) {
  BOOST_CHECK_THROW(static_cast<void>(find("matmul").prepare({{"variant", std::string("jik")}})), Error);
  BOOST_CHECK_THROW(static_cast<void>(find("matmul").prepare({{"offset", std::int64_t{4}}})), Error);
  BOOST_CHECK_THROW(static_cast<void>(find("matmul").prepare({{"n", std::int64_t{0}}})), Error);
  BOOST_CHECK_THROW(static_cast<void>(find("matmul").prepare({{"n", std::int64_t{1} << 19}})),
                    Error); // 6 TiB
}

BOOST_AUTO_TEST_SUITE_END()
