// The state of a process as a table of fields, with the fields highlighted that the last event changed.

import { fields } from "../debug.js";
import { h } from "../dom.js";
import { t } from "../texts.js";

/**
 * @param {string | undefined} text
 * @param {string | undefined} before
 */
export function stateTable(text, before) {
  if (text === undefined) return h("p", { class: "faint", text: t("state.unknown") });
  const old = new Map(before === undefined ? [] : fields(before));
  const row = (/** @type {[string, string]} */ [name, value]) => {
    const was = old.get(name);
    const changed = before !== undefined && was !== value;
    return h(
      "tr",
      { class: changed ? "changed" : undefined },
      h("th", { scope: "row", text: name }),
      h(
        "td",
        {},
        changed && was !== undefined && was.length + value.length < 90 ? h("del", { text: was }) : null,
        changed && was !== undefined && was.length + value.length < 90 ? " → " : null,
        h("code", { text: value }),
      ),
    );
  };
  return h("table", { class: "state" }, h("tbody", {}, fields(text).map(row)));
}
