// Compiled nests: results, and the loads, stores and operations that the processor executes.
#include "../../unit/nest/random_written_nest.hpp"
#include "base/text.hpp"
#include "executed.hpp"
#include "kernel/nest/nest_kernel.hpp"
#include "nest/generate.hpp"
#include "process/temporary_folder.hpp"
#include "recount/error.hpp"
#include "skip.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <ostream>

using namespace recount;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(compiled_nest)

namespace {

kernel::NestKernel shipped(const std::string& name) {
  const std::string file = std::string(RECOUNT_NESTS) + "/" + name + ".nest";
  const auto text = base::read_file(file);
  BOOST_TEST_REQUIRE(text.has_value(), file);
  return {file, *text};
}

bool no_compiler() {
  if (nest::cannot_compile().empty()) return false;
  test::skip(nest::cannot_compile());
  return true;
}

/// The elements of an array in storage order.
template <class T>
T* elements(const kernel::Instance& instance, const nest::PlacedArray& array) {
  return reinterpret_cast<T*>(instance.placement().base + static_cast<std::uint64_t>(array.begin)); // NOLINT
}

struct Shipped {
  std::string name;
  result::Params point;
};
std::ostream& operator<<(std::ostream& out, const Shipped& one) {
  return out << one.name << " " << result::describe(one.point);
}
result::ParamValue of(std::int64_t n) {
  return n;
}
const result::ParamValue i16 = std::string("i16"), f32 = std::string("f32"), i8 = std::string("i8"),
                         i32 = std::string("i32"), kij = std::string("kij");
const std::vector<Shipped> all_shipped = {
    {"gemm-ijk", {{"n", of(8)}}},
    {"gemm-ijk", {{"n", of(8)}, {"element", i16}}},
    {"gemm-ijk-mem", {{"n", of(8)}}},
    {"gemm-ijk-mem", {{"n", of(8)}, {"element", i16}}},
    {"gemm-ijk-mem", {{"n", of(8)}, {"order", kij}, {"tile", of(3)}, {"padding", of(2)}}},
    {"gemm-ikj", {{"n", of(8)}}},
    {"gemm-ikj", {{"n", of(8)}, {"element", f32}}},
    {"gemm-transposed", {{"n", of(8)}}},
    {"gemm-blocked", {{"n", of(9)}, {"block", of(5)}}},
    {"gemm-blocked", {{"n", of(9)}, {"block", of(5)}, {"element", i16}}},
    {"gemm-tiled", {{"n", of(9)}, {"rows", of(4)}, {"columns", of(9)}, {"pad", of(3)}}},
    {"stencil-2d", {{"n", of(9)}, {"m", of(12)}, {"steps", of(2)}}},
    {"stencil-3d", {{"n", of(8)}}},
    {"stencil-3d", {{"n", of(8)}, {"block", of(4)}, {"element", f32}}},
    {"transpose", {{"n", of(16)}}},
    {"transpose", {{"n", of(16)}, {"block", of(8)}, {"element", i8}}},
    {"triangular-solve", {{"n", of(20)}}},
    {"convolution", {{"inputs", of(2)}, {"outputs", of(2)}, {"height", of(6)}, {"width", of(7)}}},
    {"convolution",
     {{"inputs", of(4)},
      {"outputs", of(3)},
      {"height", of(6)},
      {"width", of(7)},
      {"element", i8},
      {"total", i32}}}};

template <class T>
void check_product(const std::string& name, const std::string& element) {
  const kernel::NestKernel kernel = shipped("gemm-" + name);
  for (const std::int64_t n : {1, 13}) {
    if (n == 1 && element != "f64") continue; // each is compiled
    result::Params point = {{"n", n}, {"element", element}};
    if (name == "blocked") point["block"] = std::int64_t{5};
    if (name == "tiled") point.insert({{"rows", of(3)}, {"columns", of(7)}, {"pad", of(2)}});
    const auto at = kernel.at(point);
    const auto instance = kernel.prepare(point);
    const auto& arrays = at.arrays();
    const T *a = elements<T>(*instance, arrays[0]), *b = elements<T>(*instance, arrays[1]);
    T* const c = elements<T>(*instance, arrays[2]);
    const std::vector<T> start(c, c + arrays[2].bytes / static_cast<std::int64_t>(sizeof(T)));
    instance->region()();
    const std::int64_t row = arrays[2].strides[0];
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = name == "ijk" ? 0 : static_cast<double>(start[static_cast<std::size_t>(i * row + j)]);
        for (std::int64_t k = 0; k < n; ++k)
          sum += static_cast<double>(a[i * row + k]) * static_cast<double>(b[k * row + j]);
        BOOST_TEST_REQUIRE(static_cast<double>(c[i * row + j]) == sum, // whole numbers below 2^15
                           name << " " << element << " n " << n << " [" << i << "][" << j << "]");
      }
  }
}

} // namespace

