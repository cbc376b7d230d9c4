#include "caches/infer/compare.hpp"

#include "base/format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace recount::caches {

namespace {

constexpr double most_of_exact = 0.05; ///< tolerance; a value with a wider interval is an estimate

std::string in_unit(const Property& p, double value, bool rough) {
  const std::string about = rough ? "about " : "";
  if (p.unit == "bytes" && p.name != "line") {
    const double unit =
        rough ? std::exp2(std::floor(std::log2(value)) - 4) : 1; // a rough value has no five digits
    return about + base::format_bytes(std::round(value / unit) * unit);
  }
  if (p.unit == "bytes") return fmt::format("{:.0f} B", value);
  if (p.unit == "ns") return fmt::format("{:.{}f} ns", value, value < 10 ? 2 : value < 100 ? 1 : 0);
  return about + fmt::format("{:.0f}", value);
}

/// Why a capacity may differ.
std::string reason_of_difference(const LevelFinding& level, const Property& p, const StatedLevel& stated,
                                 const StatedCaches& by) {
  const bool virtual_machine = !by.hypervisor.empty();
  if (!level.shared_use.empty())
    return "others used a part of it during the measurement: " + shared_use_text(level);
  if (level.effective)
    return fmt::format(
        "{} is stated as {}{}; this {} has about {} of it, which depends on the other users", level.name,
        stated_text(p),
        stated.shared_by > 1 ? fmt::format(", shared by {} hardware threads", stated.shared_by) : "",
        virtual_machine ? "virtual machine" : "CPU",
        base::format_bytes(*p.value < (1 << 20) ? *p.value : std::round(*p.value / (1 << 20)) * (1 << 20)));
  if (p.name == "capacity" && *p.value < *p.stated)
    return virtual_machine
               ? "another guest on the same core may use part of it, or the hypervisor states the "
                 "value of another CPU"
               : "part of it may be in use by another hardware thread of the core, or reserved by "
                 "way partitioning";
  if (p.name == "capacity")
    return "an exclusive level adds to the one above it, or the stated value is that of another CPU";
  return virtual_machine ? "the hypervisor may state the value of another CPU"
                         : "the stated value contradicts the measurements";
}

void compare_property(const LevelFinding& level, Property& p, std::int64_t value, const StatedLevel& stated,
                      const StatedCaches& by) {
  if (value == 0) return;
  p.stated = static_cast<double>(value);
  p.stated_by = by.source;
  if (!p.value) {
    p.agreement = StatedMatch::not_found;
    return;
  }
  const double off = std::abs(*p.value - *p.stated);
  if (off <= p.tolerance * *p.value + 1e-9) {
    p.agreement = p.tolerance > most_of_exact ? StatedMatch::near : StatedMatch::agrees;
    return;
  }
  p.agreement = StatedMatch::differs;
  p.remark = reason_of_difference(level, p, stated, by);
}

std::string text_of(const Property& p) {
  std::vector<std::string> sentences = p.words;
  if (!p.value) sentences.push_back(fmt::format("Unknown: {}.", p.unknown));
  if (p.value && p.routes.size() > 1) {
    std::vector<std::string> ways;
    for (const Route& route : p.routes)
      ways.push_back(fmt::format("{}: {}", route.name, in_unit(p, route.value, false)));
    sentences.push_back(fmt::format("Independent derivations: {}.", fmt::join(ways, "; ")));
  }
  if (p.value && !p.against.empty()) sentences.push_back(fmt::format("Falsified if {}.", p.against));
  if (p.agreement == StatedMatch::agrees)
    sentences.push_back(fmt::format("{} states {}: agrees.", p.stated_by, stated_text(p)));
  if (p.agreement == StatedMatch::near)
    sentences.push_back(
        fmt::format("{} states {}, which is within the interval {} to {}: near, not confirmed.", p.stated_by,
                    stated_text(p), in_unit(p, *p.value * (1 - p.tolerance), true),
                    in_unit(p, *p.value * (1 + p.tolerance), true)));
  if (p.agreement == StatedMatch::differs)
    sentences.push_back(fmt::format("{} states {}: differs; {}.", p.stated_by, stated_text(p), p.remark));
  if (p.agreement == StatedMatch::not_found)
    sentences.push_back(fmt::format("{} states {}.", p.stated_by, stated_text(p)));
  return fmt::format("{}", fmt::join(sentences, " "));
}

void add_paragraph(std::vector<Paragraph>& all, const std::string& level, const Property& p) {
  all.push_back({fmt::format("{} {}: {}", level, p.name, value_text(p)), text_of(p)});
}

/// Properties that are unknown for one reason, in one paragraph; then there are none.
void add_unknown(std::vector<Paragraph>& all, const std::string& level,
                 std::vector<const Property*>& unknown) {
  if (unknown.size() == 1) add_paragraph(all, level, *unknown.front());
  if (unknown.size() > 1) {
    std::vector<std::string> names, stated;
    for (const Property* p : unknown) {
      names.push_back(p->name);
      if (p->stated) stated.push_back(fmt::format("{} {}", p->name, stated_text(*p)));
    }
    std::string text = fmt::format("Unknown: {}.", unknown.front()->unknown);
    if (!stated.empty())
      text += fmt::format(" {} states {}.", unknown.front()->stated_by, fmt::join(stated, ", "));
    all.push_back({fmt::format("{} {}: unknown", level, fmt::join(names, ", ")), text});
  }
  unknown.clear();
}

} // namespace

