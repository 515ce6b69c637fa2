// For whom a rank waits: between two of its sends, the message that it needs for the next; at the end, the last to land.

// Returns waits by rank: begin, end, for (a rank, or -1), by (the transfer waited for, or -1), and why.
function waitsOf(moves, from, to) {
  const ended = new Int32Array(moves.count).fill(-1);  // the wait that a transfer's beginning ended
  const waits = [];
  for (let rank = 0; rank < data.ranks; rank++) {
    let free = data.late[rank] || 0;
    for (const i of from[rank]) {
      if (moves.begin[i] > free + NEAR) {
        ended[i] = waits.length;
        waits.push({ rank, begin: free, end: moves.begin[i], ...causeOf(moves, to[rank], i, free) });
      }
      free = Math.max(free, moves.leave[i]);
    }
    if (moves.finish[rank] > free + NEAR) {
      const last = lastLanding(moves, to[rank], free, moves.finish[rank], -1);
      waits.push({ rank, begin: free, end: moves.finish[rank], by: last, for: last < 0 ? -1 : moves.src[last], why: "its last data" });
    }
  }
  for (const wait of waits) wait.root = rootOf(moves, waits, ended, wait);
  return waits;
}
// The last message to land in a time; of those with a chunk of the message `next` where there is one.
function lastLanding(moves, landings, after, until, next) {
  let found = -1;
  for (const i of landings)
    if (moves.land[i] <= until + NEAR && moves.land[i] > after + NEAR && (next < 0 || shareChunk(moves, i, next))
      && (found < 0 || moves.land[i] >= moves.land[found])) found = i;
  return found;
}
function causeOf(moves, landings, next, after) {
  const own = lastLanding(moves, landings, after, moves.begin[next], next);
  if (own >= 0) return { by: own, for: moves.src[own], why: `chunk ${moves.chunk[own]}` };
  const peer = moves.dst[next];
  if ((data.late[peer] || 0) > after) return { by: -1, for: peer, why: "it to come" };
  const any = lastLanding(moves, landings, after, moves.begin[next], -1);
  if (any >= 0) return { by: any, for: moves.src[any], why: `chunk ${moves.chunk[any]}, whose turn is before` };
  return { by: -1, for: peer, why: "a free link to it" };
}
const shareChunk = (moves, a, b) => moves.chunk[a] < moves.chunk[b] + moves.chunks[b] && moves.chunk[b] < moves.chunk[a] + moves.chunks[a];
// Follow the chain of waits back to the rank that held up the others.
function rootOf(moves, waits, ended, wait) {
  let held = wait, rank = wait.for;
  for (let hops = 0; held.by >= 0 && hops < 10000; hops++) {
    rank = moves.src[held.by];
    if (ended[held.by] < 0) break;
    held = waits[ended[held.by]];
    if (held.for >= 0) rank = held.for;
  }
  return rank;
}