BOOST_DATA_TEST_CASE(the_product_is_right,
                     data::make({"ijk", "ijk-mem", "ikj", "transposed", "blocked", "tiled"}), name) {
  if (no_compiler()) return;
  check_product<double>(name, "f64");
  check_product<float>(name, "f32");
  check_product<std::int64_t>(name, "i64");
  check_product<std::int32_t>(name, "i32");
  check_product<std::int16_t>(name, "i16");
}

BOOST_AUTO_TEST_CASE(another_form_computes_the_same) {
  if (no_compiler()) return;
  const kernel::NestKernel kernel = shipped("gemm-ijk-mem");
  const auto computed = [&](const std::string& order, std::int64_t tile) {
    const result::Params point = {{"n", of(11)}, {"order", order}, {"tile", tile}};
    const auto instance = kernel.prepare(point);
    instance->region()();
    const nest::Point at = kernel.at(point);
    const auto& c = at.arrays()[2];
    const double* const first = elements<double>(*instance, c);
    return std::vector<double>(first, first + c.bytes / 8);
  };
  const auto written = computed("ijk", 0);
  for (const auto* const order : {"kji", "jik"})
    for (const std::int64_t tile : {0, 4})
      BOOST_TEST(computed(order, tile) == written, order << " tile " << tile);
}

BOOST_DATA_TEST_CASE(the_processor_executes_what_the_text_says, data::make(all_shipped), one) {
  if (no_compiler()) return;
  if (const std::string reason = cannot_step(); !reason.empty()) return test::skip(reason);
  const kernel::NestKernel kernel = shipped(one.name);
  const auto instance = kernel.prepare(one.point);
  const kernel::Tally tally = executed(instance->region());
  for (const auto& known : kernel.expected(one.point)) {
    const double got = known.metric == "PAPI_LD_INS"    ? tally.loads
                       : known.metric == "PAPI_SR_INS"  ? tally.stores
                       : known.metric == "PAPI_LST_INS" ? tally.transfers
                       : known.metric == "PAPI_SP_OPS"  ? tally.single_ops
                       : known.metric == "PAPI_DP_OPS"  ? tally.double_ops
                                                        : tally.single_ops + tally.double_ops;
    BOOST_TEST_MESSAGE(one << " " << known.metric << " " << got << ", expected " << known.value << " to "
                           << known.value + known.above);
    BOOST_TEST(got >= known.value - known.below, known.metric << " is " << got << ", not " << known.value);
    BOOST_TEST(got <= known.value + known.above, known.metric << " is " << got << ", not " << known.value);
  }
  BOOST_TEST(tally.vectors == 0);
}

