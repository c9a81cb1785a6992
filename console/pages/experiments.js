// Experiments: start one, follow its progress, and read its tables and charts.

import { get, post, remove } from "../api.js";
import { field, fill, h } from "../dom.js";
import { number, t, tOr } from "../texts.js";

/**
 * @typedef {{ name: string, summary: string, seeds: number, sizes: [number, number, number] | null, draws: boolean }} Experiment
 * @typedef {{ id: number, name: string, state: "running" | "done" | "failed", done: number, cells: number, problem: string | null,
 *   blocks?: { title: string, head: string[], rows: string[][] }[], notes?: string[],
 *   charts?: { name: string, title: string, description: string }[] }} Job
 */

/** Returns the colour theme for charts; `auto` follows the browser's preference. */
function theme() {
  return document.documentElement.dataset.theme ?? "auto";
}

/** @type {import("../main.js").Page} */
export async function page(main, rest) {
  /** @type {Experiment[]} */
  const all = await get("experiments");
  /** @type {EventSource | null} */
  let progressSource = null;
  const problem = h("div", { role: "alert" });
  const job = h("div", { class: "job" });
  const choices = h("div", { class: "choices" });
  fill(
    main,
    h(
      "div",
      { class: "heading" },
      h("h1", { text: t("page.experiments") }),
      h("p", { class: "lead", text: t("experiments.lead") }),
    ),
    problem,
    job,
    choices,
  );

  const choice = (/** @type {Experiment} */ it) => {
    // The initial values use fewer seeds and processes than the defaults, so that a first run does not take minutes.
    const seeds = h("input", { type: "number", min: 1, max: 1000, value: Math.min(it.seeds, 3) });
    const [least, usual, most] = it.sizes ?? [1, 1, 1];
    const size = h("input", { type: "number", min: least, max: most, value: Math.max(least, Math.min(usual, 16)) });
    const begin = async () => {
      fill(problem);
      try {
        const request = { name: it.name, seeds: Number(seeds.value), up_to: it.sizes ? Number(size.value) : undefined };
        watch((await post("experiments", request)).id);
      } catch (error) {
        fill(problem, h("p", { class: "problem", lang: "en", text: /** @type {Error} */ (error).message }));
      }
    };
    return h(
      "section",
      { class: "sheet choice", "data-experiment": it.name },
      h("div", {}, h("h2", { text: it.name }), h("p", { class: "faint", text: tOr(`experiment.${it.name}`, it.summary) })),
      h(
        "div",
        { class: "fields" },
        field(t("experiments.seeds", { usual: it.seeds }), seeds),
        it.sizes ? field(t("experiments.up-to", { usual }), size) : h("span"),
        h("button", { type: "button", class: "primary", on: { click: begin } }, t("experiments.start")),
      ),
    );
  };

  const watch = (/** @type {number} */ id) => {
    history.replaceState(null, "", `#/experiments?job=${id}`);
    progressSource?.close();
    progressSource = new EventSource(`api/experiments/${id}/progress`);
    progressSource.onmessage = async (event) => {
      /** @type {Job} */
      const now = JSON.parse(event.data);
      if (now.state === "running") return progress(now);
      progressSource?.close();
      show(await get(`experiments/${id}`));
    };
    progressSource.onerror = () => progressSource?.close();
    window.scrollTo({ top: 0 });
  };

  const progress = (/** @type {Job} */ now) => {
    const cancel = h(
      "button",
      { type: "button", on: { click: () => remove(`experiments/${now.id}`) } },
      t("run.cancel"),
    );
    const words = t("experiments.progress", { name: now.name, done: number(now.done), all: number(now.cells) });
    fill(
      job,
      h(
        "div",
        { class: "sheet progress" },
        h("div", { class: "row" }, h("strong", { text: words }), h("span", { class: "space" }), cancel),
        h("progress", { max: Math.max(now.cells, 1), value: now.done, "aria-label": words }),
      ),
    );
  };

  const show = (/** @type {Job} */ it) => {
    if (it.state === "failed") return fill(job, h("p", { class: "problem", lang: "en", text: it.problem ?? "" }));
    const block = (/** @type {NonNullable<Job["blocks"]>[0]} */ { title, head, rows }) => {
      // A heading that starts with a space marks a numeric column.
      const kind = (/** @type {number} */ column) => (head[column]?.startsWith(" ") ? "number" : undefined);
      return h(
        "div",
        { class: "block", lang: "en" },
        h("h2", { text: title }),
        h(
          "div",
          { class: "scroll" },
          h(
            "table",
            {},
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                head.map((name, column) => h("th", { scope: "col", class: kind(column), text: name.trim() })),
              ),
            ),
            h(
              "tbody",
              {},
              rows.map((row) =>
                h(
                  "tr",
                  {},
                  row.map((cell, column) => h("td", { class: kind(column), text: cell })),
                ),
              ),
            ),
          ),
        ),
      );
    };
    fill(
      job,
      h(
        "div",
        { class: "row" },
        h("h2", { text: it.name }),
        h("span", { class: "space" }),
        h(
          "a",
          { class: "button", href: `api/experiments/${it.id}/table.csv`, download: `${it.name}.csv` },
          t("experiments.csv"),
        ),
      ),
      h(
        "div",
        { class: "charts" },
        (it.charts ?? []).map((chart) =>
          h(
            "figure",
            {},
            h("img", {
              src: `api/experiments/${it.id}/charts/${chart.name}.svg?theme=${theme()}`,
              alt: `${chart.title}. ${chart.description}`,
              lang: "en",
            }),
          ),
        ),
      ),
      h(
        "div",
        { class: "sheet" },
        (it.blocks ?? []).map(block),
        (it.notes ?? []).map((note) => h("p", { class: "faint", lang: "en", text: note })),
      ),
    );
  };

  fill(choices, all.map(choice));
  const id = Number(new URLSearchParams(rest).get("job"));
  if (id > 0) {
    await get(`experiments/${id}`).then(
      (it) => (it.state === "running" ? watch(id) : show(it)),
      () => {},
    );
  }
  return { leave: () => progressSource?.close() };
}
