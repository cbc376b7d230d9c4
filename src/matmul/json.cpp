#include "matmul/json.hpp"

#include "base/json.hpp"
#include "matmul/derived.hpp"
#include "matmul/sections.hpp"

namespace recount::matmul {
namespace {

Json metrics_json(const Metrics& metrics) {
  Json list = Json::array();
  for (const auto& [who, all] : metrics) {
    Json one{{"witness", who.first}, {"metric", who.second}, {"n", all.values.size()}};
    if (const auto& s = all.summary) {
      one["mean"] = s->mean;
      one["median"] = s->median;
      one["min"] = s->min;
      one["max"] = s->max;
      one["p10"] = s->p10;
      one["p90"] = s->p90;
      one["low"] = s->low;
      one["high"] = s->high;
      one["flagged"] = all.flagged;
    } else {
      one["reason"] = all.reason;
    }
    list.push_back(std::move(one));
  }
  return list;
}

Json derived_json(const Products& group, const Product& product) {
  Json object = Json::object();
  for (const auto& row : derivations())
    if (const auto quantity = derived(group, product, row.name))
      object[row.name] = {{"value", quantity->value},
                          {"low", quantity->low},
                          {"high", quantity->high},
                          {"witness", quantity->witness}};
  return object;
}

Json product_json(const Products& group, const Product& product, const Metrics& metrics) {
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

Json group_json(const Products& group) {
  Json object{{"machine", group.machine}, {"published", group.published}};
  object["ceilings"] = object["products"] = Json::array();
  for (const auto& ceiling : group.ceilings)
    object["ceilings"].push_back({{"name", ceiling.name},
                                  {"unit", ceiling.bandwidth ? "bytes per second" : "operations per second"},
                                  {"rate", ceiling.rate},
                                  {"size", ceiling.bandwidth ? Json(ceiling.size) : Json()}});
  for (const auto& [product, metrics] : group.of)
    object["products"].push_back(product_json(group, product, metrics));
  return object;
}

/// Remarks come as headings, each followed by its sentences and its evidence.
Json remarks_json(const std::vector<document::Block>& blocks) {
  Json list = Json::array();
  for (const auto& block : blocks)
    if (const auto* heading = std::get_if<document::Heading>(&block))
      list.push_back({{"title", heading->text}, {"text", ""}, {"evidence", Json::array()}});
    else if (const auto* paragraph = std::get_if<document::Paragraph>(&block))
      list.back()["text"] = paragraph->text;
    else if (const auto* evidence = std::get_if<document::List>(&block))
      list.back()["evidence"] = evidence->items;
  return list;
}

} // namespace

std::string matmul_json(const sweep::Ended& ended) {
  const auto groups = products(ended.results);
  Json object{{"runs", ended.outcome.runs}, {"runs_there", ended.there}, {"runs_planned", ended.planned}};
  object["stopped"] = ended.outcome.stopped;
  object["machines"] = object["failures"] = Json::array();
  for (const auto& group : groups)
    object["machines"].push_back(group_json(group));
  object["remarks"] = remarks_json(matmul::remarks(groups));
  object["skipped"] = Json::object();
  for (const auto& run : ended.results.runs)
    for (const auto& [what, why] : run.skipped)
      object["skipped"][what] = why;
  for (const auto& failure : ended.results.failures)
    object["failures"].push_back({{"kernel", failure.kernel},
                                  {"point", result::describe(failure.params)},
                                  {"repetition", failure.repetition},
                                  {"witness", failure.witness},
                                  {"reason", failure.reason}});
  return json_text("matmul", object);
}

} // namespace recount::matmul
