#include "profile/results.hpp"

#include "base/format.hpp"
#include "command/measuring.hpp"
#include "command/plot_file.hpp"
#include "profile/figure.hpp"
#include "profile/modelled.hpp"
#include "result/read.hpp"
#include "result/write.hpp"
#include "witness/header.hpp"

#include <fmt/format.h>
#include <limits>
#include <recount/error.hpp>

namespace recount::profile {
namespace {

/// Addresses beyond 2^63, the kernel's, are no whole numbers of results.
result::ParamValue address_value(std::uint64_t address) {
  if (address > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return fmt::format("{:#x}", address);
  return static_cast<std::int64_t>(address);
}

result::Observation observation(const Profile& p, std::size_t event, const std::string& run,
                                std::uint64_t weight) {
  result::Observation o;
  o.run = run;
  o.kernel = "profile";
  o.params["command"] = p.subject;
  o.witness = "perf";
  o.metric = p.recording.events[event].event.name;
  if (const auto modelled = modelled_event(o.metric)) {
    o.witness = modelled->machine == "host" ? "model" : "model:" + modelled->machine;
    o.metric = modelled->metric;
  }
  o.reason = p.recording.not_counted;
  if (o.reason.empty()) o.value = static_cast<std::int64_t>(weight);
  if (profile::is_clock(p.recording.events[event].event)) o.unit = "ns";
  return o;
}

result::Observation whole(const Profile& p, std::size_t event, const std::string& run) {
  auto o = observation(p, event, run, p.recording.places.total(event).weight);
  o.seconds = p.recording.seconds;
  const auto& count = p.recording.report.events[event];
  o.flags.push_back(base::format_count(count.samples, "sample"));
  if (!p.recording.sampled.empty()) o.flags.push_back(p.recording.sampled[event]);
  if (killed(p.recording.exit)) o.flags.push_back("incomplete: " + process::describe(p.recording.exit));
  if (count.lost.value_or(0) > 0) o.flags.push_back(fmt::format("{} lost", *count.lost));
  if (count.throttled > 0) o.flags.push_back("throttled " + base::format_count(count.throttled, "time"));
  return o;
}

void fill_place(result::Observation& o, const profile::Naming& naming, const Places& places,
                std::size_t place) {
  const profile::Located& at = naming.places[place];
  if (const std::uint32_t object = places.places()[place].object; object > 0)
    o.params["object"] = naming.objects.at(object - 1).name;
  o.params["module"] = at.module;
  o.params["address"] = address_value(at.address);
  if (!at.function().function.empty()) o.params["function"] = at.function().function;
  if (at.frames.front().inlined) o.params["inlined"] = at.frames.front().function;
  if (at.end > at.start) {
    o.params["start"] = address_value(at.start);
    o.params["end"] = address_value(at.end);
  }
  if (const auto source = at.source(); !source.empty()) o.params["source"] = source;
}

/// The whole of each event, then each place with occurrences.
std::vector<result::Observation> observations(const Profile& p, const std::string& run) {
  std::vector<result::Observation> all;
  const auto& places = p.recording.places;
  for (std::size_t e = 0; e < places.events(); ++e)
    all.push_back(whole(p, e, run));
  for (std::size_t i = 0; i < places.places().size(); ++i) {
    for (std::size_t e = 0; e < places.events(); ++e) {
      if (places.tally(i)[e].samples == 0) continue;
      all.push_back(observation(p, e, run, places.tally(i)[e].weight));
      fill_place(all.back(), p.naming, places, i);
    }
  }
  return all;
}

} // namespace

ProfileResults::ProfileResults(const std::string& output, std::string plot, profile::By by,
                               std::map<std::string, std::string> verdicts)
    : plot_(std::move(plot)) {
  if (output.empty() && plot_.empty()) return;
  header_ = witness::machine_header(command::command_line(), RECOUNT_VERSION);
  header_.plan = {{"kernel", "profile"}, {"by", profile::name_of(by)}};
  header_.verdicts = std::move(verdicts);
  if (output.empty()) return;
  writer_ = std::make_unique<result::Writer>(output, result::Writer::Mode::create);
  writer_->write(header_);
}

ProfileResults::~ProfileResults() = default;

void ProfileResults::finish(const Profile& profile) {
  if (!writer_ && plot_.empty()) return;
  result::Results results;
  results.runs = {header_};
  results.observations = observations(profile, header_.id);
  if (writer_)
    for (const auto& o : results.observations)
      writer_->write(o);
  if (!plot_.empty()) command::draw_to(plot_, profile::compose_over_addresses(results, {}));
}

} // namespace recount::profile
