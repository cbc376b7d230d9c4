#include "errata/errata.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "errata/errata_data.hpp" // made from data/errata.txt by the build

#include <recount/error.hpp>

#include <algorithm>
#include <limits>

namespace recount::errata {
namespace {

constexpr std::size_t columns = 7;

class Row {
public:
  Row(std::string_view line, std::string where) : where_(std::move(where)) {
    for (const auto cell : base::split(line, '|'))
      cells_.push_back(base::trim(cell));
    if (cells_.size() != columns) fail("seven columns, separated by |, are required");
    if (std::ranges::any_of(cells_, &std::string_view::empty)) fail("a column is empty");
  }

  [[nodiscard]] Erratum erratum() const {
    Erratum made;
    const auto cpu = words(cells_[0]);
    if (cpu.size() != 3 && cpu.size() != 4) fail("VENDOR FAMILY MODELS [STEPPINGS] is required");
    made.vendor = cpu[0];
    made.family = whole(cpu[1]);
    made.models = ranges(cpu[2]);
    if (cpu.size() == 4) made.steppings = ranges(cpu[3]);
    made.pmus = words(cells_[1]);
    for (const auto& word : words(cells_[2]))
      made.events.push_back(code(word));
    made.number = cells_[3];
    made.what = cells_[4];
    if (cells_[5] != "-") made.linux_since = cells_[5];
    made.source = cells_[6];
    return made;
  }

private:
  [[noreturn]] void fail(const std::string& why) const {
    throw bad_input(where_, why, "write CPU | PMUS | EVENTS | ERRATUM | WHAT | LINUX | SOURCE");
  }
  static std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> all;
    for (const auto word : base::split(text, ' '))
      if (!word.empty()) all.emplace_back(word);
    return all;
  }
  [[nodiscard]] int whole(std::string_view text) const {
    const auto number = base::parse_number(text);
    if (!number || *number > std::numeric_limits<std::int16_t>::max())
      fail("not a number: '" + std::string(text) + "'");
    return static_cast<int>(*number);
  }
  [[nodiscard]] std::vector<Range> ranges(std::string_view text) const {
    std::vector<Range> all;
    for (const auto piece : base::split(text, ',')) {
      const auto dots = piece.find("..");
      const bool single = dots == piece.npos;
      const Range range{whole(piece.substr(0, dots)), whole(single ? piece : piece.substr(dots + 2))};
      if (range.low > range.high) fail("the range '" + std::string(piece) + "' is empty");
      all.push_back(range);
    }
    return all;
  }
  [[nodiscard]] std::uint64_t hexadecimal(std::string_view text) const {
    const auto number = base::parse_number("0x" + std::string(text));
    if (!number || *number > 0xfff) fail("not a code: '" + std::string(text) + "'");
    return *number;
  }
  [[nodiscard]] EventCode code(const std::string& text) const {
    const auto dot = text.find('.');
    EventCode made{hexadecimal(std::string_view(text).substr(0, dot))};
    if (dot != text.npos) made.mask = hexadecimal(std::string_view(text).substr(dot + 1));
    return made;
  }

  std::string where_;
  std::vector<std::string_view> cells_;
};

bool within(int number, const std::vector<Range>& ranges) {
  return std::ranges::any_of(ranges,
                             [&](const Range& range) { return range.low <= number && number <= range.high; });
}

/// Event select and unit mask as Linux programs them. Sources: arch/x86/events/intel/core.c
/// (intel_perfmon_event_map), arch/x86/events/amd/core.c (amd_zen1_perfmon_event_map and later) of Linux 6.1.
std::optional<EventCode> code_of(std::uint32_t type, std::uint64_t config, bool amd) {
  if (type == PERF_TYPE_RAW) {
    const std::uint64_t high = amd ? config >> 24 & 0xf00 : 0;
    return EventCode{(config & 0xff) | high, config >> 8 & 0xff};
  }
  if (type != PERF_TYPE_HARDWARE) return {};
  switch (config & 0xffffffff) {
  case PERF_COUNT_HW_INSTRUCTIONS: return EventCode{0xc0, 0};
  case PERF_COUNT_HW_BRANCH_INSTRUCTIONS: return EventCode{amd ? 0xc2U : 0xc4U, 0};
  case PERF_COUNT_HW_BRANCH_MISSES: return EventCode{amd ? 0xc3U : 0xc5U, 0};
  case PERF_COUNT_HW_CACHE_REFERENCES:
    if (!amd) return EventCode{0x2e, 0x4f};
    break;
  case PERF_COUNT_HW_CACHE_MISSES:
    if (!amd) return EventCode{0x2e, 0x41};
    break;
  default: break;
  }
  return {};
}

bool concerns(const Erratum& erratum, const EventCode& code) {
  return std::ranges::any_of(erratum.events, [&](const EventCode& event) {
    return event.select == code.select && (!event.mask || event.mask == code.mask);
  });
}

} // namespace

std::string Erratum::sentence() const {
  std::string text = "erratum " + number + ": " + what;
  if (!linux_since.empty()) text += "; Linux " + linux_since + " and later work around it";
  return text + " (" + source + ")";
}

std::vector<Erratum> parse(std::string_view text, const std::string& file) {
  std::vector<Erratum> all;
  int number = 0;
  for (const auto raw : base::split(text, '\n')) {
    ++number;
    const auto line = base::trim(raw);
    if (line.empty() || line.front() == '#') continue;
    all.push_back(Row(line, file + ":" + std::to_string(number)).erratum());
  }
  return all;
}

const std::vector<Erratum>& known() {
  static const std::vector<Erratum> built_in = parse(errata_data, "errata.txt");
  return built_in;
}

std::vector<const Erratum*> of_cpu(const host::Cpu& cpu, const std::vector<Erratum>& all) {
  std::vector<const Erratum*> found;
  for (const Erratum& erratum : all)
    if (erratum.vendor == cpu.vendor && erratum.family == cpu.family && within(cpu.model, erratum.models) &&
        (erratum.steppings.empty() || within(cpu.stepping, erratum.steppings)))
      found.push_back(&erratum);
  return found;
}

std::vector<const Erratum*> of_event(const Event& event, const host::Cpu& cpu,
                                     const std::vector<Erratum>& all) {
  const auto code = code_of(event.attr.type, event.attr.config, cpu.vendor == "AuthenticAMD");
  std::vector<const Erratum*> found;
  if (!code) return found;
  for (const Erratum* const erratum : of_cpu(cpu, all))
    if (concerns(*erratum, *code)) found.push_back(erratum);
  return found;
}

std::vector<const Erratum*> of_pmu(std::string_view pmu, std::uint32_t type, std::uint64_t config,
                                   const std::vector<Erratum>& all) {
  std::vector<const Erratum*> found;
  for (const Erratum& erratum : all) {
    const auto code = code_of(type, config, erratum.vendor == "AuthenticAMD");
    if (code && std::ranges::find(erratum.pmus, pmu) != erratum.pmus.end() && concerns(erratum, *code))
      found.push_back(&erratum);
  }
  return found;
}

} // namespace recount::errata
