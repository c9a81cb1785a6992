// Open: paste or drop a scenario or a trace to show it. The input is treated as data and never executed as code.

import { get, post, postText } from "../api.js";
import { fill, h } from "../dom.js";
import { encode } from "../link.js";
import { RunView } from "../parts/run-view.js";
import { verdict } from "../parts/verdicts.js";
import { t } from "../texts.js";

/** Maximum size of a file; larger files are rejected. */
const BYTES_MOST = 32 << 20;

/** @type {import("../main.js").Page} */
export async function page(main, _rest, saved) {
  /** @type {RunView | null} */
  let runView = null;
  /** @type {import("../parts/run-view.js").Result | null} */
  let shown = null;
  const problem = h("div", { role: "alert" });
  const title = h("div", { class: "actions" });
  const place = h("div");
  const text = h("textarea", {
    rows: 9,
    spellcheck: "false",
    placeholder: t("open.placeholder"),
    "aria-label": t("open.text"),
    id: "pasted",
    value: saved?.text ?? "",
  });
  const file = h("input", { type: "file", accept: ".toml,.jsonl,.txt", "aria-label": t("open.file") });
  const show = h("button", { type: "button", class: "primary", id: "show" }, t("open.show"));
  const drop = h(
    "div",
    { class: "drop" },
    h("p", { text: t("open.drop") }),
    text,
    h("div", { class: "row" }, show, file),
  );

  const load = async (/** @type {string} */ content) => {
    fill(problem);
    runView?.destroy();
    [runView, shown] = [null, null];
    fill(place);
    fill(title);
    if (content.trim() === "") return;
    try {
      // A trace has one JSON object per line; a scenario never starts with a brace.
      const isTrace = content.trimStart().startsWith("{");
      const result = isTrace ? await postText("trace", content) : await post("run", { toml: content });
      display(result, undefined);
      place.scrollIntoView({ block: "nearest" });
    } catch (error) {
      fill(problem, h("p", { class: "problem", lang: "en", text: /** @type {Error} */ (error).message }));
    }
  };
  const display = (
    /** @type {import("../parts/run-view.js").Result} */ result,
    /** @type {import("../parts/run-view.js").SavedView | undefined} */ where,
  ) => {
    shown = result;
    runView = new RunView(result, { change: rerun, saved: where });
    fill(place, runView.element);
    fill(
      title,
      h("h2", { text: result.report?.algorithm ?? t("open.trace") }),
      result.report ? verdict(result.report) : null,
      result.scenario ? h("a", { class: "button", href: `#/run?${encode(result.scenario)}` }, t("lessons.open")) : null,
    );
  };
  const rerun = (/** @type {any} */ scenario) => {
    location.hash = `#/run?${encode(scenario)}`;
  };
  const read = async (/** @type {File | undefined} */ chosen) => {
    if (!chosen) return;
    if (chosen.size > BYTES_MOST) return fill(problem, h("p", { class: "problem", text: t("open.too-large") }));
    const content = await chosen.text();
    text.value = content.slice(0, 200_000);
    load(content);
  };
  show.addEventListener("click", () => load(text.value));
  file.addEventListener("change", () => read(file.files?.[0]));
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    read(event.dataTransfer?.files[0]);
  });

  const scenarioList = h("div", { class: "scenario-list" });
  const search = h("input", { type: "search", placeholder: t("open.search"), "aria-label": t("open.search") });
  fill(
    main,
    h("div", { class: "heading" }, h("h1", { text: t("open.title") }), h("p", { class: "lead", text: t("open.lead") })),
    h(
      "div",
      { class: "quorums" },
      drop,
      h("div", { class: "sheet" }, h("h2", { class: "label", text: t("open.shelf") }), search, scenarioList),
    ),
    problem,
    title,
    place,
  );
  /** @type {{ name: string, comment: string, toml: string }[]} */
  const known = await get("scenarios");
  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const found = known.filter((it) => `${it.name.replaceAll("-", " ")} ${it.comment}`.toLowerCase().includes(wanted));
    fill(
      scenarioList,
      found.map((it) => {
        const [folder, name] = it.name.replace(/\.toml$/, "").split("/");
        const pick = () => {
          text.value = it.toml;
          load(it.toml);
        };
        return h(
          "button",
          { type: "button", title: it.comment, lang: "en", on: { click: pick } },
          h("span", { text: (name ?? folder).replaceAll("-", " ") }),
          h("small", { text: folder }),
        );
      }),
    );
  };
  search.addEventListener("input", draw);
  draw();
  if (saved?.result) display(saved.result, saved.where);
  return {
    leave: () => runView?.destroy(),
    save: () => ({ text: text.value, result: shown, where: runView?.save() }),
  };
}
