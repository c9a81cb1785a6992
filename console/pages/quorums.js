// Quorums: fail processes with a click, and see which quorums still intersect.

import { catalogue, get } from "../api.js";
import { field, fill, h, select } from "../dom.js";
import { parse } from "../drawing.js";
import { language, number, t, tOr } from "../texts.js";

/**
 * @typedef {{ process: number, members: number[] | null }} ProcessQuorum
 * @typedef {{ process: number, failed: number[], members: number[] | null }} QuorumInView
 * @typedef {{ first: QuorumInView, second: QuorumInView }} QuorumPair
 * @typedef {{ process: number, failed: number[], quorum: number[], further: number, after: number[] | null }} NonMonotoneStep
 * @typedef {{ system: string, processes: number, failed: number[], quorums: ProcessQuorum[], without_quorum: number[],
 *   size: { min: number, max: number }, degree: { min: number, max: number }, load: number | null, minimal: boolean,
 *   meets_within_view: boolean, meets_across_views: boolean, exhaustive: boolean, views: number,
 *   monotone: boolean, not_monotone: NonMonotoneStep | null,
 *   apart_within_view: QuorumPair | null, apart_across_views: QuorumPair | null, apart_after_crashes: QuorumPair | null,
 *   survives: any, picture?: string }} QuorumReport
 */

/** Maximum number of processes for which the matrix is shown; larger ones are unreadable. */
const MATRIX_MOST = 64;

