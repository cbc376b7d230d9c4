#include "event/generic_prose.hpp"

#include <algorithm>
#include <array>

namespace recount::event {
namespace {

struct GenericEvent {
  const char* name;
  const char* prose;
};

constexpr std::array generic_events{
    GenericEvent{"PERF_COUNT_HW_CPU_CYCLES", "CPU cycles; depends on frequency scaling"},
    GenericEvent{"PERF_COUNT_HW_INSTRUCTIONS", "retired instructions; hardware interrupts may add some"},
    GenericEvent{"PERF_COUNT_HW_CACHE_REFERENCES",
                 "cache accesses, usually of the last level; may include prefetches"},
    GenericEvent{"PERF_COUNT_HW_CACHE_MISSES", "cache misses, usually of the last level"},
    GenericEvent{"PERF_COUNT_HW_BRANCH_INSTRUCTIONS", "retired branch instructions"},
    GenericEvent{"PERF_COUNT_HW_BRANCH_MISSES", "mispredicted branch instructions"},
    GenericEvent{"PERF_COUNT_HW_BUS_CYCLES", "bus cycles, which may differ from CPU cycles"},
    GenericEvent{"PERF_COUNT_HW_STALLED_CYCLES_FRONTEND", "cycles stalled while issuing"},
    GenericEvent{"PERF_COUNT_HW_STALLED_CYCLES_BACKEND", "cycles stalled while retiring"},
    GenericEvent{"PERF_COUNT_HW_REF_CPU_CYCLES", "reference cycles, independent of the CPU frequency"},
    GenericEvent{"PERF_COUNT_SW_CPU_CLOCK", "nanoseconds of the per-CPU clock"},
    GenericEvent{"PERF_COUNT_SW_TASK_CLOCK", "nanoseconds that the task ran"},
    GenericEvent{"PERF_COUNT_SW_PAGE_FAULTS", "page faults, minor and major"},
    GenericEvent{"PERF_COUNT_SW_CONTEXT_SWITCHES",
                 "context switches; they occur in the kernel, so :u counts none"},
    GenericEvent{"PERF_COUNT_SW_CPU_MIGRATIONS",
                 "migrations to another CPU; they occur in the kernel, so :u counts none"},
    GenericEvent{"PERF_COUNT_SW_PAGE_FAULTS_MIN", "minor page faults: without input from disk"},
    GenericEvent{"PERF_COUNT_SW_PAGE_FAULTS_MAJ", "major page faults: with input from disk"},
    GenericEvent{"PERF_COUNT_SW_ALIGNMENT_FAULTS", "unaligned accesses fixed up by the kernel; none on x86"},
    GenericEvent{"PERF_COUNT_SW_EMULATION_FAULTS", "instructions emulated by the kernel"},
    GenericEvent{"PERF_COUNT_SW_CGROUP_SWITCHES", "context switches to a task of another control group"},
};

} // namespace

std::string generic_prose(const std::string& kernel_name) {
  const auto row = std::find_if(generic_events.begin(), generic_events.end(),
                                [&](const GenericEvent& one) { return kernel_name == one.name; });
  return row == generic_events.end() ? std::string() : row->prose;
}

} // namespace recount::event
