// The changes of holders since the page was opened.

import { lockAddress } from "../../cluster.js";
import { fill, h } from "../../dom.js";
import { formatMoment } from "../../durations.js";
import { keyedChildren } from "../../keyed.js";
import { t } from "../../texts.js";
import { nameLink } from "./names.js";

/** @typedef {import("../../cluster-state.js").Change & { kind?: string }} Change */

/** @returns {{ element: HTMLElement, show: (changes: Change[]) => void }} */
export function recentChanges() {
  /** @type {WeakMap<Change, string>} */
  const keys = new WeakMap();
  let count = 0;
  const keyOf = (/** @type {Change} */ change) => {
    if (!keys.has(change)) keys.set(change, String((count += 1)));
    return keys.get(change) ?? "";
  };
  const list = h("ul", { class: "plain changes" });
  const none = h("p", { class: "lead", text: t("cluster.quiet") });
  const showChanges = keyedChildren(list, keyOf, changeView);
  return {
    element: h("section", { class: "sheet", "data-part": "recent" }, h("h2", { text: t("cluster.recent") }), none, list),
    show: (changes) => {
      none.hidden = changes.length > 0;
      showChanges(changes);
    },
  };
}

/** @param {Change} change */
function changeView({ at, name, holder }) {
  const element = h("li");
  const words = holder ? [h("b", { dir: "auto", text: holder.who }), holder.why ? `: ${holder.why}` : ""] : [h("span", { class: "faint", text: t("cluster.freed") })];
  fill(
    element,
    h("time", { class: "faint", datetime: at.toISOString(), text: formatMoment(at) }),
    // A release does not tell the kind, and the page of the lock is right for most.
    h("span", { class: "change-name" }, nameLink(lockAddress(holder?.kind ?? "lock", name), name)),
    h("span", { class: "change-holder" }, words),
    h("span", { class: "faint", text: holder ? t("cluster.token-number", { token: holder.token ?? "" }) : "" }),
  );
  return { element, update: () => {} };
}
