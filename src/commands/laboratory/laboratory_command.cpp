#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/host/machine.hpp"
#include "base/nearest.hpp"
#include "base/output_file.hpp"
#include "base/process/child.hpp"
#include "base/process/signals.hpp"
#include "base/text.hpp"
#include "commands/laboratory/laboratory.hpp"
#include "kernel/command_line.hpp"
#include "run/result/curves.hpp"
#include "run/witness/backend.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"
#include "show/plot/select.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

// recount laboratory: the steps of the assignment, each a command of recount with a results file.
namespace recount::laboratory {
namespace {

namespace fs = std::filesystem;

struct LaboratoryArguments {
  std::string folder;
  std::vector<std::string> parts;
  bool resume = false, quiet = false, dry_run = false;
};

/// One measurement.
struct Step {
  std::string name;    ///< of its files: "l1-misses"
  std::string words;   ///< of a recount command, without its output files
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

/// In an emulation everything takes a hundred times as long, and a second execution has the same counts.
std::vector<Step> plan() {
  const bool exact = host::this_emulation().exact;
  const std::string counted = counters(), witness = counted.empty() ? "model" : counted,
                    cycles = counted.empty() ? "" : ",PAPI_TOT_CYC";
  const std::int64_t l1 = power_below(1, 32 << 10), l2 = power_below(2, 1 << 20), kib = 1024;
  const auto grid = [&](const char* kernel, const std::string& sizes, const std::string& strides, int rounds,
                        const std::string& rest) {
    return fmt::format("sweep {} --size {}:x2 --stride {}:x2 --where stride<=size/2 --rounds {} {}", kernel,
                       sizes, strides, exact ? 1 : rounds, rest);
  };
  const std::string times = std::string("--witness clock --repeat ") + (exact ? "1" : "3"),
                    counts = fmt::format("--repeat 1 --witness {} --metric", witness),
                    all_sizes = exact ? "4K:1M" : "4K:4M";
  return {
      {"access-times", grid("stride", all_sizes, "1:2M", 10, times)},
      {"latencies", grid("chase", all_sizes, "64:2M", 4, times)},
      {"l1-misses", grid("stride", fmt::format("8K:{}", std::max(64 * kib, 2 * l1)),
                         fmt::format("1:{}", std::max(32 * kib, l1)), 10, counts + " PAPI_L1_DCM" + cycles)},
      {"l2-misses", grid("stride", fmt::format("{}:{}", l2 / 4, 4 * l2),
                         fmt::format("{}:{}", exact ? 8 : 1, 2 * l2), 2, counts + " PAPI_L2_DCM" + cycles)},
      {"caches", "caches", false},
      {"products", fmt::format("matmul --study lab --no-java{} --repeat {}", exact ? " --quick" : "",
                               exact             ? 1
                               : counted.empty() ? 5
                                                 : 3)}};
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
  [[nodiscard]] std::vector<std::string> make_command(const Step& step) const {
    std::vector<std::string> words;
    for (const auto word : base::split(std::string_view(step.words), ' '))
      words.emplace_back(word);
    words.insert(words.end(),
                 {"-o", path(step, step.resumes ? ".jsonl" : ".part"), "--export", path(step, ".csv")});
    if (step.resumes) words.emplace_back("--resume");
    if (a_.quiet) words.emplace_back("--quiet");
    return words;
  }
  void print_plan() const {
    for (const Step& step : wanted_)
      command::print("recount {}\n", kernel::quoted(make_command(step)));
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
                      step.name);
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
    spawn.argv = make_command(step);
    spawn.argv.insert(spawn.argv.begin(), "/proc/self/exe");
    const process::Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    spawn.out = nowhere.get();
    process::Child child(spawn);
    bool stopping = false;
    for (;;) {
      if (const auto exit = child.wait_for(std::chrono::milliseconds(200))) {
        const bool known = exit->ok() || (exit->how == process::Exit::How::exited && exit->code == 3);
        if (known && !step.resumes && fs::exists(path(step, ".part"), error)) {
          fs::rename(path(step, ".part"), path(step), error);
          if (error) throw base::cannot_write(path(step), error.value());
        }
        return exit->how == process::Exit::How::exited ? exit->code : 1;
      }
      if (process::stop_signal != 0 && !std::exchange(stopping, true)) child.signal(process::stop_signal);
    }
  }

