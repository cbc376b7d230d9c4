// Started by test_draw.cpp in a mount namespace of its own: draws onto a file system of 16 KiB.
#include "show/plot/sheet.hpp"
#include "skip.hpp"
#include "unit/plot/synthetic.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/mount.h>

using namespace recount::plot;

BOOST_AUTO_TEST_CASE(full_disk, *boost::unit_test::disabled()) {
  const char* const folder = std::getenv("RECOUNT_TEST_SMALL_DISK");
  BOOST_TEST_REQUIRE(folder != nullptr);
  if (::mount("none", folder, "tmpfs", 0, "size=16k") != 0)
    return recount::test::skip(std::string("cannot mount a small file system here: ") + std::strerror(errno));
  recount::plot::Options options;
  options.width = 7;
  options.targets = {{recount::plot::Format::png, std::string(folder) + "/fig.png"}};
  try {
    recount::plot::draw(recount::plot::compose("access-time", recount::plot::timed_sweep()), options);
    BOOST_ERROR("16 KiB held the figure");
  } catch (const recount::Error& error) {
    BOOST_CHECK(error.kind() == recount::ErrorKind::bad_input);
    BOOST_TEST_MESSAGE(error.what());
  }
  BOOST_TEST(std::filesystem::is_empty(folder));
}
