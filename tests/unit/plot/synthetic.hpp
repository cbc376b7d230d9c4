// Results as a sweep might give them, made up: figures are tested on these.
#pragma once

#include "run/result/results_file.hpp"
#include "show/plot/sheet.hpp"

namespace recount::plot {

/// Sizes 4 KiB to 64 KiB doubled, strides 1 to 512 by fours, by the clock, `repetitions` each.
[[nodiscard]] inline result::Results timed_sweep(int repetitions = 3) {
  result::Results results;
  result::Run run;
  run.id = "r1";
  run.host = "box";
  run.cpu = "Some CPU @ 3 GHz";
  run.caches = {{"L1d", 32768, 64, 8}, {"L2", 1 << 20, 64, 16}};
  results.runs = {run};
  for (std::int64_t size = 4096; size <= 65536; size *= 2) {
    for (std::int64_t stride = 1; stride <= 512; stride *= 4) {
      for (int r = 0; r < repetitions; ++r) {
        result::Observation o;
        o.run = "r1";
        o.kernel = "stride";
        o.params = {{"size", size}, {"stride", stride}};
        o.repetition = r;
        o.witness = "clock";
        o.metric = "seconds";
        const double ns = 1.0 + static_cast<double>(size) / 16384.0 + 0.01 * r;
        o.accesses = 10 * size;
        o.value = ns * 1e-9 * static_cast<double>(10 * size);
        results.observations.push_back(o);
      }
    }
  }
  return results;
}

/// The same points: L1 and L2 misses, which perf cannot count and the model gives.
[[nodiscard]] inline result::Results missing_sweep() {
  result::Results results = timed_sweep(1);
  std::vector<result::Observation> all;
  for (auto o : results.observations) {
    for (const char* metric : {"PAPI_L1_DCM", "PAPI_L2_DCM"}) {
      o.metric = metric;
      o.witness = "model";
      o.value = o.metric == "PAPI_L1_DCM" && std::get<std::int64_t>(o.params["size"]) > 32768
                    ? *o.accesses
                    : std::int64_t{0};
      o.reason.clear();
      all.push_back(o);
      o.witness = "perf";
      o.value = std::monostate{};
      o.reason = "no such PMU on this machine";
      all.push_back(o);
    }
  }
  results.observations = all;
  return results;
}

/// A figure of curves by its name.
[[nodiscard]] inline plot::Sheet compose(const std::string& name, const result::Results& results,
                                         const plot::Choice& choice = {}) {
  return plot::find(plot::curve_figures(), name).compose(results, choice);
}

} // namespace recount::plot
