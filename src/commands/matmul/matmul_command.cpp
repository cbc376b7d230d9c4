#include "base/format.hpp"
#include "base/host/disturbance.hpp"
#include "base/host/emulation.hpp"
#include "base/host/machine.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "commands/matmul/matmul_study.hpp"
#include "commands/matmul/matmul_tables.hpp"
#include "run/batch.hpp"
#include "run/result/results_file.hpp"
#include "run/rounds.hpp"
#include "run/sweep_plan.hpp"
#include "run/witness/backend.hpp"
#include "show/command/batch.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/document/groups.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

// recount matmul: the study of matrix products, from the runs to the tables.
namespace recount::matmul {
namespace {

struct MatmulArguments : sweep::BatchOptions {
  std::vector<std::string> studies, witnesses, commands;
  std::string sizes, blocks, published, published_machine, export_to, statistic, sample;
  long repeat = 0, draws = 0; ///< repeat 0: not given
  bool quick = false, no_java = false, json = false, verbose = false, dry_run = false;
};

void check_matmul_outputs(const MatmulArguments& a) {
  command::check_outputs({.results = a.output, .json = a.json, .resume = a.resume});
  if (!a.published_machine.empty() && a.published.empty())
    throw bad_input("--published-machine", "no published table given", "add --published FILE");
}

std::vector<std::int64_t> parse_sizes(const std::string& text, const std::string& option) {
  if (text.empty()) return {};
  auto values = sweep::parse_range(text, option);
  if (std::ranges::any_of(values, [](std::int64_t value) { return value < 1; }))
    throw bad_input(option + " " + text, "must be at least 1", option + " 128:1024:x2");
  return values;
}

/// Line size in bytes, for blocks of one line.
std::int64_t line_here() {
  const auto* const l1 = host::this_machine().data_cache(1);
  return l1 && l1->line > 0 ? l1->line : 64;
}

MatmulRequest parse_request(const MatmulArguments& a) {
  MatmulRequest request;
  request.choice.studies = base::list_words(a.studies);
  if (request.choice.studies.empty() && a.published.empty()) request.choice.studies = {"lab", "report"};
  request.choice.quick = a.quick;
  request.choice.emulated = host::this_emulation().exact;
  request.choice.sizes = parse_sizes(a.sizes, "--n");
  request.choice.blocks = parse_sizes(a.blocks, "--block");
  request.choice.commands = a.commands;
  request.choice.line = line_here();
  request.witnesses = list_witnesses(a.witnesses);
  constexpr int quick = 4; // two sets of four values can be distinguished, two of three hardly
  request.repeat = host::repetitions(a.repeat, a.quick ? quick : request.repeat);
  request.seed = command::parse_seed(a.seed);
  request.modes = sweep::parse_modes(a.sample, a.draws);
  request.java = !a.no_java;
  if (!a.published.empty()) request.published = matmul::read_published(a.published, a.published_machine);
  return request;
}

/// Adds the models of the machines that published tables name, unless witnesses were named.
void add_published_machines(MatmulRequest& request) {
  if (!request.witnesses.empty()) return;
  std::vector<Witness> models;
  for (const Published& table : request.published)
    if (const auto machine = table.run.versions.find("machine"); machine != table.run.versions.end())
      if (const Witness model(Witness::model, machine->second);
          std::ranges::find(models, model) == models.end())
        models.push_back(model);
  if (models.empty()) return;
  request.published_witnesses = true;
  // A single machine may be this one.
  if (request.published.size() == 1)
    request.witnesses = {Witness::clock, Witness::perf, Witness::papi, Witness::model};
  request.witnesses.insert(request.witnesses.end(), models.begin(), models.end());
}

sweep::Batch make_batch(const MatmulArguments& a, const MatmulRequest& request, const MatmulPlan& plan,
                        const Java* java) {
  sweep::Batch batch = sweep::make_batch("matmul", a, std::chrono::hours(10), request.seed, plan.settings);
  batch.jobs = plan.jobs;
  sweep::keep_shard(batch.jobs, batch.shard);
  batch.header.presets = plan.presets;
  for (const auto& [what, why] : plan.skipped)
    batch.header.skipped[what] = why.text();
  if (java && java->missing().empty()) batch.header.versions["java"] = java->version();
  return batch;
}

/// Further repetitions by the clock of both products of each speed-up on the screen that is undecided.
sweep::Further repeat_undecided(const sweep::Batch& batch, result::Results results,
                                statistics::Statistic statistic) {
  results.statistic = statistic;
  const auto facts = undecided(group_products(results));
  sweep::Further round =
      sweep::repeat_again(batch.jobs, results, batch.header.seed, [&](const sweep::Job& job) {
        const auto product = parse_product(job.kernel, job.point);
        return product && std::ranges::any_of(facts, [&](const Fact& fact) {
                 return job.witness == fact.quantity->witness &&
                        (fact.product == *product || fact.reference == product);
               });
      });
  round.undecided = facts.size();
  return round;
}

/// Begins a new results file with the published tables; it is then resumed.
void write_published(const std::vector<Published>& published, sweep::Batch& batch) {
  if (published.empty() || batch.file.empty() || batch.file == "-") return;
  if (batch.resume && !result::holds_nothing(batch.file)) return;
  result::Writer writer(batch.file, result::Writer::Mode::create, result::Writer::Resume::possible);
  for (const Published& table : published) {
    writer.write(table.run);
    for (const auto& observation : table.observations)
      writer.write(observation);
  }
  batch.resume = true;
}

void announce_matmul(const MatmulPlan& plan, const sweep::Batch& batch, long repeat) {
  if (!plan.skipped.empty()) command::note("{}\n", "recount matmul: " + command::without_text(plan.skipped));
  const auto estimate = matmul::estimate_matmul(batch.jobs, batch.execution.parallel);
  command::note("recount matmul: {} by {}; {}{}, {}, seed {}; about {}\n",
                base::format_count(plan.stops.size(), "point"), fmt::join(plan.witnesses, ", "),
                base::format_count(batch.jobs.size(), "run"), host::single_execution_text(repeat),
                batch.execution.cpu ? fmt::format("timed runs on CPU {}", *batch.execution.cpu)
                                    : "not pinned",
                batch.header.seed, base::format_duration(estimate));
}

void print_points(const MatmulPlan& plan) {
  for (const auto& stop : plan.stops)
    command::print("{} {}\n", stop.kernel, result::describe(stop.point));
}

std::vector<document::Block> make_blocks(const result::Results& results) {
  std::vector<document::Block> blocks;
  for (const auto& study : result::incomplete(results))
    blocks.emplace_back(document::Paragraph{result::describe(study)});
  document::append(blocks, product_blocks(group_products(results)));
  return blocks;
}

/// One screen; all tables where they are requested, or where a published one is compared.
std::string answer_text(const result::Results& results, bool verbose) {
  const auto groups = group_products(results);
  if (verbose || std::ranges::any_of(groups, &ProductGroup::published))
    return command::document_text(make_blocks(results));
  std::string text;
  for (const auto& study : result::incomplete(results))
    text += command::wrap(result::describe(study), command::line_width(), 0) + "\n";
  return text + screen_text(groups, command::line_width());
}

Json metrics_json(const Metrics& metrics) {
  Json list = Json::array();
  for (const auto& [who, all] : metrics) {
    Json one{{"witness", who.first}, {"metric", who.second}, {"n", all.values.size()}};
    if (all.summary) {
      for (const auto& [name, member] : sweep::summary_members)
        one[name] = (*all.summary).*member;
      one["flagged"] = all.disturbed();
    } else {
      one["reason"] = all.reason->text();
    }
    list.push_back(std::move(one));
  }
  return list;
}

Json derived_json(const ProductGroup& group, const Product& product) {
  Json object = Json::object();
  for (const auto& row : metric_rows())
    if (const auto found = row.formulas.empty() ? std::nullopt : quantity(group, product, row.name))
      object[row.name] = {
          {"value", found->value}, {"low", found->low}, {"high", found->high}, {"witness", found->witness}};
  return object;
}

Json product_json(const ProductGroup& group, const Product& product, const Metrics& metrics) {
  Json object{{"name", loops_name(product)},
              {"variant", product.variant},
              {"element", product.element},
              {"n", product.n}};
  object["build"] = product.build.empty() ? Json("plain") : Json(product.build);
  object["block"] = product.block > 0 ? Json(product.block) : Json();
  object["transposition"] = product.transposes;
  object["metrics"] = metrics_json(metrics);
  object["derived"] = derived_json(group, product);
  return object;
}

Json group_json(const ProductGroup& group) {
  Json object{{"machine", group.machine}, {"published", group.published}};
  object["ceilings"] = make_array(group.ceilings, [](const CeilingRate& ceiling) {
    return Json{{"name", ceiling.name},
                {"unit", ceiling.bandwidth ? "bytes per second" : "operations per second"},
                {"rate", ceiling.rate},
                {"size", ceiling.bandwidth ? Json(ceiling.size) : Json()}};
  });
  object["products"] =
      make_array(group.products, [&](const auto& one) { return product_json(group, one.first, one.second); });
  return object;
}

/// One object, documented in recount-matmul(1).
std::string matmul_json(const sweep::BatchResult& ended) {
  const auto groups = group_products(ended.results);
  Json object{
      {"runs", ended.outcome.runs}, {"runs_there", ended.already_recorded}, {"runs_planned", ended.planned}};
  object["stopped"] = ended.outcome.stopped;
  object["machines"] = make_array(groups, group_json);
  object["findings"] = make_array(findings(groups), [](const Finding& finding) {
    return Json{{"title", finding.title}, {"text", finding.text}};
  });
  object["skipped"] = Json::object();
  for (const auto& run : ended.results.runs)
    for (const auto& [what, why] : run.skipped)
      object["skipped"][what] = why;
  object["failures"] = make_array(ended.results.failures, [](const result::Failure& failure) {
    return Json{{"kernel", failure.kernel},
                {"point", result::describe(failure.params)},
                {"repetition", failure.repetition},
                {"witness", failure.witness},
                {"reason", failure.reason.text()}};
  });
  return json_text("matmul", object);
}

int execute_matmul(const MatmulArguments& a) {
  check_matmul_outputs(a);
  const command::TableExport tables(a.dry_run ? std::string() : a.export_to);
  const auto statistic = command::parse_statistic(a.statistic);
  MatmulRequest request = parse_request(a);
  add_published_machines(request);
  std::optional<Java> java;
  const MatmulPlan plan = plan_matmul(request, [&] { return java.emplace().missing(); });
  sweep::Batch batch = make_batch(a, request, plan, java ? &*java : nullptr);
  if (batch.jobs.empty() && !plan.jobs.empty()) {
    command::print(stderr, "{}", sweep::empty_shard_text("matmul", batch.shard, plan.stops.size()));
    return 0;
  }
  const std::int64_t available = host::memory_available();
  sweep::check_memory(batch.jobs, available, fmt::format("available memory = {} bytes", available));
  if (!a.quiet) announce_matmul(plan, batch, a.repeat);
  if (a.dry_run) {
    print_points(plan);
    return 0;
  }
  if (a.repeat == 0 && batch.shard.whole() && !request.choice.emulated) {
    constexpr double quick = 10; // seconds
    const std::chrono::duration<double> announced = estimate_matmul(batch.jobs, batch.execution.parallel);
    batch.until_decided = {[&](const auto& results) { return repeat_undecided(batch, results, statistic); },
                           announced.count(), a.quick ? quick : stat::longest_undecided};
  }
  write_published(request.published, batch);
  sweep::BatchResult ended = command::run_batch(batch);
  ended.results.statistic = statistic;
  if (batch.file.empty())
    for (const Published& table : request.published) {
      ended.results.runs.push_back(table.run);
      std::ranges::copy(table.observations, std::back_inserter(ended.results.observations));
    }
  command::note("{}{}", sweep::failures_text(ended.results.failures),
                sweep::unfinished_text(ended.outcome.unfinished));
  if (a.json)
    command::print("{}", matmul_json(ended));
  else if (a.output != "-")
    command::print("{}", answer_text(ended.results, a.verbose));
  command::flush(stdout);
  if (!a.export_to.empty())
    tables.write("recount matmul", command::extract_tables(make_blocks(ended.results)));
  return command::exit_status(batch, ended);
}

} // namespace

command::Command matmul_command() {
  return command::make_command<MatmulArguments>(
      "matmul", "run the matrix-multiplication study, analyse its cache behaviour",
      [](command::Options& options, MatmulArguments& a) {
        options.list("--study", a.studies, "LIST", "lab, report (default: both, or none with --published)")
            .flag("--quick", a.quick, "only sizes that take minutes, not hours")
            .text("--n", a.sizes, "RANGE", "matrix sizes (default: those of the report)")
            .text("--block", a.blocks, "RANGE", "block sizes (default: those of the report)")
            .text("--published", a.published, "FILE.csv", "compare with this published table, at its points")
            .text("--published-machine", a.published_machine, "NAME",
                  "described machine of the published table (default: the one that it names)")
            .list("--external", a.commands, "COMMAND",
                  "also run this program: 'LANGUAGE=COMMAND', with {variant} and {n} in it")
            .flag("--no-java", a.no_java, "do not run the Java version")
            .list("--witness", a.witnesses, "LIST",
                  "clock, perf, papi, model, model:NAME (default: all available)")
            .number("-r,--repeat", a.repeat, "N", "repetitions, each in a new process (default 5, quick: 4)",
                    {1, 1000})
            .text("--sample", a.sample, "WHEN", sweep::sample_help)
            .number("--draws", a.draws, "N", sweep::draws_help, {1, 1000})
            .text("-o,--output", a.output, "FILE", "write results to FILE as they are measured; - is stdout")
            .flag("--json", a.json, "print the products as one JSON object")
            .text("--statistic", a.statistic, "NAME", command::statistic_help)
            .text("--export", a.export_to, "FILE", command::export_help)
            .flag("-v,--verbose", a.verbose, "print every table and every finding")
            .flag("-n,--dry-run", a.dry_run, "print the plan and the estimated time and exit");
        command::declare_sharded_runs(options, a, 36000);
      },
      execute_matmul);
}

} // namespace recount::matmul
