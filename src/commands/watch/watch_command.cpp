#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "commands/watch/hub.hpp"
#include "commands/watch/watch_view.hpp"
#include "commands/watch/watcher.hpp"
#include "kernel/command_line.hpp"
#include "run/stat_plan.hpp"
#include "run/stat_run.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <memory>

// recount watch: a live trace of a program.
namespace recount::watch {
namespace {

struct WatchOptions {
  std::vector<std::string> events, metrics, pids, command;
  std::string domain, output, plot, listen, connect, export_to;
  long interval = 500, window = 60;
  bool plain = false, json = false;
};

void check(const WatchOptions& o) {
  if (!o.connect.empty()) {
    const bool counts = !o.command.empty() || !o.pids.empty() || !o.events.empty() || !o.metrics.empty();
    if (counts || !o.listen.empty() || !o.output.empty() || !o.plot.empty() || !o.domain.empty() ||
        !o.export_to.empty())
      throw bad_input("--connect " + o.connect, "takes no options that choose what is counted",
                      "remove COMMAND, -e, -p, --metrics, --listen, --output, --plot, --domain and --export");
    return;
  }
  if (o.command.empty() && o.pids.empty())
    throw bad_input("recount watch", "no command and no process to watch",
                    "recount watch -- COMMAND, recount watch -p PID, or recount watch --connect ADDRESS");
  if (!o.plot.empty() && (o.output.empty() || o.output == "-"))
    throw bad_input("--plot " + o.plot, "needs a file of results", "add -o FILE");
  command::check_outputs({.results = o.output, .plot = o.plot, .json = o.json});
}

ViewSettings view_settings(const WatchOptions& o) {
  return {.json = o.json,
          .plain = o.plain,
          .window = static_cast<double>(o.window),
          .may_quit = o.command.empty(),
          .lines = o.command.empty() && o.output != "-" ? stdout : stderr};
}

result::Section make_section(const Section& section) {
  result::Section line;
  line.edge = edge_names[static_cast<int>(section.edge)];
  line.name = section.name;
  line.time = section.time;
  return line;
}

/// Distributes messages to the local view, remote viewers and the results file.
class WatchOutputs final : public Observer {
public:
  WatchOutputs(const WatchOptions& o, const stat::Plan& plan, const std::string& subject)
      : o_(o),
        plan_(plan),
        subject_(subject),
        export_(o.export_to),
        hub_(o.listen.empty() ? nullptr : std::make_unique<Hub>(o.listen)),
        results_(o.output, subject, {{"interval", std::to_string(o.interval)}}),
        view_(make_view(view_settings(o))) {
    if (hub_) view_->note(fmt::format("recount watch: listening on {}\n", hub_->address()));
    if (hub_ && hub_->reachable())
      view_->note("recount watch: warning: other machines can connect to this address and read the counts; "
                  "the connection has no encryption and no password\n");
  }

  [[nodiscard]] WatchSettings settings() {
    WatchSettings settings{.command = o_.command,
                           .pids = stat::parse_pids(o_.pids),
                           .subject = subject_ + host::emulated_text(),
                           .interval = std::chrono::milliseconds(o_.interval)};
    if (view_->takes_keys()) settings.in = -1;
    if (const int fd = view_->command_output(); fd >= 0) {
      if (::isatty(STDOUT_FILENO) == 1) settings.out = fd;
      settings.err = fd;
    }
    return settings;
  }

  void message(const Message& message) override {
    if (hub_) hub_->send(message);
    if (const auto* section = std::get_if<Section>(&message)) write(make_section(*section));
    view_->add(message);
  }
  void slice(const stat::Slice& slice) override {
    write(slice);
    if (!slice.interval) warnings_ = stat::warnings(plan_, slice);
  }
  void started() override { view_->command_started(); }
  void polled(std::vector<pollfd>& fds) const override {
    view_->polled(fds);
    if (hub_) hub_->polled(fds);
  }
  void ready(const std::vector<pollfd>& polled) override {
    view_->ready();
    if (hub_) hub_->serve(polled);
  }
  bool signal(int number) override {
    if (number != SIGHUP) return true;
    view_->hang_up();
    return view_is_only_output();
  }
  [[nodiscard]] bool enough() const override {
    return view_->quit() || (view_->gone() && view_is_only_output());
  }

