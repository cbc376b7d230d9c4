// Kernels that only the tests know: a deterministic one, and one that misbehaves where it is told to.
#pragma once

#include "kernel/kernel.hpp"
#include "model/hierarchy.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <recount/error.hpp>
#include <unistd.h>

namespace recount::test {

using kernel::ParamValue;

struct Steps : kernel::Instance {
  std::int64_t steps = 0, fault = 0;
  std::string how;
  volatile std::int64_t sum = 0;

  explicit Steps(const kernel::Params& point)
      : steps(std::get<std::int64_t>(point.at("n"))),
        fault(std::get<std::int64_t>(point.at("fault"))),
        how(std::get<std::string>(point.at("how"))) {}
  void execute() {
    if (steps == fault) misbehave();
    for (std::int64_t i = 0; i < steps * 1000; ++i)
      sum = sum + i;
  }
  void misbehave() const {
    if (how == "segv") ::raise(SIGSEGV);
    if (how == "exit") ::_exit(0);
    if (how == "throw") throw unavailable("steps", "refused by the test");
    if (how == "words") {
      std::fputs("first words\nlast words\n", stderr);
      std::abort();
    }
    if (how == "noise") { // more output than anybody wants
      for (int i = 0; i < 100'000; ++i)
        std::fputs("{\"type\":\"nonsense\"}\n", stdout);
      std::fflush(stdout);
    }
    if (how == "closed") {
      ::close(1);
      ::close(2);
    }
    if (how == "hang" || how == "closed")
      for (;;)
        ::pause();
  }
  [[nodiscard]] kernel::Region region() override {
    return {[](void* context) { static_cast<Steps*>(context)->execute(); }, this};
  }
  [[nodiscard]] std::int64_t accesses() const override { return steps; }
};

class StepsKernel : public kernel::Kernel {
public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::string& prose() const override { return prose_; }
  [[nodiscard]] std::span<const kernel::Parameter> parameters() const override { return parameters_; }
  [[nodiscard]] std::int64_t bytes(const kernel::Params& point) const override {
    if (std::get<std::int64_t>(point.at("m")) > std::get<std::int64_t>(point.at("n")))
      throw bad_input("--m", "m is over n");
    return 64 * std::get<std::int64_t>(point.at("n"));
  }
  [[nodiscard]] std::unique_ptr<kernel::Instance> prepare(const kernel::Params& point) const override {
    return std::make_unique<Steps>(point);
  }
  std::int64_t simulate(const kernel::Params& point, model::Hierarchy& caches) const override {
    const auto n = std::get<std::int64_t>(point.at("n")), m = std::get<std::int64_t>(point.at("m"));
    for (std::int64_t i = 0; i < 1000 * n; ++i)
      caches.load(static_cast<std::uint64_t>(64 * m * i), 8);
    if (n == std::get<std::int64_t>(point.at("fault"))) {
      const auto& how = std::get<std::string>(point.at("how"));
      caches.progress.report(0.82); // of the first of two passes
      if (how == "spin")
        for (volatile std::int64_t sum = 0;;)
          sum = sum + 1;
      if (how == "sleep") ::usleep(1'200'000);
      if (how == "hang") ::pause();
    }
    return 1000 * n;
  }

private:
  using Unit = kernel::Parameter::Unit;
  std::string name_ = "steps", prose_ = "counts";
  std::vector<kernel::Parameter> parameters_{
      {"n", "steps", Unit::count, ParamValue{std::int64_t{1}}, 1, 1'000'000, {}},
      {"m", "at most n", Unit::count, ParamValue{std::int64_t{1}}, 1, 0, {}},
      {"fault", "the n that misbehaves", Unit::count, ParamValue{std::int64_t{0}}, 0, 0, {}},
      {"how",
       "how it does",
       Unit::choice,
       ParamValue{std::string("segv")},
       0,
       0,
       {"segv", "exit", "throw", "words", "noise", "closed", "hang", "spin", "sleep"}}};
};

inline const kernel::Kernel& steps_kernel() {
  static const StepsKernel kernel;
  return kernel;
}

} // namespace recount::test
