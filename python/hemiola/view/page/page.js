// What all pages share: unpacking, the clock, and the timeline with a row per rank or fold, zoom and pan.
// A subject (schedule.js, job.js or step.js) gives bars and marks, and draws what stands above the timeline.
const $ = id => document.getElementById(id);
const root = document.documentElement;
const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

async function unpack([type, text]) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new TYPES[type](await new Response(stream).arrayBuffer());
}
async function unpackRagged([lengths, all]) {
  const [sizes, numbers] = [await unpack(lengths), await unpack(all)];
  let at = 0;
  return Array.from(sizes, size => numbers.subarray(at, at += size));
}

const unit = data.length < 1e-6 ? [1e9, "ns"] : data.length < 1e-3 ? [1e6, "µs"] : data.length < 1 ? [1e3, "ms"] : [1, "s"];
const inUnit = s => `${+(s * unit[0]).toPrecision(4)} ${unit[1]}`;
const second = data.length / data.ticks;  // one tick, in seconds
const NEAR = data.length * 2e-7;          // times that are equal but for ticks
const button = (text, action) => `<button data-go="${action}">${text}</button>`;
const escaped = text => String(text).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
const runCount = data.runs ? data.runs.length : 1;
const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// The page's state. `view` is the shown part of the time; `top` the pixels of rows above.
const state = { time: 0, playing: false, rank: -1, chunk: null, view: [0, data.length], top: 0, tall: false, open: new Set() };
let colour = {}, rows = [], subject = null;
const surfaces = {};

function readColours() {
  const style = getComputedStyle(root);
  for (const name of ["ink", "soft", "line", "paper", "copy", "reduce", "good", "bad", "idle", "absent", "switch", "mark"])
    colour[name] = style.getPropertyValue("--" + name).trim();
}
function setTheme(dark) {
  root.dataset.theme = dark ? "dark" : "light";
  readColours();
  if (subject) fit();
}

function surface(id) {  // a canvas in CSS pixels, as sharp as the screen
  const canvas = $(id), box = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1;
  canvas.width = box.width * scale; canvas.height = box.height * scale;
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  return surfaces[id] = { g, width: box.width, height: box.height };
}

// ---- rows: one per rank, or one per folded host ----
const LEFT = data.labels ? 190 : 78, FOOT = 22, LEAST_ROW = 2.8, TALL_ROW = 14;  // pixels
function layRows() {
  rows = [];
  if (data.folds && data.folds.length)
    data.folds.forEach((ranks, fold) => {
      if (state.open.has(fold)) for (const rank of ranks) addRows({ ranks: [rank], fold }, `rank ${rank}`);
      else addRows({ ranks, fold, folded: true }, foldLabel(fold));
    });
  else for (let rank = 0; rank < data.ranks; rank++) addRows({ ranks: [rank] }, data.labels ? data.labels[rank] : `rank ${rank}`);
}
function addRows(row, label) {  // one for each run: the prediction, and perhaps a real run below it
  for (let run = 0; run < runCount; run++) rows.push({ ...row, run, label: run ? data.runs[run].name : label });
}
const foldLabel = fold => data.foldName === "host" ? `host ${fold}` : `ranks ${data.folds[fold][0]}–${data.folds[fold].at(-1)}`;
const rowHeight = () => Math.max(state.tall ? TALL_ROW : LEAST_ROW, (surfaces.lanes.height - FOOT - 4) / rows.length);
const rowTop = row => 4 + row * rowHeight() - state.top;
const x = time => LEFT + (surfaces.lanes.width - LEFT - 14) * (time - state.view[0]) / (state.view[1] - state.view[0]);
const timeAt = px => state.view[0] + (px - LEFT) / (surfaces.lanes.width - LEFT - 14) * (state.view[1] - state.view[0]);
const rowAt = py => rows[Math.floor((py - 4 + state.top) / rowHeight())];

