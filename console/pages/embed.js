// A run for the frame of another page: read-only, with a link to the lab.

import { post } from "../api.js";
import { fill, h } from "../dom.js";
import { decode, encode, splitRoute } from "../link.js";
import { RunView } from "../parts/run-view.js";
import { verdict } from "../parts/verdicts.js";
import { t } from "../texts.js";

/** @type {import("../main.js").Page} */
export async function page(main, rest, saved) {
  const route = splitRoute(rest);
  const scenario = decode(route.scenario);
  /** @type {import("../parts/run-view.js").Result} */
  const result = saved?.result ?? (await post("run", { scenario }));
  const runView = new RunView(result, { saved: saved?.where });
  const at = () => (runView.player.position >= 0 ? `&at=${runView.player.position + 1}` : "");
  const open = h("a", { class: "button quiet", target: "_blank", rel: "noopener", href: "#" }, t("embed.open"));
  const updateLink = () => open.setAttribute("href", `.#/run?${encode(result.scenario ?? scenario)}${at()}`);
  runView.player.addEventListener("move", updateLink);
  fill(
    main,
    h(
      "div",
      { class: "title-row" },
      h("div", { class: "heading" }, h("h1", { text: String(scenario.algorithm ?? "") }), result.report ? verdict(result.report) : null),
      open,
    ),
    runView.element,
  );
  if (!saved && route.at > 0) runView.player.go(route.at - 1);
  updateLink();
  return { leave: () => runView.destroy(), save: () => ({ result, where: runView.save() }) };
}
