// A predicted training step: a row for each stream of each role; above, its limit, its collectives and other libraries.
begin(async () => {
  const names = ["row", "barKind", "text", "begin", "end"];
  const c = Object.fromEntries(await Promise.all(names.map(async name => [name, await unpack(data[name])])));
  for (const name of ["begin", "end"]) c[name] = Float64Array.from(c[name], t => t * second);
  const own = Array.from({ length: data.ranks }, () => []);
  for (let i = 0; i < c.row.length; i++) own[c.row[i]].push(i);
  const text = i => data.texts[c.text[i]];
  const table = (heading, cells, head) => `<h2>${heading}</h2><table>${head ? `<tr>${head.map(one => `<th>${one}</th>`).join("")}</tr>` : ""}${cells.map(r => `<tr>${r.map(cell => `<td>${cell}</td>`).join("")}</tr>`).join("")}</table>`;

  $("place").style.overflow = "auto";
  $("place").style.padding = "0 14px 8px";
  $("place").tabIndex = 0;
  $("place").innerHTML = `<h2>${escaped(data.limit)}</h2>`
    + (data.calls.length ? table("Collectives, the most exposed first", data.calls.map(call => [escaped(call.what), escaped(call.size), call.ranks, call.count,
      escaped(call.algorithm), inUnit(call.each), call.bound > 0 ? (call.each / call.bound).toFixed(2) : "–", inUnit(call.exposed)]),
      ["collective", "size", "ranks", "times", "algorithm", "each", "over bound", "exposed"]) : "")
    + `<h2>Assumptions</h2>${data.assumptions.map(line => `${escaped(line)}<br>`).join("")}`;

  const fill = i => [colour.copy, colour.reduce, colour.absent][c.barKind[i]];
  function drawRow(g, row, y, tall) {
    const [first, last] = state.view;
    for (const i of own[row.ranks[0]]) {
      if (c.end[i] < first || c.begin[i] > last) continue;
      const from = x(c.begin[i]), to = x(c.end[i]);
      g.globalAlpha = .8; g.fillStyle = fill(i);
      g.fillRect(from, y, Math.max(.7, to - from - (to - from > 3 ? 1 : 0)), tall);
      g.globalAlpha = 1;
      if (tall > 8 && to - from > 7 * text(i).length) { g.fillStyle = colour.ink; g.textAlign = "center"; g.fillText(text(i), (from + to) / 2, y + tall / 2); }
    }
  }
  const at = row => own[row].findLast(i => c.begin[i] <= state.time + NEAR && state.time + NEAR < c.end[i]);
  function doing(row) {
    const i = at(row);
    return i === undefined ? `${data.labels[row]} is idle` : `${data.labels[row]}: ${text(i)}, ${inUnit(c.begin[i])} to ${inUnit(c.end[i])}`;
  }
  function facts() {
    if (state.rank < 0) return table("Schedules of", [["Hemiola", inUnit(data.length), ""],
      ...data.libraries.map(([name, s, gain]) => [escaped(name), inUnit(s), `Hemiola saves ${(100 * gain).toFixed(1)} %`]), ["lower bound", inUnit(data.bound), ""]])
      + table("Now", data.labels.map((label, row) => [button(escaped(label), `rank:${row}`), at(row) === undefined ? "idle" : escaped(text(at(row)))]).slice(0, 40));
    const mine = own[state.rank], from = Math.max(0, mine.findLastIndex(i => c.begin[i] <= state.time + NEAR) - 3);
    return table(escaped(data.labels[state.rank]), mine.slice(from, from + 16).map(i => [button(inUnit(c.begin[i]), `time:${c.begin[i]}`), escaped(text(i)), inUnit(c.end[i] - c.begin[i])]))
      + `<p>${counted(mine.length, "task")} in all.</p>`;
  }
  return {
    tasks: c, doing, facts, drawRow, draw() {}, fit() {}, listen() {}, go() {},
    events: [...new Set([0, ...c.begin, ...c.end])].sort((a, b) => a - b),
    isMarked: () => false,
    result: data.result,
    options: "",
    legend: `<i class="key" style="background:var(--copy)"></i>computation<i class="key" style="background:var(--reduce)"></i>communication`
      + (c.barKind.includes(2) ? `<i class="key" style="background:var(--absent)"></i>lateness` : "") + `<i class="key" style="width:0;border-left:2px dashed var(--ink)"></i>lower bound`,
    say: () => state.rank >= 0 ? doing(state.rank) + "." : "",
  };
});