function drawLanes() {
  const { g, width, height } = surfaces.lanes, tall = rowHeight();
  g.clearRect(0, 0, width, height);
  g.textBaseline = "middle";
  g.font = `${Math.max(9, Math.min(12, tall))}px system-ui, DejaVu Sans`;
  const apart = Math.ceil(10 / tall);  // rows from one label to the next
  g.save(); g.beginPath(); g.rect(0, 0, width, height - FOOT); g.clip();
  rows.forEach((row, i) => {
    const y = rowTop(i);
    if (y + tall < 0 || y > height) return;
    const chosen = row.ranks.includes(state.rank);
    if (chosen) { g.globalAlpha = .12; g.fillStyle = colour.mark; g.fillRect(0, y, width, tall); g.globalAlpha = 1; }
    g.fillStyle = chosen ? colour.mark : subject.isMarked(row) ? colour.bad : colour.soft;
    g.textAlign = "right";
    if (i % apart === 0 || chosen) g.fillText(row.label + (row.folded && !row.run ? " +" : ""), LEFT - 8, y + tall / 2);
    if (row.run === 0 && runCount > 1 && tall > 4) { g.fillStyle = colour.line; g.fillRect(0, y, width, 1); }
    g.save(); g.beginPath(); g.rect(LEFT - 1, y, width - LEFT, tall); g.clip();
    subject.drawRow(g, row, y + tall * .1, tall * .8);
    g.restore();
  });
  if (data.bound && x(data.bound) >= LEFT) {
    g.setLineDash([5, 4]); g.lineWidth = 1.5; g.strokeStyle = colour.ink;
    g.beginPath(); g.moveTo(x(data.bound), 0); g.lineTo(x(data.bound), height - FOOT); g.stroke(); g.setLineDash([]);
  }
  g.restore();
  g.fillStyle = colour.soft; g.textAlign = "center"; g.font = "11px system-ui, DejaVu Sans";
  const apart_s = roundStep((state.view[1] - state.view[0]) / 5), digits = Math.max(0, -Math.floor(Math.log10(apart_s * unit[0] * 1.0001)));
  for (let k = Math.ceil(state.view[0] / apart_s); k * apart_s <= state.view[1]; k++)
    g.fillText(`${(k * apart_s * unit[0]).toFixed(digits)} ${unit[1]}`, Math.min(width - 32, x(k * apart_s)), height - FOOT / 2);
}
function roundStep(least) {  // 1, 2 or 5 times a power of ten
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find(step => step * power >= least * .8) * power;
}
function hatch(g, left, top, right, height) {  // a time in which a rank is not there
  g.fillStyle = colour.line; g.fillRect(left, top, right - left, height);
  g.save(); g.beginPath(); g.rect(left, top, right - left, height); g.clip();
  g.strokeStyle = colour.paper; g.lineWidth = 2; g.beginPath();
  for (let px = left - height; px < right + height; px += 7) { g.moveTo(px, top + height); g.lineTo(px + height, top); }
  g.stroke(); g.restore();
}
function drawCursor() {
  const { g, width, height } = surfaces.cursor, px = x(state.time);
  g.clearRect(0, 0, width, height);
  if (px < LEFT - 1) return;
  g.strokeStyle = colour.mark; g.lineWidth = 1.5;
  g.beginPath(); g.moveTo(px, 0); g.lineTo(px, height - FOOT); g.stroke();
}
function zoom(factor, around = state.time) {
  const [a, b] = state.view, span = Math.min(data.length, Math.max(data.length * 1e-5, (b - a) * factor));
  const centre = around < a || around > b ? (a + b) / 2 : around;
  pan(centre - span * (centre - a) / (b - a), span);
}
function pan(from, span = state.view[1] - state.view[0]) {
  const start = Math.max(0, Math.min(data.length - span, from));
  state.view = [start, start + span];
  drawLanes(); drawCursor();
}
function scrollRows(by) {
  const all = rows.length * rowHeight() + 4 + FOOT - surfaces.lanes.height;
  state.top = Math.max(0, Math.min(all, state.top + by));
}

// ---- the clock ----
let frames = [], before = 0, factsAt = 0;
function show() {
  subject.draw(); drawCursor();
  $("now").textContent = inUnit(state.time);
  $("seek").value = 1000 * state.time / data.length;
  $("seek").setAttribute("aria-valuetext", inUnit(state.time));
  const now = performance.now();
  if (state.playing && now - factsAt < 200) return;  // text is slower than a canvas
  factsAt = now;
  $("say").textContent = subject.say();
  const facts = subject.facts();
  if (facts !== $("facts").dataset.shown) { $("facts").innerHTML = facts; $("facts").dataset.shown = facts; }
}
function tick(now) {
  if (!state.playing) return;
  if (before) { frames.push(now - before); state.time += (now - before) / 1000 * data.length / +$("speed").value; }
  before = now;
  if (state.time >= data.length) { state.time = data.length; pause(); }
  show();
  if (state.playing) requestAnimationFrame(tick);
}
function play() {
  if (state.time >= data.length) state.time = 0;
  state.playing = true; before = 0; frames = [];
  $("play").textContent = "pause"; $("say").setAttribute("aria-live", "off");
  requestAnimationFrame(tick);
}
function pause() { state.playing = false; $("play").textContent = "play"; $("say").setAttribute("aria-live", "polite"); }
function seek(time) { state.time = Math.max(0, Math.min(data.length, time)); show(); }
function step(way) {
  const { events } = subject, found = way > 0 ? events.find(e => e > state.time + NEAR) : events.findLast(e => e < state.time - NEAR);
  if (found !== undefined) seek(found);
}
function select(rank) { state.rank = rank; drawLanes(); show(); }
function toggleTall() {  // rows as high as text, or all rows at once
  state.tall = !state.tall;
  $("tall").setAttribute("aria-pressed", state.tall);
  fit();
}
function toggleFold(fold) {
  state.open.has(fold) ? state.open.delete(fold) : state.open.add(fold);
  layRows(); scrollRows(0); fit();
}
function frameStats() {
  const sorted = [...frames].sort((a, b) => a - b);
  return { count: sorted.length, median: sorted[sorted.length >> 1], p95: sorted[Math.floor(sorted.length * .95)] };
}
function fit() { surface("lanes"); surface("cursor"); scrollRows(0); subject.fit(); drawLanes(); show(); }

