#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/host/machine.hpp"
#include "base/nearest.hpp"
#include "base/process/child.hpp"
#include "base/process/signals.hpp"
#include "base/text.hpp"
#include "commands/laboratory/laboratory.hpp"
#include "run/result/results_file.hpp"
#include "run/witness/backend.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>

// recount laboratory: the steps of the assignment, each a command of recount with a results file.
namespace recount::laboratory {
namespace {

namespace fs = std::filesystem;

struct LaboratoryArguments {
  std::string folder;
  std::vector<std::string> parts;
  bool resume = false, quiet = false, dry_run = false;
};

/// One measurement: words of a recount command, without its output files.
struct Step {
  std::string name;  ///< of its files: "l1-misses"
  std::string prose; ///< "misses of L1"
  std::vector<std::string> words;
  bool resumes = true; ///< has --resume; else its file is complete once it has its name
};

/// perf and PAPI as far as they count misses here; empty: neither does.
std::string counters() {
  std::vector<std::string> all;
  for (const Witness::Kind kind : {Witness::perf, Witness::papi})
    if (witness::find(kind).missing({"PAPI_L1_DCM"}).empty()) all.push_back(Witness(kind).name());
  return fmt::format("{}", fmt::join(all, ","));
}

/// The largest power of two up to the data cache of a level as the system states it.
std::int64_t power_below(int level, std::int64_t otherwise) {
  const auto* const cache = host::this_machine().data_cache(level);
  const auto size = static_cast<std::uint64_t>(cache ? std::max<std::int64_t>(cache->size, 1) : otherwise);
  return static_cast<std::int64_t>(std::bit_floor(size));
}

/// The kernel over sizes and strides of powers of two. `rounds`: passes for each byte of stride.
Step grid(const std::string& name, const std::string& prose, const std::string& kernel,
          const std::string& sizes, const std::string& strides, int rounds, const std::string& witness,
          const std::string& metrics) {
  Step step{name, prose, {"sweep", kernel, "--size", sizes, "--stride", strides}};
  for (const std::string& word :
       {std::string("--where"), std::string("stride<=size/2"), std::string("--rounds"),
        std::to_string(rounds), std::string("--witness"), witness})
    step.words.push_back(word);
  if (!metrics.empty()) step.words.insert(step.words.end(), {"--metric", metrics});
  step.words.insert(step.words.end(),
                    {"--repeat", witness == "clock" && !host::this_emulation().exact ? "3" : "1"});
  return step;
}

/// In an emulation everything takes a hundred times as long, and a second execution has the same counts.
std::vector<Step> plan() {
  const bool exact = host::this_emulation().exact;
  const std::string counted = counters(), witness = counted.empty() ? "model" : counted;
  const std::string cycles = counted.empty() ? "" : ",PAPI_TOT_CYC";
  const std::int64_t l1 = power_below(1, 32 << 10), l2 = power_below(2, 1 << 20);
  const int rounds = exact ? 1 : 10;
  std::vector<Step> all{
      grid("access-times", "access times by size and stride", "stride", "4K:4M:x2", "1:2M:x2", rounds,
           "clock", ""),
      grid("latencies", "access times of dependent loads", "chase", "4K:4M:x2", "64:2M:x2", exact ? 1 : 4,
           "clock", ""),
      grid("l1-misses", "misses of L1", "stride",
           fmt::format("8K:{}:x2", std::max<std::int64_t>(64 << 10, 2 * l1)),
           fmt::format("1:{}:x2", std::max<std::int64_t>(32 << 10, l1)), rounds, witness,
           "PAPI_L1_DCM" + cycles),
      grid("l2-misses", "misses of L2", "stride", fmt::format("{}:{}:x2", l2 / 4, 4 * l2),
           fmt::format("{}:{}:x2", exact ? 8 : 1, 2 * l2), exact ? 1 : 2, witness, "PAPI_L2_DCM" + cycles),
      {"caches", "cache sizes, lines and ways", {"caches"}, false},
      {"products", "products of 16-bit integers", {"matmul", "--study", "lab", "--no-java"}}};
  auto& products = all.back().words;
  if (exact) products.emplace_back("--quick");
  products.insert(products.end(), {"--repeat", exact ? "1" : counted.empty() ? "5" : "3"});
  return all;
}

std::vector<Step> wanted_steps(const LaboratoryArguments& a) {
  std::vector<Step> steps = plan();
  const auto parts = base::list_words(a.parts);
  std::vector<std::string> names;
  for (const Step& step : steps)
    names.push_back(step.name);
  for (const std::string& part : parts)
    if (std::ranges::find(names, part) == names.end())
      throw bad_input("--parts " + part, "no such part",
                      base::did_you_mean(part, names, fmt::format("{}", fmt::join(names, ", "))));
  if (!parts.empty())
    std::erase_if(steps,
                  [&](const Step& step) { return std::ranges::find(parts, step.name) == parts.end(); });
  return steps;
}

/// Its parts in a folder.
class Measurement {
public:
  explicit Measurement(const LaboratoryArguments& a)
      : a_(a),
        folder_(a.folder.empty() ? "laboratory" : a.folder),
        steps_(plan()),
        wanted_(wanted_steps(a)) {}

