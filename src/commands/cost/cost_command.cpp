#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "commands/cost/cost.hpp"
#include "run/stat_plan.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

// recount cost: overhead of start, read and stop for each interface to the counters.
namespace recount::cost {
namespace {

struct CostArguments {
  std::vector<std::string> events;
  std::string sizes, domain = "user", export_to;
  long repeat = 5;
  bool json = false, all = false;
};

std::vector<std::size_t> parse_sizes(const std::string& list) {
  std::set<std::size_t> sizes;
  for (const auto word : base::split(list, ',')) {
    const std::size_t size = base::parse<std::size_t>(word).value_or(0);
    if (size == 0 || size > 16)
      throw bad_input("--at-once " + list, "not a list of numbers from 1 to 16", "--at-once 1,2,4");
    sizes.insert(size);
  }
  return {sizes.begin(), sizes.end()};
}

CostOptions make_options(const CostArguments& requested) {
  CostOptions options;
  options.domain = stat::parse_domain(requested.domain);
  options.visits = static_cast<int>(requested.repeat);
  options.events = base::list_words(requested.events);
  if (options.events.empty()) options.events = cost::cost_events(options.domain);
  if (options.events.empty())
    throw unavailable("recount cost", "no event can be counted here, not even a software event", {},
                      "recount doctor");
  if (!requested.sizes.empty()) {
    options.sizes = parse_sizes(requested.sizes);
  } else {
    std::erase_if(options.sizes, [&](std::size_t size) { return size > options.events.size(); });
  }
  return options;
}

using Value = std::function<std::optional<double>(const Cost&)>;
using Text = std::function<std::optional<std::string>(const Cost&)>;

/// A column of values for CSV.
struct Exported {
  const char *quantity, *statistic, *unit, *witness;
  Value value;
};

/// Null where the operation was not measured.
const Cost* find(const Costs& costs, const std::string& operation, const std::string& route,
                 std::size_t events) {
  const auto found = std::ranges::find_if(costs.rows, [&](const Cost& row) {
    return row.operation == operation && row.route == route && row.events == events;
  });
  return found == costs.rows.end() ? nullptr : &*found;
}

std::vector<show::Column> columns(const std::vector<std::size_t>& sizes) {
  std::vector<show::Column> heads{{"operation"}, {"route"}};
  for (const std::size_t size : sizes) // the first is never left out
    heads.push_back(
        {base::format_count(size, "event"), show::Role::number, static_cast<int>(heads.size()) - 2});
  return heads;
}

show::Table values_table(const Costs& costs, const std::vector<std::size_t>& sizes, const std::string& title,
                         const Text& text, const std::vector<Exported>& exported) {
  show::Table table(columns(sizes), title);
  std::string last;
  std::pair<std::string, std::string> previous;
  for (const Cost& row : costs.rows) {
    const std::pair line(row.operation, row.route);
    if (std::exchange(previous, line) == line) continue; // the rows are sorted
    const auto& [operation, route] = line;
    std::vector<std::string> cells{operation == last ? "" : operation, route};
    bool any = false;
    for (const std::size_t size : sizes) {
      const Cost* const cost = find(costs, operation, route, size);
      const auto cell = cost ? text(*cost) : std::nullopt;
      cells.push_back(cell.value_or("-"));
      any = any || cell;
      for (const Exported& column : exported)
        if (const auto value = cost ? column.value(*cost) : std::nullopt)
          table.add_data(
              {{.keys = {{"operation", operation}, {"route", route}, {"events", std::to_string(size)}},
                .quantity = column.quantity,
                .statistic = column.statistic,
                .value = value,
                .unit = column.unit,
                .witness = column.witness}});
    }
    if (!any) continue;
    last = operation;
    table.add(std::move(cells));
  }
  return table;
}

/// The cost of this library relative to that of PAPI.
Value relative_to_papi(const Costs& costs, const Value& value) {
  return [&costs, value](const Cost& own) -> std::optional<double> {
    if (own.route != route_recount && own.route != route_user) return {};
    const Cost* const papi = find(costs, own.operation, route_papi, own.events);
    const auto value_here = value(own), other = papi ? value(*papi) : std::nullopt;
    return value_here && other && *other > 0 ? std::optional(*value_here / *other) : std::nullopt;
  };
}

/// One line per interface and cause, for any number of events. --json and --export have setting and fix, too.
void print_missing(const Costs& costs) {
  std::set<std::string> printed;
  for (const auto& m : costs.missing)
    if (const std::string line = m.route + ": " + m.reason.cause; printed.insert(line).second)
      command::print_wrapped(line, 2);
}

Text rounded(const Value& value, int decimals = 0) {
  return [value, decimals](const Cost& c) -> std::optional<std::string> {
    const auto number = value(c);
    return number ? std::optional(fmt::format("{:.{}f}", *number, decimals)) : std::nullopt;
  };
}

std::vector<show::Table> cost_tables(const Costs& costs, const CostOptions& options) {
  const Value ns = [](const Cost& c) { return std::optional(c.ns); };
  const Value all = [](const Cost& c) { return c.instructions; };
  const Value user = [](const Cost& c) { return c.user_instructions; };
  const Text quartiles = [](const Cost& c) {
    return std::optional(fmt::format("{:.0f}-{:.0f}", c.p25_ns, c.p75_ns));
  };
  const auto& sizes = options.sizes;
  const std::string batches =
      base::format_count(options.visits * options.batches, "batch", "batches") + host::emulated_text();
  std::vector<show::Table> tables;
  if (costs.ns_per_instruction)
    tables.push_back(values_table(
        costs, sizes,
        "Instructions, user mode and kernel; exact, since this machine's clock counts instructions",
        rounded(all), {{"instructions", "value", "", "clock", all}}));
  else
    tables.push_back(values_table(costs, sizes, "Nanoseconds, median of " + batches, rounded(ns),
                                  {{"time", "median", "ns", "clock", ns}}));
  for (const MissingRoute& m : costs.missing)
    tables.front().add_data({{.keys = {{"route", m.route}, {"events", std::to_string(m.events)}},
                              .quantity = "time",
                              .unit = "ns",
                              .witness = "clock",
                              .reason = m.reason.text()}});
  tables.push_back(values_table(costs, sizes, "Instructions, user mode only", rounded(user),
                                {{"user-mode instructions", "median", "", "perf", user}}));
  const Value relative = relative_to_papi(costs, costs.ns_per_instruction ? all : ns);
  tables.push_back(values_table(costs, sizes, "Relative to PAPI (1: equal)", rounded(relative, 2),
                                {{costs.ns_per_instruction ? "instructions" : "time", "ratio to that of PAPI",
                                  "", "clock", relative}}));
  if (!costs.ns_per_instruction)
    tables.push_back(values_table(
        costs, sizes, "Nanoseconds, quartiles of " + batches, quartiles,
        {{"time", "first quartile", "ns", "clock", [](const Cost& c) { return std::optional(c.p25_ns); }},
         {"time", "third quartile", "ns", "clock", [](const Cost& c) { return std::optional(c.p75_ns); }}}));
  return tables;
}

/// The first screen: each route at the smallest number of events, and the ratio to PAPI at each number.
show::Table short_table(const Costs& costs, const CostOptions& options) {
  const bool exact = costs.ns_per_instruction.has_value();
  const Value value = [exact](const Cost& c) { return exact ? c.instructions : std::optional(c.ns); };
  const Text whole = rounded(value), ratio = rounded(relative_to_papi(costs, value), 2);
  std::vector<std::string> operations;
  for (const Cost& row : costs.rows)
    if (std::ranges::find(operations, row.operation) == operations.end()) operations.push_back(row.operation);
  show::Table table({{"operation"}},
                    fmt::format("{} for {}, median of {}{}; ratio: recount over PAPI for {}",
                                exact ? "Instructions" : "Nanoseconds",
                                base::format_count(options.sizes.front(), "event"),
                                base::format_count(options.visits * options.batches, "batch", "batches"),
                                host::emulated_text(), fmt::join(options.sizes, ", ")));
  std::vector<std::string> routes{route_recount, route_papi, route_perf, route_user};
  std::erase_if(routes, [&](const std::string& route) {
    return std::ranges::find(costs.rows, route, &Cost::route) == costs.rows.end();
  });
  int rank = 0; // the first two stay at 40 columns
  for (const std::string& route : routes)
    table.columns.push_back({route, show::Role::number, std::max(0, rank++ - 1)});
  for (const std::size_t size : options.sizes)
    table.columns.push_back({fmt::format("ratio for {}", size), show::Role::number, ++rank});
  for (const std::string& operation : operations) {
    std::vector<std::string> cells{operation};
    const auto cell = [&](const std::string& route, std::size_t size, const Text& text) {
      const Cost* const cost = find(costs, operation, route, size);
      cells.push_back(cost ? text(*cost).value_or("-") : "-");
    };
    for (const std::string& route : routes)
      cell(route, options.sizes.front(), whole);
    for (const std::size_t size : options.sizes)
      cell(route_recount, size, ratio);
    table.add(std::move(cells));
  }
  return table;
}

/// The events, and what the interfaces other than PAPI count for presets.
void print_counted(const Costs& costs) {
  command::print_wrapped(fmt::format("Events: {}.", fmt::join(costs.events, ", ")), 8);
  for (const DerivedPreset& preset : costs.presets)
    command::print_wrapped(
        fmt::format("{} ({}): {}", preset.name, preset.type, fmt::join(preset.terms, ", ")), 8);
  command::print("\n");
}

void print(const Costs& costs, const std::vector<show::Table>& tables) {
  print_counted(costs);
  for (const show::Table& table : tables)
    if (!table.empty())
      command::print(
          "{}\n\n{}\n",
          command::paint(command::Style::strong, command::wrap(table.caption, command::line_width(), 0)),
          command::table_text(table));
  print_missing(costs);
  if (!costs.no_user_instructions.empty())
    command::print_wrapped("user-mode instructions: " + costs.no_user_instructions.cause, 2);
}

void print_cost_json(const Costs& costs) {
  const auto row_json = [](const Cost& c) {
    return Json{
        {"operation", c.operation},
        {"route", c.route},
        {"events", c.events},
        {"ns",
         {{"median", c.ns}, {"p10", c.p10_ns}, {"p25", c.p25_ns}, {"p75", c.p75_ns}, {"p90", c.p90_ns}}},
        {"instructions", or_null(c.instructions)},
        {"user_instructions", or_null(c.user_instructions)}};
  };
  Json all{{"events", costs.events},
           {"ns_per_instruction", or_null(costs.ns_per_instruction)},
           {"no_instructions", costs.no_instructions.text()},
           {"no_user_instructions", costs.no_user_instructions.text()}};
  all["presets"] = make_array(costs.presets, [](const DerivedPreset& p) {
    return Json{{"name", p.name}, {"type", p.type}, {"terms", p.terms}};
  });
  all["costs"] = make_array(costs.rows, row_json);
  all["missing"] = make_array(costs.missing, [](const MissingRoute& m) {
    return Json{{"route", m.route}, {"events", m.events}, {"reason", m.reason.text()}};
  });
  command::print("{}", json_text("cost", all));
}

int execute_cost(const CostArguments& requested) {
  const CostOptions options = make_options(requested);
  const command::TableExport file(requested.export_to);
  const Costs costs = measure_costs(options);
  const auto tables = cost_tables(costs, options);
  if (requested.json)
    print_cost_json(costs);
  else
    print(costs, requested.all ? tables : std::vector{short_table(costs, options)});
  file.write("recount cost", tables);
  return 0;
}

} // namespace

command::Command cost_command() {
  return command::make_command<CostArguments>(
      "cost", "measure the overhead of start, read and stop for each interface",
      [](command::Options& options, CostArguments& requested) {
        options.list("-e,--event", requested.events, "LIST",
                     "count these events and presets (default: the first four events that can be counted)");
        options.event_files();
        options.text("--at-once", requested.sizes, "LIST", "numbers of events per group (default 1,2,4)");
        options.text("--domain", requested.domain, "DOMAIN",
                     "count in user mode, kernel or all (default user)");
        options.number("-r,--repeat", requested.repeat, "N", "rounds over all interfaces (default 5)",
                       {1, 1000});
        options.flag("-v,--verbose", requested.all,
                     "print all tables: instructions, quartiles, each number of events");
        options.flag("--json", requested.json, "print one JSON object");
        options.text("--export", requested.export_to, "FILE", command::export_help);
      },
      execute_cost);
}

} // namespace recount::cost
