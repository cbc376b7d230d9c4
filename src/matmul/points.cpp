#include "matmul/points.hpp"
#include "base/nearest.hpp"

#include "kernel/command_line.hpp"
#include "kernel/kernel.hpp"
#include "sweep/range.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::matmul {
namespace {

/// A row of a study: one kernel over sizes, and over blocks where there are any.
struct StudyRow {
  const char *study, *kernel, *variant, *element;
  const char* sizes;  ///< ranges as recount sweep takes them; empty: none
  const char* quick;  ///< the same for --quick
  const char* blocks; ///< empty: no blocks; "line": as many elements as a line holds
  bool both_ways;     ///< with and without the transposition
  bool modelled;
};

constexpr const char* small_sizes = "600:3000:400";
constexpr const char* every_size = "600:3000:400,4096:10240:2048";
constexpr const char* large_sizes = "4096:10240:2048";
constexpr const char* quick_sizes = "600,1000";

// The grids of the laboratory and of the report (see SOURCES in recount-matmul(1)); 64 and 1024 beside the
// report's blocks of 128, 256 and 512.
constexpr StudyRow study_rows[] = {
    {"lab", "matmul", "ijk-mem", "i16", "1024", "1024", "", false, true},
    {"lab", "matmul", "transposed", "i16", "1024", "1024", "", true, true},
    {"lab", "matmul", "blocked", "i16", "1024", "1024", "line", false, true},
    {"lab", "matmul-vectorised", "ijk-mem", "i16", "1024", "1024", "", false, false},
    {"lab", "matmul-vectorised", "transposed", "i16", "1024", "1024", "", true, false},
    {"lab", "matmul-vectorised", "blocked", "i16", "1024", "1024", "line", false, false},
    {"report", "matmul", "ijk", "f64", small_sizes, quick_sizes, "", false, true},
    {"report", "matmul", "ikj", "f64", every_size, quick_sizes, "", false, true},
    {"report", "matmul", "blocked", "f64", large_sizes, "600", "64,128,256,512,1024", false, true},
    {"report", "matmul-vectorised", "ikj", "f64", every_size, quick_sizes, "", false, false},
    {"report", "dgemm", "", "f64", every_size, quick_sizes, "", false, false},
};
constexpr std::int64_t most_of_dgemm = 1 << 15; ///< sizes are 32-bit integers in BLAS
constexpr const char* most_for_commands = "600:3000:400";

using result::Params;

/// The parameters that the kernel has, out of those given.
Params point_of(const std::string& kernel, const StudyRow& row, std::int64_t n) {
  Params given{{"n", n}};
  if (kernel == "dgemm") return given;
  given["variant"] = std::string(row.variant);
  given["element"] = std::string(row.element);
  return given;
}

void add(std::vector<MatmulStop>& stops, const std::string& kernel, const Params& given, bool timed,
         bool modelled) {
  const Params point = kernel::complete(kernel::find(kernel), given);
  for (auto& stop : stops)
    if (stop.kernel == kernel && stop.point == point) {
      stop.timed = stop.timed || timed;
      stop.modelled = stop.modelled || modelled;
      return;
    }
  stops.push_back({kernel, point, timed, modelled});
}

std::vector<std::int64_t> blocks_of(const StudyRow& row, const MatmulChoice& choice) {
  const std::string blocks = row.blocks;
  if (blocks.empty()) return {0};
  if (blocks == "line") return {choice.line / (std::string(row.element) == "i16" ? 2 : 8)};
  if (!choice.blocks.empty()) return choice.blocks;
  return sweep::parse_range(blocks, "--block");
}

void add_row(std::vector<MatmulStop>& stops, const StudyRow& row, const MatmulChoice& choice) {
  const bool lab = std::string(row.study) == "lab";
  const auto sizes = !lab && !choice.sizes.empty()
                         ? choice.sizes
                         : sweep::parse_range(choice.quick ? row.quick : row.sizes, "--n");
  for (const std::int64_t n : sizes) {
    if (std::string(row.kernel) == "dgemm" && n > most_of_dgemm) continue;
    Params given = point_of(row.kernel, row, n);
    for (const std::int64_t block : blocks_of(row, choice)) {
      // A block of the whole matrix is `line`; unless asked for it is left out.
      if (block >= n && choice.blocks.empty()) continue;
      if (block > 0) given["block"] = block;
      if (!row.both_ways) {
        add(stops, row.kernel, given, true, row.modelled);
        continue;
      }
      for (const char* transpose : {"included", "excluded"}) {
        given["transpose"] = std::string(transpose);
        add(stops, row.kernel, given, true, row.modelled);
      }
    }
  }
}

bool wanted(const MatmulChoice& choice, const std::string& study) {
  return std::ranges::find(choice.studies, study) != choice.studies.end();
}

} // namespace