// ---- hands: mouse, keys, links in the details ----
function listen() {
  $("play").onclick = () => state.playing ? (pause(), show()) : play();
  $("back").onclick = () => step(-1);
  $("forth").onclick = () => step(1);
  $("seek").oninput = e => seek(e.target.value / 1000 * data.length);
  $("theme").onclick = () => setTheme(root.dataset.theme !== "dark");
  $("tall").onclick = toggleTall;
  $("facts").onclick = e => {
    const [what, value] = (e.target.dataset.go || "").split(":");
    if (what === "rank") select(+value); else if (what === "time") seek(+value); else if (what) subject.go(what, +value);
  };
  const pad = $("cursor");
  let held = null;
  pad.onpointerdown = e => { held = { x: e.offsetX, y: e.offsetY, from: state.view[0], moved: false }; pad.setPointerCapture(e.pointerId); };
  pad.onpointermove = e => {
    if (!held || (!held.moved && Math.hypot(e.offsetX - held.x, e.offsetY - held.y) < 4)) return;
    held.moved = true;
    scrollRows(held.y - e.offsetY); held.y = e.offsetY;
    pan(held.from - (timeAt(e.offsetX) - timeAt(held.x)));
  };
  pad.onpointerup = e => {
    const row = rowAt(e.offsetY);
    if (held && !held.moved) {
      if (e.offsetX >= LEFT) seek(timeAt(e.offsetX));
      if (row && e.offsetX < LEFT && row.fold !== undefined) toggleFold(row.fold);
      if (row && runCount > 1) subject.chooseRun(row.run);
      if (row && !row.folded && !(e.offsetX < LEFT && row.fold !== undefined)) select(row.ranks[0] === state.rank && e.offsetX < LEFT ? -1 : row.ranks[0]);
    }
    held = null;
  };
  pad.onwheel = e => {
    e.preventDefault();
    if (e.shiftKey) { scrollRows(e.deltaY || e.deltaX); drawLanes(); } else zoom(e.deltaY > 0 ? 1.25 : .8, timeAt(e.offsetX));
  };
  pad.ondblclick = () => pan(0, data.length);
  addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || ["INPUT", "SELECT"].includes(e.target.tagName)) return;
    const span = state.view[1] - state.view[0];
    const action = { " ": () => e.target.tagName === "BUTTON" || $("play").click(), ArrowRight: () => e.shiftKey ? pan(state.view[0] + span / 5) : step(1),
      ArrowLeft: () => e.shiftKey ? pan(state.view[0] - span / 5) : step(-1), "+": () => zoom(.6), "-": () => zoom(1.6),
      0: () => pan(0, data.length), r: toggleTall, Home: () => seek(0), End: () => seek(data.length), Escape: () => select(-1),
      ArrowDown: () => select(Math.min(data.ranks - 1, state.rank + 1)), ArrowUp: () => select(Math.max(-1, state.rank - 1)) }[e.key];
    if (!action) return;
    if (e.key !== " " || e.target.tagName !== "BUTTON") e.preventDefault();
    action();
  });
  addEventListener("resize", fit);
}

async function begin(makeSubject) {
  const noun = data.labels ? "streams" : "ranks";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches);
  dark.onchange = () => setTheme(dark.matches);
  $("title").textContent = data.title; $("subtitle").textContent = data.subtitle;
  document.title = `${data.title} – Hemiola`;
  subject = await makeSubject();
  $("result").textContent = subject.result; $("options").innerHTML = subject.options; $("legend").innerHTML = subject.legend;
  $("cursor").setAttribute("aria-label", `Timeline of ${data.ranks} ${noun}. Arrow keys: events and ${noun}; + and - zoom; 0 shows all.`);
  layRows(); listen(); subject.listen();
  window.hemiola = { data, state, subject, play, pause, seek, step, select, zoom, pan, toggleFold, toggleTall, frameStats, x, rowTop, rowHeight,
    setTheme, rows: () => rows, colour: () => colour };
  fit();
  window.hemiola.ready = true;
}
