// Messages that have left and not arrived.

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { readable } from "../time.js";
import { number, t } from "../texts.js";

const SHOWN = 40;

/**
 * @param {import("../scene.js").Scene} scene
 * @param {((record: import("../scene.js").Record) => void) | undefined} cut
 */
export function messages(scene, cut) {
  const shown = first(scene.underWay.values(), SHOWN);
  const more = scene.messages - shown.length;
  if (scene.messages === 0) return [h("p", { class: "faint", text: t("messages.none") })];
  const row = (/** @type {import("../scene.js").Record} */ record) => {
    const label = t("messages.cut", { from: `p${record.from}`, to: `p${record.to}` });
    return h(
      "tr",
      {},
      h("td", {}, h("span", { class: "kind", text: record.kind ?? "" })),
      h("td", { class: "route", text: `p${record.from} → p${record.to}` }),
      h("td", { class: "number faint", text: readable(record.time) }),
      h("td", { class: "body" }, h("code", { text: record.body ?? "" })),
      h(
        "td",
        {},
        cut && record.from !== record.to
          ? h(
              "button",
              { type: "button", class: "deed", title: label, "aria-label": label, on: { click: () => cut(record) } },
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
 * The first of many, without going through all of them.
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
 * What each detector believes, and whether it is so.
 * @param {import("../scene.js").Scene} scene
 */
export function beliefs(scene) {
  const rows = [];
  for (let observer = 0; observer < scene.suspects.length && rows.length < 64; observer += 1) {
    const suspects = [...scene.suspects[observer]].sort((a, b) => a - b);
    if (suspects.length === 0) continue;
    const who = suspects.map((it) => {
      const wrong = scene.up[it] === 1;
      const title = wrong ? t("beliefs.wrong", { who: `p${it}` }) : undefined;
      return h("span", { class: wrong ? "badge wrong" : "badge", title }, `p${it}${wrong ? " ?" : ""}`);
    });
    rows.push(h("li", {}, h("strong", { text: `p${observer}` }), ` ${t("beliefs.believes")} `, who));
  }
  if (rows.length === 0) return [h("p", { class: "faint", text: t("beliefs.none") })];
  return [h("ul", { class: "plain" }, rows)];
}
