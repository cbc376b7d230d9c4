// HTML: one page with its style and its pictures.
#include "base/text.hpp"
#include "show/document/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace recount::document {
namespace {

/// Light, and dark where the reader prefers it; figures keep their white ground.
constexpr const char* page_style = R"(
:root { color-scheme: light dark; --text: #222; --faint: #555; --ground: #fff; --line: #333; --rule: #ccc;
        --code: #f4f4f4; --link: #0645ad; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ddd; --faint: #aaa; --ground: #181a1b; --line: #999; --rule: #444; --code: #26292b;
          --link: #8ab4f8; } }
body { font: 16px/1.5 "Liberation Sans", Arial, Helvetica, sans-serif; color: var(--text);
       background: var(--ground); max-width: 52em; margin: 2em auto; padding: 0 1em; }
a { color: var(--link); }
a.anchor { visibility: hidden; text-decoration: none; padding-left: 0.4em; }
:hover > a.anchor, a.anchor:focus { visibility: visible; }
:target { outline: 2px solid var(--link); outline-offset: 4px; }
h1 { font-size: 1.7em; line-height: 1.2; margin-bottom: 0.2em; }
h2 { font-size: 1.3em; border-bottom: 1px solid var(--rule); margin-top: 2.2em; }
h3 { font-size: 1.05em; margin-bottom: 0.3em; }
.subtitle, .note, nav { color: var(--faint); font-size: 0.9em; }
nav ul { columns: 2; list-style: none; padding: 0; }
.wide { overflow-x: auto; margin: 1.2em 0; }
table { border-collapse: collapse; font-size: 0.85em; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: bold; padding-bottom: 0.4em; }
thead th { border-top: 2px solid var(--line); border-bottom: 1px solid var(--line); vertical-align: bottom;
           max-width: 11em; }
tbody th { font-weight: normal; }
th, td { padding: 0.2em 0.7em; text-align: left; }
tbody tr:last-child > * { border-bottom: 2px solid var(--line); }
th.number, td.number { text-align: right; }
td.number { white-space: nowrap; }
thead button { all: unset; cursor: pointer; }
thead button:focus-visible { outline: 2px solid var(--link); }
th[aria-sort=ascending] button::after { content: " \25B2"; }
th[aria-sort=descending] button::after { content: " \25BC"; }
figure { margin: 1.6em 0; }
figure img { width: 100%; max-width: 36em; height: auto; display: block; background: #fff; }
figcaption { font-size: 0.9em; color: var(--text); max-width: 44em; }
pre { background: var(--code); padding: 0.6em; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
td, li, p { overflow-wrap: break-word; }
@media print { body { font-size: 10.5pt; max-width: none; margin: 0; } nav, a.anchor { display: none; }
               figure, table { break-inside: avoid; } }
)";

/// Makes the heads of tables buttons that sort their rows. It reads nothing but the page, and the policy of
/// the page names its hash: no other script runs.
constexpr const char* page_script = R"('use strict';
for (const table of document.querySelectorAll('.wide table')) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  if (body.rows.length < 2) continue;
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      const scale = { KiB: 1024, MiB: 1048576, GiB: 1073741824 };
      const key = row => {
        const text = row.cells[column].textContent.trim(), match = /^[+-]?\d+(\.\d+)?/.exec(text);
        if (!match) return head.classList.contains('number') ? NaN : text;
        return head.classList.contains('number') ? parseFloat(match[0]) * (scale[text.split(' ')[1]] || 1) : text;
      };
      const keyed = [...body.rows].map(row => [key(row), row]);
      keyed.sort(([a], [b]) => {
        if (typeof a === 'string') return sign * a.localeCompare(b);
        return Number.isNaN(a) ? Number.isNaN(b) ? 0 : 1 : Number.isNaN(b) ? -1 : sign * (a - b);
      });
      body.append(...keyed.map(([, row]) => row));
    });
  });
}
)";
/// Of page_script.
constexpr const char* page_script_hash = "sha256-9tyzwlCucxkW9Vvfatn1NxNy806aTGHVkHJ3Z5tDCio=";

struct Entity {
  char32_t character;
  const char* html;
};
constexpr std::array entities{Entity{'<', "&lt;"}, Entity{'>', "&gt;"}, Entity{'&', "&amp;"},
                              Entity{'"', "&quot;"}, Entity{'\'', "&#39;"}};

/// Escaped; "10^6" gets a raised 6.
std::string html_text(std::string_view text) {
  std::string out;
  char32_t before = 0;
  while (!text.empty()) {
    if (const auto exponent = take_exponent(before, text); !exponent.empty()) {
      out += fmt::format("<sup>{}</sup>", exponent);
      continue;
    }
    const char32_t c = before = base::next_character(text);
    if (const auto* const entity = std::ranges::find(entities, c, &Entity::character);
        entity != entities.end())
      out += entity->html;
    else
      base::append_character(out, base::is_control(c) ? U' ' : c);
  }
  return out;
}

/// Of an attribute: no elements within.
std::string attribute_text(std::string_view text) {
  std::string plain(text);
  std::ranges::replace(plain, '^', ' ');
  return html_text(plain);
}

