// One of each type of include/recount, for abi.py.
#include <recount/count.hpp>
#include <recount/derived.hpp>
#include <recount/error.hpp>
#include <recount/event.hpp>
#include <recount/group.hpp>
#include <recount/histogram.hpp>
#include <recount/overflow.hpp>
#include <recount/papi.hpp>
#include <recount/preset.hpp>
#include <recount/region.hpp>
#include <recount/sampling.hpp>
#include <recount/simple.hpp>
#include <recount/user_read.hpp>

#include <tuple>

using namespace recount;

template <class... Types>
struct All {
  std::tuple<Types*...> of;
};
extern All<AddressProfile, ProfiledEvent, Count, DerivedValue, Error, Problem, Event, Group, GroupOptions,
           Counters, Histogram, Overflow, OverflowEvent, OverflowCall, OverflowOptions, OverflowCount,
           PapiSet, papi::Inventory, Preset, PresetTable, LoadedTable, PresetValue, Region, RegionTotal,
           Sampling, SampledEvent, SamplingOptions, SamplingReport, Sample, Mapping, Name, Fork, End, Loss,
           Throttle, simple::CounterCount, simple::Meter, simple::IpcMeter, simple::FlopsMeter, simple::Ipc,
           simple::Flops, UserRead, ErrorKind, Domain, Derived>
    all;
decltype(all) all;