/** @type {import("../main.js").Page} */
export async function page(main, rest) {
  const known = await catalogue();
  const query = new URLSearchParams(rest);
  const view = {
    system: query.get("system") ?? "vcube",
    n: Number(query.get("n") ?? 8),
    failed: new Set((query.get("failed") ?? "").split(",").filter(Boolean).map(Number)),
    shown: Number(query.get("process") ?? 0),
  };
  /** The failed processes of the view to compare with; default: none. @type {Set<number>} */
  let before = new Set((query.get("before") ?? "").split(",").filter(Boolean).map(Number));

  const controls = h("div", { class: "setup-panel" });
  const problem = h("div", { role: "alert" });
  const nodes = h("div", { class: "nodes" });
  const picture = h("div", { class: "picture" });
  const verdicts = h("div", { class: "sheet" });
  const list = h("div", { class: "sheet" });
  const matrix = h("div", { class: "sheet" });
  fill(
    main,
    h(
      "div",
      { class: "heading" },
      h("h1", { text: t("page.quorums") }),
      h("p", { class: "lead", text: t("quorums.lead") }),
    ),
    controls,
    problem,
    h(
      "div",
      { class: "quorums" },
      h("div", { class: "sheet" }, h("h2", { class: "label", text: t("quorums.processes") }), nodes, picture),
      verdicts,
      matrix,
      list,
    ),
  );

  /** @param {Iterable<number>} set */
  const sorted = (set) => [...set].sort((a, b) => a - b);
  const ask = (/** @type {Set<number>} */ failed) =>
    get(
      `quorum?${new URLSearchParams({ system: view.system, n: String(view.n), failed: sorted(failed).join(), process: String(view.shown), language })}`,
    );

  const load = async () => {
    for (const set of [view.failed, before]) for (const process of set) if (process >= view.n) set.delete(process);
    if (view.shown >= view.n) view.shown = 0;
    const words = new URLSearchParams({ system: view.system, n: String(view.n) });
    if (view.failed.size > 0) words.set("failed", sorted(view.failed).join());
    if (before.size > 0) words.set("before", sorted(before).join());
    if (view.shown !== 0) words.set("process", String(view.shown));
    history.replaceState(null, "", `#/quorums?${words.toString().replaceAll("%2C", ",")}`);
    fill(problem);
    try {
      const [now, old] = await Promise.all([ask(view.failed), ask(before)]);
      draw(now, old);
    } catch (error) {
      fill(problem, h("p", { class: "problem", lang: "en", text: /** @type {Error} */ (error).message }));
    }
  };

  const drawControls = () => {
    const system = select(
      known.quorums.map((value) => ({ value, label: value })),
      view.system,
      { "data-key": "system" },
    );
    system.addEventListener("change", () => {
      view.system = system.value;
      load();
    });
    const n = h("input", { type: "number", min: 1, max: 256, value: view.n, "data-key": "n" });
    n.addEventListener("change", () => {
      view.n = Number(n.value);
      load();
    });
    const heal = h(
      "button",
      {
        type: "button",
        on: {
          click: () => {
            view.failed.clear();
            load();
          },
        },
      },
      t("quorums.heal"),
    );
    const keep = h(
      "button",
      {
        type: "button",
        on: {
          click: () => {
            before = new Set(view.failed);
            load();
          },
        },
      },
      t("quorums.keep"),
    );
    fill(
      controls,
      h(
        "div",
        { class: "fields" },
        field(t("key.quorums"), system),
        field(t("key.processes"), n),
        h("div", { class: "row" }, heal, keep),
      ),
    );
  };

  const fail = (/** @type {number} */ process) => {
    if (!view.failed.delete(process)) view.failed.add(process);
    load();
  };

  const showPair = (/** @type {QuorumPair} */ pair) => {
    before = new Set(pair.first.failed);
    view.failed = new Set(pair.second.failed);
    view.shown = pair.second.process;
    load();
  };

  const draw = (/** @type {QuorumReport} */ now, /** @type {QuorumReport} */ old) => {
    const ownQuorum = new Set(now.quorums.find((it) => it.process === view.shown)?.members ?? []);
    fill(
      nodes,
      Array.from({ length: view.n }, (_, process) => {
        const down = view.failed.has(process);
        const label = t(down ? "quorums.restore" : "quorums.fail", { process: `p${process}` });
        return h(
          "button",
          {
            type: "button",
            "aria-pressed": String(down),
            "aria-label": label,
            title: label,
            class: ownQuorum.has(process) && !down ? "member" : undefined,
            "data-process": process,
            on: { click: () => fail(process) },
          },
          `p${process}`,
        );
      }),
    );
    drawPicture(now);
    drawVerdicts(now);
    drawList(now);
    drawMatrix(now, old);
  };

  const drawPicture = (/** @type {QuorumReport} */ now) => {
    if (!now.picture) return fill(picture);
    const drawing = parse(now.picture);
    drawing.addEventListener("click", (event) => {
      const found = /** @type {Element} */ (event.target).closest("[data-process]");
      if (found) fail(Number(found.getAttribute("data-process")));
    });
    fill(picture, drawing);
  };

  const drawVerdicts = (/** @type {QuorumReport} */ now) => {
    const item = (/** @type {boolean} */ holds, /** @type {string} */ key, /** @type {QuorumPair | null} */ pair) =>
      h(
        "li",
        { class: `property ${holds ? "holds" : "violated"}` },
        h("span", { class: "glyph", "aria-hidden": "true", text: holds ? "✓" : "✕" }),
        h("div", {}, t(`${key}.${holds ? "yes" : "no"}`), pair ? example(pair, () => showPair(pair)) : null),
      );
    const figure = (/** @type {string} */ value, /** @type {string} */ key) =>
      h("div", { class: "figure" }, h("b", { text: value }), h("span", { text: t(key) }));
    const range = (/** @type {{ min: number, max: number }} */ it) =>
      it.min === it.max ? String(it.min) : `${it.min}–${it.max}`;
    fill(
      verdicts,
      h("h2", { class: "label", text: t("quorums.worth") }),
      h(
        "div",
        { class: "figures" },
        figure(range(now.size), "quorums.size"),
        figure(range(now.degree), "quorums.degree"),
        figure(now.load === null ? "–" : now.load.toFixed(3), "quorums.load"),
        figure(String(now.without_quorum.length), "quorums.without"),
      ),
      h(
        "ul",
        { class: "plain properties" },
        item(now.meets_within_view, "quorums.within", now.apart_within_view),
        item(now.meets_across_views, "quorums.across", now.apart_after_crashes ?? now.apart_across_views),
        // If the system is not monotone only because of disjoint quorums, the first item says it.
        now.monotone || now.not_monotone
          ? item(now.monotone, "quorums.monotone", now.not_monotone && quorumsOfStep(now.not_monotone))
          : null,
      ),
      h("p", {
        class: "faint",
        text: t(now.exhaustive ? "quorums.exhaustive" : "quorums.sampled", { views: number(now.views) }),
      }),
    );
  };

  const drawList = (/** @type {QuorumReport} */ now) => {
    const row = (/** @type {ProcessQuorum} */ own) =>
      h(
        "tr",
        {},
        h(
          "th",
          { scope: "row" },
          h(
            "button",
            {
              type: "button",
              class: "link",
              "aria-pressed": String(own.process === view.shown),
              on: {
                click: () => {
                  view.shown = own.process;
                  load();
                },
              },
            },
            `p${own.process}`,
          ),
        ),
        h(
          "td",
          {},
          view.failed.has(own.process)
            ? h("span", { class: "badge wrong", text: t("mark.crashed") })
            : own.members
              ? h("code", { text: `{${own.members.join(", ")}}` })
              : h("span", { class: "badge wrong", text: t("quorums.none") }),
        ),
      );
    fill(
      list,
      h("h2", { class: "label", text: t("quorums.list") }),
      h("p", { class: "faint", text: t("quorums.list-hint") }),
      h(
        "div",
        { class: "owners" },
        h("table", { class: "counts" }, h("tbody", {}, now.quorums.slice(0, 128).map(row))),
      ),
    );
  };

  const drawMatrix = (/** @type {QuorumReport} */ now, /** @type {QuorumReport} */ old) => {
    const title = h("h2", { class: "label", text: t("quorums.pairs") });
    const names = (/** @type {number[]} */ it) =>
      it.length === 0 ? t("quorums.nobody") : it.map((process) => `p${process}`).join(", ");
    const lead = h("p", {
      class: "faint",
      text: t("quorums.pairs-hint", { before: names(old.failed), now: names(now.failed) }),
    });
    if (view.n > MATRIX_MOST)
      return fill(matrix, title, lead, h("p", { class: "faint", text: t("quorums.too-many", { most: MATRIX_MOST }) }));
    let apart = 0;
    const sets = now.quorums.map((it) => new Set(it.members ?? []));
    const cell = (/** @type {ProcessQuorum} */ a, /** @type {number} */ b) => {
      const other = now.quorums[b];
      if (!a.members || !other.members || old.failed.includes(a.process) || now.failed.includes(other.process))
        return h("td", { class: "none" }, "·");
      const meets = a.members.some((it) => sets[b].has(it));
      if (!meets) apart += 1;
      const words = t(meets ? "quorums.meet" : "quorums.apart", { a: `p${a.process}`, b: `p${other.process}` });
      return h("td", { class: meets ? "meet" : "apart", title: words, "aria-label": words }, meets ? "" : "✕");
    };
    const rows = old.quorums.map((a) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", text: `p${a.process}` }),
        now.quorums.map((_, b) => cell(a, b)),
      ),
    );
    const head = h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "↓ →"),
        now.quorums.map((it) => h("th", { scope: "col", text: `p${it.process}` })),
      ),
    );
    const verdict = h(
      "p",
      { class: apart > 0 ? "verdict violated" : "verdict holds", role: "status" },
      apart > 0 ? t("quorums.pairs-apart", { count: number(apart) }) : t("quorums.pairs-meet"),
    );
    fill(
      matrix,
      title,
      lead,
      h("div", {}, verdict),
      h("div", { class: "matrix" }, h("table", {}, head, h("tbody", {}, rows))),
    );
  };

  drawControls();
  await load();
}

/**
 * The quorums of a process before and after a further failure.
 * @param {NonMonotoneStep} step
 * @returns {QuorumPair}
 */
function quorumsOfStep({ process, failed, quorum, further, after }) {
  const then = [...failed, further].sort((a, b) => a - b);
  return { first: { process, failed, members: quorum }, second: { process, failed: then, members: after } };
}

/**
 * @param {QuorumPair} pair
 * @param {() => void} showPair
 */
function example(pair, showPair) {
  const set = (/** @type {number[]} */ it) => `{${it.join(", ")}}`;
  const one = (/** @type {QuorumInView} */ it) =>
    t("quorums.taken", {
      process: `p${it.process}`,
      members: it.members ? set(it.members) : t("quorums.none"),
      failed: it.failed.length === 0 ? tOr("quorums.nobody", "") : set(it.failed),
    });
  return h(
    "div",
    { class: "detail" },
    one(pair.first),
    h("br"),
    one(pair.second),
    h("br"),
    h("button", { type: "button", class: "link", on: { click: showPair } }, t("quorums.look")),
  );
}
