#include "matmul/published.hpp"

#include "base/csv.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "kernel/kernel.hpp"
#include "matmul/products.hpp"
#include "model/machine.hpp"
#include "preset/written.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

namespace recount::matmul {
namespace {

/// The presets that a study knows what to do with.
constexpr std::array preset_columns{"l1_dcm",  "l1_icm",  "l1_tcm", "l2_icm", "l2_tcm", "l2_dcm",
                                    "l3_dcm",  "l2_dca",  "l2_dch", "ld_ins", "sr_ins", "lst_ins",
                                    "tot_cyc", "tot_ins", "fp_ops", "dp_ops", "tlb_dm"};

/// What a column of values holds.
struct Metric {
  std::string name;     ///< "seconds", "PAPI_L1_DCM"
  std::string language; ///< of a time; empty: C++
};

/// Nothing where the column is unknown or names the product of its row.
std::optional<Metric> parse_metric(std::string column) {
  const auto upper = [](unsigned char c) { return static_cast<char>(std::toupper(c)); };
  if (column == "seconds" || column == "seconds_cpp") return Metric{"seconds", ""};
  if (constexpr std::string_view prefix = "seconds_";
      column.starts_with(prefix) && column.size() > prefix.size()) {
    column.erase(0, prefix.size());
    column[0] = upper(static_cast<unsigned char>(column[0]));
    return Metric{"seconds", column};
  }
  if (std::ranges::find(preset_columns, column) == preset_columns.end()) return {};
  std::ranges::transform(column, column.begin(), upper);
  return Metric{"PAPI_" + column, ""};
}

/// Columns that describe where a row was measured, in words.
constexpr std::array described_columns{"group",       "cpu", "microarchitecture", "pages", "flags",
                                       "pages_basis", "note"};

class Reader {
public:
  Reader(std::string_view text, const std::string& file, Duplicates duplicates)
      : table_(base::parse_csv(text, file, see_page)), duplicates_(duplicates) {}

  /// One table for each word in the column `group`, in the order of the file.
  std::vector<Published> read() {
    line_ = table_.head.number;
    if (!table_.head.fields.empty()) check_head();
    for (const auto& line : table_.rows) {
      line_ = line.number;
      read_row(line.fields);
    }
    std::erase_if(tables_, [](const Published& table) { return table.observations.empty(); });
    if (tables_.empty()) fail("has no values", "columns variant, n, l1_dcm ... and one row per product");
    for (Published& table : tables_)
      if (!table_.comments.empty()) table.run.versions["source"] = table_.comments;
    return std::move(tables_);
  }

private:
  using Cells = std::map<std::string_view, std::string_view>; ///< by column, those that are not empty

  static constexpr const char* see_page = "see recount-matmul(1)";
  [[noreturn]] void fail(const std::string& cause, const std::string& fix = see_page) const {
    table_.fail(line_, cause, fix);
  }

  void check_head() const {
    std::vector<std::string> known{"variant", "n",           "block",       "repetition",
                                   "seconds", "seconds_cpp", "seconds_java"};
    const auto& head = table_.head.fields;
    known.insert(known.begin(), described_columns.begin(), described_columns.end());
    const auto measured = known.begin() + described_columns.size() + 4;
    for (const auto column : head)
      if (std::find(known.begin(), measured, column) == measured && !parse_metric(std::string(column))) {
        known.insert(known.end(), preset_columns.begin(), preset_columns.end());
        fail(fmt::format("unknown column \"{:.80}\"", column), base::did_you_mean(column, known));
      }
    for (const char* needed : {"variant", "n"})
      if (std::ranges::find(head, needed) == head.end()) fail(std::string("there is no column ") + needed);
  }

  template <class Number>
  [[nodiscard]] Number number(std::string_view field, const char* what, bool zero = false) const {
    return table_.number<Number>(line_, field, what, see_page, zero);
  }

  [[nodiscard]] std::int64_t whole_number(std::string_view field) const {
    constexpr std::int64_t most = 1 << 20;
    const auto whole = number<std::int64_t>(field, "whole number above 0");
    if (whole > most) fail(fmt::format("{} is over {}", whole, most));
    return whole;
  }

