// The properties of a run, so far and at the end, its assumptions, and its measured cost next to the formula.

import { h } from "../dom.js";
import { formula, number, t } from "../texts.js";
import { formatTime } from "../time.js";
import { sentence } from "./describe.js";

/**
 * @typedef {{ id: string, status: string, detail: string, promised: boolean, time?: number,
 *   events?: { event: number, time: number, process: number, what: string }[] }} Property
 * @typedef {{ total: number, self: number, by_kind: Record<string, number>, bytes?: number }} Messages
 * @typedef {{ algorithm: string, family: string, processes: number, seed: number, verdict: string,
 *   properties: Property[], assumptions: { id: string, sentence: string, met: boolean, broken_by?: string }[],
 *   messages: Messages, layers: Record<string, Messages>, lost: Record<string, number>, entries: number,
 *   cost: { formula: string, per: string, promised_per_entry: [number, number], per_entry: number | null, kept: boolean | null },
 *   virtual_time: number, events: number, ending: string, waiting: number[] }} Report
 */

/**
 * Returns the event at which a property was violated; -1 if the report names none.
 * @param {Property} property
 */
export function violationEvent(property) {
  const events = (property.events ?? []).map((it) => it.event);
  return events.length > 0 ? Math.max(...events) : -1;
}

/**
 * @param {Report} report
 * @param {{ time: number, event: number, atEnd: boolean }} now
 * @param {(event: number) => void} go
 */
export function properties(report, now, go) {
  const row = (/** @type {Property} */ property) => {
    const violated = property.status === "violated";
    const reached = violated && now.time >= (property.time ?? 0) && now.event >= violationEvent(property);
    const shownStatus = reached || (now.atEnd && violated) ? "violated" : property.status === "not-checked" ? "open" : "holds";
    const words = shownStatus === "holds" && !now.atEnd ? t("status.so-far") : t(`status.${shownStatus}`);
    const glyph = { violated: "✕", open: "–", holds: "✓" }[shownStatus];
    return h(
      "li",
      { class: `property ${shownStatus}` },
      h("span", { class: "glyph", "aria-hidden": "true", text: glyph }),
      h(
        "div",
        {},
        h("strong", { text: property.id }),
        " ",
        h("span", { class: "status", text: words }),
        h("div", { class: "faint", text: sentence("property", property.id, report.family, "") }),
        shownStatus === "open" && !property.promised
          ? h("div", { class: "faint", text: t("status.not-promised", { id: property.id }) })
          : shownStatus === "violated" || shownStatus === "open"
            ? h("div", { class: shownStatus === "violated" ? "detail" : "faint", lang: "en", text: property.detail })
            : null,
        violated
          ? h(
              "button",
              { type: "button", class: "link", on: { click: () => go(violationEvent(property)) } },
              t("status.show", { time: formatTime(property.time ?? 0) }),
            )
          : null,
      ),
    );
  };
  return [h("ul", { class: "plain properties" }, report.properties.map(row))];
}

/** @param {Report} report */
export function assumptions(report) {
  if (report.assumptions.length === 0) return [];
  const row = (/** @type {Report["assumptions"][0]} */ it) =>
    h(
      "li",
      { class: it.met ? "holds" : "violated" },
      h("span", { class: "glyph", "aria-hidden": "true", text: it.met ? "✓" : "✕" }),
      h(
        "div",
        {},
        sentence("assumes", it.id, null, it.sentence),
        it.broken_by ? h("div", { class: "detail" }, t("assumptions.broken"), " ", h("span", { lang: "en", text: it.broken_by })) : null,
      ),
    );
  return [h("ul", { class: "plain properties" }, report.assumptions.map(row))];
}

/**
 * @param {Report} report
 * @param {import("../global-state.js").GlobalState} global
 */
export function counts(report, global) {
  const kinds = Object.entries(report.messages.by_kind);
  for (const layer of Object.values(report.layers)) kinds.push(...Object.entries(layer.by_kind));
  const row = (/** @type {[string, number]} */ [kind, total]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("span", { class: "kind", text: kind })),
      h("td", { class: "number", text: number(global.sent.get(kind) ?? 0) }),
      h("td", { class: "number", text: number(total) }),
    );
  const { cost } = report;
  const [least, most] = cost.promised_per_entry;
  const promised = least === most ? number(least) : `${number(least)} … ${number(most)}`;
  const per = t(`per.${cost.per}`);
  return [
    h(
      "table",
      { class: "counts" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col", text: t("counts.kind") }),
          h("th", { scope: "col", class: "number", text: t("counts.so-far") }),
          h("th", { scope: "col", class: "number", text: t("counts.total") }),
        ),
      ),
      h("tbody", {}, kinds.map(row)),
    ),
    h(
      "dl",
      { class: "cost" },
      h("dt", { text: t("counts.formula", { per }) }),
      h("dd", {}, h("code", { text: formula(cost.formula) }), ` = ${promised}`),
      cost.per_entry === null ? null : h("dt", { text: t("counts.measured", { per }) }),
      cost.per_entry === null
        ? null
        : h(
            "dd",
            { class: cost.kept === false ? "violated" : cost.kept ? "holds" : "" },
            number(Number(cost.per_entry.toFixed(2))),
            cost.kept === null ? "" : cost.kept ? ` ✓ ${t("counts.kept")}` : ` ✕ ${t("counts.not-kept")}`,
          ),
    ),
  ];
}

/** @param {Report} report */
export function verdict(report) {
  const glyph = { holds: "✓", violated: "✕", "outside-assumptions": "△" }[report.verdict] ?? "";
  const broken = report.properties.filter((it) => it.status === "violated").map((it) => it.id);
  const key = report.verdict === "violated" ? "verdict.violated" : `verdict.${report.verdict}`;
  return h(
    "span",
    { class: `verdict ${report.verdict}` },
    h("span", { "aria-hidden": "true", text: `${glyph} ` }),
    t(key, { which: broken.join(", ") }),
  );
}