  const LaboratoryArguments& a_;
  std::string folder_;
  std::vector<Step> steps_, wanted_;
};

bool is_miss(const std::string& metric) {
  return metric == "PAPI_L1_DCM" || metric == "PAPI_L2_DCM";
}

std::string machine_text(const result::Results& results) {
  return results.runs.empty() ? "this machine" : plot::machine_name(results.runs.front());
}

const char* times_text(const result::Results& results) {
  return !results.runs.empty() && host::is_emulated(results.runs.front().cpu)
             ? "times and cycles are those of the emulated machine, not of a real one"
             : "times are measured";
}

/// "Table 3", "Figure 1": by the captions of tables and the names of pictures.
std::map<std::string, std::string> places(const std::vector<document::Block>& blocks, std::size_t tables) {
  std::map<std::string, std::string> all;
  std::size_t pictures = 0;
  for (const document::Block& block : blocks)
    if (const auto* const table = std::get_if<show::Table>(&block))
      all.try_emplace(table->caption, fmt::format("Table {}", ++tables));
    else if (const auto* const picture = std::get_if<document::Picture>(&block))
      all.try_emplace(picture->name, fmt::format("Figure {}", ++pictures));
  return all;
}

std::string value_text(const document::Answer& answer) {
  return answer.value.empty() ? "not answered: " + answer.reason : answer.value;
}

show::Table answers_table(const std::vector<document::Answer>& answers,
                          const std::map<std::string, std::string>& places) {
  show::Table table({{"question"}, {"answer"}, {"shown in"}, {"confidence"}}, "Answers");
  for (const document::Answer& answer : answers) {
    const auto place = places.find(answer.proof);
    table.add({answer.question, value_text(answer), place == places.end() ? "" : place->second,
               answer.confidence_text()});
  }
  return table;
}

/// How many points perf and PAPI both counted misses at, and how far these differ.
struct CountedTwice {
  std::size_t points = 0;
  double largest = 0; ///< difference of misses per access
};
CountedTwice compare_twice(const result::Results& results) {
  std::map<std::tuple<std::string, result::Params, std::string>, std::array<std::vector<double>, 2>> all;
  for (const auto& o : results.observations)
    if (const auto each = result::per_access(o);
        each && is_miss(o.metric) && (o.witness == Witness::perf || o.witness == Witness::papi))
      all[{o.kernel, o.params, o.metric}].at(o.witness == Witness::papi ? 1 : 0).push_back(*each);
  CountedTwice twice;
  for (const auto& [key, counts] : all) {
    const auto& [perf, papi] = counts;
    if (perf.empty() || papi.empty()) continue;
    ++twice.points;
    twice.largest = std::max(twice.largest, std::abs(statistics::median(perf) - statistics::median(papi)));
  }
  return twice;
}

/// "misses are counted by papi and perf (58 points twice, which differ by at most 0.0007 per access)".
std::string source_of_misses(const result::Results& results) {
  std::set<std::string> counted;
  for (const auto& o : results.observations)
    if (is_miss(o.metric) && !o.witness.modelled() && o.value.index() != 0) counted.insert(o.witness.name());
  if (counted.empty())
    return "misses are modelled for the caches that the system states: nothing counts them here";
  std::string text = fmt::format("misses are counted by {}", fmt::join(counted, " and "));
  if (const CountedTwice twice = compare_twice(results); twice.points > 0)
    text += fmt::format(" ({} twice, which differ by at most {:.4f} per access)",
                        base::format_count(twice.points, "point"), twice.largest);
  return text;
}

/// All answers of the sections, in their order.
std::vector<document::Answer> collect_answers(const result::Results& results,
                                              const std::vector<document::Section>& sections) {
  std::vector<document::Answer> all;
  for (const document::Part& part : document::by_machine(results))
    for (const document::Section& section : sections)
      if (section.answers && !part.published)
        std::ranges::move(section.answers(part), std::back_inserter(all));
  return all;
}

/// Answers first. `files`: the results beside the report, to be named.
Paper write_paper(const result::Results& results, const Features& features,
                  const std::vector<std::string>& files) {
  document::Gallery gallery(features.figures());
  const document::Material material{results, document::by_machine(results), {}, gallery};
  std::vector<document::Block> body;
  for (const document::Section& section : features.sections)
    document::append(body, section.write(material));
  Paper paper;
  auto& blocks = paper.document.blocks;
  paper.document.title = "Laboratory: caches and matrix products of " + machine_text(results);
  std::string source = source_of_misses(results);
  source.front() = 'M';
  blocks.emplace_back(document::Paragraph{
      fmt::format("{}; {}. All values, with their repetitions, are in the files beside this report: {}.",
                  source, times_text(results), fmt::join(files, ", "))});
  for (const auto& study : result::incomplete(results))
    blocks.emplace_back(document::Paragraph{result::describe(study)});
  blocks.emplace_back(document::Heading{"Answers", 1});
  blocks.emplace_back(answers_table(collect_answers(results, features.sections), places(body, 1)));
  document::append(blocks, std::move(body));
  paper.pictures = gallery.wanted();
  return paper;
}

/// The answers of at most a line each, on a terminal of so many columns; the report has the confidence of
/// those that a narrow one shows.
std::string answers_screen(const result::Results& results, const std::vector<document::Answer>& answers,
                           std::size_t columns) {
  constexpr std::size_t longest = 60;
  const bool narrow = columns < 60;
  show::Table table({{"question"}, {"answer"}, {"confidence"}});
  std::string lines, note;
  for (const document::Answer& answer : answers) {
    std::string value = value_text(answer);
    if (answer.value.empty()) value = "not answered: the report has the reason";
    const bool fits = value.size() <= longest;
    if (!fits) value = "in the report";
    if (answer.open) note = "  ?: not established\n";
    lines += command::wrap(answer.question + ": " + value, columns, 2) + "\n";
    table.add({answer.question, value, fits ? answer.confidence : ""});
  }
  return command::wrap(machine_text(results) + "; " + source_of_misses(results), columns, 2) + "\n" +
         (narrow ? lines : command::table_text(table, stdout, columns)) + note;
}

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
  command::print("{}", answers_screen(results, answers, command::line_width()));
  command::print_wrapped(fmt::format("Report: {}; values: {}",
                                     typeset ? place("report.pdf") + " (and .html, .md, .tex)"
                                             : place("report.html") + " (and .md, .tex)",
                                     place("*.csv")),
                         2);
  return status;
}

} // namespace

command::Command laboratory_command(const Features& features) {
  return command::make_command<LaboratoryArguments>(
      "laboratory", "measure and report the assignment on caches and matrix products",
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
