// Shared libraries that are loaded by the first call of one of their functions: PAPI, hwloc, isl, elfutils
// and capstone cost more time than most commands need. The linker finds their functions here, as stubs that
// jump to an address, at first that of load_function(), then that of the function itself. Only the program
// recount has this file: librecount and the tests are linked with the libraries.
#include <recount/error.hpp>

#include <atomic>
#include <dlfcn.h>
#include <string>

namespace {

struct Library {
  const char *file, *package; ///< "libpapi.so.7.0", and the name of its package on Debian
};

/// What a stub jumps to. The assembly below knows that `address` is the first member.
struct Function {
  std::atomic<const void*> address;
  const char* name;
  const Library* library;
};

} // namespace

extern "C" {
/// Returns the address of a function. Throws Error (unavailable) through the stub, to its caller.
[[gnu::visibility("hidden"), gnu::used]] const void* recount_load_function(Function* function) {
  const Library& library = *function->library;
  void* const handle = dlopen(library.file, RTLD_LAZY); // counts references: the library remains loaded
  void* const address = handle != nullptr ? dlsym(handle, function->name) : nullptr;
  if (address == nullptr) {
    const char* const why = dlerror();
    throw recount::unavailable(
        library.file, std::string("the library cannot be loaded: ") + (why != nullptr ? why : ""), {},
        std::string("install it (Debian: apt-get install ") + library.package + ")");
  }
  function->address.store(address, std::memory_order_relaxed);
  return address;
}

#define ON_DEMAND_LIBRARY(library, file, package)                                                            \
  static const Library recount_library_##library{file, package};
#define ON_DEMAND(function, library)                                                                         \
  [[gnu::visibility("hidden")]] extern const char recount_first_##function[];                                \
  [[gnu::visibility("hidden"), gnu::used]] Function recount_slot_##function{                                 \
      recount_first_##function, #function, &recount_library_##library};
#include "cli/on_demand_data.hpp" // made from what the parts of recount call, by the build
#undef ON_DEMAND_LIBRARY
#undef ON_DEMAND
}

// recount_load saves all registers that may hold arguments (System V ABI of each architecture), and describes
// its frame for exceptions.
// clang-format off
#if defined(__x86_64__)
#define STUB(function)                                              \
  "  endbr64\n"                                                     \
  "  jmp *recount_slot_" #function "(%rip)\n"                       \
  "recount_first_" #function ":\n"                                  \
  "  endbr64\n"                                                     \
  "  lea recount_slot_" #function "(%rip), %r11\n"                  \
  "  jmp recount_load\n"
asm(".pushsection .text\n.type recount_load, @function\nrecount_load:\n  .cfi_startproc\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  push %rax\n  sub $128, %rsp\n"
    "  .cfi_adjust_cfa_offset 184\n"
    "  movups %xmm0, (%rsp)\n  movups %xmm1, 16(%rsp)\n  movups %xmm2, 32(%rsp)\n  movups %xmm3, 48(%rsp)\n"
    "  movups %xmm4, 64(%rsp)\n  movups %xmm5, 80(%rsp)\n  movups %xmm6, 96(%rsp)\n  movups %xmm7, 112(%rsp)\n"
    "  mov %r11, %rdi\n  call recount_load_function\n  mov %rax, %r11\n"
    "  movups (%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n  movups 32(%rsp), %xmm2\n  movups 48(%rsp), %xmm3\n"
    "  movups 64(%rsp), %xmm4\n  movups 80(%rsp), %xmm5\n  movups 96(%rsp), %xmm6\n  movups 112(%rsp), %xmm7\n"
    "  add $128, %rsp\n  pop %rax\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"
    "  .cfi_adjust_cfa_offset -184\n"
    "  jmp *%r11\n  .cfi_endproc\n.popsection\n");
#elif defined(__aarch64__)
#define STUB(function)                                              \
  "  hint #34\n" /* bti c */                                        \
  "  adrp x17, recount_slot_" #function "\n"                        \
  "  add x17, x17, :lo12:recount_slot_" #function "\n"              \
  "  ldr x16, [x17]\n"                                              \
  "  br x16\n"                                                      \
  "recount_first_" #function ":\n"                                  \
  "  hint #34\n"                                                    \
  "  b recount_load\n"
asm(".pushsection .text\n.type recount_load, @function\nrecount_load:\n  .cfi_startproc\n"
    "  stp x29, x30, [sp, -224]!\n  .cfi_def_cfa_offset 224\n  .cfi_offset 29, -224\n  .cfi_offset 30, -216\n"
    "  stp x0, x1, [sp, 16]\n  stp x2, x3, [sp, 32]\n  stp x4, x5, [sp, 48]\n  stp x6, x7, [sp, 64]\n  str x8, [sp, 80]\n"
    "  stp q0, q1, [sp, 96]\n  stp q2, q3, [sp, 128]\n  stp q4, q5, [sp, 160]\n  stp q6, q7, [sp, 192]\n"
    "  mov x0, x17\n  bl recount_load_function\n  mov x16, x0\n"
    "  ldp x0, x1, [sp, 16]\n  ldp x2, x3, [sp, 32]\n  ldp x4, x5, [sp, 48]\n  ldp x6, x7, [sp, 64]\n  ldr x8, [sp, 80]\n"
    "  ldp q0, q1, [sp, 96]\n  ldp q2, q3, [sp, 128]\n  ldp q4, q5, [sp, 160]\n  ldp q6, q7, [sp, 192]\n"
    "  ldp x29, x30, [sp], 224\n  .cfi_def_cfa_offset 0\n  .cfi_restore 29\n  .cfi_restore 30\n"
    "  br x16\n  .cfi_endproc\n.popsection\n");
#endif
#define ON_DEMAND_LIBRARY(library, file, package)
#define ON_DEMAND(function, library)                                                                      \
  asm(".pushsection .text\n.globl " #function "\n.hidden " #function "\n.type " #function ", %function\n" #function ":\n"     \
      "  .cfi_startproc\n" STUB(function) "  .cfi_endproc\n.popsection\n");
#include "cli/on_demand_data.hpp"
// clang-format on
