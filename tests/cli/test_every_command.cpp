// What holds for every command: no output is lost with status 0, numbers out of range are refused, a flag
// takes no value. The commands and their options are those of the program's own help, so that none can be
// forgotten here.
#include "surroundings.hpp"
#include "table.hpp"

#include "base/process/child.hpp"
#include "skip.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>

BOOST_AUTO_TEST_SUITE(every_command)

namespace {
using namespace recount;
using namespace recount::test;
namespace fs = std::filesystem;

/// A short run of a command that writes to each of its outputs.
struct Example {
  std::string arguments;
  std::string need = {};             ///< as in the tables of cases
  bool runs_program = false;         ///< its table goes to stderr, and a failure of recount is status 125
  std::string before = {};           ///< makes what it reads
  std::string with_plot = {};        ///< what --plot takes beside it
  std::string output = "full.jsonl"; ///< for -o
  std::string without_output = {};   ///< what it takes where that is not tried
  int also = 0;                      ///< another status of success: 3 of check where PAPI counts nothing
};

const std::string one_run = " --size 4K --stride 64 --rounds 1 --repeat 1 --witness clock -q ";

const std::map<std::string, Example>& examples() {
  static const std::map<std::string, Example> all{
      {"doctor", {""}},
      {"events", {"--pmu perf fault"}},
      {"lint", {"table.csv"}},
      {"explain", {"published.csv --hypotheses story.txt"}},
      {"propose", {"--table table.csv --pmu skx", "tables of x86 CPUs"}},
      {"presets", {"--table table.csv --pmu skl L1_DCM", "tables of x86 CPUs"}},
      {"check", {.arguments = "perf::PAGE-FAULTS -q --repeat 1", .need = "software events", .also = 3}},
      {"caches", {.arguments = "-q", .without_output = "--from counted.jsonl"}},
      {"compare", {"nodes.jsonl"}},
      {"stat", {"-e perf::PAGE-FAULTS -- true", "software events", true}},
      {"sweep", {"stride --size 4K,8K --stride 64,128 --rounds 1 --repeat 1 --witness clock -q"}},
      {"plot",
       {"r.jsonl", "gnuplot", false,
        "sweep stride --size 4K,8K --stride 64,128 --rounds 1 --repeat 1 --witness clock -q -o r.jsonl", "",
        "full.svg"}},
      {"emulate", {"-- host true", "root", true}},
      {"cost", {"--repeat 1 --at-once 1 -e perf::PAGE-FAULTS", "software events"}},
      {"profile", {"-e page-faults:period=1 -- sh -c :", "software events", true}},
      {"watch",
       {"--plain --interval 50 -e perf::PAGE-FAULTS -- sleep 0.1", "software events", true, "",
        "-o watched.jsonl"}},
      {"matmul", {"--study report --n 30 --block 16 --repeat 1 --no-java --witness clock -q"}},
      {"laboratory", {"-n"}},
      {"report",
       {"r.jsonl --format markdown", "", false,
        "sweep chase --size 4K,64K --stride 64 --rounds 1 --repeat 1 --witness clock -q -o r.jsonl", "",
        "folder", "-o made"}},
      {"completion", {"bash"}},
  };
  return all;
}

/// Options with a file as their value.
const std::set<std::string> written{"--output", "--plot",         "--script",    "--folded",
                                    "--export", "--caption-file", "--contribute"};
const std::set<std::string> read_only{
    "--metrics",     "--from-results", "--table",    "--published",      "--external-results",
    "--from",        "--identities",   "--baseline", "--write-baseline", "--libpfm",
    "--user-events", "--hypotheses",   "--input",    "--events-file",    "--counts"};

/// The same value on two machines.
constexpr const char* two_nodes = R"({"type":"run","schema":"recount-results/2","run":"A","host":"a"}
{"type":"observation","run":"A","kernel":"stride","params":{"size":4096},"repetition":0,"witness":"clock","metric":"seconds","value":1}
{"type":"run","schema":"recount-results/2","run":"B","host":"b"}
{"type":"observation","run":"B","kernel":"stride","params":{"size":4096},"repetition":0,"witness":"clock","metric":"seconds","value":1}
)";

/// A folder with a table of presets, results of two machines, and files of every suffix on a full device.
struct Place {
  Folder folder;
  Place() {
    std::ofstream(folder.path() / "nodes.jsonl") << two_nodes;
    std::ofstream(folder.path() / "published.csv") << "variant,n,l1_dcm\nsimple,600,244526955\n";
    std::ofstream(folder.path() / "story.txt") << "L1 | i7-9700 | Skylake\nallowance | ijk | 0 | 2\n";
    std::ofstream(folder.path() / "table.csv") << "CPU,skl\nPRESET,PAPI_L1_DCM,NOT_DERIVED,L1D:REPLACEMENT\n";
    for (const char* suffix : {"jsonl", "svg", "gp", "txt", "md", "csv"})
      fs::create_symlink("/dev/full", folder.path() / (std::string("full.") + suffix));
  }