  [[nodiscard]] std::string path(const Step& step, const char* suffix = ".jsonl") const {
    return (fs::path(folder_) / (step.name + suffix)).string();
  }
  /// The command of a step as it is executed.
  [[nodiscard]] std::vector<std::string> command_of(const Step& step) const {
    std::vector<std::string> words = step.words;
    words.insert(words.end(),
                 {"-o", path(step, step.resumes ? ".jsonl" : ".part"), "--export", path(step, ".csv")});
    if (step.resumes) words.emplace_back("--resume");
    if (a_.quiet) words.emplace_back("--quiet");
    return words;
  }
  void print_plan() const {
    for (const Step& step : wanted_)
      command::print("recount {}\n", fmt::join(command_of(step), " "));
  }
  /// Refuses a folder that holds results, unless it is resumed, and creates it.
  void prepare() const {
    if (!a_.resume)
      for (const Step& step : steps_)
        if (!result::holds_nothing(path(step)))
          throw bad_input(path(step), "holds results already",
                          fmt::format("recount laboratory -o {} --resume, or another folder", folder_));
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error)
      throw bad_input(folder_, "cannot be created: " + error.message(), "name another folder with -o");
  }
  /// Executes the steps; the status of the worst.
  int execute() const {
    int status = 0;
    for (const Step& step : wanted_) {
      if (!a_.quiet)
        command::note("recount laboratory: part {} of {}: {}\n", &step - wanted_.data() + 1, wanted_.size(),
                      step.prose);
      const int ended = execute(step);
      if (process::stop_signal != 0) return 128 + process::stop_signal;
      if (ended == 2)
        throw bad_input(path(step), "could not be measured: see the message above", "another folder with -o");
      if (ended != 3) status = std::max(status, ended); // 3: nothing was found, which the report states
    }
    return status;
  }
  /// All parts that were measured, also earlier ones.
  [[nodiscard]] std::vector<std::string> results_files() const {
    std::vector<std::string> files;
    for (const Step& step : steps_)
      if (!result::holds_nothing(path(step))) files.push_back(path(step));
    return files;
  }
  [[nodiscard]] const std::string& folder() const { return folder_; }

private:
  [[nodiscard]] int execute(const Step& step) const {
    std::error_code error;
    if (!step.resumes) {
      if (!result::holds_nothing(path(step))) return 0;
      fs::remove(path(step, ".part"), error);
    }
    process::Spawn spawn;
    spawn.argv = command_of(step);
    spawn.argv.insert(spawn.argv.begin(), "/proc/self/exe");
    const process::Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    spawn.out = nowhere.get();
    process::Child child(spawn);
    bool stopping = false;
    for (;;) {
      if (const auto exit = child.wait_for(std::chrono::milliseconds(200))) {
        const bool known = exit->ok() || (exit->how == process::Exit::How::exited && exit->code == 3);
        if (known && !step.resumes) fs::rename(path(step, ".part"), path(step), error);
        return exit->how == process::Exit::How::exited ? exit->code : 1;
      }
      if (process::stop_signal != 0 && !std::exchange(stopping, true)) child.signal(process::stop_signal);
    }
  }

  const LaboratoryArguments& a_;
  std::string folder_;
  std::vector<Step> steps_, wanted_;
};

int execute_laboratory(const LaboratoryArguments& a, const Features& features) {
  const Measurement measurement(a);
  if (a.dry_run) {
    measurement.print_plan();
    return 0;
  }
  measurement.prepare();
  process::catch_stop_signals();
  const int status = measurement.execute();
  const auto files = measurement.results_files();
  if (process::stop_signal != 0) {
    command::note("recount laboratory: resume with recount laboratory -o {} --resume\n",
                  measurement.folder());
    return status;
  }
  auto results = result::read(files);
  result::join_shards(results);
  const auto answers = collect_answers(results, features.sections);
  const auto names =
      base::mapped(files, [](const std::string& file) { return fs::path(file).filename().string(); });
  const Written written = features.publish(write_paper(results, features, names), measurement.folder());
  for (const auto& warning : written.warnings)
    command::note("recount laboratory: warning: {}\n", warning);
  const auto place = [&](const char* name) { return (fs::path(measurement.folder()) / name).string(); };
  const bool typeset = std::ranges::find(written.files, place("report.pdf")) != written.files.end();
  command::print("{}Report: {} (and .html, .md, .tex); values: {}\n",
                 answers_screen(results, answers, command::line_width()),
                 place(typeset ? "report.pdf" : "report.html"), place("*.csv"));
  return status;
}

} // namespace

command::Command laboratory_command(const Features& features) {
  return command::make_command<LaboratoryArguments>(
      "laboratory", "measure and report the laboratory assignment on caches and matrix products",
      [](command::Options& options, LaboratoryArguments& a) {
        options
            .text("-o,--output", a.folder, "DIR",
                  "write results, tables and the report to DIR (default laboratory)")
            .list("--parts", a.parts, "LIST",
                  "measure only these: access-times, latencies, l1-misses, l2-misses, caches, products")
            .flag("--resume", a.resume, "continue in DIR: measure what is missing, write the report again")
            .flag("-q,--quiet", a.quiet, "print no progress")
            .flag("-n,--dry-run", a.dry_run, "print the commands and exit");
      },
      [features](const LaboratoryArguments& a) { return execute_laboratory(a, features); });
}

} // namespace recount::laboratory
