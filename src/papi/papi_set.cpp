// The public event set: PAPI's, behind a guard against tables that crash it.
#include "base/format.hpp"
#include "papi/event_set.hpp"
#include "papi/library.hpp"

#include <recount/papi.hpp>

#include <fmt/format.h>

#include <thread>
#include <utility>

namespace recount {

struct PapiSet::State {
  std::vector<std::string> names;
  papi::EventSet set;
};

namespace {

/// A formula with a term that does not exist loads without complaint and aborts when it is read. The trial
/// is made on a thread of its own, else a set that runs on this one would be in its way: PAPI would refuse a
/// second one, and stopping the first in the child would stop it here (the descriptors are shared).
void try_in_child(const std::vector<std::string>& names, Domain domain) {
  papi::survive([&](int) { std::thread([&] { (void)papi::try_once(names, domain); }).join(); },
                fmt::format("counting {}", fmt::join(names, ", ")));
}

void demand_room(std::size_t have, std::size_t want) {
  if (have < want)
    throw bad_input("PAPI set", fmt::format("has {}, the buffer holds {}", base::format_count(want, "event"),
                                            base::format_count(have, "value")));
}

} // namespace

PapiSet::PapiSet(std::vector<std::string> names, Domain domain) {
  papi::initialise();
  papi::register_thread();
  if (!papi::private_tables().empty()) try_in_child(names, domain);
  const auto& list = names;
  state_ = std::unique_ptr<State>(new State{list, {list, domain}});
}
PapiSet::PapiSet(PapiSet&&) noexcept = default;
PapiSet& PapiSet::operator=(PapiSet&&) noexcept = default;
PapiSet::~PapiSet() = default;

void PapiSet::start() {
  state_->set.start();
}

std::vector<long long> PapiSet::stop() {
  std::vector<long long> values(size());
  state_->set.stop(values.data());
  return values;
}

std::vector<long long> PapiSet::read() {
  std::vector<long long> values(size());
  state_->set.read(values.data());
  return values;
}

void PapiSet::read(std::span<long long> values) {
  demand_room(values.size(), size());
  state_->set.read(values.data());
}

void PapiSet::stop(std::span<long long> values) {
  demand_room(values.size(), size());
  state_->set.stop(values.data());
}

void PapiSet::accumulate(std::vector<long long>& values) {
  if (values.empty()) values.resize(size());
  demand_room(values.size(), size());
  state_->set.accumulate(values.data());
}

void PapiSet::reset() {
  state_->set.reset();
}

bool PapiSet::running() const noexcept {
  return state_->set.running();
}
std::size_t PapiSet::size() const noexcept {
  return state_->names.size();
}
const std::vector<std::string>& PapiSet::names() const noexcept {
  return state_->names;
}

} // namespace recount
