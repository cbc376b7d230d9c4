// Before main(), after the constructors of the program: libgcc's has read CPUID by then.
#include "emulate/preload/start.hpp"
#include "emulate/preload/account.hpp"
#include "emulate/preload/cpuid.hpp"
#include "emulate/preload/kept_signal.hpp"
#include "emulate/preload/open_event.hpp"
#include "emulate/preload/permission.hpp"
#include "emulate/preload/request.hpp"
#include "emulate/preload/sample.hpp"
#include "emulate/preload/user_page.hpp"
#include "emulate/settings.hpp"

#include <cerrno>
#include <csignal>
#include <dlfcn.h>
#include <optional>
#include <sys/prctl.h>
#include <sys/stat.h>

namespace recount::emulate {
Additions additions;
}

namespace {

using Main = int (*)(int, char**, char**);
using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

Main program_main;

/// SIGTRAP is the tool's where a sample is due.
bool answer_trap(siginfo_t* /*info*/, void* context) {
  if (!recount::emulate::request(RT_DUE)) return false;
  recount::emulate::take_due_samples(context);
  return true;
}
void answer_samples() {
  if (!recount::emulate::exact()) return;
  recount::emulate::keep_signal(SIGTRAP, answer_trap);
  recount::emulate::request(RT_TRAPS);
  prctl(PR_SET_NAME, program_invocation_short_name); // else it has that of the tool
}

int start_simulated(int count, char** arguments, char** environment) {
  auto pause = std::make_optional<recount::emulate::Pause>();
  recount::emulate::unknown_code = reinterpret_cast<std::uint64_t>(program_main);
  recount::emulate::adopt_descriptors();
  struct stat program {};
  const bool set_user_id = stat("/proc/self/exe", &program) == 0 && (program.st_mode & S_ISUID) != 0;
  recount::emulate::begin_program(set_user_id && recount::emulate::settings().paranoid.has_value() &&
                                  !recount::emulate::privileged());
  recount::emulate::hide_features();
  recount::emulate::answer_cpuid();
  recount::emulate::answer_rdpmc();
  answer_samples();
  if (recount::emulate::additions.begin != nullptr && !recount::emulate::settings().machine.pmus.empty())
    recount::emulate::additions.begin();
  pause.reset();
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
