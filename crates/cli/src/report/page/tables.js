// --- tables --------------------------------------------------------------------

const number = (cell) => Array.isArray(cell) ? cell[0] : null;
const text = (cell) => Array.isArray(cell) ? cell[1] : cell;
const SHOWN = 500;

const tabs = make("div", { class: "bar", role: "tablist", "aria-label": "Tables" });
const search = make("input", { type: "search", id: "search", placeholder: "Search this table", "aria-label": "Search this table" });
const found = make("span", { class: "faint", id: "found", role: "status" });
const panel = make("div", { class: "scroll", role: "tabpanel", id: "panel", tabindex: "0" });
if (data.tables.length) {
  main.append(make("h2", {}, "Tables"), tabs, make("div", { class: "bar" }, search, found), panel,
    make("p", { class: "faint", id: "times" }, data.lanes.some((lane) => lane.gpu)
      ? "Times are those of the call on the host, where no column says GPU."
      : "Times are those of the call on the host, not of the kernel on the GPU (which cushim record --gpu-time records)."));
}
let current = 0, limit = SHOWN;
const sorting = data.tables.map(() => null);

// Text with numbers in it by their value; what is missing comes last either way.
function compare(a, b, down) {
  const [n, m] = [number(a), number(b)];
  const [empty, other] = [text(a) === "", text(b) === ""];
  if (empty || other) return empty - other;
  const order = n !== null && m !== null ? n - m : text(a).localeCompare(text(b), "en", { numeric: true });
  return down ? -order : order;
}

function details(kernel) {
  const facts = make("dl", {});
  const fact = (name, value) => value && facts.append(make("dt", {}, name), make("dd", {}, value));
  fact("declaration", kernel.declaration);
  fact("symbol", kernel.symbol);
  fact("from", kernel.owner);
  fact("graph nodes", kernel.graph_nodes ? count(kernel.graph_nodes) : "");
  fact("other shapes", kernel.other_shapes ? `${plural(kernel.other_shapes, "launch", "launches")}` : "");
  const box = make("div", {}, facts);
  if (!kernel.arguments) {
    box.append(make("p", { class: "faint" }, "The layout of its arguments is not known."));
    return box;
  }
  const rows = kernel.arguments.map((a) => make("tr", { "data-constant": a.constant },
    make("td", {}, `${a.index}`), make("td", {}, `${a.offset}`), make("td", {}, `${a.size}`),
    make("td", { class: "text" }, a.type || ""),
    make("td", { class: "text" }, a.constant === null ? "not known"
      : a.constant ? `always ${a.value}` : "differs")));
  const titles = ["argument", "offset", "bytes", "type", "over all launches"];
  if (rows.length) box.append(make("table", { class: "arguments" },
    make("thead", {}, make("tr", {}, ...titles.map((t, n) =>
      make("th", { scope: "col", class: n > 2 ? "text" : null }, t)))), make("tbody", {}, ...rows)));
  return box;
}

// One cell; some lead on: a kernel's number to what is known of it, a moment to the overview.
function cellOf(table, row, n, classes) {
  const title = table.columns[n], shown = text(row[n]);
  const props = { class: classes, "data-value": number(row[n]) };
  if (title === "id" && data.kernels[shown]) {
    const button = make("button", { type: "button", class: "link", "aria-expanded": "false",
      title: "Declaration and arguments", onclick: () => {
        const line = button.closest("tr"), open = button.getAttribute("aria-expanded") === "true";
        button.setAttribute("aria-expanded", !open);
        if (open) line.nextSibling.remove();
        else line.after(make("tr", { class: "details" },
          make("td", { colspan: table.columns.length }, details(data.kernels[shown]))));
      } }, shown);
    return make("td", props, button);
  }
  if (title === "at" && data.lanes.length) {
    const long = table.columns.includes("pause") ? number(row[table.columns.indexOf("pause")]) : 0;
    return make("td", props, make("button", { type: "button", class: "link", title: "Show in the overview",
      onclick: () => overview.show(number(row[n]), long) }, shown));
  }
  if (title === "share")
    return make("td", { ...props, style: `--share: ${Math.min(1, number(row[n]) || 0) * 100}%` }, shown);
  return make("td", props, shown);
}

function show() {
  const table = data.tables[current];
  [...tabs.children].forEach((tab, n) => {
    tab.setAttribute("aria-selected", n === current);
    tab.tabIndex = n === current ? 0 : -1;
  });
  panel.setAttribute("aria-labelledby", `tab-${table.id}`);
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let rows = table.rows.filter((row) => {
    const all = row.map(text).join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  });
  const sort = sorting[current];
  if (sort) rows = rows.slice().sort((a, b) => compare(a[sort.column], b[sort.column], sort.down));
  const cut = table.rows.length < table.of ? ` (the first ${count(table.rows.length)} are in this page)` : "";
  found.textContent = `${count(rows.length)} of ${plural(table.of, "row", "rows")}${cut}`;
  const last = table.columns.length - 1;
  const isText = table.columns.map((_, n) => table.rows.every((row) => !Array.isArray(row[n])));
  const heads = table.columns.map((title, n) => {
    const chosen = sort && sort.column === n;
    const sign = chosen ? (sort.down ? " ▾" : " ▴") : "";
    return make("th", { scope: "col", class: isText[n] ? "text" : null,
      "aria-sort": chosen ? (sort.down ? "descending" : "ascending") : null },
    make("button", { type: "button", onclick: () => {
      const down = chosen ? !sort.down : !isText[n];
      sorting[current] = { column: n, down };
      show();
      panel.querySelectorAll("th button")[n].focus();
    } }, title + sign));
  });
  const classes = (n) => table.columns[n] === "share" ? "share" : n === last ? "name" : isText[n] ? "text" : null;
  const lines = rows.slice(0, limit).map((row) =>
    make("tr", {}, ...row.map((_, n) => cellOf(table, row, n, classes(n)))));
  panel.replaceChildren(make("table", { id: "table" },
    make("caption", {}, table.title),
    make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines)));
  if (rows.length > limit)
    panel.append(make("button", { type: "button", id: "more", onclick: () => { limit *= 4; show(); } },
      `Show more of ${count(rows.length)} rows`));
}

const NAMES = { change: "changes", gap: "pauses", "gpu-copy": "GPU copies", copy: "copies" };
const name = (table) => NAMES[table.id] || table.title;
data.tables.forEach((table, n) => tabs.append(make("button", { type: "button", role: "tab",
  id: `tab-${table.id}`, "aria-controls": "panel",
  onclick: () => { current = n; limit = SHOWN; show(); },
  onkeydown: (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    current = (n + step + data.tables.length) % data.tables.length;
    show();
    tabs.children[current].focus();
  } }, `${name(table)[0].toUpperCase()}${name(table).slice(1)} `,
make("span", { class: "count" }, count(table.of)))));
search.addEventListener("input", () => { limit = SHOWN; show(); });
if (data.tables.length) show();
