// Run: pick an algorithm, set up a world, watch, break it.

import { catalogue, post } from "../api.js";
import { FIRST, usual } from "../defaults.js";
import { fill, h } from "../dom.js";
import { parse } from "../drawing.js";
import { decode, encode } from "../link.js";
import { cards, facts } from "../parts/cards.js";
import { familyName } from "../parts/say.js";
import { setup } from "../parts/setup.js";
import { Stage } from "../parts/stage.js";
import { verdict } from "../parts/verdicts.js";
import { language, summary, t, why } from "../texts.js";

/** @type {import("../main.js").Page} */
export async function page(main, rest, kept) {
  const known = await catalogue();
  const asked = place(rest);
  /** @type {import("../link.js").Scenario} */
  let scenario = asked.scenario === "" ? structuredClone(FIRST) : decode(asked.scenario);
  /** @type {Stage | null} */
  let stage = null;
  /** @type {AbortController | null} */
  let asking = null;
  /** The address of the run, without the moment. */
  let written = asked.scenario;
  /** @type {import("../parts/stage.js").Result | null} */
  let shown = null;
  /** @type {number | undefined} */
  let writing;

  const title = h("div", { class: "title-row" });
  const gallery = h("div", { hidden: true });
  const form = h("div");
  const problem = h("div", { role: "alert" });
  const room = h("div", { class: "place" });
  fill(main, title, gallery, h("div", { class: "desk" }, form, problem), room);

  const card = () => known.algorithms.find((it) => it.name === scenario.algorithm);

  const drawTitle = (/** @type {import("../parts/stage.js").Result} */ result) => {
    const it = card();
    const open = gallery.hidden === false;
    const choose = h(
      "button",
      { type: "button", class: "choose", "aria-expanded": String(open) },
      t(open ? "run.close" : "run.choose"),
    );
    choose.addEventListener("click", () => {
      gallery.hidden = !gallery.hidden;
      if (!gallery.hidden) fill(gallery, cards(known, scenario.algorithm, pick));
      drawTitle(result);
      if (!gallery.hidden) gallery.querySelector("input")?.focus();
    });
    const copy = h("button", { type: "button", class: "quiet" }, t("run.copy"));
    copy.addEventListener("click", async () => {
      write();
      await navigator.clipboard.writeText(location.href).catch(() => {});
      copy.textContent = t("run.copied");
    });
    const compare = h(
      "a",
      {
        class: "button quiet",
        href: `#/compare/${encode(scenario)}/${encode({ ...scenario, seed: Number(scenario.seed ?? 0) + 1 })}`,
      },
      t("run.compare"),
    );
    fill(
      title,
      h(
        "div",
        { class: "heading" },
        h(
          "h1",
          {},
          scenario.algorithm,
          it ? h("small", { text: familyName(it.family) }) : null,
          it?.specimen
            ? h("span", { class: "badge wrong", text: t("cards.specimen", { breaks: it.specimen.breaks }) })
            : null,
        ),
        it ? h("p", { class: "lead", text: it.specimen ? `${summary(it)} — ${why(it)}` : summary(it) }) : null,
      ),
      h("div", { class: "actions" }, result.report ? verdict(result.report) : null, choose, compare, copy),
    );
  };

  const drawForm = (/** @type {string} */ toml) => {
    const text = h("textarea", {
      class: "toml",
      rows: 12,
      spellcheck: "false",
      "aria-label": t("run.toml"),
      value: toml,
    });
    const apply = h("button", { type: "button" }, t("run.apply"));
    apply.addEventListener("click", () => start({ toml: text.value }));
    const wasOpen = [...form.querySelectorAll("details")].map((it) => it.open);
    const it = card();
    const about = it
      ? [
          h(
            "details",
            { class: "more" },
            h("summary", { text: t("run.about") }),
            facts(known, it),
            h("p", { class: "faint", lang: "en", text: it.source }),
          ),
        ]
      : [];
    const picture = h("div", { class: "picture" });
    const talk = h("details", { class: "more" }, h("summary", { text: t("run.topology") }), picture);
    talk.addEventListener("toggle", async () => {
      if (!talk.open || picture.childElementCount > 0) return;
      const drawn = await post("topology", { scenario, language }).catch((error) => ({ problem: error.message }));
      fill(picture, drawn.svg ? parse(drawn.svg) : h("p", { class: "faint", text: drawn.problem }));
    });
    const file = h("details", { class: "more" }, h("summary", { text: t("run.as-file") }), text, apply);
    fill(
      form,
      setup(scenario, it, (next) => start({ scenario: next }), true, [talk, file, ...about]),
    );
    form.querySelectorAll("details").forEach((it, place) => (it.open = wasOpen[place] ?? false));
  };

  const pick = (/** @type {import("../api.js").Card} */ it) => {
    gallery.hidden = true;
    start({ scenario: usual(it) });
  };

  /** Puts the moment into the address. */
  const write = () => {
    window.clearTimeout(writing);
    const at = stage && stage.player.position >= 0 ? `&at=${stage.player.position + 1}` : "";
    if (stage && written !== "") history.replaceState(null, "", `#/run?${written}${at}`);
  };

  /**
   * Shows what came of a run.
   * @param {import("../parts/stage.js").Result} result
   * @param {import("../parts/stage.js").Kept} [where]
   */
  const show = (result, where) => {
    shown = result;
    scenario = /** @type {import("../link.js").Scenario} */ (result.scenario);
    stage?.destroy();
    stage = new Stage(result, { change: (next, at) => start({ scenario: next }, at), kept: where });
    fill(room, stage.element);
    drawTitle(result);
    drawForm(result.toml ?? "");
    // Browsers do not like addresses that change with every step.
    stage.player.addEventListener("move", () => {
      window.clearTimeout(writing);
      writing = window.setTimeout(write, 250);
    });
  };

  /**
   * Runs what is said; the address follows, and whoever goes back comes back to the run before.
   * @param {{ scenario?: any, toml?: string }} said
   * @param {{ event: number } | { time: number } | { step: number }} [at] where to be in the new run
   */
  const start = async (said, at) => {
    asking?.abort();
    asking = new AbortController();
    main.setAttribute("aria-busy", "true");
    // Only a run that takes long says so.
    const slow = window.setTimeout(
      () =>
        fill(
          problem,
          waiting(() => asking?.abort()),
        ),
      400,
    );
    try {
      const result = await post("run", said, asking.signal);
      fill(problem);
      write();
      const address = encode(result.scenario);
      if (address !== written) {
        written = address;
        const same = location.hash === "" || location.hash === "#/run";
        history[same ? "replaceState" : "pushState"](null, "", `#/run?${address}`);
      }
      show(result);
      if (at && "step" in at) stage?.player.go(at.step);
      else if (at && ("time" in at || at.event >= 0)) await stage?.jump(at);
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      const words = name === "AbortError" ? t("run.cancelled") : message;
      fill(problem, h("p", { class: "problem", lang: name === "AbortError" ? undefined : "en" }, words));
      if (!stage) {
        fill(title, h("h1", { text: String(scenario.algorithm ?? t("page.run")) }));
        drawForm(said.toml ?? "");
      }
      const key = /** @type {any} */ (error).key;
      const guilty = key && form.querySelector(`[data-key="${CSS.escape(String(key).replace("faults.", ""))}"]`);
      guilty?.setAttribute("aria-invalid", "true");
    } finally {
      window.clearTimeout(slow);
      main.removeAttribute("aria-busy");
    }
  };

  if (kept) {
    show(kept.result, kept.where);
    gallery.hidden = !kept.open;
    if (kept.open) fill(gallery, cards(known, scenario.algorithm, pick));
    drawTitle(kept.result);
  } else await start({ scenario }, asked.at > 0 ? { step: asked.at - 1 } : undefined);
  return {
    leave: () => {
      window.clearTimeout(writing);
      asking?.abort();
      stage?.destroy();
    },
    keep: () => shown && stage && { result: shown, where: stage.keep(), open: !gallery.hidden },
  };
}

/**
 * The scenario in an address, and the event at which somebody was.
 * @param {string} rest
 */
function place(rest) {
  const found = /(?:^|&)at=(\d{1,12})(?=&|$)/.exec(rest);
  return { scenario: found ? rest.replace(found[0], "") : rest, at: Number(found?.[1] ?? 0) };
}

/** @param {() => void} cancel */
function waiting(cancel) {
  return h(
    "p",
    { class: "waiting" },
    t("run.running"),
    " ",
    h("button", { type: "button", on: { click: cancel } }, t("run.cancel")),
  );
}
