"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const body = document.body;

function make(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  // Text is only ever put in as text.
  node.append(...children);
  return node;
}

function span(ns) {
  const abs = Math.abs(ns);
  const digits = (value, unit) => `${value.toPrecision(3)} ${unit}`;
  if (abs < 999.5) return `${Math.round(ns)} ns`;
  if (abs < 999.5e3) return digits(ns / 1e3, "µs");
  if (abs < 999.5e6) return digits(ns / 1e6, "ms");
  return abs < 1e12 ? digits(ns / 1e9, "s") : `${Math.round(ns / 1e9)} s`;
}

// --- head ----------------------------------------------------------------------

const main = make("main");
body.append(main);
main.append(make("h1", {}, "cushim report"));
const began = data.start_ns ? new Date(Number(BigInt(data.start_ns) / 1000000n)).toISOString() : "nothing recorded";
main.append(make("p", { id: "totals" },
  `${data.events} events, ${data.launches} kernel launches, ${span(data.duration_ns)} from ${began}`));
const list = make("ul", { id: "processes" });
for (const p of data.processes.slice(0, 50)) {
  const rank = p.rank === null ? "" : `, rank ${p.rank}`;
  const end = p.closed ? "" : ", killed or still running";
  const item = make("li", {}, make("strong", {}, `process ${p.pid} on ${p.host}${rank}`), ": ",
    make("code", {}, p.argv.join(" ")), make("span", { class: "faint" },
      ` ${p.events} events, ${p.launches} launches, ${span(p.duration_ns)}${end}, from ${p.file}`));
  const lost = Object.entries(p.lost).filter(([, n]) => n > 0).map(([why, n]) => `${why.replace("_", " ")}: ${n}`);
  if (lost.length) item.append(make("div", { class: "bad lost" }, `missing: ${lost.join(", ")}`));
  list.append(item);
}
if (data.processes.length > 50) list.append(make("li", {}, `${data.processes.length - 50} more`));
main.append(list);
for (const f of data.failures)
  main.append(make("div", { class: "bad failure" },
    `failed: ${f.calls} × ${f.api} = ${f.status} ${f.status_name || "unknown error"}`));
for (const note of data.notes) main.append(make("div", { class: "faint" }, `note: ${note}`));
main.append(make("p", { class: "faint" },
  "Times are those of the call on the host, not of the kernel on the GPU."));

// --- overview ------------------------------------------------------------------

const KINDS = ["launches and graphs", "copies and sets", "waiting", "other calls"];
const LANE = 26, LEFT = 8, AXIS = 22;
const whole = [0, Math.max(1, data.duration_ns)];
let view = whole.slice();

