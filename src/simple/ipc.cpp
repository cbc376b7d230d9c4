#include <recount/simple.hpp>

#include <algorithm>

namespace recount::simple {
namespace {

constexpr auto instructions = "perf::INSTRUCTIONS", cycles = "perf::CYCLES";

Ipc ipc_of(const Reading& reading) {
  const Value &done = reading[instructions], &took = reading[cycles];
  Ipc out{reading.real_seconds,
          reading.processor_seconds,
          done.count,
          took.count,
          {},
          std::min(done.share, took.share),
          done.count ? took.reason : done.reason};
  if (done.count && took.count) {
    if (*took.count > 0)
      out.ipc = static_cast<double>(*done.count) / static_cast<double>(*took.count);
    else
      out.reason = "no cycles were counted";
  }
  return out;
}

} // namespace

IpcMeter::IpcMeter() : meter_({instructions, cycles}, Domain::user) {}
Ipc IpcMeter::read() {
  return ipc_of(meter_.read());
}
Ipc IpcMeter::read_and_reset() {
  return ipc_of(meter_.read_and_reset());
}

} // namespace recount::simple
