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

namespace recount::matmul {
namespace {

/// The presets that a study knows what to do with.
constexpr std::array preset_columns{"l1_dcm",  "l2_dcm",  "l3_dcm",  "l2_dca", "l2_dch", "ld_ins", "sr_ins",
                                    "lst_ins", "tot_cyc", "tot_ins", "fp_ops", "dp_ops", "tlb_dm"};

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

class Reader {
public:
  Reader(std::string_view text, const std::string& file) : table_(base::parse_csv(text, file, see_page)) {}

  Published read() {
    if (!table_.comments.empty()) published_.run.versions["source"] = table_.comments;
    line_ = table_.head.number;
    if (!table_.head.fields.empty()) check_head();
    for (const auto& line : table_.rows) {
      line_ = line.number;
      read_row(line.fields);
    }
    if (published_.observations.empty())
      fail("has no values", "columns variant, n, l1_dcm ... and one row per product");
    return std::move(published_);
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
    for (const auto column : head)
      if (std::find(known.begin(), known.begin() + 4, column) == known.begin() + 4 &&
          !parse_metric(std::string(column))) {
        known.insert(known.end(), preset_columns.begin(), preset_columns.end());
        fail(fmt::format("unknown column \"{:.80}\"", column), base::did_you_mean(column, known));
      }
    for (const char* needed : {"variant", "n"})
      if (std::ranges::find(head, needed) == head.end()) fail(std::string("there is no column ") + needed);
  }

  template <class Number>
  [[nodiscard]] Number number(std::string_view field, const char* what) const {
    return table_.number<Number>(line_, field, what, see_page);
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
    const auto given = product_of(cells);
    const auto repetition = cells.find("repetition");
    const int number = repetition == cells.end() ? 0 : static_cast<int>(whole_number(repetition->second)) - 1;
    const auto point = kernel::complete(kernel::find("matmul"), given);
    if (std::ranges::find(published_.points, point) == published_.points.end())
      published_.points.push_back(point);
    if (const auto [before, added] = lines_.try_emplace({point, number}, line_); !added)
      fail(fmt::format("the product is that of line {}", before->second),
           "for several runs of one product add a column repetition: 1, 2 ...");
    for (const auto column : columns)
      if (const auto metric = parse_metric(std::string(column)); metric && cells.contains(column))
        add_value(*metric, cells.at(column), point, given, number);
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
      o.value = number<std::int64_t>(field, "count");
    else
      o.value = number<double>(field, "time in seconds");
    if (!metric.language.empty()) {
      o.kernel = "external";
      o.params = given;
      o.params["language"] = metric.language;
    }
    published_.observations.push_back(std::move(o));
  }

  base::CsvTable table_;
  int line_ = 0;
  std::map<std::pair<result::Params, int>, int> lines_; ///< of every product and repetition
  Published published_;
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

Published parse_published(std::string_view text, const std::string& file, const std::string& machine) {
  Published published = Reader(text, file).read();
  const std::string name = std::filesystem::path(file).filename().string();
  auto& versions = published.run.versions;
  const std::string known = machine.empty() ? machine_in(versions["source"] + " " + name) : machine;
  if (!machine.empty()) static_cast<void>(model::machine(machine));
  versions["published"] = name;
  if (versions["source"].empty()) versions["source"] = name;
  if (!known.empty()) versions["machine"] = known;
  if (!known.empty())
    if (const std::string pmu = model::machine(known).pmu; !pmu.empty())
      published.run.presets = preset_notes(counted(published), pmu);
  published.run.id = "published-" + digest(text);
  published.run.host = name;
  published.run.cpu = known.empty() ? "the machine of " + name : known;
  for (auto& o : published.observations)
    o.run = published.run.id;
  return published;
}

Published read_published(const std::string& file, const std::string& machine) {
  const std::string text = base::read_file(file).value_or("");
  if (text.empty())
    throw bad_input(file, std::filesystem::exists(file) ? "is empty, or cannot be read" : "no such file");
  return parse_published(text, file, machine);
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
