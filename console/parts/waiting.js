// The wait-for graph as a picture and in words.

import { h, s } from "../dom.js";
import { number, t } from "../texts.js";
import { shortestCycle, waitFor } from "../wait-for.js";

/** Maximum number of processes in the picture; of more, only those in a cycle are drawn, or the first ones. */
const DRAWN = 24;
/** Maximum number of lines of text. */
const LINES = 12;
const [WIDTH, HEIGHT] = [320, 190];

/**
 * @param {import("../global-state.js").GlobalState} global
 * @returns {{ children: (Element | null)[], cycle: number[], mayEnd: boolean }} `mayEnd`: a message to a process of the cycle
 *   is in flight
 */
export function waiting(global) {
  const edges = waitFor(global);
  const cycle = shortestCycle(edges);
  const arriving = new Set([...global.inFlight.values()].map((record) => record.to ?? -1));
  const mayEnd = global.omittedMessages > 0 || cycle.some((process) => arriving.has(process));
  if (edges.length === 0) return { children: [h("p", { class: "faint", text: t("waiting.none") }), permissions(global)], cycle, mayEnd };
  const names = (/** @type {number[]} */ all) => all.map((it) => `p${it}`).join(", ");
  const found =
    cycle.length > 0
      ? h(
          "p",
          { class: mayEnd ? "cycle" : "cycle for-good" },
          t("waiting.cycle", { cycle: [...cycle, cycle[0]].map((it) => `p${it}`).join(" → ") }),
          " ",
          h("span", { class: "faint", text: t(mayEnd ? "waiting.may-end" : "waiting.for-good") }),
        )
      : h("p", { class: "faint", text: t("waiting.no-cycle") });
  /** @type {Map<number, number[]>} */
  const awaited = new Map();
  for (const { from, to } of edges) awaited.set(from, [...(awaited.get(from) ?? []), to]);
  const lines = [...awaited].slice(0, LINES);
  const more = awaited.size - lines.length;
  const list = h(
    "ul",
    { class: "plain waits" },
    lines.map(([from, to]) => h("li", {}, t("waiting.line", { who: `p${from}`, whom: names(to) }))),
    more > 0 ? h("li", { class: "faint", text: t("waiting.more", { count: number(more) }) }) : null,
  );
  return { children: [found, picture(global, edges, cycle), list, permissions(global)], cycle, mayEnd };
}

/**
 * Lists where the votes and the token are; null for algorithms without them.
 * @param {import("../global-state.js").GlobalState} global
 */
function permissions(global) {
  const all = Array.from({ length: global.states.length }, (_, process) => process);
  const given = all.filter((process) => global.permission(process) !== null);
  const more = given.length - LINES;
  const line = (/** @type {number} */ process) => h("li", { class: "permission", text: permissionText(global.permission(process), process) });
  if (given.length === 0) return null;
  return h(
    "ul",
    { class: "plain waits permissions" },
    given.slice(0, LINES).map(line),
    more > 0 ? h("li", { class: "faint", text: t("waiting.more", { count: number(more) }) }) : null,
  );
}

/**
 * Says where the vote or the token of a process is.
 * @param {import("../global-state.js").Permission} permission
 * @param {number} process
 */
function permissionText(permission, process) {
  const who = `p${process}`;
  if (!Array.isArray(permission)) return t("permission.token", { who });
  const holders = permission.map((it) => `p${it}`).join(", ");
  return t(permission.includes(process) && permission.length === 1 ? "permission.own-vote" : "permission.vote", { who, holders });
}

/**
 * @param {import("../global-state.js").GlobalState} global
 * @param {import("../wait-for.js").Edge[]} edges
 * @param {number[]} cycle
 */
function picture(global, edges, cycle) {
  const involved = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const inCycle = new Set(edges.filter((it) => it.inCycle).flatMap(({ from, to }) => [from, to]));
  const all = [...(involved.size <= DRAWN ? involved : inCycle.size > 0 ? inCycle : involved)];
  const drawn = all.sort((a, b) => a - b).slice(0, DRAWN);
  const radius = drawn.length > 12 ? 10 : 14;
  const place = (/** @type {number} */ process) => {
    const angle = (2 * Math.PI * drawn.indexOf(process)) / drawn.length - Math.PI / 2;
    return {
      x: WIDTH / 2 + (WIDTH / 2 - radius - 8) * Math.cos(angle),
      y: HEIGHT / 2 + (HEIGHT / 2 - radius - 8) * Math.sin(angle),
    };
  };
  const onCycle = (/** @type {number} */ from, /** @type {number} */ to) => {
    const index = cycle.indexOf(from);
    return index >= 0 && cycle[(index + 1) % cycle.length] === to;
  };
  const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "wait-for", "aria-hidden": "true" });
  // Arrows of the cycle come last, in front of the others.
  const ordered = edges.filter(({ from, to }) => drawn.includes(from) && drawn.includes(to));
  ordered.sort((a, b) => Number(onCycle(a.from, a.to)) - Number(onCycle(b.from, b.to)));
  for (const edge of ordered) svg.append(arrow(place(edge.from), place(edge.to), radius, onCycle(edge.from, edge.to)));
  for (const process of drawn) {
    const { x, y } = place(process);
    const mark = global.up[process] === 1 ? (global.marks[process] ?? "") : "down";
    const node = s("g", { class: `node ${mark} ${cycle.includes(process) ? "in-cycle" : ""}` });
    const name = s("text", { x, y: y + 4 });
    name.textContent = `p${process}`;
    node.append(s("circle", { cx: x, cy: y, r: radius }), name);
    svg.append(node);
  }
  return svg;
}

/**
 * @param {{ x: number, y: number }} from
 * @param {{ x: number, y: number }} to
 * @param {number} radius
 * @param {boolean} inCycle
 */
function arrow(from, to, radius, inCycle) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.max(1, Math.hypot(dx, dy));
  const [ux, uy] = [dx / length, dy / length];
  // Arrows bend to one side, so that two processes that wait for each other have two arrows.
  const bend = Math.min(16, length / 6);
  const middle = { x: (from.x + to.x) / 2 - uy * bend, y: (from.y + to.y) / 2 + ux * bend };
  const end = pointTowards(to, middle, radius + 2);
  const start = pointTowards(from, middle, radius);
  const [hx, hy] = [end.x - middle.x, end.y - middle.y];
  const back = Math.max(1, Math.hypot(hx, hy));
  const [bx, by] = [(hx / back) * 7, (hy / back) * 7];
  const head = `M${end.x} ${end.y}L${end.x - bx - by * 0.45} ${end.y - by + bx * 0.45}L${end.x - bx + by * 0.45} ${end.y - by - bx * 0.45}Z`;
  const group = s("g", { class: inCycle ? "edge in-cycle" : "edge" });
  group.append(s("path", { class: "way", d: `M${start.x} ${start.y}Q${middle.x} ${middle.y} ${end.x} ${end.y}` }), s("path", { class: "head", d: head }));
  return group;
}

/**
 * @param {{ x: number, y: number }} from
 * @param {{ x: number, y: number }} to
 * @param {number} distance
 */
function pointTowards(from, to, distance) {
  const length = Math.max(1, Math.hypot(to.x - from.x, to.y - from.y));
  return { x: from.x + ((to.x - from.x) / length) * distance, y: from.y + ((to.y - from.y) / length) * distance };
}
