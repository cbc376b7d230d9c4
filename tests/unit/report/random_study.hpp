// Random results files of the matrix study.
#pragma once

#include "random_files.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace recount::test {

/// One product of a file, and what a step of it costs on its machine.
struct Loops {
  std::string kernel, variant, element, transpose, language;
  std::int64_t n = 0, block = 0;
  double seconds = 0, l1 = 0, l2 = 0; ///< per step
};

class RandomFile {
public:
  explicit RandomFile(Random& random) : random_(random) {}

  result::Results build() {
    const int machines = chance(random_, 0.15) ? 2 : 1;
    for (int i = 0; i < machines; ++i)
      add_machine(i);
    return std::move(results_);
  }

private:
  void add_machine(int number) {
    result::Run run;
    run.id = fmt::format("R{}", number);
    run.cpu = "Some CPU";
    run.host = fmt::format("box{}", number);
    const std::int64_t line = chance(random_, 0.8) ? 64 : 128;
    run.caches = {{"L1d", chance(random_, 0.5) ? 32768 : 49152, line, 8}, {"L2", 1 << 20, line, 16}};
    run.plan = {{"kernel", "matmul"}, {"study", "lab,report"}};
    results_.runs.push_back(run);
    run_ = run.id;
    repetitions_ = 1 + static_cast<int>(random_() % 5);
    noise_ = std::vector{0.0, 1e-4, 1e-2, 0.2}[random_() % 4];
    missing_ = std::vector{0.0, 0.02, 0.3}[random_() % 3];
    counter_ = std::vector<const char*>{"perf", "papi", ""}[random_() % 3];
    modelled_ = chance(random_, 0.7);
    for (const Loops& loops : all_loops())
      add_product(loops);
  }

  std::vector<Loops> all_loops() {
    std::vector<Loops> all;
    const auto add = [&](const char* kernel, const char* variant, const char* element, std::int64_t n,
                         std::int64_t block = 0, const char* transpose = "included",
                         const char* language = "") {
      all.push_back({kernel, variant, element, transpose, language, n, block,
                     1e-9 * std::exp(uniform(random_, -2, 2)), std::exp(uniform(random_, -6, 0)),
                     std::exp(uniform(random_, -6, 0))});
    };
    if (chance(random_, 0.7))
      for (const char* kernel : {"matmul", "matmul-vectorised"}) {
        add(kernel, "ijk-mem", "i16", 1024);
        add(kernel, "transposed", "i16", 1024);
        add(kernel, "transposed", "i16", 1024, 0, "excluded");
        add(kernel, "blocked", "i16", 1024, 32);
      }
    for (const std::int64_t n : {300, 600, 1000})
      if (all.empty() || chance(random_, 0.6)) {
        add("matmul", "ijk", "f64", n);
        add("matmul", "ikj", "f64", n);
        for (const std::int64_t block : {32, 64})
          if (chance(random_, 0.5)) add("matmul", "blocked", "f64", n, block);
        for (const char* variant : {"ijk", "ikj"}) {
          if (chance(random_, 0.3)) add("matmul-vectorised", variant, "f64", n);
          for (const char* language : {"Java", "Python"})
            if (chance(random_, 0.4)) add("external", variant, "f64", n, 0, "", language);
        }
      }
    return all;
  }

  void add_product(const Loops& loops) {
    const auto n = static_cast<double>(loops.n);
    const double steps = n * n * n, more = std::exp(uniform(random_, -1, 1));
    if (!loops.language.empty()) { // nothing but its time is known
      for (int repetition = 0; repetition < repetitions_; ++repetition)
        add(loops, repetition, "clock", {{"seconds", varied(steps * loops.seconds)}});
      return;
    }
    if (modelled_) {
      add(loops, 0, "model",
          {{"PAPI_LD_INS", 3 * steps},
           {"PAPI_SR_INS", steps},
           {"PAPI_L1_DCM", std::round(steps * loops.l1)},
           {"PAPI_L2_DCM", std::round(steps * loops.l2 * more)},
           {"PAPI_L2_DCA", std::round(steps * loops.l1)},
           {"PAPI_TLB_DM", std::round(steps * std::exp(uniform(random_, -6, 0)))}});
      if (chance(random_, 0.5))
        add(loops, 0, "model:host~no-tlb",
            {{"PAPI_L1_DCM", std::round(steps * loops.l1 * uniform(random_, 0, 1))}});
    }
    for (int repetition = 0; repetition < repetitions_; ++repetition) {
      const double seconds = varied(steps * loops.seconds);
      add(loops, repetition, "clock", {{"seconds", seconds}, {"tsc_cycles", std::round(2.5e9 * seconds)}});
      if (*counter_)
        add(loops, repetition, counter_,
            {{"PAPI_LD_INS", 3 * steps},
             {"PAPI_SR_INS", steps},
             {"PAPI_L1_DCM", std::round(varied(steps * loops.l1))},
             {"PAPI_L2_DCM", std::round(varied(steps * loops.l2))},
             {"PAPI_L2_DCA", std::round(varied(steps * loops.l1))},
             {"PAPI_TOT_CYC", std::round(varied(3e9 * steps * loops.seconds))}});
    }
  }

  double varied(double value) {
    const double lost = noise_ > 0 && random_() % 8 == 0 ? 1 + 10 * noise_ : 1;
    return value * lost * std::exp(noise_ * std::normal_distribution<>()(random_));
  }

  void add(const Loops& loops, int repetition, const char* witness,
           const std::vector<std::pair<const char*, double>>& values) {
    if (chance(random_, missing_)) return; // the run failed or was never made
    for (const auto& [metric, value] : values) {
      result::Observation o;
      o.run = run_;
      o.kernel = loops.kernel;
      o.params = {{"variant", loops.variant},
                  {"n", loops.n},
                  {"element", loops.element},
                  {"block", loops.block == 0 ? std::int64_t{64} : loops.block},
                  {"transpose", loops.transpose}};
      if (!loops.language.empty())
        o.params = {{"variant", loops.variant},
                    {"n", loops.n},
                    {"language", loops.language},
                    {"command", "mm " + loops.variant}};
      o.repetition = repetition;
      o.witness = witness;
      o.metric = metric;
      o.value = value;
      if (o.metric == "seconds") {
        if (loops.language.empty()) o.cpu_seconds = value * 0.9;
        if (chance(random_, 0.1)) o.flags = {{Flag::Kind::steal, "steal 20 ms (30 %)", 30.0}};
      } else if (chance(random_, missing_)) {
        o.value = std::monostate{};
        o.reason = "no such event here";
      }
      results_.observations.push_back(std::move(o));
    }
  }

  Random& random_;
  result::Results results_;
  std::string run_;
  int repetitions_ = 0;
  double noise_ = 0, missing_ = 0;
  const char* counter_ = "";
  bool modelled_ = false;
};

} // namespace recount::test
