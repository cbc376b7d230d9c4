// PAPI's low-level calls, without this library between.
#include "cost/routes.hpp"

#include "papi/event_set.hpp"
#include "papi/resolve.hpp"

#include <recount/papi.hpp>

#include <papi.h>

#include <optional>

namespace recount::cost {
namespace {

class PapiRoute : public Route {
public:
  PapiRoute(const std::vector<std::string>& names, Domain domain) : names_(names), domain_(domain) {
    PapiSet trial(names, domain); // initialises PAPI, and survives a table that crashes it
    open();
    values_.resize(names.size());
  }

  std::vector<Step> steps() override {
    const auto nothing = [] {};
    const auto start = [this] { PAPI_start(id_); };
    const auto stop = [this] { PAPI_stop(id_, values_.data()); };
    return {repeated(
                op_open, [this] { set_.reset(); },
                [this] {
                  open();
                  set_.reset();
                },
                [this] { open(); }),
            single(op_start, nothing, start, stop),
            single(op_stop, start, stop, nothing),
            repeated(
                op_read, start, [this] { PAPI_read(id_, values_.data()); }, stop),
            repeated(
                op_reset, start, [this] { PAPI_reset(id_); }, stop),
            repeated(
                op_read_reset, start, [this] { PAPI_accum(id_, values_.data()); }, stop),
            repeated(
                op_cycle, nothing,
                [=] {
                  start();
                  stop();
                },
                nothing)};
  }

private:
  void open() {
    set_.emplace(names_, domain_);
    id_ = set_->id();
  }

  std::vector<std::string> names_;
  Domain domain_;
  std::optional<papi::EventSet> set_;
  int id_ = PAPI_NULL;
  std::vector<long long> values_;
};

} // namespace

std::unique_ptr<Route> open_papi(const Subject& subject, Domain domain) {
  return std::make_unique<PapiRoute>(subject.names, domain);
}

} // namespace recount::cost