const std::vector<MatmulStudyRow>& matmul_studies() {
  static const std::vector<MatmulStudyRow> rows{
      {"lab", "16-bit integers, n = 1024: straightforward, transposed, blocked to the line"},
      {"report", "doubles: simple and line from n = 600, blocks to n = 10240, dgemm, Java"}};
  return rows;
}

std::vector<MatmulStop> matmul_points(const MatmulChoice& choice) {
  std::vector<std::string> names;
  for (const auto& row : matmul_studies())
    names.emplace_back(row.name);
  for (const auto& study : choice.studies)
    if (std::ranges::find(names, study) == names.end())
      throw bad_input("--study " + study, "no such study", base::did_you_mean(study, names, "lab or report"));
  std::vector<MatmulStop> stops;
  for (const StudyRow& row : study_rows)
    if (wanted(choice, row.study)) add_row(stops, row, choice);
  for (const auto& point : choice.of_published)
    add(stops, "matmul", point, true, true);
  return stops;
}

std::vector<MatmulStop> command_points(const MatmulChoice& choice) {
  std::vector<MatmulStop> stops;
  if (!wanted(choice, "report") && choice.of_published.empty()) return stops;
  const std::int64_t most = sweep::parse_range(most_for_commands, "--n").back();
  for (const std::string& command : choice.commands) {
    const std::size_t equals = command.find('=');
    const bool named = equals != std::string::npos && equals < command.find(' ');
    const std::string line = named ? command.substr(equals + 1) : command;
    const std::string language =
        named ? command.substr(0, equals) : kernel::language_of(kernel::words_of(line, "--external")[0]);
    for (const MatmulStop& stop : matmul_points(choice)) {
      const auto& variant = stop.kernel == "matmul" ? std::get<std::string>(stop.point.at("variant")) : "";
      if ((variant != "ijk" && variant != "ikj") ||
          std::get<std::string>(stop.point.at("element")) != "f64" ||
          std::get<std::int64_t>(stop.point.at("n")) > most)
        continue;
      add(stops, "external",
          {{"command", line}, {"language", language}, {"variant", variant}, {"n", stop.point.at("n")}}, true,
          false);
    }
  }
  return stops;
}

std::vector<MatmulStop> ceiling_points(const std::vector<std::int64_t>& cache_sizes) {
  constexpr std::int64_t far_away = std::int64_t{256} << 20, read_each = std::int64_t{1} << 30;
  std::vector<MatmulStop> stops;
  for (const char* width : {"vector", "scalar"})
    add(stops, "peak", {{"width", std::string(width)}}, true, true);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < cache_sizes.size() && i < 2; ++i)
    sizes.push_back(cache_sizes[i] / 2 / 1024 * 1024);
  // Arrays four times as large as L2 are what a last level holds of matrices; a half of it may be more than
  // this machine gets of it.
  if (cache_sizes.size() > 2 && cache_sizes[2] >= 8 * cache_sizes[1]) sizes.push_back(4 * cache_sizes[1]);
  sizes.push_back(far_away);
  for (const std::int64_t size : sizes)
    if (size >= 1024)
      add(stops, "bandwidth", {{"size", size}, {"passes", std::max<std::int64_t>(1, read_each / size)}}, true,
          false);
  return stops;
}

} // namespace recount::matmul
