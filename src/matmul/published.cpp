#include "matmul/published.hpp"

#include "base/csv.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "kernel/kernel.hpp"
#include "model/machine.hpp"
#include "preset/written.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>

namespace recount::matmul {
namespace {

struct NameRow {
  const char *published, *ours;
};
constexpr std::array variant_names{NameRow{"simple", "ijk"},     NameRow{"line", "ikj"},
                                   NameRow{"block", "blocked"},  NameRow{"straightforward", "ijk-mem"},
                                   NameRow{"ijk", "ijk"},        NameRow{"ijk-mem", "ijk-mem"},
                                   NameRow{"ikj", "ikj"},        NameRow{"transposed", "transposed"},
                                   NameRow{"blocked", "blocked"}};
/// The presets that a study knows what to do with.
constexpr std::array preset_columns{"l1_dcm",  "l2_dcm",  "l3_dcm",  "l2_dca", "l2_dch", "ld_ins", "sr_ins",
                                    "lst_ins", "tot_cyc", "tot_ins", "fp_ops", "dp_ops", "tlb_dm"};

struct Column {
  enum class Kind { variant, n, block, repetition, seconds, count } kind;
  std::string metric;   ///< of a count
  std::string language; ///< of a time; empty: C++
};

std::string capital(std::string word) {
  if (!word.empty()) word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  return word;
}

class Reader {
public:
  Reader(std::string_view text, const std::string& file) : table_(base::parse_csv(text, file, remedy)) {}

  Published read() {
    if (!table_.comments.empty()) made_.run.versions["source"] = table_.comments;
    line_ = table_.head.number;
    if (!table_.head.fields.empty()) head();
    for (const auto& line : table_.rows) {
      line_ = line.number;
      row(line.fields);
    }
    if (made_.observations.empty())
      fail("has no values", "columns variant, n, l1_dcm ... and one row per product");
    return std::move(made_);
  }

private:
  static constexpr const char* remedy = "see recount-matmul(1)";
  [[noreturn]] void fail(const std::string& cause, const std::string& fix = remedy) const {
    table_.fail(line_, cause, fix);
  }

  void head() {
    for (const auto field : table_.head.fields)
      columns_.push_back(column(std::string(field)));
    for (const auto kind : {Column::Kind::variant, Column::Kind::n})
      if (std::ranges::none_of(columns_, [&](const Column& c) { return c.kind == kind; }))
        fail(kind == Column::Kind::n ? "there is no column n" : "there is no column variant");
  }

  [[nodiscard]] Column column(const std::string& name) const {
    if (name == "variant") return {Column::Kind::variant, "", ""};
    if (name == "n") return {Column::Kind::n, "", ""};
    if (name == "block") return {Column::Kind::block, "", ""};
    if (name == "repetition") return {Column::Kind::repetition, "", ""};
    if (name == "seconds" || name == "seconds_cpp") return {Column::Kind::seconds, "", ""};
    if (name.starts_with("seconds_") && name.size() > 8)
      return {Column::Kind::seconds, "", capital(name.substr(8))};
    if (std::ranges::find(preset_columns, name) != preset_columns.end()) {
      std::string metric = "PAPI_" + name;
      std::ranges::transform(metric, metric.begin(),
                             [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      return {Column::Kind::count, metric, ""};
    }
    std::vector<std::string> known{"variant", "n",           "block",       "repetition",
                                   "seconds", "seconds_cpp", "seconds_java"};
    known.insert(known.end(), preset_columns.begin(), preset_columns.end());
    fail(fmt::format("unknown column \"{:.80}\"", name), base::did_you_mean(name, known));
  }

  template <class Number>
  [[nodiscard]] Number number(std::string_view field, const char* what) const {
    return table_.number<Number>(line_, field, what, remedy);
  }

  void row(const std::vector<std::string_view>& fields) {
    result::Params given{{"element", std::string("f64")}};
    repetition_ = 0;
    const auto each = [&](auto&& take) {
      for (std::size_t i = 0; i < columns_.size(); ++i)
        if (!fields[i].empty()) take(columns_[i], fields[i]);
    };
    each([&](const Column& c, std::string_view field) { place(c, field, given); });
    if (!given.contains("variant") || !given.contains("n")) fail("the row has no variant or no n");
    const auto point = kernel::complete(kernel::find("matmul"), given);
    if (std::ranges::find(made_.points, point) == made_.points.end()) made_.points.push_back(point);
    if (const auto [before, added] = lines_.try_emplace({point, repetition_}, line_); !added)
      fail(fmt::format("the product is that of line {}", before->second),
           "for several runs of one product add a column repetition: 1, 2 ...");
    each([&](const Column& c, std::string_view field) { value(c, field, point, given); });
  }

  void place(const Column& column, std::string_view field, result::Params& given) {
    if (column.kind == Column::Kind::variant) {
      const auto* const name =
          std::ranges::find_if(variant_names, [&](const NameRow& r) { return r.published == field; });
      if (name == variant_names.end())
        fail(fmt::format("\"{:.40}\" is not a variant", field),
             "simple, line, block or a variant of the kernel matmul");
      given["variant"] = std::string(name->ours);
    }
    constexpr std::int64_t most = 1 << 20;
    if (column.kind != Column::Kind::n && column.kind != Column::Kind::block &&
        column.kind != Column::Kind::repetition)
      return;
    const auto whole = number<std::int64_t>(field, "whole number above 0");
    if (whole > most) fail(fmt::format("{} is over {}", whole, most));
    if (column.kind == Column::Kind::repetition)
      repetition_ = static_cast<int>(whole) - 1;
    else
      given[column.kind == Column::Kind::n ? "n" : "block"] = whole;
  }

  void value(const Column& column, std::string_view field, const result::Params& point,
             const result::Params& given) {
    if (column.kind != Column::Kind::seconds && column.kind != Column::Kind::count) return;
    result::Observation o;
    o.kernel = "matmul";
    o.params = point;
    o.repetition = repetition_;
    o.witness = Witness::published;
    if (column.kind == Column::Kind::count) {
      o.metric = column.metric;
      o.value = number<std::int64_t>(field, "count");
    } else {
      o.metric = "seconds";
      o.value = number<double>(field, "time in seconds");
    }
    if (!column.language.empty()) {
      o.kernel = "external";
      o.params = given;
      o.params["language"] = column.language;
    }
    made_.observations.push_back(std::move(o));
  }

  base::CsvTable table_;
  int line_ = 0;
  int repetition_ = 0; ///< of the row, from 0
  std::vector<Column> columns_;
  std::map<std::pair<result::Params, int>, int> lines_; ///< of every product and repetition
  Published made_;
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

/// PlottedValue apart by what it holds (FNV-1a).
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

} // namespace

Published parse_published(std::string_view text, const std::string& file, const std::string& machine) {
  Published made = Reader(text, file).read();
  const std::string name = std::filesystem::path(file).filename().string();
  auto& versions = made.run.versions;
  const std::string known = machine.empty() ? machine_in(versions["source"] + " " + name) : machine;
  if (!machine.empty()) static_cast<void>(model::machine(machine));
  versions["published"] = name;
  if (versions["source"].empty()) versions["source"] = name;
  if (!known.empty()) versions["machine"] = known;
  if (!known.empty())
    if (const std::string pmu = model::machine(known).pmu; !pmu.empty())
      made.run.presets = preset_notes(counted(made), pmu);
  made.run.id = "published-" + digest(text);
  made.run.host = name;
  made.run.cpu = known.empty() ? "the machine of " + name : known;
  for (auto& o : made.observations)
    o.run = made.run.id;
  return made;
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
