// The hypercube along which nodes test each other.

import { s } from "../../dom.js";
import { t } from "../../texts.js";

/** @typedef {import("../../cluster-state.js").Member} Member */

/** @param {Member} member */
export function stateOf(member) {
  if (!member.up) return "down";
  return member.suspected ? "suspected" : "up";
}

/** Symbols of the states, so that colour is not the only cue. @type {Record<string, string>} */
export const SIGNS = { up: "", suspected: "?", down: "×" };

/**
 * Draws the hypercube: the numbers of neighbours differ in one bit.
 * @param {Member[]} members
 */
export function cube(members) {
  const [n, size, middle] = [members.length, 320, 160];
  const at = (/** @type {number} */ node) => {
    const turn = (2 * Math.PI * node) / Math.max(n, 1) - Math.PI / 2;
    return n === 1 ? { x: middle, y: middle } : { x: middle + 128 * Math.cos(turn), y: middle + 128 * Math.sin(turn) };
  };
  const drawing = s("svg", { viewBox: `0 0 ${size} ${size}`, class: "cube", role: "img" });
  drawing.setAttribute("aria-label", t("cluster.cube"));
  for (const one of members) {
    for (let bit = 1; bit < n; bit *= 2) {
      const other = one.node ^ bit;
      if (other <= one.node || other >= n) continue;
      const [a, b] = [at(one.node), at(other)];
      drawing.append(s("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y }));
    }
  }
  for (const member of members) {
    const { x, y } = at(member.node);
    const group = s("g", { class: stateOf(member) });
    const label = s("text", { x, y: y + 5 });
    label.textContent = `${member.node}${SIGNS[stateOf(member)]}`;
    group.append(s("circle", { cx: x, cy: y, r: n > 24 ? 11 : 18 }), label);
    drawing.append(group);
  }
  return drawing;
}
