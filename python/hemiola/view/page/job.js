// A job's records: each rank's operations in the timeline; above, what happened, and who came late.
begin(async () => {
  const names = ["rank", "number", "opKind", "opGroup", "opState", "called", "began", "ended", "ofRank", "peer", "sent", "open", "step", "chunk", "posted", "done"];
  const c = Object.fromEntries(await Promise.all(names.map(async name => [name, await unpack(data[name])])));
  for (const name of ["called", "began", "ended", "posted", "done"]) c[name] = Float64Array.from(c[name], t => t * second);
  const own = Array.from({ length: data.ranks }, () => []);
  for (let i = 0; i < data.count; i++) own[c.rank[i]].push(i);
  const messages = Array.from({ length: data.ranks }, () => []);  // where they were recorded
  for (let m = 0; m < data.messageCount; m++) messages[c.ofRank[m]].push(m);
  const lastTo = new Map(data.late.map(one => [`${one.rank} ${one.group} ${one.what}`, one.late]));
  const what = i => `${data.kinds[c.opKind[i]]} ${c.number[i]}`;
  const lateness = i => lastTo.get(`${c.rank[i]} ${data.groups[c.opGroup[i]]} ${what(i)}`) || 0;
  const state_ = i => data.states[c.opState[i]];
  const isMissing = rank => data.missing.includes(rank);
  const failedAt = data.first !== null ? data.findings[0].at : data.length;
  const link = rank => button(`rank ${rank}`, `rank:${rank}`);
  const table = (heading, cells) => cells.length ? `<h2>${heading}</h2><table>${cells.map(r => `<tr>${r.map(cell => `<td>${cell}</td>`).join("")}</tr>`).join("")}</table>` : "";
  const when = time => time === null ? "" : button(inUnit(time), `time:${time}`);

  $("place").style.overflow = "auto";
  $("place").style.padding = "0 14px";
  $("place").tabIndex = 0;
  $("place").innerHTML = (data.findings.length ? table("What happened", data.findings.map(f => [when(f.at), link(f.rank), escaped(f.text)]))
    : "<h2>What happened</h2><p>No operation failed, and every rank has left a record.</p>")
    + table("Late by most", data.late.slice(0, 20).map(one => [when(one.at), link(one.rank), `came ${inUnit(one.late)} after the median call to ${escaped(one.what)}`]));
  $("place").onclick = $("facts").onclick;

  function drawRow(g, row, y, tall) {
    const rank = row.ranks[0], [first, last] = state.view;
    if (isMissing(rank)) hatch(g, x(0), y, x(data.length), tall);
    const share = data.messageCount && tall > 6 ? .5 : 1, whole = tall;
    tall *= share;
    for (const m of messages[rank]) {
      if (share === 1 || c.done[m] < first || c.posted[m] > last) continue;
      g.globalAlpha = .75; g.fillStyle = c.open[m] ? colour.bad : c.sent[m] ? colour.good : colour.idle;
      const lane = c.sent[m] ? 0 : 1, high = (whole - tall) / 2;
      g.fillRect(x(c.posted[m]), y + tall + lane * high, Math.max(.7, x(c.done[m]) - x(c.posted[m])), Math.max(.8, high - .5));
    }
    g.globalAlpha = 1;
    for (const i of own[rank]) {
      if (c.ended[i] < first || c.called[i] > last) continue;
      const from = x(c.began[i]), to = x(c.ended[i]);
      g.globalAlpha = .75;
      g.fillStyle = c.opState[i] === 1 ? colour.bad : c.opState[i] === 0 ? colour.copy : colour.absent;
      g.fillRect(from, y, Math.max(1, to - from - (to - from > 3 ? 1 : 0)), tall);
      if (c.began[i] > c.called[i]) g.fillRect(x(c.called[i]), y + tall / 2 - .5, from - x(c.called[i]), 1);
      g.globalAlpha = 1;
      const late = lateness(i);
      if (late) { g.fillStyle = colour.mark; g.fillRect(x(c.called[i] - late), y + tall - 2, Math.max(1, x(c.called[i]) - x(c.called[i] - late)), 2); }
      if (to - from > 90 && tall > 8) { g.fillStyle = colour.ink; g.textAlign = "center"; g.fillText(what(i), (from + to) / 2, y + tall / 2); }
    }
    if (rank === data.first) { g.fillStyle = colour.bad; g.fillRect(x(failedAt) - 1.5, y, 3, whole); }
  }
  function doing(rank) {
    if (isMissing(rank)) return `rank ${rank} has left no record`;
    const i = own[rank].findLast(k => c.called[k] <= state.time + NEAR);
    if (i === undefined) return `rank ${rank} has called nothing yet`;
    return c.ended[i] >= state.time ? `rank ${rank} is in ${what(i)} since ${inUnit(c.called[i])} (${state_(i)})`
      : `rank ${rank} is between operations since ${inUnit(c.ended[i])}; ${what(i)} ${state_(i)}`;
  }
  const underWay = rank => messages[rank].filter(m => c.posted[m] <= state.time + NEAR && (c.open[m] || state.time < c.done[m]))
    .map(m => [when(c.posted[m]), `${c.sent[m] ? "to" : "from"} ${link(c.peer[m])}`, `step ${c.step[m]}, chunk ${c.chunk[m]}${c.open[m] ? ": never ended" : ""}`]);
  function facts() {
    if (state.rank < 0) return table("Last to come", data.lateCounts.slice(0, 12).map(([rank, count, s]) => [link(rank), counted(count, "time"), `${inUnit(s)} in all`]))
      + "<p>Times are those of the hosts' clocks. Click a rank for its operations.</p>";
    const mine = own[state.rank], near = mine.filter(i => c.called[i] <= state.time + NEAR).slice(-12);
    return `<h2>Rank ${state.rank}</h2>${escaped(doing(state.rank))}.`
      + table(`${counted(mine.length, "operation")}; up to now`, near.reverse().map(i => [when(c.called[i]), what(i), inUnit(c.ended[i] - c.called[i]), state_(i) + (lateness(i) ? `, last by ${inUnit(lateness(i))}` : "")]))
      + table("Messages under way", underWay(state.rank).slice(0, 20))
      + table("Errors", mine.filter(i => data.errors[i]).map(i => [when(c.ended[i]), escaped(data.errors[i])]));
  }
  return {
    operations: c, messages, underWay, doing, lateness, facts, drawRow, draw() {}, fit() {}, listen() {}, go() {},
    events: [...new Set([0, ...c.called, ...c.ended])].sort((a, b) => a - b),
    isMarked: row => row.ranks.some(r => isMissing(r) || r === data.first),
    result: data.first === null ? "No operation failed." : `Rank ${data.first} failed first, noticed after ${inUnit(failedAt)}.`,
    options: "",
    legend: `<i class="key" style="background:var(--copy)"></i>completed<i class="key" style="background:var(--bad)"></i>failed<i class="key" style="background:var(--absent)"></i>not ended<i class="key" style="background:var(--line)"></i>no record<i class="key" style="height:3px;vertical-align:3px;background:var(--mark)"></i>later than the others`
      + (data.messageCount ? `<i class="key" style="background:var(--good)"></i>sends<i class="key" style="background:var(--idle)"></i>receives` : ""),
    say: () => state.rank >= 0 ? doing(state.rank) + "." : "",
  };
});
