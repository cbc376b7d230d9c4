// Loops in another order and in blocks: counts of the same loops written by hand, and dependences by
// execution of every turn.
#include "kernel/nest/nest_kernel.hpp"
#include "model/hierarchy.hpp"
#include "model/machine.hpp"
#include "nest/definition.hpp"
#include "nest/transform.hpp"
#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

using namespace recount;

BOOST_AUTO_TEST_SUITE(nest_transform)

namespace {

const std::string head = "param n = 40 from 1 to 1000\nf64 a[n][n]{0}, b[n][n]{0}, c[n][n]{0}\n";
const std::string body = "c[i][j] += a[i][k] * b[k][j]\n";

std::string product(const std::string& loops, const std::string& leading = "") {
  return fmt::format(fmt::runtime(head), leading) + loops + body;
}

model::Counts counts(const std::string& text, const result::Params& point) {
  const kernel::NestKernel nest("product.nest", text);
  model::Hierarchy caches(model::machine("cortex-a57"));
  nest.simulate(point, caches);
  return caches.counts();
}

const std::string as_written = product("for i in 0:n\n for j in 0:n\n for k in 0:n\n");

std::string refusal(const std::string& text, const result::Params& point) {
  try {
    static_cast<void>(kernel::NestKernel("some.nest", text).at(point));
  } catch (const Error& error) {
    return error.problem().cause;
  }
  return "";
}

} // namespace

BOOST_AUTO_TEST_CASE(another_order_counts_as_written_by_hand) {
  for (const std::string order : {"ikj", "jki", "kij"}) {
    std::string loops;
    for (const char v : order)
      loops += fmt::format("for {} in 0:n\n", v);
    BOOST_TEST((counts(as_written, {{"order", order}}) == counts(product(loops), {})), order);
  }
  BOOST_TEST(!(counts(as_written, {{"order", std::string("jki")}}) == counts(as_written, {})));
}

BOOST_AUTO_TEST_CASE(blocks_count_as_written_by_hand) {
  const std::string blocked = product("for kk in 0:n:7\n for ii in 0:n:7\n for jj in 0:n:7\n"
                                      "for k in kk:min(kk + 7, n)\n for i in ii:min(ii + 7, n)\n"
                                      "for j in jj:min(jj + 7, n)\n");
  BOOST_TEST((counts(as_written, {{"order", std::string("kij")}, {"tile", std::int64_t{7}}}) ==
              counts(blocked, {})));
}

BOOST_AUTO_TEST_CASE(padding_counts_as_written_by_hand) {
  BOOST_TEST((counts(as_written, {{"padding", std::int64_t{8}}}) ==
              counts(product("for i in 0:n\n for j in 0:n\n for k in 0:n\n", " ld n + 8"), {})));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_exchanged) {
  const std::string skewed = "f64 x[9][9]\nfor i in 1:9\n for j in 0:8\n x[i][j] = x[i - 1][j + 1]\n";
  BOOST_TEST(refusal(skewed, {}) == "");
  BOOST_TEST(refusal(skewed, {{"order", std::string("ji")}}).starts_with("line 4 at i = "));
  BOOST_TEST(refusal(skewed, {{"tile", std::int64_t{9}}}) == ""); // one block
  BOOST_TEST(refusal(skewed, {{"tile", std::int64_t{4}}}) != "");
  const std::string sum = "f64 x[9][9]\nf64 s = 0\nfor i in 0:9\n for j in 0:9\n s += x[i][j]\nx[0][0] = s\n";
  BOOST_TEST(nest::orders(nest::parse("sum", sum), 5).size() == 1u); // the loops are not all of it
  BOOST_TEST(refusal(sum, {{"tile", std::int64_t{2}}}).find("no loop is around all") != std::string::npos);
  const std::string row = "f64 x[9]\nfor i in 0:9\n x[i] = 1\n";
  BOOST_TEST(refusal(row, {{"padding", std::int64_t{2}}}).find("two or more dimensions") !=
             std::string::npos);
  const std::string own =
      "f64 x[9][9], y[9][9]\nfor i in 0:9\n for j in 0:9 {\n f64 t = x[i][j]\n y[j][i] = t\n}\n";
  BOOST_TEST(refusal(own, {{"order", std::string("ji")}}) == ""); // a scalar of one turn
  const std::string triangle = "f64 x[9][9]\nfor i in 0:9\n for j in 0:i\n x[i][j] = 1\n";
  BOOST_TEST(nest::orders(nest::parse("triangle", triangle), 5).size() == 1u);
  BOOST_TEST(refusal(triangle, {{"tile", std::int64_t{2}}}).find("loop j cannot be divided") !=
             std::string::npos);
}

