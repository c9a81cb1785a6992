// The banner above the page: what is wrong with the cluster. The title of the tab repeats it.

import { h } from "../../dom.js";
import { formatDuration, formatMoment } from "../../durations.js";
import { keyedChildren, setText } from "../../keyed.js";
import { t } from "../../texts.js";

/** @typedef {import("../../cluster-alarms.js").Alarm} Alarm */

/** @returns {{ element: HTMLElement, show: (alarms: Alarm[], since: Date | null) => void }} */
export function banner() {
  // Only the sentences are announced: their order and number change rarely, but their age changes all the time.
  const list = h("ul", { class: "plain alarms" });
  const age = h("p", { class: "faint alarm-age" });
  const element = h("div", { class: "cluster-banner", hidden: true }, h("div", { role: "alert" }, list), age);
  const showAlarms = keyedChildren(list, (/** @type {Alarm} */ alarm) => alarm.id, alarmView);
  return {
    element,
    show: (alarms, since) => {
      element.hidden = alarms.length === 0;
      element.classList.toggle("warn", alarms.every(({ level }) => level === "warn"));
      showAlarms(alarms);
      const values = since && { time: formatMoment(since), age: formatDuration(Date.now() - since.getTime()) };
      setText(age, values ? t("alarm.as-of", values) : "");
    },
  };
}

/** @param {Alarm} alarm @returns {import("../../keyed.js").View<Alarm>} */
function alarmView(alarm) {
  // A symbol marks the level too, so that colour is not the only cue.
  const [text, detail] = [h("span"), h("small", { lang: "en" })];
  const sign = h("span", { class: "glyph", "aria-hidden": "true", text: alarm.level === "bad" ? "✗" : "!" });
  const element = h("li", { class: `alarm ${alarm.level}`, "data-alarm": alarm.id }, sign, h("div", {}, text, " ", detail));
  return {
    element,
    update: ({ text: now, detail: words }) => {
      setText(text, now);
      setText(detail, words);
    },
  };
}

/** Returns the title of the tab. @param {Alarm[]} alarms @param {string} page */
export function titleOf(alarms, page) {
  const title = `${page} · ${t("page.cluster")} · quorate`;
  if (alarms.length === 0) return title;
  const more = alarms.length > 1 ? ` +${alarms.length - 1}` : "";
  return `⚠ ${alarms[0].short}${more} · ${title}`;
}