  void finish(const std::vector<std::string>& notes) {
    if (hub_) hub_->drain(1000);
    view_->finish();
    export_.write("recount watch: " + subject_, {watch_means(view_->trace())});
    for (const auto& lines : {notes, warnings_})
      for (const auto& note : lines)
        view_->note("  " + command::wrap(note, command::line_width(stderr), 4) + "\n");
    if (hub_ && hub_->dropped() > 0)
      view_->note(fmt::format("  {} dropped for viewers that were too slow\n",
                              base::format_count(hub_->dropped(), "line was", "lines were")));
    if (failed_write_) std::rethrow_exception(failed_write_);
    view_->check();
  }

private:
  /// A failed write (full disk) must not end the watch: the error is reported at the end.
  template <class Line>
  void write(const Line& line) {
    if (failed_write_) return;
    try {
      results_.write(line);
    } catch (const Error&) {
      failed_write_ = std::current_exception();
    }
  }
  [[nodiscard]] bool view_is_only_output() const { return !hub_ && o_.output.empty(); }

  const WatchOptions& o_;
  const stat::Plan& plan_;
  std::string subject_;
  command::TableExport export_;
  std::unique_ptr<Hub> hub_; ///< before results_: an address in use must not leave a results file
  stat::CommandResults results_;
  std::exception_ptr failed_write_;
  std::unique_ptr<WatchView> view_;
  std::vector<std::string> warnings_; ///< about the counts of the whole
};

int execute_watch(const WatchOptions& o) {
  check(o);
  if (!o.connect.empty()) return watch_remotely(o.connect, view_settings(o));
  const auto items =
      stat::parse_items(o.events.empty() ? stat::default_items(stat::Counted::processes) : o.events);
  if (items.empty()) throw bad_input("--event", "the list is empty");
  stat::Plan plan = stat::make_plan(items, metric::load(o.metrics), stat::parse_domain(o.domain));
  if (plan.rows.size() > max_series)
    throw bad_input("--event",
                    fmt::format("has {} rows, more than the maximum of {}", plan.rows.size(), max_series));
  const std::string subject =
      o.pids.empty() ? kernel::quoted(o.command) : stat::show_pids(stat::parse_pids(o.pids));
  int status = 0;
  {
    WatchOutputs outputs(o, plan, subject);
    status = watch(plan, outputs.settings(), outputs);
    outputs.finish(stat::make_notes(plan, o.domain));
  }
  if (!o.plot.empty()) command::draw_to(o.plot, compose_over_time(result::read(o.output), {}));
  return status;
}

} // namespace

command::Command watch_command() {
  auto command = command::make_command<WatchOptions>(
      "watch", "draw a live trace of events, presets and metrics of a program",
      [](command::Options& options, WatchOptions& o) {
        options.list("-e,--event", o.events, "LIST", "events, presets, metrics; keys n and p select one")
            .list("--metrics", o.metrics, "FILE", "read more metrics from FILE, see recount-metrics(5)")
            .event_files()
            .list("-p,--pid", o.pids, "LIST", "attach to these PIDs until they or COMMAND exit")
            .number("-I,--interval", o.interval, "MS", "count every MS milliseconds (default 500)",
                    command::interval_range)
            .number("--window", o.window, "SECONDS", "time span of the figure (default 60)", {1, 86'400})
            .text("--domain", o.domain, "DOMAIN",
                  "count in user mode, kernel or all (default: all, where permitted)")
            .text("-o,--output", o.output, "FILE", "write results to FILE; - is stdout")
            .text("--plot", o.plot, "FILE", "draw the results at the end: .pdf, .svg, .png, ...")
            .text("--listen", o.listen, "ADDRESS", "accept viewers at PORT, HOST:PORT or a socket path")
            .text("--connect", o.connect, "ADDRESS", "connect to another recount watch")
            .flag("--plain", o.plain, "print one line per interval, also on a terminal")
            .flag("--json", o.json, "print JSON lines on stdout, as sent to viewers")
            .text("--export", o.export_to, "FILE", command::export_help)
            .program(o.command, "program to run and watch");
      },
      execute_watch);
  command.transparent = true;
  return command;
}

} // namespace recount::watch
