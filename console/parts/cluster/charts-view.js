// Charts of the metrics that matter, sampled since the page was opened.

import { fill, h, s } from "../../dom.js";
import { formatDuration } from "../../durations.js";
import { setText } from "../../keyed.js";
import { gauge, rate } from "../../metrics.js";
import { number, t } from "../../texts.js";

/**
 * @typedef {import("../../metrics.js").Sample} Sample
 * @typedef {{ at: number, value: number }} Point
 */

const [WIDTH, HEIGHT, PAD] = [360, 110, 4];

/** Each chart: its text, and its points. @type {[string, (samples: Sample[]) => Point[]][]} */
const CHARTS = [
  ["charts.held", (samples) => gauge(samples, "held_locks")],
  ["charts.waiting", (samples) => gauge(samples, "waiting_requests")],
  ["charts.votes", (samples) => rate(samples, ["votes_total"])],
  ["charts.messages", (samples) => rate(samples, ["messages_sent_total"])],
  ["charts.sessions", (samples) => gauge(samples, "sessions")],
  ["charts.oldest", (samples) => gauge(samples, "oldest_holder_age_seconds")],
  ["charts.lost", (samples) => rate(samples, ["expired_grants_total", "revoked_grants_total", "losses_total"])],
  ["charts.trouble", (samples) => rate(samples, ["disk_failures_total", "stale_tokens_total", "detector_changes_total"])],
];

/** @returns {import("./view.js").View} */
export function chartsView() {
  const charts = CHARTS.map(([key, points]) => ({ ...chart(key), points }));
  const note = h("p", { class: "faint" });
  return {
    element: h(
      "div",
      { class: "cluster-view" },
      h("section", { class: "sheet", "data-part": "charts" }, h("h2", { text: t("charts.title") }), note, h("div", { class: "metric-charts" }, charts.map(({ element }) => element))),
    ),
    title: t("charts.title"),
    show: ({ samples, status }) => {
      const [first, last] = [samples[0], samples.at(-1)];
      if (first && last) setText(note, t("charts.span", { node: status?.node ?? "", time: formatDuration(last.at - first.at) }));
      for (const { show, points } of charts) show(points(samples));
    },
  };
}

/** @param {number} value */
function shown(value) {
  return number(value >= 100 ? Math.round(value) : Math.round(value * 10) / 10);
}

/** @param {string} key */
function chart(key) {
  const now = h("b");
  const most = h("small", { class: "faint" });
  const drawing = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "metric-chart", role: "img", preserveAspectRatio: "none" });
  const element = h("figure", {}, h("figcaption", {}, t(key), " ", now), drawing, most);
  return {
    element,
    show: (/** @type {Point[]} */ points) => {
      const last = points.at(-1);
      if (!last) return;
      const values = points.map(({ value }) => value);
      const top = Math.max(...values);
      setText(now, shown(last.value));
      const range = t("charts.range", { least: shown(Math.min(...values)), most: shown(top) });
      setText(most, range);
      drawing.setAttribute("aria-label", `${t(key)}: ${shown(last.value)}. ${range}`);
      const [begin, span] = [points[0].at, Math.max(1, last.at - points[0].at)];
      const x = (/** @type {Point} */ { at }) => PAD + ((at - begin) / span) * (WIDTH - 2 * PAD);
      const y = (/** @type {Point} */ { value }) => HEIGHT - PAD - (value / (top || 1)) * (HEIGHT - 2 * PAD);
      const line = points.map((point, index) => `${index ? "L" : "M"}${x(point).toFixed(1)} ${y(point).toFixed(1)}`).join("");
      const area = `${line}L${x(last).toFixed(1)} ${HEIGHT - PAD}L${PAD} ${HEIGHT - PAD}Z`;
      fill(drawing, s("path", { class: "area", d: area }), s("path", { class: "line", d: points.length > 1 ? line : `${line}h${WIDTH - 2 * PAD}` }));
    },
  };
}