namespace {

constexpr std::int64_t turns = 5;
using Turn = std::array<std::int64_t, 3>;

/// One statement in three loops: x[first form] = x[second form].
struct RandomNest {
  std::array<std::array<std::array<std::int64_t, 4>, 2>, 2> forms{}; ///< factors and constant, by subscript

  explicit RandomNest(std::mt19937_64& random) {
    const auto pick = [&](std::int64_t least, std::int64_t most) {
      return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
    };
    for (auto& element : forms)
      for (auto& form : element)
        form = {pick(-1, 1), pick(-1, 1), pick(0, 1), pick(10, 12)};
    if (pick(0, 1) == 0) // often the same element but for the constants
      for (std::size_t s = 0; s < 2; ++s)
        std::copy_n(forms[0][s].begin(), 3, forms[1][s].begin());
  }
  [[nodiscard]] std::string element(std::size_t which) const {
    std::string all = "x";
    for (const auto& f : forms[which])
      all += fmt::format("[{} * i + {} * j + {} * k + {}]", f[0], f[1], f[2], f[3]);
    return all;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("f64 x[30][30]\nfor i in 0:{0}\n for j in 0:{0}\n for k in 0:{0}:2\n {1} = {2}\n",
                       turns, element(0), element(1));
  }
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> at(std::size_t which, const Turn& t) const {
    std::array<std::int64_t, 2> all{};
    for (std::size_t s = 0; s < 2; ++s) {
      const auto& f = forms[which][s];
      all[s] = f[0] * t[0] + f[1] * t[1] + f[2] * t[2] + f[3];
    }
    return {all[0], all[1]};
  }
};

/// All turns in the order of the form: blocks first, then the loops.
std::vector<Turn> executed(const std::string& order, std::int64_t tile) {
  std::vector<Turn> all;
  for (std::int64_t i = 0; i < turns; ++i)
    for (std::int64_t j = 0; j < turns; ++j)
      for (std::int64_t k = 0; k < turns; k += 2)
        all.push_back({i, j, k});
  const auto time = [&](const Turn& t) {
    std::array<std::int64_t, 6> when{};
    for (std::size_t p = 0; p < 3; ++p) {
      const auto v = static_cast<std::size_t>(order[p] - 'i');
      const std::int64_t step = v == 2 ? 2 : 1;
      when[p] = tile > 0 ? t[v] / (tile * step) : 0;
      when[p + 3] = t[v];
    }
    return when;
  };
  std::ranges::sort(all, {}, time);
  return all;
}

/// Whether every element sees the same loads and stores in the same order, loads between stores exchangeable.
bool same_meaning(const RandomNest& nest, const std::string& order, std::int64_t tile) {
  const auto history = [&](const std::vector<Turn>& all) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::pair<bool, Turn>>> of;
    for (const Turn& turn : all) {
      of[nest.at(1, turn)].emplace_back(false, turn);
      of[nest.at(0, turn)].emplace_back(true, turn);
    }
    for (auto& [element, accesses] : of)
      for (auto from = accesses.begin(); from != accesses.end();) {
        const auto store =
            std::find_if(from, accesses.end(), [](const auto& access) { return access.first; });
        std::sort(from, store);
        from = store == accesses.end() ? store : store + 1;
      }
    return of;
  };
  return history(executed("ijk", 0)) == history(executed(order, tile));
}

} // namespace

BOOST_AUTO_TEST_CASE(dependences_are_those_of_the_execution) {
  std::mt19937_64 random(20261123);
  int kept = 0, broken = 0;
  for (int i = 0; i < RECOUNT_PROPERTY_CASES / 50 + 1; ++i) {
    const RandomNest nest(random);
    const kernel::NestKernel kernel("random.nest", nest.text());
    for (const std::string order : {"ijk", "ikj", "kji", "jki"})
      for (const std::int64_t tile : {0, 2}) {
        bool accepted = true;
        try {
          static_cast<void>(kernel.at({{"order", order}, {"tile", tile}}));
        } catch (const Error&) {
          accepted = false;
        }
        BOOST_TEST_REQUIRE(accepted == same_meaning(nest, order, tile), nest.text()
                                                                            << order << " tile " << tile);
        ++(accepted ? kept : broken);
      }
  }
  BOOST_TEST(kept > broken / 10);
  BOOST_TEST(broken > kept / 10);
}

BOOST_AUTO_TEST_SUITE_END()
