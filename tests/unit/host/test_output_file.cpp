#include "base/output_file.hpp"

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace {
using namespace recount;
using namespace recount::host;
namespace fs = std::filesystem;

struct Place {
  fs::path path;
  Place() {
    std::string name = (fs::temp_directory_path() / "recount-output-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Place() { fs::remove_all(path); }
};

/// What check_writable() throws; nothing when it accepts the path.
std::optional<Problem> refused(const fs::path& path, Output how) {
  try {
    check_writable("--plot", path.string(), how);
    return {};
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::bad_input));
    return error.problem();
  }
}

BOOST_AUTO_TEST_SUITE(output_file)

BOOST_AUTO_TEST_CASE(a_check_creates_and_changes_nothing) {
  const Place place;
  std::ofstream(place.path / "there") << "kept";
  for (const auto how : {Output::appended, Output::replaced}) {
    BOOST_TEST(!refused(place.path / "new", how));
    BOOST_TEST(!refused(place.path / "there", how));
    BOOST_TEST(!refused("/dev/null", how));
    BOOST_TEST(!refused("-", how));
    BOOST_TEST(!refused("", how));
  }
  BOOST_TEST(fs::file_size(place.path / "there") == 4U);
  BOOST_TEST(std::distance(fs::directory_iterator(place.path), fs::directory_iterator()) == 1);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_refused) {
  const Place place;
  std::ofstream(place.path / "file") << "x";
  for (const auto how : {Output::appended, Output::replaced}) {
    const auto missing = refused(place.path / "no" / "such", how);
    BOOST_TEST_REQUIRE(missing.has_value());
    BOOST_TEST(missing->subject == "--plot " + (place.path / "no" / "such").string());
    BOOST_TEST(missing->cause == "cannot be written: No such file or directory");
    BOOST_TEST(refused(place.path, how)->cause == "cannot be written: Is a directory");
    BOOST_TEST(refused(place.path / "new" / "", how)->cause == "cannot be written: Is a directory");
    BOOST_TEST(refused(place.path / "file" / "below", how)->cause == "cannot be written: Not a directory");
    BOOST_TEST(refused("/proc/recount-new", how).has_value()); // also for root, whom access(2) lets
  }
}

BOOST_AUTO_TEST_CASE(a_named_file_is_bad_input_and_standard_output_is_not) {
  BOOST_TEST((cannot_write("a", ENOSPC).kind() == ErrorKind::bad_input));
  const Error out = cannot_write("-", ENOSPC);
  BOOST_TEST((out.kind() == ErrorKind::unavailable));
  BOOST_TEST(out.problem().subject == "standard output");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace
