#include "base/output_file.hpp"
#include "base/process/fd.hpp"
#include "base/process/temporary_folder.hpp"
#include "base/text.hpp"

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

BOOST_AUTO_TEST_SUITE(output_file)

namespace {
using namespace recount;

namespace fs = std::filesystem;

struct Place {
  process::TemporaryFolder folder{"recount-output"};
  fs::path path = folder.path();
};

/// What check_writable() throws; nothing when it accepts the path.
std::optional<Problem> refused(const fs::path& path, base::Output how) {
  try {
    base::check_writable("--plot", path.string(), how);
    return {};
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::bad_input));
    return error.problem();
  }
}

BOOST_AUTO_TEST_CASE(check_writable_changes_nothing) {
  const Place place;
  std::ofstream(place.path / "there") << "kept";
  for (const auto how : {base::Output::appended, base::Output::replaced}) {
    BOOST_TEST(!refused(place.path / "new", how));
    BOOST_TEST(!refused(place.path / "there", how));
    BOOST_TEST(!refused("/dev/null", how));
    BOOST_TEST(!refused("-", how));
    BOOST_TEST(!refused("", how));
  }
  BOOST_TEST(fs::file_size(place.path / "there") == 4U);
  BOOST_TEST(std::distance(fs::directory_iterator(place.path), fs::directory_iterator()) == 1);
}

BOOST_AUTO_TEST_CASE(unwritable_paths_are_rejected) {
  const Place place;
  std::ofstream(place.path / "file") << "x";
  for (const auto how : {base::Output::appended, base::Output::replaced}) {
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
  BOOST_TEST((base::cannot_write("a", ENOSPC).kind() == ErrorKind::bad_input));
  const Error out = base::cannot_write("-", ENOSPC);
  BOOST_TEST((out.kind() == ErrorKind::unavailable));
  BOOST_TEST(out.problem().subject == "standard output");
}

BOOST_AUTO_TEST_CASE(the_fix_follows_the_errno) {
  const auto fix = [](int error) { return base::cannot_write("a", error).problem().fix; };
  const auto holds = [&](int error, const char* part) { return fix(error).find(part) != std::string::npos; };
  for (const int error : {ENOSPC, EDQUOT}) {
    BOOST_TEST(holds(error, "remove files"));
    BOOST_TEST(base::cannot_write("-", error).problem().fix == fix(error));
  }
  BOOST_TEST(holds(ENOENT, "exists"));
  BOOST_TEST(holds(EACCES, "may write"));
  BOOST_TEST(!holds(EACCES, "exists"));
  BOOST_TEST(!holds(ENOENT, "write"));
  BOOST_TEST(holds(EROFS, "mounted for writing"));
  BOOST_TEST(holds(EISDIR, "not a folder"));
  BOOST_TEST(holds(EMFILE, "ulimit -n"));
  BOOST_TEST(fix(EIO).empty());
  BOOST_TEST(base::cannot_write("-", EACCES).problem().fix.empty());
}

BOOST_AUTO_TEST_CASE(a_file_is_written_whole_or_reported) {
  const Place place;
  const std::string path = (place.path / "text").string(), text(100'000, 'x');
  BOOST_TEST(base::write_file(path, text));
  BOOST_TEST(base::read_file(path).value() == text);
  BOOST_TEST(base::write_file(path, "short"));
  BOOST_TEST(base::read_file(path).value() == "short");
  BOOST_TEST(!base::write_file("/dev/full", text));
  BOOST_TEST(errno == ENOSPC);
  BOOST_TEST(!base::write_file((place.path / "none" / "text").string(), text));
  BOOST_TEST(errno == ENOENT);
}

BOOST_AUTO_TEST_CASE(links_are_followed_to_what_does_not_exist_yet) {
  const Place place;
  fs::create_symlink("second", place.path / "first");
  fs::create_symlink("file", place.path / "second");
  fs::create_symlink("circle", place.path / "circle");
  BOOST_TEST(base::follow_links(place.path / "first") == place.path / "file");
  BOOST_TEST(base::follow_links(place.path / "file") == place.path / "file");
  BOOST_TEST(base::follow_links(place.path / "circle") == place.path / "circle");
  BOOST_CHECK_NO_THROW(base::check_writable("-o", place.path / "first", base::Output::replaced));
  BOOST_CHECK_THROW(base::check_writable("-o", place.path / "circle", base::Output::replaced), Error);
}

BOOST_AUTO_TEST_CASE(a_read_is_bounded) {
  const Place place;
  const std::string path = (place.path / "text").string(), text(100'000, 'x');
  BOOST_REQUIRE(base::write_file(path, text));
  const auto read = [&](std::size_t most) {
    const process::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return base::read_all(file.get(), most);
  };
  BOOST_TEST(read(text.size()).value() == text);
  BOOST_TEST(!read(text.size() - 1).has_value());
  BOOST_TEST(errno == EFBIG);
  BOOST_TEST(!base::read_file(place.path.string()).has_value()); // a directory opens and cannot be read
  BOOST_TEST(errno == EISDIR);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace
