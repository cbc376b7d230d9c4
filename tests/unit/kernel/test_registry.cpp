// Kernels by name, and points completed.
#include "kernel/kernel.hpp"
#include "recount/error.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <set>

using namespace recount;
using kernel::Params;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(registry)

namespace {

struct Wrong {
  std::string kernel;
  Params point;
  std::vector<std::string> says;
};
std::ostream& operator<<(std::ostream& out, const Wrong& wrong) {
  return out << wrong.kernel << " " << wrong.says[0];
}

Params point(std::int64_t size, std::int64_t stride) {
  return {{"size", size}, {"stride", stride}};
}
Params with(Params params, const std::string& name, kernel::ParamValue value) {
  params[name] = std::move(value);
  return params;
}

const std::vector<Wrong> wrongs = {
    {"stride",
     with({}, "strid", std::int64_t{8}),
     {"stride --strid: no such parameter", "did you mean stride"}},
    {"stride", with({}, "stride", std::string("wide")), {"stride --stride: \"wide\" is not a number"}},
    {"stride", with({}, "size", std::int64_t{0}), {"stride --size: 0 is below the minimum, 1"}},
    {"stride", with({}, "offset", std::int64_t{4096}), {"stride --offset: 4096 is above the maximum, 4095"}},
    {"stride",
     with({}, "pagesize", std::string("hug")),
     {"stride --pagesize: \"hug\" is not one of its values", "huge"}},
    {"stride", with({}, "pagesize", std::int64_t{2}), {"stride --pagesize: \"2\" is not one of its values"}},
    {"stride", point(64, 65), {"stride --stride: 65 exceeds the size, 64"}},
    {"stride", with({}, "rounds", std::int64_t{0}), {"stride --passes: no pass at all"}},
    {"stride",
     with(point(std::int64_t{1} << 40, 8), "rounds", std::int64_t{1} << 44),
     {"stride --rounds: the number of accesses"}},
    {"chase", point(64, 4), {"chase --stride: 4 is below the minimum, 8"}},
    {"chase", with({}, "seed", std::int64_t{-1}), {"chase --seed: -1 is below the minimum, 0"}},
};

bool is_bad_input(const Error& e) {
  return e.kind() == ErrorKind::bad_input;
}

} // namespace

BOOST_AUTO_TEST_CASE(kernels_are_found_by_name) {
  std::set<std::string> names;
  for (const kernel::Kernel* k : kernel::all()) {
    BOOST_TEST(&kernel::find(k->name()) == k);
    BOOST_TEST(!k->prose().empty());
    names.insert(k->name());
  }
  BOOST_TEST(names.size() == kernel::all().size());
  BOOST_TEST((names.contains("stride") && names.contains("chase")));
}

BOOST_AUTO_TEST_CASE(an_unknown_kernel_is_told_the_nearest) {
  BOOST_CHECK_EXCEPTION((void)kernel::find("strid"), Error, [](const Error& e) {
    return is_bad_input(e) && std::string(e.what()).find("did you mean stride?") != std::string::npos;
  });
  BOOST_CHECK_EXCEPTION((void)kernel::find("xyzzy"), Error, [](const Error& e) {
    return is_bad_input(e) && std::string(e.what()).find("known: stride, chase") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(defaults_are_valid_points) {
  for (const kernel::Kernel* k : kernel::all()) {
    const Params complete = kernel::complete(*k, {});
    BOOST_TEST(complete.size() == k->parameters().size());
    BOOST_TEST(k->bytes(complete) > 0);
    BOOST_TEST((kernel::complete(*k, complete) == complete));
  }
}

BOOST_DATA_TEST_CASE(mistakes_are_named, data::make(wrongs), wrong) {
  const kernel::Kernel& k = kernel::find(wrong.kernel);
  BOOST_CHECK_EXCEPTION((void)k.bytes(wrong.point), Error, [&](const Error& e) {
    const std::string message = e.what();
    for (const std::string& part : wrong.says) {
      BOOST_TEST_CONTEXT(message) BOOST_TEST((message.find(part) != std::string::npos), part);
    }
    return is_bad_input(e);
  });
  BOOST_CHECK_THROW((void)k.prepare(wrong.point), Error);
}

BOOST_AUTO_TEST_SUITE_END()
