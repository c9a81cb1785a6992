// What can be done where somebody clicked in a diagram.

import { t } from "../texts.js";
import { exactly, readable } from "../time.js";

/**
 * @typedef {{ go: (time: number) => void,
 *   fault?: (kind: string, fault: string, at: { event: number } | { time: number }) => void }} Acts
 */

/**
 * A title, and what can be chosen: to go there, and what can be made to go wrong there.
 * @param {import("../drawing.js").Spot} spot
 * @param {boolean} isUp whether the process that was clicked is up
 * @param {Acts} acts
 * @returns {{ title: string, items: { label: string, act: () => void }[] }}
 */
export function deeds(spot, isUp, { go, fault }) {
  const { time, letter, process } = spot;
  const items = [{ label: t("menu.go", { time: readable(time) }), act: () => go(time) }];
  if (letter) {
    const { from, to, sent, event } = letter;
    const route = { from: `p${from}`, to: `p${to}`, time: readable(sent) };
    if (fault && from !== to) {
      const link = `${from}-${to}@${exactly(sent)}`;
      items.push({ label: t("menu.lose", route), act: () => fault("lose", link, { event }) });
      items.push({ label: t("menu.cut", route), act: () => fault("cut", link, { event }) });
    }
    return { title: letter.title, items };
  }
  if (process === null) return { title: readable(time), items };
  if (fault) {
    const key = isUp ? "crash" : "recover";
    const label = t(`menu.${key}`, { process: `p${process}`, time: readable(time) });
    items.push({ label, act: () => fault(key, `${process}@${exactly(time)}`, { time }) });
  }
  return { title: `p${process} · ${readable(time)}`, items };
}