  [[nodiscard]] result::Params product_of(const Cells& cells) const {
    if (!cells.contains("variant") || !cells.contains("n")) fail("the row has no variant or no n");
    const auto variant = parse_variant(cells.at("variant"));
    if (!variant || *variant == "dgemm")
      fail(fmt::format("\"{:.40}\" is not a variant", cells.at("variant")),
           "simple, line, block or a variant of the kernel matmul");
    result::Params given{
        {"element", std::string("f64")}, {"variant", *variant}, {"n", whole_number(cells.at("n"))}};
    if (const auto block = cells.find("block"); block != cells.end())
      given["block"] = whole_number(block->second);
    return given;
  }

  void read_row(const std::vector<std::string_view>& fields) {
    const auto& columns = table_.head.fields;
    Cells cells;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (!fields[i].empty()) cells.emplace(columns[i], fields[i]);
    table_of(cells);
    const auto given = product_of(cells);
    const auto point = kernel::complete(kernel::find("matmul"), given);
    auto& points = tables_[current_].points;
    if (std::ranges::find(points, point) == points.end()) points.push_back(point);
    const auto repetition = cells.find("repetition");
    const int number = repetition_of(repetition == cells.end() ? "1" : repetition->second, point);
    if (const auto [before, added] = lines_.try_emplace({current_, point, number}, line_); !added)
      fail(fmt::format("the product is that of line {}", before->second),
           "for several runs of one product add a column repetition: 1, 2 ...");
    for (const auto column : columns)
      if (const auto metric = parse_metric(std::string(column)); metric && cells.contains(column))
        add_value(*metric, cells.at(column), point, given, number);
  }

  /// From 0. A word ("mean", "run-b") is the next repetition of its product.
  int repetition_of(std::string_view field, const result::Params& point) {
    const bool keep = duplicates_ == Duplicates::keep;
    if (std::isalpha(static_cast<unsigned char>(field.front())) == 0) {
      const int number = static_cast<int>(whole_number(field)) - 1;
      if (!keep || !lines_.contains({current_, point, number})) return number;
    } else if (!words_.emplace(current_, point, field).second && !keep)
      fail(fmt::format("the product has another repetition \"{:.40}\"", field), "another word or number");
    int next = 0;
    while (lines_.contains({current_, point, next}))
      ++next;
    return next;
  }

  void add_value(const Metric& metric, std::string_view field, const result::Params& point,
                 const result::Params& given, int repetition) {
    result::Observation o;
    o.kernel = "matmul";
    o.params = point;
    o.repetition = repetition;
    o.witness = Witness::published;
    o.metric = metric.name;
    if (is_preset(metric.name))
      o.value = number<std::int64_t>(field, "count", true);
    else
      o.value = number<double>(field, "time in seconds");
    if (!metric.language.empty()) {
      o.kernel = "external";
      o.params = given;
      o.params["language"] = metric.language;
    }
    tables_[current_].observations.push_back(std::move(o));
  }

  /// Selects the table of the row's group. What describes a machine is the same in all rows of a group.
  void table_of(const Cells& cells) {
    const auto group = cells.find("group");
    const std::string name = group == cells.end() ? std::string() : std::string(group->second);
    const auto [at, added] = groups_.try_emplace(name, tables_.size());
    current_ = at->second;
    if (added) tables_.emplace_back();
    if (tables_.size() > most_groups) fail(fmt::format("has more than {} groups", most_groups));
    auto& versions = tables_[current_].run.versions;
    for (const char* column : {"group", "cpu", "microarchitecture", "pages", "flags"}) {
      const auto cell = cells.find(column);
      if (cell == cells.end()) continue;
      const auto [before, first] = versions.try_emplace(column, cell->second);
      if (!first && before->second != cell->second)
        fail(fmt::format("{} is \"{:.40}\", but was \"{:.40}\" in this group", column, cell->second,
                         before->second),
             "one group per machine and build");
    }
  }

  static constexpr std::size_t most_groups = 1000;
  base::CsvTable table_;
  Duplicates duplicates_;
  int line_ = 0;
  std::map<std::tuple<std::size_t, result::Params, int>, int> lines_;    ///< of every product and repetition
  std::set<std::tuple<std::size_t, result::Params, std::string>> words_; ///< in the column repetition
  std::map<std::string, std::size_t> groups_;                            ///< positions in `tables_`
  std::vector<Published> tables_;
  std::size_t current_ = 0;
};

/// Letters and digits only, small.
std::string plain(std::string_view text) {
  std::string all;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)))
      all += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return all;
}