std::string value_text(const Property& p) {
  return p.value ? in_unit(p, *p.value, p.tolerance > most_of_exact) : "unknown";
}

std::string level_text(const LevelFinding& level) {
  return level.name + (level.effective ? " (effective)" : "");
}

std::string shared_use_text(const LevelFinding& level) {
  std::vector<std::string> signs;
  for (const SharedUse& use : level.shared_use)
    switch (use.sign) {
    case SharingSign::hit_times_drift:
      signs.push_back(fmt::format("{} within it take {:.2f} ns, smaller working sets {:.2f} ns",
                                  base::format_bytes(use.bytes), use.measured, use.expected));
      break;
    case SharingSign::next_level_varies:
      signs.push_back(fmt::format("rounds at {} in L2 differ by a factor of {:.1f}",
                                  base::format_bytes(use.bytes), use.measured));
      break;
    case SharingSign::later_look_differs:
      signs.push_back(fmt::format("some seconds later a set retained {:.0f} lines", use.measured));
      break;
    }
  return fmt::format("{}", fmt::join(signs, "; "));
}

std::string ways_text(const Property& ways) {
  return value_text(ways) + (ways.value == 1 ? " way" : " ways");
}

std::string stated_text(const Property& p) {
  if (!p.stated) return "-";
  return *p.stated < 0 ? "full" : in_unit(p, *p.stated, false);
}

void compare(Caches& found, const StatedCaches& by) {
  for (LevelFinding& level : found.levels) {
    const auto stated = std::ranges::find(by.levels, level.name, &StatedLevel::name);
    if (stated == by.levels.end()) continue;
    const bool full = stated->ways < 0 && stated->line > 0;
    compare_property(level, level.capacity, stated->size, *stated, by);
    compare_property(level, level.line, stated->line, *stated, by);
    compare_property(level, level.ways, full ? stated->size / stated->line : stated->ways, *stated, by);
  }
}

std::vector<Paragraph> justification(const Caches& found) {
  std::vector<Paragraph> all;
  for (const LevelFinding& level : found.levels) {
    if (!level.shared_use.empty())
      all.push_back({fmt::format("{} is an effective share", level.name),
                     fmt::format("Others used a part of it during the measurement, for example on another "
                                 "hardware thread of the core: {}. recount caches --patient waits until "
                                 "this has ended.",
                                 shared_use_text(level))});
    std::vector<const Property*> unknown; // for one reason
    for (const Property* p : {&level.capacity, &level.line, &level.ways}) {
      if (p->value || (!unknown.empty() && unknown.front()->unknown != p->unknown))
        add_unknown(all, level.name, unknown);
      if (p->value)
        add_paragraph(all, level.name, *p);
      else
        unknown.push_back(p);
    }
    add_unknown(all, level.name, unknown);
    for (const Property* p : {&level.latency, &level.penalty})
      if (p->value) add_paragraph(all, level.name, *p);
  }
  for (const TlbFinding& tlb : found.tlbs)
    for (const Property* p : {&tlb.entries, &tlb.cost})
      if (p->value) add_paragraph(all, tlb.name, *p);
  if (found.memory.value) add_paragraph(all, "memory", found.memory);
  return all;
}

} // namespace recount::caches