/// An image within the page: no script in it runs, and its names do not meet those of other images.
std::string image_address(std::string_view svg) {
  std::string address = "data:image/svg+xml,";
  for (const char c : svg) {
    const auto byte = static_cast<unsigned char>(c);
    address += std::isalnum(byte) != 0 ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return address;
}

class Html {
public:
  Html(const Document& document, const Svg& svg) : svg_(svg) {
    text_ =
        fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                    "'unsafe-inline'; img-src data:; script-src '{}'\">\n<meta name=\"viewport\" "
                    "content=\"width=device-width\">\n<title>{}</title>\n"
                    "<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
                    page_script_hash, attribute_text(document.title), page_style, html_text(document.title));
    if (!document.subtitle.empty())
      text_ += "<p class=\"subtitle\">" + html_text(document.subtitle) + "</p>\n";
    contents(document);
    for (const Block& block : document.blocks)
      std::visit(*this, block);
    if (tables_ > 0) text_ += fmt::format("<script>{}</script>\n", page_script);
    text_ += "</body>\n</html>\n";
  }

  void operator()(const Heading& heading) {
    if (heading.level == 1)
      add_heading(2, fmt::format("section-{}", ++sections_), heading.text);
    else
      add_heading(3, fmt::format("part-{}", ++parts_), heading.text);
  }
  void operator()(const Paragraph& paragraph) { text_ += "<p>" + html_text(paragraph.text) + "</p>\n"; }
  void operator()(const List& list) {
    text_ += "<ul>\n";
    for (const auto& item : list.items)
      text_ += "<li>" + html_text(item) + "</li>\n";
    text_ += "</ul>\n";
  }
  void operator()(const Table& table) {
    ++tables_;
    text_ +=
        fmt::format("<div class=\"wide\"><table id=\"table-{0}\">\n<caption>Table {0}. {1}{2}</caption>\n"
                    "<thead><tr>",
                    tables_, html_text(table.caption), anchor(fmt::format("table-{}", tables_)));
    if (std::ranges::any_of(table.columns, [](const auto& column) { return !column.head.empty(); }))
      for (const auto& column : table.columns)
        text_ += cell("th scope=\"col\"", column.role == show::Role::number, html_text(column.head));
    text_ += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
      text_ += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i)
        text_ += cell(table.columns.at(i).key ? "th scope=\"row\"" : "td",
                      table.columns.at(i).role == show::Role::number, linked(row[i].text));
      text_ += "</tr>\n";
    }
    text_ += "</tbody></table></div>\n";
    for (const auto& note : table.notes)
      text_ += "<p class=\"note\">" + html_text(note) + "</p>\n";
  }
  /// The caption is text of the page: the alternative names the figure, so that nothing is read twice.
  void operator()(const Picture& picture) {
    ++pictures_;
    text_ += fmt::format("<figure id=\"figure-{0}\">\n<img alt=\"Figure {0}\" src=\"{1}\">\n"
                         "<figcaption><b>Figure {0}.</b> {2}{3}</figcaption>\n</figure>\n",
                         pictures_, image_address(svg_(picture.name)), html_text(picture.caption),
                         anchor(fmt::format("figure-{}", pictures_)));
  }
  void operator()(const Code& code) { text_ += "<pre>" + html_text(code.text) + "</pre>\n"; }

  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  /// `element`: with its attributes; `content`: escaped.
  static std::string cell(const std::string& element, bool number, const std::string& content) {
    return fmt::format("<{}{}>{}</{}>", element, number ? " class=\"number\"" : "", content,
                       element.substr(0, 2));
  }
  static std::string anchor(const std::string& id) {
    return fmt::format("<a class=\"anchor\" href=\"#{}\" aria-label=\"link to this place\">#</a>", id);
  }
  void add_heading(int level, const std::string& id, const std::string& text) {
    text_ += fmt::format("<h{0} id=\"{1}\">{2}{3}</h{0}>\n", level, id, html_text(text), anchor(id));
  }
  /// "Table 7: row L1d" leads there.
  static std::string linked(const std::string& text) {
    constexpr std::string_view table = "Table ";
    const auto end = std::min(text.find_first_not_of("0123456789", table.size()), text.size());
    if (!text.starts_with(table) || end <= table.size() || end > table.size() + 4) return html_text(text);
    return fmt::format("<a href=\"#table-{}\">{}</a>{}", text.substr(table.size(), end - table.size()),
                       text.substr(0, end), html_text(text.substr(end)));
  }

  void contents(const Document& document) {
    int section = 0;
    std::string items;
    for (const Block& block : document.blocks)
      if (const auto* heading = std::get_if<Heading>(&block); heading && heading->level == 1)
        items +=
            fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", ++section, html_text(heading->text));
    if (section > 1) text_ += "<nav><ul>\n" + items + "</ul></nav>\n";
  }

  const Svg& svg_;
  std::string text_;
  int sections_ = 0, parts_ = 0, tables_ = 0, pictures_ = 0;
};

} // namespace

std::string to_html(const Document& document, const Svg& svg) {
  return Html(document, svg).text();
}

} // namespace recount::document
