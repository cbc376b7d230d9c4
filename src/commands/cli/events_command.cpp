#include "base/json.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "count/event/encode.hpp"
#include "count/event/event_list.hpp"
#include "count/event/sysfs.hpp"
#include "show/command/command.hpp"
#include "show/command/output.hpp"

#include <recount/event.hpp>
#include <recount/group.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

// recount events: lists and searches events, and encodes a name.
namespace recount::cli {
namespace {

using event::ListedEvent;

struct EventsArguments {
  std::vector<std::string> patterns, names;
  std::string pmu, export_to;
  bool json = false, all = false;
};

const char* show(Domain domain) {
  return domain == Domain::user ? "user" : domain == Domain::kernel ? "kernel" : "user and kernel";
}

/// The fields of perf_event_attr that select the event, as far as they are set.
std::string code(const perf_event_attr& attr) {
  std::string text = fmt::format("type {} config {:#x}", attr.type, attr.config);
  if (attr.config1 != 0) text += fmt::format(" config1 {:#x}", std::uint64_t{attr.config1});
  if (attr.config2 != 0) text += fmt::format(" config2 {:#x}", std::uint64_t{attr.config2});
  return text;
}

Json code_json(const perf_event_attr& attr) {
  return {{"type", attr.type},
          {"config", attr.config},
          {"config1", std::uint64_t{attr.config1}},
          {"config2", std::uint64_t{attr.config2}}};
}

/// The other fields of perf_event_attr that an event name can set.
struct Field {
  const char* name;
  std::uint64_t value;
};
std::vector<Field> fields(const perf_event_attr& attr) {
  const bool breakpoint = attr.type == PERF_TYPE_BREAKPOINT;
  return {{"exclude_user", attr.exclude_user},
          {"exclude_kernel", attr.exclude_kernel},
          {"exclude_hv", attr.exclude_hv},
          {"exclude_idle", attr.exclude_idle},
          {"exclude_host", attr.exclude_host},
          {"exclude_guest", attr.exclude_guest},
          {"precise_ip", attr.precise_ip},
          {"pinned", attr.pinned},
          {"exclusive", attr.exclusive},
          {attr.freq != 0 ? "sample_freq" : "sample_period", attr.sample_period},
          {"bp_type", breakpoint ? attr.bp_type : 0},
          {"bp_addr", breakpoint ? std::uint64_t{attr.bp_addr} : 0},
          {"bp_len", breakpoint ? std::uint64_t{attr.bp_len} : 0}};
}

/// Those that are set: "exclude_guest 1, precise_ip 2".
std::string fields_text(const perf_event_attr& attr) {
  std::string text;
  for (const auto& [name, value] : fields(attr))
    if (value != 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          std::string_view(name) == "bp_addr" ? fmt::format("{:#x}", value)
                                                              : std::to_string(value));
  return text.empty() ? "none" : text;
}

Json to_json(const ListedEvent& one) {
  Json json{{"name", one.name}, {"pmu", one.pmu}, {"description", one.prose}};
  if (!one.equivalent.empty()) json["same_as"] = one.equivalent;
  if (one.event) json.update(code_json(one.event->attr));
  json["reason"] = or_null(one.reason.text());
  json["umasks"] = json["modifiers"] = Json::array();
  for (const auto& attribute : one.attributes) {
    Json entry{{"name", attribute.name}, {"description", attribute.prose}};
    if (!attribute.modifier) entry["default"] = attribute.is_default;
    json[attribute.modifier ? "modifiers" : "umasks"].push_back(entry);
  }
  return json;
}

/// An event and its other names.
struct Folded {
  ListedEvent event;
  std::vector<std::string> aliases;
};

/// Those that can be counted here first. Aliases are folded into one, under the first name that is not the
/// C constant (perf::PAGE-FAULTS, not perf::PERF_COUNT_SW_PAGE_FAULTS).
std::vector<Folded> folded(const std::vector<ListedEvent>& events) {
  std::vector<Folded> all;
  std::map<std::string, std::size_t> known; // by PMU and the event that it is another name of
  for (const ListedEvent& one : events) {
    const std::string own = one.name.substr(one.name.rfind(':') + 1);
    const auto [at, added] =
        known.try_emplace(one.pmu + "::" + (one.equivalent.empty() ? own : one.equivalent), all.size());
    if (added) {
      all.push_back({one, {}});
      continue;
    }
    Folded& first = all[at->second];
    const bool constant = first.event.equivalent.empty();
    first.aliases.push_back(constant ? first.event.name : one.name);
    if (constant) first.event = one;
  }
  std::ranges::stable_partition(all, [](const Folded& f) { return f.event.reason.empty(); });
  return all;
}

/// The names behind "PMU::".
std::string alias_text(const Folded& one) {
  return fmt::format("{}", fmt::join(one.aliases | ranges::views::transform([](const std::string& alias) {
                                       return alias.substr(alias.rfind(':') + 1);
                                     }),
                                     ", "));
}

/// The event with everything about it.
void print_details(const Folded& named) {
  const ListedEvent& one = named.event;
  command::print("{}", command::paint(command::Style::strong, one.name));
  if (one.event) command::print("  {}", command::paint(command::Style::faint, code(one.event->attr)));
  command::print("\n");
  if (!one.prose.empty()) command::print_wrapped(one.prose, 4, "    ");
  if (const auto aliases = alias_text(named); !aliases.empty())
    command::print_wrapped("also: " + aliases, 4, "    ");
  else if (!one.equivalent.empty())
    command::print("    the same as {}\n", one.equivalent);
  if (!one.reason.empty())
    command::print_wrapped(
        command::paint(command::Style::warning, "not countable here: " + one.reason.text()), 6, "    ");
  std::string modifiers;
  for (const auto& attribute : one.attributes)
    if (attribute.modifier)
      modifiers += " " + attribute.name;
    else
      command::print_wrapped(
          fmt::format(":{}{}  {}", attribute.name, attribute.is_default ? " (default)" : "", attribute.prose),
          8, "      ");
  if (!modifiers.empty()) command::print("    modifiers:{}\n", modifiers);
}

void print_short(const std::vector<Folded>& events, bool all) {
  show::Table table({{"event"}, {"description"}});
  for (const auto& [one, aliases] : events)
    if (all || one.reason.empty())
      table.add({one.name, one.prose + (one.reason.empty() ? "" : "  [not countable here]")});
  if (!table.empty()) command::print("{}", command::table_text(table));
}

show::Table events_table(const std::vector<Folded>& events) {
  show::Table table({{"event"}, {"aliases"}, {"description"}, {"not countable here"}}, "Events");
  for (const Folded& one : events)
    table.add({one.event.name, alias_text(one), one.event.prose, one.event.reason.text()});
  return table;
}

/// Why some of what was listed cannot be counted: once for each reason.
void print_reasons(const std::vector<Folded>& events, bool all) {
  std::map<std::string, std::size_t> events_by_reason;
  for (const auto& [one, aliases] : events)
    if (!one.reason.empty()) ++events_by_reason[command::brief(one.reason)];
  for (const auto& [reason, number] : events_by_reason)
    command::note("recount: {} not countable ({}){}\n", number, reason, all ? "" : "; list them with -a");
}

[[noreturn]] void nothing_found(const EventsArguments& requested) {
  const auto names = base::mapped(event::list({"", requested.pmu}, event::pmus()), &ListedEvent::name);
  std::string fix =
      base::did_you_mean(requested.patterns.front(), names,
                         base::did_you_mean(event::suggestions(requested.patterns.front(), event::pmus())));
  if (fix.empty())
    fix =
        requested.pmu.empty() ? "--pmu '*' also searches events of other machines" : "use a shorter pattern";
  throw bad_input(requested.patterns.front(), "no event matches", fix);
}

int list(const EventsArguments& requested) {
  const std::string pattern = requested.patterns.empty() ? "" : requested.patterns.front();
  const auto events = event::list({pattern, requested.pmu}, event::pmus());
  const command::TableExport file(requested.export_to);
  const auto rows = folded(events);
  file.write("recount events", {events_table(rows)});
  if (events.empty() && !pattern.empty()) nothing_found(requested);
  if (requested.json) {
    command::print("{}", json_text("events", {{"events", make_array(events, to_json)}}));
    return 0;
  }
  const bool all = requested.all || !requested.pmu.empty() || !pattern.empty();
  if (pattern.empty())
    print_short(rows, all);
  else
    for (const Folded& one : rows)
      print_details(one);
  print_reasons(rows, all);
  return 0;
}

/// None when the event can be opened now, else why not; only a trial can decide.
std::optional<Problem> trial(const Event& event) {
  try {
    const Group group(std::vector<Event>{event});
    return {};
  } catch (const Error& error) {
    return error.problem();
  }
}

int encode_names(const EventsArguments& requested) {
  std::vector<Event> events;
  for (const std::string& name : requested.names)
    std::ranges::move(encode_each(name), std::back_inserter(events));
  Json json{{"events", Json::array()}};
  for (const Event& event : events) {
    const auto problem = trial(event);
    if (requested.json) {
      Json one{{"name", event.name}, {"pmu", event.pmu}};
      one.update(code_json(event.attr));
      for (const auto& [name, value] : fields(event.attr))
        one[name] = value;
      one["domain"] = show(domain(event));
      one["opens"] = !problem;
      const Reason why = problem ? Reason(*problem) : Reason();
      one["reason"] = or_null(why.cause);
      one["setting"] = or_null(why.setting);
      one["fix"] = or_null(why.fix);
      json["events"].push_back(one);
      continue;
    }
    command::print("{}\n  pmu     {}\n  code    {}\n  fields  {}\n  domain  {}\n  opens   {}\n",
                   command::paint(command::Style::strong, event.name), event.pmu, code(event.attr),
                   fields_text(event.attr), show(domain(event)), problem ? "no: " + problem->cause : "yes");
    if (problem && !problem->setting.empty()) command::print("  setting {}\n", problem->setting);
    if (problem && !problem->fix.empty()) command::print("  fix     {}\n", problem->fix);
  }
  if (requested.json) command::print("{}", json_text("encoding", json));
  return 0;
}

int run_events(const EventsArguments& requested) {
  if (requested.patterns.size() > 1)
    throw bad_input(requested.patterns[1], "only one pattern is allowed",
                    "quote a pattern that contains blanks");
  if (!requested.names.empty() && (!requested.patterns.empty() || !requested.pmu.empty()))
    throw bad_input("--encode", "cannot be combined with a pattern or --pmu");
  return requested.names.empty() ? list(requested) : encode_names(requested);
}

} // namespace

command::Command events_command() {
  return command::make_command<EventsArguments>(
      "events", "list and search countable events",
      [](command::Options& options, EventsArguments& requested) {
        options.words("PATTERN", requested.patterns,
                      "search for this word, or for whole names that match this glob");
        options.text(
            "--pmu", requested.pmu, "NAME",
            "list only PMUs or CPU types that match NAME (libpfm4's or Linux's name; may be a glob)");
        options.list("--encode", requested.names, "NAME",
                     "print the encoding of an event and whether it opens; repeatable");
        options.event_files().libpfm();
        options.flag("-a,--all", requested.all, "also list events that cannot be counted here");
        options.flag("--json", requested.json, "print one JSON object");
        options.text("--export", requested.export_to, "FILE", command::export_help);
      },
      run_events);
}

} // namespace recount::cli
