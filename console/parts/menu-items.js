// The menu items for a click in a diagram.

import { t } from "../texts.js";
import { formatExact, formatTime } from "../time.js";

/**
 * @typedef {{ go: (time: number) => void,
 *   fault?: (kind: string, fault: string, at: { event: number } | { time: number }) => void }} MenuActions
 */

/**
 * Returns the title and the items of the menu: go to that time, and the faults that can be injected there.
 * @param {import("../drawing.js").ClickTarget} target
 * @param {boolean} isUp whether the process that was clicked is up
 * @param {MenuActions} actions
 * @returns {{ title: string, items: { label: string, act: () => void }[] }}
 */
export function menuItems(target, isUp, { go, fault }) {
  const { time, message, process } = target;
  const items = [{ label: t("menu.go", { time: formatTime(time) }), act: () => go(time) }];
  if (message) {
    const { from, to, sent, event } = message;
    const route = { from: `p${from}`, to: `p${to}`, time: formatTime(sent) };
    if (fault && from !== to) {
      const link = `${from}-${to}@${formatExact(sent)}`;
      items.push({ label: t("menu.lose", route), act: () => fault("lose", link, { event }) });
      items.push({ label: t("menu.cut", route), act: () => fault("cut", link, { event }) });
    }
    return { title: message.title, items };
  }
  if (process === null) return { title: formatTime(time), items };
  if (fault) {
    const key = isUp ? "crash" : "recover";
    const label = t(`menu.${key}`, { process: `p${process}`, time: formatTime(time) });
    items.push({ label, act: () => fault(key, `${process}@${formatExact(time)}`, { time }) });
  }
  return { title: `p${process} · ${formatTime(time)}`, items };
}
