// The state of the cluster in a line of figures, above all views.

import { isCurrent } from "../../cluster-state.js";
import { h } from "../../dom.js";
import { setText } from "../../keyed.js";
import { endpoint } from "../../lock-names.js";
import { number, t } from "../../texts.js";

const UNKNOWN = "–";

/** @returns {{ element: HTMLElement, show: (known: import("../../cluster-state.js").Known) => void }} */
export function summary() {
  const keys = ["summary.nodes", "summary.held", "summary.waiting", "summary.node"];
  const values = keys.map(() => h("b"));
  const element = h(
    "dl",
    { class: "cluster-summary" },
    keys.map((key, index) => h("div", { "data-figure": key }, h("dt", { text: t(key) }), h("dd", {}, values[index]))),
  );
  return {
    element,
    show: (known) => {
      const { status, locks, lostAt } = known;
      const up = status && !lostAt ? status.members.filter((member) => member.up && !member.suspected).length : null;
      const now = isCurrent(known) && locks ? locks : null;
      const texts = [
        status ? t("summary.of", { up: up ?? UNKNOWN, all: status.members.length }) : UNKNOWN,
        now ? number(now.filter(({ holder }) => holder).length) : UNKNOWN,
        now ? number(now.reduce((sum, { queue }) => sum + queue.length, 0)) : UNKNOWN,
        status ? `${status.node} · ${endpoint(status, location)}` : UNKNOWN,
      ];
      texts.forEach((text, index) => setText(values[index], text));
    },
  };
}
