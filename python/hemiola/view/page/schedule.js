// A simulated schedule, and a real run of it: the topology with messages on their way, each rank's sends in the timeline, waits and use of links.
begin(async () => {
  const read = async (names, from) => Object.fromEntries(await Promise.all(names.map(async name => [name, await unpack(from[name])])));
  const c = await read(["pairSrc", "pairDst", "linkSrc", "linkDst"], data);
  const routes = await unpackRagged(data.routes), N = data.points.length;
  const runs = await Promise.all(data.runs.map(readRun));  // the prediction, and perhaps a real run beside it
  let run = runs[0];  // the one that moves on the topology
  async function readRun(told, index) {
    const u = await read(["pair", "begin", "leave", "land", "chunk", "chunks", "step", "reduce", "finish", "linkUse"], told), n = told.count;
    const moves = { count: n, pair: u.pair, chunk: u.chunk, chunks: u.chunks, step: u.step, reduce: u.reduce, finish: Float64Array.from(u.finish, t => t * second) };
    moves.src = Uint16Array.from(u.pair, p => c.pairSrc[p]);
    moves.dst = Uint16Array.from(u.pair, p => c.pairDst[p]);
    for (const name of ["begin", "leave", "land"]) moves[name] = new Float64Array(n);
    const from = Array.from({ length: data.ranks }, () => []), to = Array.from({ length: data.ranks }, () => []);
    let at = 0, longest = 0;
    for (let i = 0; i < n; i++) {
      at += u.begin[i];
      moves.begin[i] = at * second; moves.leave[i] = (at + u.leave[i]) * second; moves.land[i] = (at + u.land[i]) * second;
      longest = Math.max(longest, u.land[i] * second);
      from[moves.src[i]].push(i); to[moves.dst[i]].push(i);
    }
    const waits = waitsOf(moves, from, to), byRank = Array.from({ length: data.ranks }, () => []);
    for (const wait of waits) byRank[wait.rank].push(wait);
    // Lanes of a row: how many messages leave a rank at once.
    const lane = new Uint16Array(n), lanes = new Uint16Array(data.ranks).fill(1);
    from.forEach((sends, rank) => {
      const ends = [];
      for (const i of sends) {
        let k = ends.findIndex(end => end <= moves.begin[i] + NEAR);
        if (k < 0) k = ends.push(0) - 1;
        ends[k] = moves.leave[i]; lane[i] = k;
      }
      lanes[rank] = Math.max(1, ends.length);
    });
    return {
      index, name: told.name, seconds: told.seconds, n, moves, from, to, longest, waits, byRank, lane, lanes,
      waited: byRank.map(list => list.reduce((sum, w) => sum + w.end - w.begin, 0)), use: l => u.linkUse[l] / data.wholeTime,
      events: [...new Set([0, ...moves.begin, ...moves.land])].sort((a, b) => a - b),
    };
  }
  const carries = (moves, i, chunk) => moves.chunk[i] <= chunk && chunk < moves.chunk[i] + moves.chunks[i];
  const chunkName = (moves, i) => moves.chunks[i] === 1 ? `chunk ${moves.chunk[i]}` : `chunks ${moves.chunk[i]} to ${moves.chunk[i] + moves.chunks[i] - 1}`;
  const ways = routes.map((links, pair) => links.length ? [c.linkSrc[links[0]], ...Array.from(links, l => c.linkDst[l])] : [c.pairSrc[pair], c.pairDst[pair]]);
  const use = l => run.use(l);
  const vertexName = v => v < data.ranks ? `rank ${v}` : data.names[v] || `switch ${v - data.ranks}`;

  // ---- places: a vertex stands alone, or with its fold ----
  const foldOf = new Int32Array(N).fill(-1);
  data.folds.forEach((ranks, fold) => ranks.forEach(r => foldOf[r] = fold));
  if (data.folds.length && data.foldName === "host")
    data.hosts.forEach(members => { const fold = foldOf[members.find(v => v < data.ranks)]; for (const v of members) foldOf[v] = fold; });
  const closed = v => foldOf[v] >= 0 && !state.open.has(foldOf[v]);
  let spots = [], radius = 12, edges = [], curves = new Map(), showUse = false;
  $("place").innerHTML = `<canvas id="ground"></canvas><canvas id="net" tabindex="0" role="img" aria-label="Topology"></canvas>`;
  function place() {
    const points = data.points.map(p => [...p]);
    data.folds.forEach((ranks, fold) => {
      if (state.open.has(fold)) return;
      const members = [...points.keys()].filter(v => foldOf[v] === fold);
      const middle = [0, 1].map(k => members.reduce((sum, v) => sum + data.points[v][k], 0) / members.length);
      for (const v of members) points[v] = middle;
    });
    const { width, height } = surfaces.net, margin = 30, low = [0, 1].map(k => Math.min(...points.map(p => p[k])));
    const size = [0, 1].map(k => Math.max(...points.map(p => p[k])) - low[k] || 1e-9);
    let scale = [(width - 2 * margin) / size[0], (height - 2 * margin) / size[1]];
    const least = Math.min(...scale);  // folds may be stretched; a grid or a ring keeps its shape
    scale = scale.map(s => Math.min(s, least * (data.folds.length ? 4 : 1), 160));
    spots = points.map(p => [width / 2 + (p[0] - low[0] - size[0] / 2) * scale[0], height / 2 - (p[1] - low[1] - size[1] / 2) * scale[1]]);
    radius = Math.max(4, Math.min(16, Math.min(...scale) * .3));
    const joined = new Map();
    for (let l = 0; l < c.linkSrc.length; l++) {
      const [a, b] = [c.linkSrc[l], c.linkDst[l]].map(head).sort((p, q) => p - q);
      if (a !== b) joined.set(a * N + b, Math.max(joined.get(a * N + b) || 0, use(l)));
    }
    edges = [...joined].map(([key, share]) => [Math.floor(key / N), key % N, share]);
    curves = new Map();
  }
  const heads = new Map();
  const head = v => {  // the vertex that stands for a closed fold
    if (!closed(v)) return v;
    if (!heads.has(foldOf[v])) heads.set(foldOf[v], foldOf.indexOf(foldOf[v]));
    return heads.get(foldOf[v]);
  };
  // An edge that would pass through a foreign vertex bends around it: the point that it is drawn towards.
  function bend(a, b) {
    const key = a < b ? a * N + b : b * N + a;
    if (curves.has(key)) return curves.get(key);
    const [p, q] = a < b ? [spots[a], spots[b]] : [spots[b], spots[a]], dx = q[0] - p[0], dy = q[1] - p[1];
    let best = null, most = -1;
    for (const side of [0, .06, -.06, .12, -.12, .2, -.2, .3, -.3, .45, -.45, .7, -.7]) {
      const m = [(p[0] + q[0]) / 2 - dy * side, (p[1] + q[1]) / 2 + dx * side];
      let room = Infinity;
      for (let k = 1; k < 16; k++) {
        const [ex, ey] = along(p, m, q, k / 16);
        for (let v = 0; v < N; v++)
          if (v !== a && v !== b && head(v) === v) room = Math.min(room, Math.hypot(spots[v][0] - ex, spots[v][1] - ey));
      }
      if (room > most + 1) { most = room; best = m; }
      if (room > radius + 2) break;
    }
    curves.set(key, best);
    return best;
  }
  const along = (p, m, q, u) => [0, 1].map(k => (1 - u) * (1 - u) * p[k] + 2 * u * (1 - u) * m[k] + u * u * q[k]);
  function line(g, a, b) { g.moveTo(...spots[a]); g.quadraticCurveTo(...bend(a, b), ...spots[b]); }

  function drawGround() {
    const { g, width, height } = surfaces.ground;
    g.clearRect(0, 0, width, height);
    g.strokeStyle = colour.line; g.lineWidth = 1;
    data.hosts.forEach(members => {
      if (members.some(closed)) return;
      const px = members.map(v => spots[v][0]), py = members.map(v => spots[v][1]), m = radius + 7;
      g.beginPath(); g.roundRect(Math.min(...px) - m, Math.min(...py) - m, Math.max(...px) - Math.min(...px) + 2 * m, Math.max(...py) - Math.min(...py) + 2 * m, 8); g.stroke();
    });
    for (const [a, b, share] of edges) {
      g.beginPath(); line(g, a, b);
      g.strokeStyle = showUse ? colour.bad : colour.line; g.lineWidth = showUse ? .5 + 2.5 * share * share : 1;
      g.globalAlpha = showUse ? .08 + .8 * share * share : 1;
      g.stroke();
    }
    g.globalAlpha = 1;
  }
  function firstAfter(time) {  // the first transfer that begins later
    let low = 0, high = run.n;
    while (low < high) { const k = (low + high) >> 1; run.moves.begin[k] <= time ? low = k + 1 : high = k; }
    return low;
  }
  let inFlight = 0;
  // Messages of one look are one path for their edges and one for their dots, each drawn once: thousands may be under way.
  function draw() {
    const { g, width, height } = surfaces.net, sending = new Uint8Array(N), t = state.time, moves = run.moves;
    const looks = Array.from({ length: 4 }, () => ({ edges: new Set(), dots: new Map() }));
    g.clearRect(0, 0, width, height);
    inFlight = 0;
    for (let i = firstAfter(t - run.longest - NEAR), stop = firstAfter(t); i < stop; i++) {
      if (moves.land[i] <= t) continue;
      inFlight++;
      sending[head(moves.src[i])] = 1;
      if (state.chunk !== null && !carries(moves, i, state.chunk)) continue;
      const way = ways[moves.pair[i]], u = Math.min(.999, (t - moves.begin[i]) / (moves.land[i] - moves.begin[i])) * (way.length - 1), k = Math.floor(u);
      const a = head(way[k]), b = head(way[k + 1]);
      if (a === b) continue;
      const isFaint = state.rank >= 0 && moves.src[i] !== state.rank && moves.dst[i] !== state.rank;
      const look = looks[(isFaint ? 0 : 2) + (moves.reduce[i] ? 1 : 0)], edge = a * N + b;
      look.edges.add(edge);
      look.dots.set(edge * 64 + Math.floor((u - k) * 64), [a, b, u - k, moves.chunk[i]]);  // one dot for those that would cover each other
    }
    const size = Math.max(2.5, radius * .42);
    looks.forEach(({ edges, dots }, look) => {
      g.strokeStyle = g.fillStyle = look % 2 ? colour.reduce : colour.copy;
      g.lineWidth = data.ranks > 40 ? 1.2 : 2.2; g.globalAlpha = look < 2 ? .1 : .7;
      g.beginPath();
      for (const edge of edges) line(g, Math.floor(edge / N), edge % N);
      g.stroke();
      const placed = [...dots.values()].map(([a, b, u, chunk]) => [...along(spots[a], bend(a, b), spots[b], u), chunk]);
      g.globalAlpha = look < 2 ? .2 : 1;
      g.beginPath();
      for (const [px, py] of placed) { g.moveTo(px + size, py); g.arc(px, py, size, 0, 7); }
      g.fill();
      if (size <= 5 || data.chunks >= 1000) return;
      g.fillStyle = "#fff"; g.font = `${Math.round(size * 1.3)}px system-ui, DejaVu Sans`; g.textAlign = "center"; g.textBaseline = "middle";
      for (const [px, py, chunk] of placed) g.fillText(chunk, px, py + .5);
    });
    g.globalAlpha = 1;
    for (let v = 0; v < N; v++) if (head(v) === v) drawVertex(g, v, sending[v], t);
  }
  function drawVertex(g, v, sends, t) {
    const { moves } = run, [px, py] = spots[v], fold = closed(v) ? data.folds[foldOf[v]] : null, isSwitch = v >= data.ranks && !fold;
    const done = fold ? fold.every(r => moves.finish[r] <= t + NEAR) : moves.finish[v] <= t + NEAR;
    const size = fold ? Math.max(9, radius * 1.4) : radius;
    g.beginPath();
    if (isSwitch || fold) g.roundRect(px - size * .85, py - size * .85, size * 1.7, size * 1.7, fold ? 5 : 1); else g.arc(px, py, size, 0, 7);
    g.fillStyle = isSwitch ? colour.switch : (data.late[v] || 0) > t ? colour.absent : done ? colour.good : sends ? colour.copy : colour.idle;
    g.fill();
    const chosen = v === state.rank || fold && fold.includes(state.rank);
    const odd = (fold || [v]).some(r => data.late[r] || data.slow[r]);
    g.lineWidth = chosen || odd ? 3 : 1; g.strokeStyle = chosen ? colour.mark : odd ? colour.bad : colour.paper;
    if (odd && !chosen) g.setLineDash((fold || [v]).some(r => data.late[r]) ? [4, 3] : []);
    g.stroke(); g.setLineDash([]);
    if (state.chunk !== null && !isSwitch && !fold && has(v, t)) { g.beginPath(); g.arc(px, py, size + 4, 0, 7); g.lineWidth = 3; g.strokeStyle = colour.good; g.stroke(); }
    if (size > 6) {
      g.fillStyle = "#fff"; g.font = `${Math.round(size * (fold ? .75 : .85))}px system-ui, DejaVu Sans`; g.textAlign = "center"; g.textBaseline = "middle";
      g.fillText(isSwitch ? "S" : fold ? foldOf[v] : v, px, py + .5);
    }
  }
  const has = (rank, t) => run.to[rank].some(i => carries(run.moves, i, state.chunk) && run.moves.land[i] <= t)
    || run.from[rank].some(i => carries(run.moves, i, state.chunk) && run.moves.begin[i] <= t);

  // ---- the timeline's rows ----
  function drawRow(g, row, y, tall) {
    if (row.folded) return drawShare(g, row, y, tall);
    const { moves, from, lane, lanes } = runs[row.run], rank = row.ranks[0], high = tall / lanes[rank], [first, last] = state.view;
    if (data.late[rank]) hatch(g, x(0), y, x(data.late[rank]), tall);
    const drawn = new Float64Array(lanes[rank]).fill(-1);
    for (const i of from[rank]) {
      if (moves.leave[i] < first) continue;
      if (moves.begin[i] > last) break;
      const left = x(moves.begin[i]), right = x(moves.leave[i]);
      if (right < drawn[lane[i]] + .5) continue;  // no wider than what stands there
      drawn[lane[i]] = right;
      const chosen = state.chunk === null || carries(moves, i, state.chunk), wide = right - left;
      g.globalAlpha = chosen ? .75 : .12; g.fillStyle = moves.reduce[i] ? colour.reduce : colour.copy;
      g.fillRect(left, y + lane[i] * high, Math.max(.7, wide - (wide > 3 ? 1 : 0)), Math.max(.8, high - (high > 3 ? .6 : 0)));
      if (wide > 18 && high > 8 && chosen) { g.globalAlpha = 1; g.fillStyle = colour.ink; g.textAlign = "center"; g.fillText(moves.chunk[i], (left + right) / 2, y + (lane[i] + .5) * high); }
    }
    g.globalAlpha = 1;
    g.fillStyle = colour.ink; g.fillRect(x(moves.finish[rank]) - 1, y, 2, tall);
  }
  function drawShare(g, row, y, tall) {  // of a folded host: how many of its ranks send, column by column
    const { moves, from } = runs[row.run], width = Math.ceil(surfaces.lanes.width), edge = new Int32Array(width + 2), [first, last] = state.view;
    for (const rank of row.ranks) {
      let end = -1;
      for (const i of from[rank]) {
        if (moves.leave[i] < first || moves.begin[i] > last) continue;
        const a = Math.max(end, Math.round(x(moves.begin[i])), 0), b = Math.min(width, Math.max(a + 1, Math.round(x(moves.leave[i]))));
        if (b <= a) continue;
        edge[a]++; edge[b]--; end = b;
      }
    }
    g.fillStyle = colour.copy; g.globalAlpha = .75;
    for (let px = 0, now = 0; px < width; px++) { now += edge[px]; const h = tall * Math.min(1, now / row.ranks.length); if (h) g.fillRect(px, y + tall - h, 1, h); }
    g.globalAlpha = 1; g.fillStyle = colour.ink; g.fillRect(x(Math.max(...row.ranks.map(r => moves.finish[r]))) - 1, y, 2, tall);
  }

  // ---- words ----
  const sums = (list, key) => [...list.reduce((m, w) => m.set(w[key], (m.get(w[key]) || 0) + w.end - w.begin), new Map())].sort((a, b) => b[1] - a[1]);
  const who = rank => rank < 0 ? "nobody" : button(`rank ${rank}`, `rank:${rank}`) + mark(rank);
  const mark = rank => (data.late[rank] ? ` (late by ${inUnit(data.late[rank])})` : "") + (data.slow[rank] ? ` (${data.slow[rank]} times slower)` : "");
  function doing(rank) {
    const t = state.time, { moves, from, byRank } = run;
    if ((data.late[rank] || 0) > t) return `rank ${rank} has not come yet`;
    for (const i of from[rank]) { if (moves.begin[i] > t) break; if (moves.leave[i] > t) return `rank ${rank} sends ${chunkName(moves, i)} to rank ${moves.dst[i]} (step ${moves.step[i]}) until ${inUnit(moves.leave[i])}`; }
    const wait = byRank[rank].find(w => w.begin <= t + NEAR && t < w.end);
    if (wait) return `rank ${rank} waits for rank ${wait.for}: ${wait.why}, until ${inUnit(wait.end)}` + (wait.root !== wait.for && wait.root !== rank ? `; rank ${wait.root} holds it up` : "");
    return moves.finish[rank] <= t + NEAR ? `rank ${rank} is done since ${inUnit(moves.finish[rank])}` : `rank ${rank} is idle`;
  }
  const table = (heading, rows) => rows.length ? `<h2>${heading}</h2><table>${rows.map(r => `<tr>${r.map(cell => `<td>${cell}</td>`).join("")}</tr>`).join("")}</table>` : "";
  const share = s => `${(100 * s).toFixed(0)} %`;
  const linkRows = list => list.sort((a, b) => use(b) - use(a)).slice(0, 6).map(l => [`${escaped(vertexName(c.linkSrc[l]))} → ${escaped(vertexName(c.linkDst[l]))}`, share(use(l))]);
  function journey(chunk) {
    const { moves } = run;
    return [...Array(run.n).keys()].filter(i => carries(moves, i, chunk)).sort((a, b) => moves.land[a] - moves.land[b])
      .map(i => ({ from: moves.src[i], to: moves.dst[i], step: moves.step[i], reduce: !!moves.reduce[i], land: moves.land[i], begin: moves.begin[i] }));
  }
  function sideBySide() {  // when ranks are done: the chosen one, or those that differ most
    const [told, real] = runs.map(r => r.moves.finish), apart = r => Math.abs(real[r] - told[r]);
    const shown = state.rank >= 0 ? [state.rank] : [...told.keys()].sort((a, b) => apart(b) - apart(a)).slice(0, 4);
    return [["done after", ...runs.map(r => r.name)], ...shown.map(r => [who(r), inUnit(told[r]), inUnit(real[r])])];
  }
  function facts() {
    const { moves, from, to, waits, byRank, waited } = run;
    let text = runs.length < 2 ? "" : table(`Shown: ${run.name}`, sideBySide());
    if (state.chunk !== null) {
      const hops = journey(state.chunk);
      text += table(`Journey of chunk ${state.chunk}: ${counted(hops.length, "hop")}`, hops.slice(0, 60).map(h => [button(inUnit(h.land), `time:${h.land}`), `${who(h.from)} ${h.reduce ? "adds to" : "→"} ${who(h.to)}`]));
    }
    if (state.rank >= 0) {
      const r = state.rank;
      text += `<h2>Rank ${r}${mark(r)}</h2>${doing(r)}. It sends ${counted(from[r].length, "message")}, gets ${to[r].length}, and is done at ${inUnit(moves.finish[r])}.`;
      text += table(`It waits ${inUnit(waited[r])} in all, for`, sums(byRank[r], "for").slice(0, 6).map(([k, s]) => [who(k), inUnit(s)]));
      text += table("Held up by", sums(byRank[r].filter(w => w.root !== r), "root").slice(0, 4).map(([k, s]) => [who(k), inUnit(s)]));
      text += table("Its waits", byRank[r].slice(0, 30).map(w => [button(inUnit(w.begin), `time:${w.begin}`), inUnit(w.end - w.begin), `for ${who(w.for)}: ${w.why}`]));
      text += table("Use of its links", linkRows([...c.linkSrc.keys()].filter(l => c.linkSrc[l] === r || c.linkDst[l] === r)));
    } else {
      text += table("Late or slow", [...new Set([...Object.keys(data.late), ...Object.keys(data.slow)])].map(r => [who(+r)]));
      text += table("Ranks that wait longest", [...waited.keys()].filter(r => waited[r] > 0).sort((a, b) => waited[b] - waited[a]).slice(0, 6).map(r => [who(r), inUnit(waited[r]), share(waited[r] / data.length)]));
      text += table("Ranks that others wait for", sums(waits.filter(w => w.root !== w.rank && w.root >= 0), "root").slice(0, 5).map(([r, s]) => [who(r), inUnit(s)]));
      text += table("Busiest links, of the whole time", linkRows([...c.linkSrc.keys()]));
      text += `<p>Click a rank for its waits. Enter a chunk for its journey.</p>`;
    }
    return text;
  }
  function hit(px, py) {
    let found = -1;
    for (let v = 0; v < N; v++) if (head(v) === v && Math.hypot(spots[v][0] - px, spots[v][1] - py) < radius + 5) found = v;
    return found;
  }
  function chooseChunk(chunk) { state.chunk = chunk === null || !(chunk >= 0 && chunk < data.chunks) ? null : chunk; drawLanes(); show(); }
  function chooseRun(index) {
    run = runs[index];
    if ($("run")) $("run").value = index;
    fit();
  }
  const ratio = data.bound ? `, ${(runs[0].seconds / data.bound).toFixed(3)} times the lower bound of ${inUnit(data.bound)} (${data.witness})` : "";
  const real = runs.length < 2 ? "" : ` Measured: ${inUnit(runs[1].seconds)}, ${(runs[1].seconds / runs[0].seconds).toFixed(3)} times the prediction.`;
  return {
    runs, get moves() { return run.moves; }, get waits() { return run.waits; }, get waited() { return run.waited; }, get events() { return run.events; },
    journey, doing, chooseChunk, chooseRun, use, facts, draw, drawRow,
    spots: () => spots, edges: () => edges, bendOf: bend, radius: () => radius, head, inFlight: () => inFlight,
    isMarked: row => row.ranks.some(r => data.late[r] || data.slow[r]),
    result: `Predicted: done after ${inUnit(runs[0].seconds)}${ratio}.${real}`,
    options: (runs.length < 2 ? "" : `<label>shows <select id="run">${runs.map((r, i) => `<option value="${i}">${r.name}`).join("")}</select></label> `) + `<label>chunk <input id="chunk" type="number" min="0" max="${data.chunks - 1}" placeholder="all"></label> <label><input id="use" type="checkbox"> use of links</label>`,
    legend: `<i class="key" style="background:var(--copy)"></i>copies<i class="key" style="background:var(--reduce)"></i>adds<i class="key" style="background:var(--good)"></i>done<i class="key" style="background:var(--absent)"></i>not come yet<i class="key" style="border:2px solid var(--bad)"></i>late (dashed) or slow` + (data.bound ? ` &nbsp;<i class="key line"></i>lower bound` : ""),
    say: () => `${counted(inFlight, "message")} under way. ` + (state.rank >= 0 ? doing(state.rank) + "." : ""),
    go: () => {},
    fit() { surface("ground"); surface("net"); place(); drawGround(); },
    listen() {
      $("chunk").oninput = e => chooseChunk(e.target.value === "" ? null : +e.target.value);
      if ($("run")) $("run").onchange = e => chooseRun(+e.target.value);
      $("use").onchange = e => { showUse = e.target.checked; drawGround(); };
      $("net").onclick = e => {
        const v = hit(e.offsetX, e.offsetY);
        if (v >= 0 && closed(v)) toggleFold(foldOf[v]); else select(v < data.ranks && v !== state.rank ? v : -1);
      };
    },
  };
});