/// The longest name of a shipped machine that the text mentions.
std::string machine_in(std::string_view text) {
  std::string best;
  for (const auto& name : model::machine_names())
    if (plain(text).find(plain(name)) != std::string::npos && name.size() > best.size()) best = name;
  return best;
}

/// The presets that a table holds values of.
std::vector<std::string> counted(const Published& table) {
  std::vector<std::string> presets;
  for (const auto& o : table.observations)
    if (is_preset(o.metric) && std::ranges::find(presets, o.metric) == presets.end())
      presets.push_back(o.metric);
  return presets;
}

/// FNV-1a.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

} // namespace

namespace {

/// The description of the CPU that a table names, or of its microarchitecture; empty: there is none.
std::string machine_of(const std::map<std::string, std::string>& versions, const std::string& file) {
  const auto word = [&](const char* key) {
    const auto at = versions.find(key);
    return at == versions.end() ? std::string() : at->second;
  };
  std::string found = machine_in(word("cpu"));
  if (found.empty() && word("cpu").empty()) found = machine_in(word("source") + " " + file);
  if (found.empty()) found = machine_of_microarchitecture(word("microarchitecture"));
  if (!found.empty() && word("pages") == "huge") found += "~huge";
  return found;
}

/// Fills in what identifies the run of a table.
void complete_run(Published& published, const std::string& file, const std::string& machine,
                  const std::string& id) {
  const std::string name = std::filesystem::path(file).filename().string();
  auto& versions = published.run.versions;
  const std::string known = machine.empty() ? machine_of(versions, name) : machine;
  const auto group = versions.find("group"), cpu = versions.find("cpu");
  versions["published"] = name + (group == versions.end() ? "" : " " + group->second);
  if (versions["source"].empty()) versions["source"] = name;
  if (!known.empty()) {
    versions["machine"] = known;
    if (const std::string pmu = model::machine(known).pmu; !pmu.empty())
      published.run.presets = preset_notes(counted(published), pmu);
  }
  published.run.id = "published-" + id + (group == versions.end() ? "" : "-" + group->second);
  published.run.host = versions["published"];
  const std::string stated = cpu == versions.end() || cpu->second == "?" ? known : cpu->second;
  published.run.cpu = stated.empty() ? "unknown CPU" : stated;
  for (auto& o : published.observations)
    o.run = published.run.id;
}

} // namespace

std::string machine_of_microarchitecture(std::string_view microarchitecture) {
  for (const auto& name : model::machine_names())
    if (!microarchitecture.empty() && model::machine(name).microarchitecture == microarchitecture)
      return name;
  return {};
}

std::vector<Published> parse_published(std::string_view text, const std::string& file,
                                       const std::string& machine, Duplicates duplicates) {
  if (!machine.empty()) static_cast<void>(model::machine(machine));
  std::vector<Published> tables = Reader(text, file, duplicates).read();
  const std::string id = digest(text);
  for (Published& table : tables)
    complete_run(table, file, machine, id);
  return tables;
}

std::vector<Published> read_published(const std::string& file, const std::string& machine,
                                      Duplicates duplicates) {
  const std::string text = base::read_file(file).value_or("");
  if (text.empty())
    throw bad_input(file, std::filesystem::exists(file) ? "is empty, or cannot be read" : "no such file");
  return parse_published(text, file, machine, duplicates);
}

std::map<std::string, std::string> preset_notes(const std::vector<std::string>& presets,
                                                const std::string& cpu) {
  std::map<std::string, std::string> notes;
  const event::pfm::Table* const core = cpu.empty() ? preset::default_pmu() : preset::core_pmu(cpu);
  if (!core) return notes;
  try {
    const std::string path = preset::papi_table();
    const PresetTable table = PresetTable::read(path);
    const auto view = preset::view(table.document(), core->name, core, PapiVersion::v7_0);
    const std::string file = std::filesystem::path(path).filename().string();
    for (const auto& name : presets)
      if (const Preset* const found = view.loaded.find(name))
        notes[name] = fmt::format("{} ({}, {}:{})", preset::formula_text(*found), name_of(found->type), file,
                                  found->place.line);
  } catch (const Error&) { // no table, or one that PAPI dies on: then nothing is counted by it either
  }
  return notes;
}

} // namespace recount::matmul
