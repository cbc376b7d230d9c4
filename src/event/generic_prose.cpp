#include "event/generic_prose.hpp"

#include <algorithm>
#include <array>

namespace recount::event {
namespace {

struct Row {
  const char* name;
  const char* prose;
};

constexpr std::array rows{
    Row{"PERF_COUNT_HW_CPU_CYCLES", "CPU cycles; depends on frequency scaling"},
    Row{"PERF_COUNT_HW_INSTRUCTIONS", "retired instructions; hardware interrupts may add some"},
    Row{"PERF_COUNT_HW_CACHE_REFERENCES",
        "cache accesses, usually of the last level; may include prefetches"},
    Row{"PERF_COUNT_HW_CACHE_MISSES", "cache misses, usually of the last level"},
    Row{"PERF_COUNT_HW_BRANCH_INSTRUCTIONS", "retired branch instructions"},
    Row{"PERF_COUNT_HW_BRANCH_MISSES", "mispredicted branch instructions"},
    Row{"PERF_COUNT_HW_BUS_CYCLES", "bus cycles, which may differ from CPU cycles"},
    Row{"PERF_COUNT_HW_STALLED_CYCLES_FRONTEND", "cycles stalled while issuing"},
    Row{"PERF_COUNT_HW_STALLED_CYCLES_BACKEND", "cycles stalled while retiring"},
    Row{"PERF_COUNT_HW_REF_CPU_CYCLES", "reference cycles, independent of the CPU frequency"},
    Row{"PERF_COUNT_SW_CPU_CLOCK", "nanoseconds of the per-CPU clock"},
    Row{"PERF_COUNT_SW_TASK_CLOCK", "nanoseconds that the task ran"},
    Row{"PERF_COUNT_SW_PAGE_FAULTS", "page faults, minor and major"},
    Row{"PERF_COUNT_SW_CONTEXT_SWITCHES", "context switches; they occur in the kernel, so :u counts none"},
    Row{"PERF_COUNT_SW_CPU_MIGRATIONS", "migrations to another CPU; they occur in the kernel, so :u counts none"},
    Row{"PERF_COUNT_SW_PAGE_FAULTS_MIN", "minor page faults: without input from disk"},
    Row{"PERF_COUNT_SW_PAGE_FAULTS_MAJ", "major page faults: with input from disk"},
    Row{"PERF_COUNT_SW_ALIGNMENT_FAULTS", "unaligned accesses fixed up by the kernel; none on x86"},
    Row{"PERF_COUNT_SW_EMULATION_FAULTS", "instructions emulated by the kernel"},
    Row{"PERF_COUNT_SW_CGROUP_SWITCHES", "context switches to a task of another control group"},
};

} // namespace

std::string generic_prose(const std::string& kernel_name) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return kernel_name == one.name; });
  return row == rows.end() ? std::string() : row->prose;
}

} // namespace recount::event
