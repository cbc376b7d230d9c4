// Before main(), after the constructors of the program: libgcc's has read CPUID by then.
#include "count.hpp"
#include "cpuid.hpp"
#include "open_event.hpp"
#include "patch.hpp"
#include "permission.hpp"
#include "sample.hpp"
#include "settings.hpp"
#include "user_page.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

namespace {

using Main = int (*)(int, char**, char**);
using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

Main program_main;

int start_simulated(int count, char** arguments, char** environment) {
  pmu::unknown_code = reinterpret_cast<std::uint64_t>(program_main);
  pmu::adopt_descriptors();
  struct stat program {};
  const bool set_user_id = stat("/proc/self/exe", &program) == 0 && (program.st_mode & S_ISUID) != 0;
  pmu::begin_program(set_user_id && pmu::settings().paranoid.has_value() && !pmu::privileged());
  pmu::hide_features();
  pmu::answer_cpuid();
  pmu::answer_rdpmc();
  if (!pmu::settings().machine.pmus.empty()) pmu::replace_measured_functions();
  return program_main(count, arguments, environment);
}

} // namespace

extern "C" [[gnu::visibility("default")]] int __libc_start_main(Main main, int count, char** arguments,
                                                                void (*init)(), void (*fini)(),
                                                                void (*linker_fini)(), void* stack_end) {
  program_main = main;
  const auto next = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return next(start_simulated, count, arguments, init, fini, linker_fini, stack_end);
}
