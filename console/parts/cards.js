// The algorithms as cards, with the assumptions, guarantees and cost of each.

import { h, fill } from "../dom.js";
import { cost, summary, t } from "../texts.js";
import { familyName, sentence } from "./describe.js";

/**
 * @param {import("../api.js").Catalogue} catalogue
 * @param {string} chosen
 * @param {(card: import("../api.js").Card) => void} choose
 */
export function cards(catalogue, chosen, choose) {
  const list = h("div", { class: "families" });
  const search = h("input", { type: "search", placeholder: t("cards.search"), "aria-label": t("cards.search") });
  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const fits = (/** @type {import("../api.js").Card} */ it) =>
      `${it.name} ${it.family} ${familyName(it.family)} ${it.summary} ${summary(it)} ${it.guarantees.join(" ")}`
        .toLowerCase()
        .includes(wanted);
    const found = catalogue.algorithms.filter(fits);
    const families = [...new Set(found.map((it) => it.family))];
    fill(
      list,
      families.map((family) =>
        h(
          "section",
          { "aria-label": familyName(family) },
          h("h2", { class: "label", text: familyName(family) }),
          h(
            "div",
            { class: "cards" },
            found.filter((it) => it.family === family).map((it) => card(catalogue, it, chosen, choose)),
          ),
        ),
      ),
      found.length === 0 ? h("p", { class: "faint", text: t("cards.none") }) : null,
    );
  };
  search.addEventListener("input", draw);
  draw();
  return h("div", { class: "gallery" }, search, list);
}

/**
 * @param {import("../api.js").Catalogue} catalogue
 * @param {import("../api.js").Card} it
 * @param {string} chosen
 * @param {(card: import("../api.js").Card) => void} choose
 */
function card(catalogue, it, chosen, choose) {
  return h(
    "button",
    {
      type: "button",
      class: `card${it.specimen ? " specimen" : ""}`,
      "data-algorithm": it.name,
      "aria-pressed": String(it.name === chosen),
      on: { click: () => choose(it) },
    },
    h("span", { class: "title", text: it.name }),
    it.specimen ? h("span", { class: "badge wrong", text: t("cards.specimen", { breaks: it.specimen.breaks }) }) : null,
    h("span", { class: "summary", text: summary(it) }),
    facts(catalogue, it),
  );
}

/**
 * Lists the assumptions, guarantees and cost of an algorithm.
 * @param {import("../api.js").Catalogue} catalogue
 * @param {import("../api.js").Card} it
 */
export function facts(catalogue, it) {
  const assumption = (/** @type {string} */ id) =>
    sentence("assumes", id, null, catalogue.assumptions.find((known) => known.id === id)?.sentence ?? id);
  const property = (/** @type {string} */ id) =>
    sentence(
      "property",
      id,
      it.family,
      catalogue.properties.find((known) => known.id === id && known.family === it.family)?.sentence ?? id,
    );
  const line = (/** @type {string} */ label, /** @type {any} */ ...content) =>
    h("span", { class: "fact" }, h("span", { class: "label", text: label }), h("span", {}, ...content));
  return h(
    "span",
    { class: "facts" },
    line(t("cards.assumes"), it.assumes.map(assumption).join("; ")),
    line(
      t("cards.guarantees"),
      it.guarantees
        .map((id) => h("abbr", { title: property(id), text: id }))
        .flatMap((it, place) => (place > 0 ? [", ", it] : [it])),
    ),
    line(t("cards.costs"), cost(it)),
  );
}
