// Blocks are executed where the processor has what they take, and refused with the reason where it has not.
#include "kernel/feature.hpp"
#include "kernel/kernel.hpp"
#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;
using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(blocks)

namespace {

/// Whether the point could be executed; else the error is the right one.
bool executes(const kernel::Kernel& k, const result::Params& point) {
  try {
    const auto instance = k.prepare(point);
    instance->region()();
    return true;
  } catch (const Error& error) {
    const std::string cause = error.problem().cause;
    const bool lacks = cause.starts_with("this processor, or its operating system, has no ") &&
                       error.kind() == ErrorKind::unavailable;
    const bool unwritten = cause.ends_with("has no such instruction") && error.kind() == ErrorKind::bad_input;
    BOOST_TEST((lacks || unwritten), error.what());
    BOOST_TEST(error.problem().subject.starts_with(k.name()));
    return false;
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_width_is_executed_or_refused_with_its_reason) {
  const kernel::Kernel& k = kernel::find("float");
  int executed = 0;
  for (const std::string& operation : k.parameters()[0].choices)
    for (const std::string& element : k.parameters()[1].choices)
      for (const std::string& width : k.parameters()[2].choices)
        executed += executes(k, {{"operation", operation}, {"element", element}, {"width", width}}) ? 1 : 0;
  BOOST_TEST(executed >= 6); // every processor adds, multiplies and divides in two precisions
  BOOST_TEST(executes(k, {}));
}

BOOST_AUTO_TEST_CASE(what_needs_no_extension_is_never_refused) {
  BOOST_TEST(kernel::missing(kernel::Feature::none) == "");
#ifdef __x86_64__
  const auto other = kernel::Feature::fp16;
#else
  const auto other = kernel::Feature::avx512f;
#endif
  BOOST_TEST(kernel::missing(other).starts_with("this processor, or its operating system, has no "));
}

BOOST_AUTO_TEST_CASE(a_point_without_an_instruction_is_skipped_before_it_is_prepared) {
#ifdef __x86_64__
  BOOST_CHECK_EXCEPTION(static_cast<void>(kernel::find("sync").bytes({{"operation", "refused"s}})), Error,
                        [](const Error& e) { return e.kind() == ErrorKind::bad_input; });
#else
  BOOST_TEST(kernel::find("sync").bytes({}) > 0);
#endif
}

BOOST_AUTO_TEST_CASE(coins_fall_on_either_side_equally) {
  for (const std::string pattern : {"random", "alternating"}) {
    const kernel::Kernel& k = kernel::find("branch");
    const auto instance = k.prepare({{"pattern", pattern}, {"turns", std::int64_t{100}}});
    const auto* const coins = reinterpret_cast<const unsigned char*>(instance->placement().base);
    int ones = 0, changes = 0;
    for (int i = 0; i < 1600; ++i) {
      BOOST_TEST(coins[i] <= 1);
      ones += coins[i];
      changes += i > 0 && coins[i] != coins[i - 1] ? 1 : 0;
    }
    BOOST_TEST(ones == 800);
    if (pattern == "alternating")
      BOOST_TEST(changes == 1599);
    else
      BOOST_TEST(std::abs(changes - 800) < 100); // five times the deviation of fair coins
  }
}

BOOST_AUTO_TEST_CASE(scatter_visits_every_place_once_a_pass) {
  const kernel::Kernel& k = kernel::find("scatter");
  for (const std::int64_t size : {1024, 65536, 1 << 20})
    for (const std::int64_t stride : {8, 64}) {
      const auto instance = k.prepare(
          {{"operation", "store"s}, {"size", size}, {"stride", stride}, {"passes", std::int64_t{1}}});
      auto* const data = reinterpret_cast<volatile std::int64_t*>(instance->placement().base);
      for (std::int64_t i = 0; i < size / 8; ++i)
        data[i] = 0x5a5a5a5a5a5a5a5a;
      instance->region()(); // stores a register that is not this number
      std::int64_t written = 0;
      for (std::int64_t i = 0; i < size / 8; ++i)
        written += data[i] != 0x5a5a5a5a5a5a5a5a ? 1 : 0;
      BOOST_TEST(written == size / stride, size << " " << stride << ": " << written);
    }
}

BOOST_AUTO_TEST_SUITE_END()
