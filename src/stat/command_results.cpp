#include "stat/command_results.hpp"

#include "command/measuring.hpp"
#include "result/results_file.hpp"
#include "witness/results_header.hpp"

namespace recount::stat {

CommandResults::CommandResults(const std::string& path, std::string subject,
                               std::map<std::string, std::string> plan,
                               std::map<std::string, std::string> verdicts)
    : subject_(std::move(subject)) {
  if (path.empty()) return;
  result::Run header = witness::machine_header(command::command_line(), RECOUNT_VERSION);
  header.plan = std::move(plan);
  header.verdicts = std::move(verdicts);
  header.plan["kernel"] = "command";
  run_ = header.id;
  writer_ = std::make_unique<result::Writer>(path, result::Writer::Mode::create);
  writer_->write(header);
}

CommandResults::~CommandResults() = default;

void CommandResults::write(const Slice& slice) {
  if (!writer_) return;
  result::Observation time;
  time.witness = Witness::clock;
  time.metric = "seconds";
  time.value = slice.end - slice.begin;
  write(time, slice);
  for (const result::Observation& o : slice.rows)
    write(o, slice);
}

void CommandResults::write(result::Observation o, const Slice& slice) {
  o.run = run_;
  o.kernel = "command";
  o.params["command"] = subject_;
  if (slice.interval) {
    o.params["interval"] = std::int64_t{*slice.interval};
    o.params["begin_us"] = static_cast<std::int64_t>(slice.begin * 1e6);
  }
  o.repetition = slice.repetition;
  o.seconds = slice.end - slice.begin;
  writer_->write(o);
}

void CommandResults::write(result::Section section) {
  if (!writer_) return;
  section.run = run_;
  section.kernel = "command";
  section.params["command"] = subject_;
  writer_->write(section);
}

} // namespace recount::stat
