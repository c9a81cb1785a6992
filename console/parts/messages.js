// Panels for the messages in flight and for the suspicions of the failure detectors.

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { formatTime } from "../time.js";
import { number, t } from "../texts.js";

const SHOWN = 40;

/**
 * @param {import("../global-state.js").GlobalState} global
 * @param {((record: import("../global-state.js").Record) => void) | undefined} cut
 */
export function messages(global, cut) {
  const shown = first(global.inFlight.values(), SHOWN);
  const more = global.messagesInFlight - shown.length;
  if (global.messagesInFlight === 0) return [h("p", { class: "faint", text: t("messages.none") })];
  const row = (/** @type {import("../global-state.js").Record} */ record) => {
    const label = t("messages.cut", { from: `p${record.from}`, to: `p${record.to}` });
    return h(
      "tr",
      {},
      h("td", {}, h("span", { class: "kind", text: record.kind ?? "" })),
      h("td", { class: "route", text: `p${record.from} → p${record.to}` }),
      h("td", { class: "number faint", text: formatTime(record.time) }),
      h("td", { class: "body" }, h("code", { text: record.body ?? "" })),
      h(
        "td",
        {},
        cut && record.from !== record.to
          ? h(
              "button",
              { type: "button", class: "fault-button", title: label, "aria-label": label, on: { click: () => cut(record) } },
              icon("cut"),
            )
          : null,
      ),
    );
  };
  if (shown.length === 0) return [h("p", { class: "faint", text: t("messages.untold", { count: number(more) }) })];
  const head = ["messages.kind", "messages.route", "messages.sent", "messages.body", ""];
  return [
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "messages" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((key) => h("th", { scope: "col", text: key && t(key) })),
          ),
        ),
        h("tbody", {}, shown.map(row)),
      ),
    ),
    more > 0 ? h("p", { class: "faint", text: t("messages.more", { count: number(more) }) }) : null,
  ];
}

/**
 * Returns the first items without iterating over all of them.
 * @template T
 * @param {Iterable<T>} all
 * @param {number} most
 */
function first(all, most) {
  const found = [];
  for (const one of all) {
    if (found.length >= most) break;
    found.push(one);
  }
  return found;
}

/**
 * Lists the suspicions of each failure detector and marks the wrong ones.
 * @param {import("../global-state.js").GlobalState} global
 */
export function beliefs(global) {
  const rows = [];
  for (let observer = 0; observer < global.suspects.length && rows.length < 64; observer += 1) {
    const suspects = [...global.suspects[observer]].sort((a, b) => a - b);
    if (suspects.length === 0) continue;
    const who = suspects.map((it) => {
      const wrong = global.up[it] === 1;
      const title = wrong ? t("beliefs.wrong", { who: `p${it}` }) : undefined;
      return h("span", { class: wrong ? "badge wrong" : "badge", title }, `p${it}${wrong ? " ?" : ""}`);
    });
    rows.push(h("li", {}, h("strong", { text: `p${observer}` }), ` ${t("beliefs.believes")} `, who));
  }
  if (rows.length === 0) return [h("p", { class: "faint", text: t("beliefs.none") })];
  return [h("ul", { class: "plain" }, rows)];
}
