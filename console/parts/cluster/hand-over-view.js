// The space-time diagram of a lock's last hand-overs: a line for each node, and on it the time for which it gave its vote.

import { fill, h, s } from "../../dom.js";
import { formatDuration, formatMoment } from "../../durations.js";
import { handOvers, positions } from "../../hand-overs.js";
import { t } from "../../texts.js";

/** @typedef {import("../../hand-overs.js").Records} Records */

const [LANE, TOP, LEFT, COLUMN, BAR] = [44, 40, 46, 15, 18];
/** Shortest pause that is written out, in milliseconds. */
const PAUSE_MS = 50;

/** @returns {{ element: HTMLElement, show: (records: Records, at: number) => void }} */
export function handOverView() {
  const [picture, legend, list] = [h("div", { class: "scroll hand-overs", role: "group", tabindex: "0" }), h("ul", { class: "plain hand-over-legend" }), h("ol")];
  const silent = h("p", { class: "faint" });
  const steps = h("details", { class: "more" }, h("summary", { text: t("happened.steps") }), list);
  const element = h("div", {}, h("p", { class: "faint", text: t("happened.note") }), picture, legend, silent, steps);
  return {
    element,
    show: (records, at) => {
      const { shown, events, stays } = handOvers(records);
      // The letters follow the order in which the requests came.
      const letters = new Map([...shown].reverse().map((request, index) => [request, String.fromCharCode(65 + index)]));
      const label = (/** @type {number} */ request) => `${letters.get(request)}`;
      picture.hidden = steps.hidden = events.length === 0;
      fill(picture, drawing(records, { events, stays }, label, at));
      picture.setAttribute("aria-label", t("happened.title"));
      fill(
        legend,
        [...letters].map(([request, letter], index) => {
          const { who, place, why, token } = records.requests[request];
          const texts = [who || t("lock.nameless"), why, place, token === null ? "" : t("cluster.token-number", { token })];
          return h("li", {}, h("span", { class: `hand-over-key key-${index}`, text: letter }), " ", texts.filter(Boolean).join(" · "));
        }),
      );
      fill(silent, records.silent.length > 0 ? t("happened.silent", { nodes: records.silent.join(", ") }) : "");
      fill(
        list,
        events.map((event) => {
          const who = `${label(event.request)} (${records.requests[event.request].who || t("lock.nameless")})`;
          const how = event.what === "given" ? "given" : (event.end ?? "moved");
          return h("li", {}, h("time", { text: precise(at - event.at) }), " ", t(`happened.${how}`, { node: event.node, who }));
        }),
      );
    },
  };
}

/** A time of the day with milliseconds. @param {number} ms */
function precise(ms) {
  const at = new Date(ms);
  return `${formatMoment(at)} +${String(at.getMilliseconds()).padStart(3, "0")} ms`;
}

/**
 * @param {Records} records
 * @param {Pick<ReturnType<typeof handOvers>, "events" | "stays">} what
 * @param {(request: number) => string} label
 * @param {number} at
 */
function drawing(records, { events, stays }, label, at) {
  const nodes = records.voters.map(({ node }) => node).sort((a, b) => a - b);
  const { columns, end } = positions(events, COLUMN);
  const [width, height] = [LEFT + end + 24, TOP + nodes.length * LANE + 8];
  const x = (/** @type {number} */ column) => LEFT + 8 + columns[column];
  const y = (/** @type {number} */ node) => TOP + (nodes.indexOf(node) + 0.5) * LANE;
  const picture = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", class: "hand-over-picture" });
  picture.setAttribute("aria-label", t("happened.picture", { count: events.length, nodes: nodes.length }));
  const text = (/** @type {string} */ kind, /** @type {number} */ left, /** @type {number} */ top, /** @type {string} */ words) => {
    const element = s("text", { class: kind, x: left, y: top });
    element.textContent = words;
    picture.append(element);
    return element;
  };
  events.forEach(({ at: age }, column) => {
    const before = events[column - 1];
    picture.append(s("line", { class: "moment", x1: x(column), x2: x(column), y1: TOP - 6, y2: height - 8 }));
    if (column === 0) text("time first", x(0), 14, formatMoment(new Date(at - age)));
    else if (before.at - age >= PAUSE_MS) text("time", (x(column - 1) + x(column)) / 2, TOP - 10, formatDuration(before.at - age));
  });
  for (const node of nodes) {
    picture.append(s("line", { class: "lane", x1: LEFT - 6, x2: width - 8, y1: y(node), y2: y(node) }));
    text("lane-name", 4, y(node) + 4, `n${node}`);
  }
  const order = [...new Set(stays.map(({ request }) => request))].sort((a, b) => label(a).localeCompare(label(b)));
  for (const { node, request, from, to, end: how } of stays) {
    const [left, right] = [x(from), to === null ? width - 8 : x(to)];
    const bar = s("rect", { class: `stay key-${order.indexOf(request)}${to === null ? " lasts" : ""}`, x: left, y: y(node) - BAR / 2, width: Math.max(3, right - left), height: BAR, rx: 4 });
    const title = s("title", {});
    title.textContent = t("happened.stay", { node, who: `${label(request)} (${records.requests[request].who || t("lock.nameless")})`, end: t(`lock.end.${how ?? "holds"}`) });
    bar.append(title);
    picture.append(bar);
    if (right - left >= 12) text("stay-name", (left + right) / 2, y(node) + 4, label(request));
    // An end that the client has not wished is marked by a cross.
    if (to !== null && (how === "expired" || how === "revoked")) text("stay-cross", right, y(node) + 5, "✗");
  }
  return picture;
}
