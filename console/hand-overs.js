// The last hand-overs of a lock, from the votes that each node has recorded: which events there were, and in which order.

/**
 * Times are ages in milliseconds, as each node reported them, so that the clocks of the nodes do not matter.
 * @typedef {{ request: number, number: number, began_ms: number, ended_ms: number | null, end: string | null }} NodeVote
 * @typedef {{ who: string, place: string, why: string, node: number | null, token: number | null }} Requester
 * @typedef {{ node: number, requests: Requester[], silent: number[], voters: { node: number, votes: NodeVote[] }[] }} Records
 * @typedef {{ node: number, request: number, end: string | null, from: number, to: number | null, since: number }} Stay
 * @typedef {{ at: number, node: number, request: number, what: "given" | "ended", end: string | null, column: number }} VoteEvent
 */

/** Maximum number of requests that are drawn. */
const REQUESTS_MOST = 4;

/**
 * Returns the requests that had votes last, the newest first; the events in order, each with a column of its own; and the time
 * for which each node gave its vote, between columns. A stay without an end lasts until now.
 * @param {Records} records
 * @returns {{ shown: number[], events: VoteEvent[], stays: Stay[] }}
 */
export function handOvers(records) {
  /** The age of the first vote for each request. @type {Map<number, number>} */
  const first = new Map();
  const all = records.voters.flatMap(({ node, votes }) => votes.map((vote) => ({ ...vote, node })));
  for (const { request, began_ms } of all) first.set(request, Math.max(began_ms, first.get(request) ?? 0));
  const shown = [...first].sort(([, a], [, b]) => a - b).slice(0, REQUESTS_MOST).map(([request]) => request);
  const drawn = all.filter(({ request }) => shown.includes(request));
  /** @type {VoteEvent[]} */
  const events = drawn.flatMap(({ node, request, began_ms, ended_ms, end }) => [
    { at: began_ms, node, request, what: /** @type {const} */ ("given"), end: null, column: 0 },
    ...(ended_ms === null ? [] : [{ at: ended_ms, node, request, what: /** @type {const} */ ("ended"), end, column: 0 }]),
  ]);
  // Of two events with the same age, a node ends a vote before it gives the next one.
  events.sort((a, b) => b.at - a.at || (a.what === b.what ? a.node - b.node : a.what === "ended" ? -1 : 1));
  events.forEach((event, column) => (event.column = column));
  const columnOf = (/** @type {VoteEvent["what"]} */ what, /** @type {NodeVote & { node: number }} */ vote) =>
    events.find((it) => it.what === what && it.node === vote.node && it.request === vote.request && it.at === (what === "given" ? vote.began_ms : vote.ended_ms))?.column ?? 0;
  const stays = drawn.map((vote) => ({
    node: vote.node,
    request: vote.request,
    end: vote.end,
    from: columnOf("given", vote),
    to: vote.ended_ms === null ? null : columnOf("ended", vote),
    since: vote.began_ms,
  }));
  return { shown, events, stays };
}

/**
 * Returns the position of each column, and of the right end. Longer pauses take more room, but by their logarithm: a hand-over takes
 * milliseconds, and a lock may be held for hours.
 * @param {VoteEvent[]} events
 * @param {number} least
 */
export function positions(events, least) {
  let x = 0;
  const all = events.map(({ at }, index) => {
    if (index > 0) x += least + least * Math.log10(1 + Math.max(0, events[index - 1].at - at));
    return x;
  });
  const last = events.at(-1)?.at ?? 0;
  return { columns: all, end: x + least + least * Math.log10(1 + last) };
}
