#include "symbol/kernel_symbols.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <limits>

namespace recount::symbol {

KernelSymbols::KernelSymbols(std::string_view text) : text_(text.begin(), text.end()) {
  bool zeros = false;
  for (const std::string_view line : base::split(std::string_view(text_.data(), text_.size()), '\n')) {
    // "ffffffff81000000 T _stext\t[module]"
    const std::size_t blank = line.find(' ');
    if (blank == line.npos || blank + 3 >= line.size()) continue;
    const auto start = base::parse<std::uint64_t>(line.substr(0, blank), 16);
    if (!start) continue;
    zeros = zeros || *start == 0;
    if (std::string_view("tTwW").find(line[blank + 1]) == line.npos || *start == 0) continue;
    std::string_view name = line.substr(blank + 3), module;
    if (const std::size_t tab = name.find_first_of("\t "); tab != name.npos) {
      module = name.substr(tab + 1);
      name = name.substr(0, tab);
    }
    const bool bracketed = module.size() > 2 && module.front() == '[' && module.back() == ']';
    functions_.push_back(
        {name, bracketed ? module.substr(1, module.size() - 2) : std::string_view(), *start});
  }
  std::ranges::stable_sort(functions_, {}, &Function::start);
  // The first of several names of an address is used.
  const auto same_start = [](const Function& a, const Function& b) { return a.start == b.start; };
  functions_.erase(std::unique(functions_.begin(), functions_.end(), same_start), functions_.end());
  for (std::size_t i = 0; i < functions_.size(); ++i)
    functions_[i].end =
        i + 1 < functions_.size() ? functions_[i + 1].start : std::numeric_limits<std::uint64_t>::max();
  if (functions_.empty())
    hidden_ = zeros ? "the kernel hides its addresses" : "kernel symbols cannot be read";
}

KernelSymbols KernelSymbols::here() {
  KernelSymbols symbols(base::read_file("/proc/kallsyms").value_or(""));
  if (!symbols.hidden_.empty())
    symbols.hidden_ +=
        " (kernel.kptr_restrict = " + base::read_line("/proc/sys/kernel/kptr_restrict").value_or("?") +
        ", kernel.perf_event_paranoid = " +
        base::read_line("/proc/sys/kernel/perf_event_paranoid").value_or("?") +
        "; sysctl kernel.kptr_restrict=0 shows them to root)";
  return symbols;
}

std::optional<KernelSymbols::Function> KernelSymbols::find(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::start);
  if (after == functions_.begin()) return {};
  return *std::prev(after);
}

} // namespace recount::symbol
