// --- overview ------------------------------------------------------------------

const KINDS = ["launches and graphs", "copies and sets", "waiting", "other calls"];
const GPU_KINDS = ["kernels", "copies and sets", "", ""];
const LANE = 30, GAP = 6, AXIS = 22, TOP = 6, MARKS = 12;
// What the tables and the tests of this page ask of it.
const overview = { show() {} };

if (data.lanes.length) {
  const whole = [0, Math.max(1, data.duration_ns)];
  let view = whole.slice(), chosen = null, drag = null;
  const help = make("p", { class: "faint", id: "overview-help" },
    "Click a place to hold it; drag to choose a part; wheel or + and − to zoom; arrow keys to move; Escape for all.");
  const canvas = make("canvas", { id: "overview", tabindex: "0", role: "img",
    "aria-labelledby": "overview-title", "aria-describedby": "overview-help overview-range" });
  const key = make("div", { class: "bar", id: "overview-key" });
  KINDS.forEach((name, n) => key.append(make("span", {},
    make("span", { class: "key", style: `background: var(--k${n})` }), name)));
  const range = make("span", { id: "overview-range", role: "status" });
  const scale = make("span", { class: "faint", id: "overview-scale" });
  const hint = make("div", { class: "mono", id: "overview-hint", role: "status" }, " ");
  const clamp = (from, size) => Math.min(whole[1] - size, Math.max(0, from));
  const zoomBy = (factor, at = (view[0] + view[1]) / 2) => {
    const size = Math.min(whole[1], Math.max(1000, (view[1] - view[0]) * factor));
    const from = clamp(at - (at - view[0]) / (view[1] - view[0]) * size, size);
    view = [from, from + size];
    draw();
  };
  const move = (part) => {
    const size = view[1] - view[0], from = clamp(view[0] + size * part, size);
    view = [from, from + size];
    draw();
  };
  const all = () => { view = whole.slice(); chosen = null; say(null); draw(); };
  overview.show = (at, long) => {
    const size = Math.min(whole[1], Math.max(1000, long * 3, whole[1] / 200));
    const from = clamp(at + long / 2 - size / 2, size);
    view = [from, from + size];
    draw();
    canvas.scrollIntoView({ block: "nearest" });
  };
  main.append(make("h2", { id: "overview-title" }, "Overview"), help,
    make("div", { class: "bar" },
      make("button", { type: "button", id: "zoom-in", onclick: () => zoomBy(0.5) }, "Zoom in"),
      make("button", { type: "button", id: "zoom-out", onclick: () => zoomBy(2) }, "Zoom out"),
      make("button", { type: "button", id: "zoom-all", onclick: all }, "All"), range, scale),
    key, make("div", { id: "overview-box" }, canvas), hint);

  // The gutter holds the names; what does not fit is cut at its left, where ranks repeat.
  const pen = canvas.getContext("2d");
  const FONT = "12px system-ui, sans-serif";
  let gutter = 0;
  const measure = () => {
    pen.font = FONT;
    const widest = Math.max(...data.lanes.map((lane) => pen.measureText(lane.name).width));
    gutter = Math.min(widest + 16, canvas.clientWidth * 0.4);
  };
  const right = 12;
  const width = () => Math.max(1, canvas.clientWidth - gutter - right);
  const timeAt = (x) => view[0] + (x - gutter) / width() * (view[1] - view[0]);
  const rowAt = (y) => Math.floor((y - TOP) / (LANE + GAP));
  const sum = (bin) => bin[1] + bin[2] + bin[3] + bin[4];
  const isSeen = (lane, bin) => bin[0] + lane.width_ns > view[0] && bin[0] < view[1];

  function draw() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const kinds = KINDS.map((_, n) => color(`--k${n}`));
    const dots = window.devicePixelRatio || 1;
    const base = TOP + data.lanes.length * (LANE + GAP) + (data.marks.length ? MARKS : 0), height = base + AXIS;
    canvas.style.height = `${height}px`;
    canvas.width = canvas.clientWidth * dots;
    canvas.height = height * dots;
    measure();
    pen.scale(dots, dots);
    pen.font = FONT;
    const x = (ns) => gutter + (ns - view[0]) / (view[1] - view[0]) * width();
    // All lanes have one scale: the fullest bin in sight fills its lane.
    let most = 0;
    for (const lane of data.lanes)
      for (const bin of lane.bins) if (isSeen(lane, bin)) most = Math.max(most, sum(bin) / lane.width_ns);
    most = Math.min(1, most) || 1;
    for (let n = 0; n <= 8; n++) {
      const at = Math.round(gutter + width() * n / 8) + .5;
      pen.strokeStyle = color("--grid");
      pen.beginPath();
      pen.moveTo(at, 0);
      pen.lineTo(at, base);
      pen.stroke();
      if (n % 2) continue;
      pen.fillStyle = color("--faint");
      pen.textAlign = n === 8 ? "right" : "center";
      pen.fillText(span(view[0] + (view[1] - view[0]) * n / 8), n === 8 ? at + right - 2 : at, base + 16);
    }
    pen.textAlign = "left";
    data.lanes.forEach((lane, row) => {
      const floor = TOP + row * (LANE + GAP) + LANE;
      pen.fillStyle = color("--faint");
      pen.save();
      pen.beginPath();
      pen.rect(0, floor - LANE, gutter - 6, LANE);
      pen.clip();
      pen.textAlign = "right";
      pen.fillText(lane.name, gutter - 8, floor - LANE / 2 + 4);
      pen.restore();
      pen.fillStyle = color("--line");
      pen.fillRect(gutter, floor, width(), 1);
      for (const bin of lane.bins) {
        if (!isSeen(lane, bin)) continue;
        // Whole pixels: neighbours must not show a seam.
        const from = Math.max(gutter, Math.floor(x(bin[0])));
        const to = Math.min(gutter + width(), Math.ceil(x(bin[0] + lane.width_ns)));
        let y = floor;
        for (let kind = 0; kind < 4; kind++) {
          const share = bin[1 + kind] / lane.width_ns / most;
          if (share === 0) continue;
          // Nothing that happened is invisible, and calls that overlap stay in their lane.
          const h = Math.min(y - (floor - LANE), Math.max(1, share * LANE));
          pen.fillStyle = kinds[kind];
          pen.fillRect(from, y - h, Math.max(1, to - from), h);
          y -= h;
        }
      }
    });
    let taken = 0;
    for (const mark of data.marks) {
      if (mark.at_ns < view[0] || mark.at_ns > view[1]) continue;
      pen.fillStyle = color("--accent");
      pen.fillRect(x(mark.at_ns), 0, 1, base);
      // A text that would stand on another is left to the table.
      const text = mark.text.slice(0, 40), from = x(mark.at_ns) + 4, to = from + pen.measureText(text).width;
      if (from < taken || to > gutter + width() + right) continue;
      pen.fillText(text, from, base + 1);
      taken = to + 6;
    }
    if (chosen) {
      const from = Math.max(gutter, x(chosen.bin[0])), to = x(chosen.bin[0] + data.lanes[chosen.row].width_ns);
      if (to > gutter && from < gutter + width()) {
        pen.strokeStyle = color("--fg");
        pen.strokeRect(from - 1.5, TOP + chosen.row * (LANE + GAP) - 1.5, Math.max(1, to - from) + 3, LANE + 3);
      }
    }
    if (drag && Math.abs(drag[1] - drag[0]) > 4) {
      pen.globalAlpha = .25;
      pen.fillStyle = color("--accent");
      pen.fillRect(Math.min(drag[0], drag[1]), 0, Math.abs(drag[1] - drag[0]), base);
      pen.globalAlpha = 1;
    }
    range.textContent = `${span(view[0])} to ${span(view[1])} of ${span(whole[1])}`;
    scale.textContent = `full height: ${Number((most * 100).toPrecision(2))} % of the time`;
  }

  Object.assign(overview, { chosen: () => chosen, plot: () => ({ left: gutter, width: width(), top: TOP, step: LANE + GAP }) });

  // The bin at a point, else the nearest bin within three pixels.
  function at(x, y) {
    const row = rowAt(y), lane = data.lanes[row];
    if (!lane || x < gutter) return null;
    const ns = timeAt(x), near = timeAt(x + 3) - ns;
    const away = (b) => ns < b[0] ? b[0] - ns : ns >= b[0] + lane.width_ns ? ns - b[0] - lane.width_ns + 1 : 0;
    const bin = lane.bins.reduce((best, b) => best === null || away(b) < away(best) ? b : best, null);
    return bin && away(bin) <= near ? { row, bin } : null;
  }
  function say(place) {
    if (!place) { hint.textContent = " "; return; }
    const lane = data.lanes[place.row], bin = place.bin, kinds = lane.gpu ? GPU_KINDS : KINDS;
    const what = lane.gpu ? plural(bin[5], "kernel", "kernels") : plural(bin[5], "launch", "launches");
    hint.textContent = `${lane.name}, ${span(bin[0])} + ${span(lane.width_ns)}: ${what}; ` +
      kinds.map((name, n) => `${name} ${span(bin[1 + n])}`).filter((_, n) => bin[1 + n] > 0).join(", ");
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
    say(at(e.offsetX, e.offsetY) || chosen);
  });
  canvas.addEventListener("pointerleave", () => say(chosen));
  canvas.addEventListener("pointercancel", () => { drag = null; draw(); });
  canvas.addEventListener("pointerup", (e) => {
    if (!drag) return;
    const [a, b] = drag[0] < drag[1] ? drag : [drag[1], drag[0]];
    drag = null;
    if (b - a > 4) view = [Math.max(0, timeAt(a)), Math.min(whole[1], Math.max(timeAt(b), timeAt(a) + 1))];
    else { chosen = at(e.offsetX, e.offsetY); say(chosen); }
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