if (data.lanes.length) {
  main.append(make("h2", { id: "overview-title" }, "Overview"));
  const help = make("p", { class: "faint", id: "overview-help" },
    "Share of host time in calls. Drag to choose a part; wheel or + and − to zoom; arrow keys to move; Escape for all.");
  const canvas = make("canvas", { id: "overview", tabindex: "0", role: "img",
    "aria-labelledby": "overview-title", "aria-describedby": "overview-help overview-range" });
  const key = make("div", { class: "bar", "aria-hidden": "true" });
  KINDS.forEach((name, n) => key.append(make("span", {},
    make("span", { class: "key", style: `background: var(--k${n})` }), name)));
  const range = make("span", { id: "overview-range", role: "status" });
  const hint = make("div", { class: "faint mono", id: "overview-hint" }, " ");
  const zoomBy = (factor, at = (view[0] + view[1]) / 2) => {
    const size = Math.min(whole[1], Math.max(1000, (view[1] - view[0]) * factor));
    const from = Math.min(whole[1] - size, Math.max(0, at - (at - view[0]) / (view[1] - view[0]) * size));
    view = [from, from + size];
    draw();
  };
  const move = (part) => {
    const size = view[1] - view[0];
    const from = Math.min(whole[1] - size, Math.max(0, view[0] + size * part));
    view = [from, from + size];
    draw();
  };
  const all = () => { view = whole.slice(); draw(); };
  const bar = make("div", { class: "bar" },
    make("button", { type: "button", id: "zoom-in", onclick: () => zoomBy(0.5) }, "Zoom in"),
    make("button", { type: "button", id: "zoom-out", onclick: () => zoomBy(2) }, "Zoom out"),
    make("button", { type: "button", id: "zoom-all", onclick: all }, "All"), range);
  main.append(help, key, bar, canvas, hint);

  const left = () => LEFT, width = () => canvas.clientWidth - 2 * LEFT;
  const timeAt = (x) => view[0] + (x - left()) / Math.max(1, width()) * (view[1] - view[0]);
  let drag = null;

  function draw() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const scale = window.devicePixelRatio || 1;
    const height = data.lanes.length * (LANE + 16) + AXIS;
    canvas.style.height = `${height}px`;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = height * scale;
    const ctx = canvas.getContext("2d");
    ctx.scale(scale, scale);
    ctx.clearRect(0, 0, canvas.clientWidth, height);
    ctx.font = "12px system-ui, sans-serif";
    const x = (ns) => left() + (ns - view[0]) / (view[1] - view[0]) * width();
    data.lanes.forEach((lane, row) => {
      const top = row * (LANE + 16);
      ctx.fillStyle = color("--faint");
      ctx.fillText(lane.name, left(), top + 12);
      const base = top + 16 + LANE;
      ctx.strokeStyle = color("--line");
      ctx.strokeRect(left(), base + .5, width(), 0);
      for (const bin of lane.bins) {
        if (bin[0] + lane.width_ns < view[0] || bin[0] > view[1]) continue;
        const from = Math.max(left(), x(bin[0]));
        const to = Math.min(left() + width(), x(bin[0] + lane.width_ns));
        let y = base;
        for (let kind = 0; kind < 4; kind++) {
          // A call that outlasts its bin fills it.
          const share = Math.min(1, bin[1 + kind] / lane.width_ns);
          if (share === 0) continue;
          const h = Math.min(y - (base - LANE), Math.max(1, share * LANE));
          ctx.fillStyle = color(`--k${kind}`);
          ctx.fillRect(from, y - h, Math.max(1, to - from), h);
          y -= h;
        }
      }
    });
    ctx.fillStyle = ctx.strokeStyle = color("--faint");
    const base = height - AXIS;
    for (let n = 0; n <= 4; n++) {
      const text = span(view[0] + (view[1] - view[0]) * n / 4);
      const at = left() + width() * n / 4;
      ctx.textAlign = n === 0 ? "left" : n === 4 ? "right" : "center";
      ctx.fillText(text, at, base + 16);
    }
    ctx.textAlign = "left";
    ctx.strokeStyle = color("--accent");
    for (const mark of data.marks) {
      if (mark.at_ns < view[0] || mark.at_ns > view[1]) continue;
      ctx.strokeRect(x(mark.at_ns), 0, 0, base);
      ctx.fillStyle = color("--accent");
      ctx.fillText(mark.text, x(mark.at_ns) + 3, base - 2);
    }
    if (drag) {
      ctx.globalAlpha = .25;
      ctx.fillStyle = color("--accent");
      ctx.fillRect(Math.min(drag[0], drag[1]), 0, Math.abs(drag[1] - drag[0]), base);
    }
    range.textContent = `${span(view[0])} to ${span(view[1])} of ${span(whole[1])}`;
  }
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    zoomBy(e.deltaY > 0 ? 1.25 : 0.8, timeAt(e.offsetX));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => {
    drag = [e.offsetX, e.offsetX];
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (drag) { drag[1] = e.offsetX; draw(); }
    const lane = data.lanes[Math.floor(e.offsetY / (LANE + 16))];
    const at = timeAt(e.offsetX);
    const bin = lane && lane.bins.find((b) => b[0] <= at && at < b[0] + lane.width_ns);
    hint.textContent = bin
      ? `${lane.name}, ${span(bin[0])} + ${span(lane.width_ns)}: ${bin[5]} launches; ` +
        KINDS.map((name, n) => `${name} ${span(bin[1 + n])}`).filter((_, n) => bin[1 + n] > 0).join(", ")
      : " ";
  });
  canvas.addEventListener("pointerup", () => {
    if (!drag) return;
    const [a, b] = drag[0] < drag[1] ? drag : [drag[1], drag[0]];
    drag = null;
    if (b - a > 4) view = [Math.max(0, timeAt(a)), Math.min(whole[1], timeAt(b))];
    draw();
  });
  canvas.addEventListener("keydown", (e) => {
    const act = { "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2),
      ArrowLeft: () => move(-.25), ArrowRight: () => move(.25), Escape: all }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

// --- tables --------------------------------------------------------------------

const number = (cell) => Array.isArray(cell) ? cell[0] : null;
const text = (cell) => Array.isArray(cell) ? cell[1] : cell;
const SHOWN = 500;

const tabs = make("div", { class: "bar", role: "tablist", "aria-label": "Tables" });
const search = make("input", { type: "search", id: "search", placeholder: "Search this table", "aria-label": "Search this table" });
const found = make("span", { class: "faint", id: "found", role: "status" });
const panel = make("div", { class: "scroll", role: "tabpanel", id: "panel", tabindex: "0" });
if (data.tables.length) main.append(make("h2", {}, "Tables"), tabs, make("div", { class: "bar" }, search, found), panel);
let current = 0, limit = SHOWN;
const sorting = data.tables.map(() => null);

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
  if (sort) {
    const compare = (a, b) => {
      const [x, y] = [a[sort.column], b[sort.column]];
      const [n, m] = [number(x), number(y)];
      return n !== null && m !== null ? n - m : text(x).localeCompare(text(y), "en", { numeric: true });
    };
    rows = rows.slice().sort((a, b) => sort.down ? compare(b, a) : compare(a, b));
  }
  found.textContent = `${rows.length} of ${table.of} rows`;
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
  const lines = rows.slice(0, limit).map((row) => make("tr", {}, ...row.map((cell, n) =>
    make("td", { class: n === last ? "name" : isText[n] ? "text" : null }, text(cell)))));
  panel.replaceChildren(make("table", { id: "table" },
    make("caption", { class: "faint" }, table.title),
    make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines)));
  if (rows.length > limit)
    panel.append(make("button", { type: "button", id: "more", onclick: () => { limit *= 4; show(); } },
      `Show more of ${rows.length} rows`));
}

data.tables.forEach((table, n) => tabs.append(make("button", { type: "button", role: "tab",
  id: `tab-${table.id}`, "aria-controls": "panel",
  onclick: () => { current = n; limit = SHOWN; show(); },
  onkeydown: (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    current = (n + step + data.tables.length) % data.tables.length;
    show();
    tabs.children[current].focus();
  } }, `${table.title[0].toUpperCase()}${table.title.slice(1)} (${table.of})`)));
search.addEventListener("input", () => { limit = SHOWN; show(); });
if (data.tables.length) show();
