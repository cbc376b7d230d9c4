// Runs each case of the table named by RECOUNT_TABLE on the program named by RECOUNT.
#include "surroundings.hpp"
#include "table.hpp"

#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "skip.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <regex>
#include <sstream>
#include <sys/stat.h>

BOOST_AUTO_TEST_SUITE(table)

namespace {
using namespace recount;
using namespace recount::test;
namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Of "{0x1b}" that byte.
std::string with_bytes(std::string text) {
  for (auto at = text.find("{0x"); at != std::string::npos; at = text.find("{0x", at + 1))
    text.replace(at, 6, 1, static_cast<char>(std::stoi(text.substr(at + 3, 2), nullptr, 16)));
  return text;
}

/// "NAME TEXT" with the two-letter \n of the text made a line end.
std::pair<std::string, std::string> named_text(const std::string& value) {
  const auto blank = value.find(' ');
  std::string text = blank == std::string::npos ? std::string() : value.substr(blank + 1);
  for (auto at = text.find("\\n"); at != std::string::npos; at = text.find("\\n", at + 1))
    text.replace(at, 2, "\n");
  return {value.substr(0, blank), with_bytes(text)};
}

/// The case under way: its folder, and the program where it can be run from there.
struct Scene {
  Folder folder;
  std::string program = variable("RECOUNT");
  const Row& row;

  explicit Scene(const Row& the_row) : row(the_row) {
    for (const auto& file : row.all("file")) {
      auto [name, text] = named_text(file);
      for (auto at = text.find("{cpu}"); at != std::string::npos; at = text.find("{cpu}"))
        text.replace(at, 5, cpu_in_tables());
      std::ofstream(folder.path() / name, std::ios::binary) << text;
    }
    fs::create_directory(folder.path() / "empty");
    if (row.get("as") != "nobody") return;
    // The build folder need not be open to everybody.
    fs::copy_file(program, folder.path() / "recount");
    program = (folder.path() / "recount").string();
    ::chmod(program.c_str(), 0755);
  }

  /// In the folder: by a shell's cd, since a child has no other way to be put there before exec.
  [[nodiscard]] process::Spawn spawn(const std::string& command) const {
    process::Spawn s;
    s.argv = {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder.path().string()};
    for (const auto& word : words(with_bytes(command)))
      s.argv.push_back(word == "recount" ? program : word);
    for (const auto& setting : row.all("env")) {
      const auto equals = setting.find('=');
      s.environment.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    // The first of two settings counts: a case can have its own.
    if (row.get("path") == "empty") s.environment.emplace_back("PATH", (folder.path() / "empty").string());
    if (row.get("as") == "nobody") s.user = std::pair<uid_t, gid_t>{65534, 65534};
    s.core_dump = false;
    return s;
  }
};

process::Captured run(const Scene& scene) {
  process::Spawn spawn = scene.spawn(scene.row.get("run"));
  // Five times: what is quick on a quiet machine may not fail on a busy one.
  const std::chrono::milliseconds limit(5 * 1000 * std::stol(scene.row.get("within", "60")));
  const std::string target = scene.row.get("stdout-to");
  if (target.empty()) return process::capture(spawn, {}, limit);
  process::Fd out;
  if (target == "closed pipe") {
    process::Pipe pipe;
    out = std::move(pipe.write); // its reader goes with `pipe`
  } else {
    out.reset(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
  }
  // capture() takes stdout for itself: hand ours over beside it, and let the shell put it in place.
  spawn.descriptors.emplace_back(out.get(), 9);
  spawn.argv[2] = "cd \"$0\" && exec \"$@\" >&9 9>&-";
  return process::capture(spawn, {}, limit);
}

/// Continued lines begin with blanks; a pattern need not know where a sentence is wrapped.
std::string unwrapped(const std::string& text) {
  return std::regex_replace(text, std::regex("\n +"), " ");
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    widest = std::max(widest, static_cast<std::size_t>(std::ranges::count_if(line, [](char c) {
                        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
                      })));
  return widest;
}

void check_text(const Row& row, const std::string& stream, const std::string& text) {
  for (const auto& pattern : row.all(stream)) {
    const std::regex wanted(pattern == "(empty)" ? "" : pattern);
    const bool found = pattern == "(empty)"
                           ? text.empty()
                           : std::regex_search(text, wanted) || std::regex_search(unwrapped(text), wanted);
    BOOST_CHECK_MESSAGE(found, stream << " lacks /" << pattern << "/:\n" << text);
  }
  for (const auto& pattern : row.all(stream + "-not"))
    BOOST_CHECK_MESSAGE(!std::regex_search(text, std::regex(pattern)), stream << " has /" << pattern << "/:\n"
                                                                              << text);
  if (const std::string most = row.get("widest"); !most.empty())
    BOOST_CHECK_MESSAGE(widest_line(text) <= std::stoul(most), stream << " is wider than " << most
                                                                      << " columns:\n"
                                                                      << text);
}

void check_exit(const Row& row, const process::Captured& got) {
  using How = process::Exit::How;
  std::string seen = std::to_string(got.exit.code);
  if (got.exit.how == How::signalled) seen = process::signal_name(got.exit.code);
  if (got.exit.how == How::timed_out) seen = process::describe(got.exit);
  const std::string expected = row.get("exit", "0");
  BOOST_CHECK_MESSAGE(("|" + expected + "|").find("|" + seen + "|") != std::string::npos,
                      "exit status " << seen << " instead of " << expected << "; stdout:\n"
                                     << got.out << "stderr:\n"
                                     << got.err);
}

void check_row(const Row& row) {
  BOOST_TEST_INFO_SCOPE(row.file << ":" << row.line << ": " << row.get("run"));
  for (const auto& need : row.all("needs")) {
    if (const auto reason = missing(need); !reason.empty()) return skip(row.name + ": " + reason);
  }
  if (row.get("as") == "nobody" && !missing("root").empty()) return skip(row.name + ": not root");
  const Scene scene(row);
  for (const auto& command : row.all("first")) {
    const auto got = process::capture(scene.spawn(command), {}, std::chrono::seconds(600));
    BOOST_REQUIRE_MESSAGE(got.exit.ok(), command << ": " << process::describe(got.exit) << "\n" << got.err);
  }
  const auto got = run(scene);
  check_exit(row, got);
  check_text(row, "stdout", got.out);
  check_text(row, "stderr", got.err);
  for (const auto& file : row.all("creates"))
    BOOST_CHECK_MESSAGE(!slurp(scene.folder.path() / file).empty(), file << " is missing or empty");
  for (const auto& file : row.all("lacks"))
    BOOST_CHECK_MESSAGE(!fs::exists(scene.folder.path() / file), file << " is there");
  for (const auto& file : row.all("leaves")) {
    const auto [name, text] = named_text(file);
    BOOST_TEST(slurp(scene.folder.path() / name) == text);
  }
}

/// Registers the rows before main, so that each is a case of its own.
struct Register {
  Register() {
    using namespace boost::unit_test;
    static std::vector<Row> rows;
    if (std::getenv("RECOUNT_TABLE") == nullptr) return; // another suite is run
    try {
      rows = read_table(variable("RECOUNT_TABLE"));
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::exit(1);
    }
    for (const auto& row : rows) {
      std::string name = row.name; // '/' would separate suites in a name
      for (char& c : name)
        c = c == '/' ? '|' : c;
      framework::current_auto_test_suite().add(
          make_test_case([&row] { check_row(row); }, name, row.file, static_cast<std::size_t>(row.line)));
    }
  }
};
const Register registered;

} // namespace

BOOST_AUTO_TEST_SUITE_END()