  /// `shell`: what a shell does before, and where it sends the streams: "ulimit -f 0; exec \"$@\" >&-".
  [[nodiscard]] process::Captured run(const std::string& line,
                                      const std::string& shell = "exec \"$@\"") const {
    process::Spawn spawn;
    spawn.argv = {"/bin/sh", "-c", "cd \"$0\" && " + shell, folder.path().string(), variable("RECOUNT")};
    for (const auto& word : words(line))
      spawn.argv.push_back(word);
    spawn.core_dump = false;
    return process::capture(spawn, {}, std::chrono::minutes(5));
  }
};

std::string help(const std::string& command) {
  return Place().run(command + " --help").out;
}

std::vector<std::string> commands() {
  const std::string text = Place().run("--help").out;
  std::vector<std::string> names;
  const std::regex line(R"(\n  ([a-z]+) )");
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at)
    names.push_back((*at)[1]);
  return names;
}

/// Options that write files; complains about options that are not known here.
std::vector<std::string> writing_options(const std::string& command, const std::string& text) {
  std::vector<std::string> found;
  const std::regex line(R"((--[a-z-]+) (FILE|FOLDER)\b)");
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
    const std::string option = (*at)[1];
    if (written.contains(option)) found.push_back(option);
    BOOST_TEST((written.contains(option) || read_only.contains(option)),
               command << " " << option
                       << ": add it to those that are written or to those that are read only");
  }
  return found;
}

void check_status(const process::Captured& got, int wanted, const std::string& what) {
  BOOST_TEST((got.exit.how == process::Exit::How::exited && got.exit.code == wanted),
             what << ": " << process::describe(got.exit) << " instead of " << wanted << "\n"
                  << got.out << got.err);
}

/// "--json" before the program that is run.
std::string with(const std::string& arguments, const std::string& option) {
  const auto at = arguments.find("-- ");
  return at == std::string::npos ? arguments + " " + option
                                 : arguments.substr(0, at) + option + " " + arguments.substr(at);
}

void check_streams(const Place& place, const std::string& command, const Example& example, bool json) {
  const std::string line = command + " " + with(example.arguments, json ? "--json" : example.without_output);
  const bool on_stderr = example.runs_program && !json;
  const auto usual = place.run(line);
  check_status(usual, usual.exit.code == example.also ? example.also : 0, line);
  BOOST_TEST(!(on_stderr ? usual.err : usual.out).empty(), line << " writes nothing");
  const std::string stream = on_stderr ? "2" : "1";
  for (const char* where : {">/dev/full", ">&-"})
    check_status(place.run(line, "exec \"$@\" " + stream + where), example.runs_program ? 125 : 3,
                 line + " " + stream + where);
}

void check_files(const Place& place, const std::string& command, const Example& example,
                 const std::string& option) {
  static const std::map<std::string, std::string> full{
      {"--plot", "full.svg"},   {"--script", "full.gp"}, {"--caption-file", "full.txt"},
      {"--folded", "full.txt"}, {"--export", "full.md"}, {"--contribute", "full.csv"}};
  const std::string file = option == "--output" ? example.output : full.at(option);
  const bool drawn = file.ends_with(".svg");
  if (drawn && !missing("gnuplot").empty())
    return skip(command + " " + option + ": gnuplot is not installed");
  if (drawn && !missing("figures").empty()) return skip(command + " " + option + ": built without figures");
  const int wanted = example.runs_program ? 125 : 2;
  const std::string beside = option == "--plot" ? example.with_plot : std::string();
  const auto line = [&](const std::string& path) {
    return command + " " + with(example.arguments, option + " " + path + " " + beside);
  };
  const auto fails = [&](const std::string& path, const std::string& shell) {
    fs::remove(place.folder.path() / "watched.jsonl");
    check_status(place.run(line(path), shell), wanted, line(path) + " by " + shell);
  };
  if (file != "folder") fails(file, "exec \"$@\"");
  // gnuplot writes the figure: it is killed by the limit.
  if (!drawn) fails("new-" + file, "ulimit -f 0; exec \"$@\"");
  if (file == "folder") return fails("table.csv", "exec \"$@\""); // is a file
  fails("no/such/" + file, "exec \"$@\"");
  BOOST_TEST(!fs::exists(place.folder.path() / "watched.jsonl"), line(file) << " was begun");
}

/// `option` may be given once only: what the example gives is left out.
std::string without(const std::string& arguments, const std::string& option) {
  return std::regex_replace(arguments, std::regex(option + "(?![a-z-])( [^ -][^ ]*)?"), "");
}

