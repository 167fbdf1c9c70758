// --- head ----------------------------------------------------------------------

const began = data.start_ns
  ? new Date(Number(BigInt(data.start_ns) / 1000000n)).toISOString().replace("T", " ").replace("Z", " UTC")
  : null;
const first = data.processes[0];
const program = first ? first.exe.split("/").pop() : "";
if (program) document.title = `${program} – cushim report`;
main.append(make("h1", {}, program || "cushim report", make("span", { class: "faint" },
  `cushim report${began ? ` of what began at ${began}` : ""}`)));

if (data.compared) main.append(make("p", { id: "compared" }, `${data.compared}. All but the table of changes is B's.`));

const WHY = { limit: "the file reached its --limit", no_space: "the file system was full",
  not_ready: "a process was starting, ending or in a signal handler", cut_arguments: "arguments were cut",
  file_size: "a file-size limit (ulimit -f) was reached", behind: "it was not read fast enough",
  overwritten: "later ones took their place", damaged: "they cannot be read" };
const missing = data.processes.flatMap((p) => Object.entries(p.lost))
  .filter(([why]) => why !== "cut_arguments").reduce((sum, [, n]) => sum + n, 0);
const tiles = make("dl", { id: "totals" });
function tile(id, name, value, bad) {
  tiles.append(make("div", { class: bad ? "bad" : null }, make("dt", {}, name), make("dd", { id }, value)));
}
tile("total-launches", "kernel launches", count(data.launches));
if (data.graph_launches) tile("total-graphs", "graph launches", count(data.graph_launches));
tile("total-kernels", "kernels", count(Object.keys(data.kernels).length));
tile("total-calls", "host time in calls", span(data.calls.call_ns.total));
tile("total-duration", "from first to last event", span(data.duration_ns));
tile("total-events", "events", count(data.events));
if (data.calls.failed) tile("total-failed", "calls failed", count(data.calls.failed), true);
if (data.calls.pending) tile("total-pending", "calls never came back", count(data.calls.pending), true);
if (missing) tile("total-missing", "events missing", count(missing), true);
main.append(tiles);

for (const f of data.failures)
  main.append(make("div", { class: "bad failure" },
    `failed: ${count(f.calls)} × ${f.api} = ${f.status} ${f.status_name || "unknown error"}`));
for (const note of data.notes) main.append(make("div", { class: "faint note" }, `note: ${note}`));

const list = make("ul", {});
for (const p of data.processes.slice(0, 200)) {
  const rank = p.rank === null ? "" : `, rank ${p.rank}`;
  const end = p.closed ? "" : ", killed or still running";
  const item = make("li", {}, make("strong", {}, `process ${p.pid} on ${p.host}${rank}`), " ",
    make("code", {}, p.argv.join(" ")), make("span", { class: "faint" },
      ` ${plural(p.events, "event", "events")}, ${plural(p.launches, "launch", "launches")}, ` +
      `${span(p.duration_ns)}${end}, from ${p.file}`));
  for (const [why, n] of Object.entries(p.lost).filter(([, n]) => n > 0))
    item.append(make("div", { class: "bad lost" }, why === "cut_arguments"
      ? `arguments beyond 4096 bytes were cut in ${plural(n, "event", "events")}`
      : `${plural(n, "event is", "events are")} missing: ${WHY[why] || why}`));
  list.append(item);
}
if (data.processes.length > 200) list.append(make("li", {}, `${data.processes.length - 200} more`));
const processes = make("details", { id: "processes" },
  make("summary", {}, plural(data.processes.length, "process", "processes")), list);
processes.open = data.processes.length <= 4;
main.append(processes);
