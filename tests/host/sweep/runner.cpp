// The program that the engine tests start: serves runs of the test kernels, or runs a whole sweep of them.
//   runner run-point                             as recount does
//   runner sweep FILE RANGE-OF-N REPEAT FAULT HOW [LIMIT-OF-FILE-SIZE]   resumes FILE when it is there
#include "kernels.hpp"
#include "run/batch.hpp"
#include "run/sweep_plan.hpp"
#include "run/worker.hpp"
#include "show/command/batch.hpp"

#include <cstring>
#include <sys/resource.h>

using namespace recount;

namespace {

const kernel::Kernel& lookup(const std::string& name) {
  return name == "steps" ? test::steps_kernel() : kernel::find(name);
}

int run_sweep(int argc, char** argv) {
  const auto& kernel = test::steps_kernel();
  if (argc > 7) {
    const auto most = static_cast<rlim_t>(std::atoll(argv[7]));
    const struct rlimit limit { most, most };
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  sweep::Plan plan;
  plan.kernel = "steps";
  plan.axes = {sweep::parse_axis(kernel, "n", argv[3]), sweep::parse_axis(kernel, "m", "1,2"),
               sweep::parse_axis(kernel, "fault", argv[5]), sweep::parse_axis(kernel, "how", argv[6])};
  plan.witnesses = {"clock", "model:i7-9700"};
  plan.repeat = std::atoi(argv[4]);
  plan.seed = 1;
  sweep::Batch batch;
  batch.jobs = schedule(plan, expand(plan, kernel));
  batch.execution.parallel = 2;
  batch.header = result::new_run();
  batch.header.plan = settings(plan);
  batch.file = argv[2];
  batch.resume = batch.quiet = true;
  const auto ended = command::run_batch(batch);
  std::printf("%zu of %zu, %zu there\n", ended.outcome.runs, ended.planned, ended.already_recorded);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::strcmp(argv[1], "run-point") == 0) return sweep::serve(0, 1, lookup);
    if (argc >= 7 && std::strcmp(argv[1], "sweep") == 0) return run_sweep(argc, argv);
    return 2;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == ErrorKind::bad_input ? 2 : 3;
  }
}