BOOST_AUTO_TEST_CASE(random_nests_compute_what_they_say) {
  if (no_compiler()) return;
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Chance chance(seed);
    const RandomWrittenNest random(chance,
                                   {nest::Type::f64, nest::Type::i64, nest::Type::i16, nest::Type::i8});
    const written::Nest& nest = random.nest();
    const std::string text = written::Writer(nest).text();
    BOOST_TEST_CONTEXT("seed " << seed << "\n" << text) {
      const kernel::NestKernel kernel("random.nest", text);
      std::unique_ptr<kernel::Instance> instance;
      try {
        instance = kernel.prepare({});
      } catch (const Error& error) {
        BOOST_TEST((error.kind() == ErrorKind::bad_input)); // a bound that no turn reaches, or no access
        continue;
      }
      ++compared;
      std::vector<std::vector<double>> doubles;
      std::vector<std::vector<std::int64_t>> wholes;
      const auto at = kernel.at({});
      // Where the data are is looked up in /proc: once an array.
      const auto values = [&](const nest::PlacedArray& array) {
        std::vector<std::int64_t> all(static_cast<std::size_t>(array.bytes / nest::bytes(array.type)));
        const auto copy = [&](auto* from) { std::copy_n(from, all.size(), all.begin()); };
        if (array.type == nest::Type::i64)
          copy(elements<std::int64_t>(*instance, array));
        else if (array.type == nest::Type::i16)
          copy(elements<std::int16_t>(*instance, array));
        else
          copy(elements<std::int8_t>(*instance, array));
        return all;
      };
      for (const auto& array : at.arrays()) {
        const bool real = array.type == nest::Type::f64;
        const auto* const first = elements<double>(*instance, array);
        doubles.emplace_back(first, first + (real ? array.bytes / nest::bytes(array.type) : 0));
        wholes.push_back(real ? std::vector<std::int64_t>() : values(array));
      }
      written::Interpreter meaning(nest);
      const bool real = nest.type == nest::Type::f64;
      meaning.doubles = real ? &doubles : nullptr;
      meaning.wholes = real ? nullptr : &wholes;
      meaning.run();
      BOOST_TEST(instance->accesses() == meaning.loads + meaning.stores);
      instance->region()();
      for (std::size_t a = 0; a < doubles.size(); ++a) {
        const auto& array = at.arrays()[a];
        const auto* const reals = elements<double>(*instance, array);
        for (std::size_t i = 0; i < doubles[a].size(); ++i) {
          const double got = reals[i];
          BOOST_TEST((got == doubles[a][i] || (std::isnan(got) && std::isnan(doubles[a][i]))),
                     a << "[" << i << "] is " << got << ", not " << doubles[a][i]);
        }
        if (!wholes[a].empty()) BOOST_TEST(values(array) == wholes[a], boost::test_tools::per_element());
      }
    }
  }
  BOOST_TEST(compared > 11);
}

BOOST_AUTO_TEST_CASE(no_name_of_the_file_reaches_the_compiler) {
  const auto nest =
      nest::parse("system.nest", "param evil = 3\nf64 asm_goto[evil]\nfor system in 0:evil { f64 "
                                 "__attribute__ = 2; asm_goto[system] = __attribute__ }\n");
  const std::string code = nest::generate(nest, {});
  for (const char* name : {"evil", "asm_goto", "system", "__attribute__"})
    BOOST_TEST(code.find(name) == code.npos, name);
}

BOOST_AUTO_TEST_CASE(nothing_is_left_behind) {
  if (no_compiler()) return;
  const process::TemporaryFolder temporary("recount-test");
  const std::string& folder = temporary.path();
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("TMPDIR", folder.c_str(), 1);
  {
    const auto instance = shipped("gemm-ijk").prepare({{"n", std::int64_t{3}}});
    BOOST_TEST(std::filesystem::is_empty(folder));
    BOOST_CHECK_THROW(nest::CompiledNest("this is no C"), Error);
    BOOST_TEST(std::filesystem::is_empty(folder));
  }
  before ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
}

BOOST_AUTO_TEST_SUITE_END()