/// A number is never clipped to the range that an option takes.
void check_numbers(const Place& place, const std::string& command, const Example& example,
                   const std::string& text) {
  const std::regex line(R"((--[a-z-]+) (N|MS|SECONDS|SIZE|PID|PERCENT|INCHES|RANGE)\b)");
  const std::regex refused(
      "99999999999999999999\"?:? .*(is not|not|is no|must be)[^]*(from|between|below|up to|CPU)");
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
    const std::string option = (*at)[1];
    const std::string call =
        command + " " + with(without(example.arguments, option), option + " 99999999999999999999");
    const auto got = place.run(call);
    check_status(got, example.runs_program ? 125 : 2, call);
    BOOST_TEST(std::regex_search(got.err, refused), call << " names no range:\n" << got.err);
  }
}

void check_flags(const Place& place, const std::string& command, const Example& example,
                 const std::string& text) {
  const std::regex line(R"((--[a-z-]+) {2,})");
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
    const std::string option = (*at)[1];
    if (option == "--help") continue;
    const std::string call = command + " " + with(without(example.arguments, option), option + "=5");
    const auto got = place.run(call);
    check_status(got, example.runs_program ? 125 : 2, call);
    BOOST_TEST(got.err.find(option + " takes no value") != std::string::npos, call << ":\n" << got.err);
  }
}

/// A figure that cannot be drawn is an error before anything is measured, and no file is touched.
void check_before_measuring(const Place& place, const std::string& command, const Example& example,
                            const std::string& text_of_help) {
  if (const auto reason = missing("figures"); !reason.empty()) return skip(command + " --plot: " + reason);
  const auto fig = place.folder.path() / "fig.svg", results = place.folder.path() / "new.jsonl";
  std::ofstream(fig) << "kept";
  const char* const and_results =
      text_of_help.find("--output") != std::string::npos ? " --output new.jsonl" : "";
  for (const auto& [path, shell] : {std::pair{"fig.svg", "PATH=/no/such; exec \"$@\""},
                                    {"no/such/fig.svg", "exec \"$@\""},
                                    {"fig.gif", "exec \"$@\""}}) {
    const std::string call =
        command + " " + with(example.arguments, std::string("--plot ") + path + and_results);
    const auto got = place.run(call, shell);
    BOOST_TEST((got.exit.how == process::Exit::How::exited && got.exit.code != 0), call << ": ended well");
    BOOST_TEST(got.err.find(path == std::string("fig.svg") ? "gnuplot" : "--plot") != std::string::npos,
               got.err);
    BOOST_TEST(!fs::exists(results), call << ": was begun by " << shell);
    std::string text;
    std::getline(std::ifstream(fig) >> std::ws, text);
    BOOST_TEST(text == "kept", call << ": changed " << fig);
  }
}

void check_command(const std::string& command) {
  const auto found = examples().find(command);
  BOOST_TEST_REQUIRE((found != examples().end()), "no example of " << command << " in this file");
  const Example& example = found->second;
  if (!example.need.empty())
    if (const auto reason = missing(example.need); !reason.empty()) return skip(command + ": " + reason);
  const Place place;
  fs::copy_file(variable("DATA") + "/caches/counted.jsonl", place.folder.path() / "counted.jsonl");
  if (!example.before.empty()) check_status(place.run(example.before), 0, example.before);
  const std::string text = help(command);
  check_streams(place, command, example, false);
  if (text.find("--json") != std::string::npos) check_streams(place, command, example, true);
  check_numbers(place, command, example, text);
  check_flags(place, command, example, text);
  for (const auto& option : writing_options(command, text))
    check_files(place, command, example, option);
  if (command != "plot" && text.find("--plot") != std::string::npos)
    check_before_measuring(place, command, example, text);
}

BOOST_AUTO_TEST_CASE(the_examples_are_those_of_the_commands) {
  const auto names = commands();
  BOOST_TEST(names.size() == examples().size());
  for (const auto& name : names)
    BOOST_TEST(examples().contains(name), "no example of " << name << " in this file");
}

BOOST_AUTO_TEST_CASE(results_on_standard_output) {
  const Place place;
  for (const char* where : {">/dev/full", ">&-"})
    check_status(place.run("sweep stride" + one_run + "-o -", std::string("exec \"$@\" ") + where), 3, where);
}

/// A case for each command, before main.
const bool registered = [] {
  using namespace boost::unit_test;
  if (!std::getenv("RECOUNT") || std::getenv("RECOUNT_TABLE")) return false; // another suite is run
  for (const auto& command : commands())
    framework::current_auto_test_suite().add(
        make_test_case([command] { check_command(command); }, command, __FILE__, __LINE__));
  return true;
}();

} // namespace

BOOST_AUTO_TEST_SUITE_END()
