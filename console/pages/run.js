// Run: choose an algorithm, configure a run, watch it, and inject faults.

import { catalogue, isUnreachable, post } from "../api.js";
import { INITIAL_SCENARIO, defaultScenario } from "../defaults.js";
import { fill, h } from "../dom.js";
import { parse } from "../drawing.js";
import { decode, encode, splitRoute } from "../link.js";
import { cards, facts } from "../parts/cards.js";
import { familyName } from "../parts/describe.js";
import { problemNotice } from "../parts/problem.js";
import { faultChips, setup } from "../parts/setup.js";
import { RunView, chooseTab } from "../parts/run-view.js";
import { verdict } from "../parts/verdicts.js";
import { language, number, summary, t, specimenReason } from "../texts.js";

/** @type {import("../main.js").Page} */
export async function page(main, rest, saved) {
  const known = await catalogue();
  const route = splitRoute(rest);
  /** @type {import("../link.js").Scenario} */
  let scenario = route.scenario === "" ? structuredClone(INITIAL_SCENARIO) : decode(route.scenario);
  /** @type {RunView | null} */
  let runView = null;
  /** @type {AbortController | null} */
  let pending = null;
  /** Stops waiting for a server that does not answer. */
  let stopWaiting = () => {};
  /** The address of the run, without the position in it. */
  let currentAddress = route.scenario;
  /** @type {import("../parts/run-view.js").Result | null} */
  let shown = null;
  /** @type {number | undefined} */
  let addressTimer;

  const title = h("div", { class: "title-row" });
  const lead = h("p", { class: "lead" });
  const gallery = h("div", { hidden: true });
  const form = h("div");
  const problem = h("div", { role: "alert" });
  const branchNote = h("div");
  const runElement = h("div", { class: "place" });
  const summaryText = h("span", { class: "setup-summary" });
  const chips = h("div", { class: "chips" });
  const fold = h("button", { type: "button", class: "fold" }, h("b", { text: t("run.setup") }), summaryText);
  const setupPanel = h("div", { class: "setup-panel folded" }, h("div", { class: "setup-head" }, fold, chips), form);
  const openSetup = (/** @type {boolean} */ open) => {
    form.hidden = !open;
    fold.setAttribute("aria-expanded", String(open));
    summaryText.hidden = open;
  };
  fold.addEventListener("click", () => openSetup(form.hidden));
  openSetup(saved?.setup ?? false);
  fill(main, title, lead, gallery, setupPanel, problem, branchNote, runElement);

  const card = () => known.algorithms.find((it) => it.name === scenario.algorithm);

  const drawTitle = (/** @type {import("../parts/run-view.js").Result} */ result) => {
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
      updateAddress();
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
        result.report ? verdict(result.report) : null,
      ),
      h("div", { class: "actions" }, choose, compare, copy),
    );
    lead.textContent = it ? (it.specimen ? `${summary(it)} — ${specimenReason(it)}` : summary(it)) : "";
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
    const topologyDetails = h("details", { class: "more" }, h("summary", { text: t("run.topology") }), picture);
    topologyDetails.addEventListener("toggle", async () => {
      if (!topologyDetails.open || picture.childElementCount > 0) return;
      const drawn = await post("topology", { scenario, language }).catch((error) => ({ problem: error.message }));
      fill(picture, drawn.svg ? parse(drawn.svg) : h("p", { class: "faint", text: drawn.problem }));
    });
    const file = h("details", { class: "more" }, h("summary", { text: t("run.as-file") }), text, apply);
    fill(
      form,
      setup(scenario, it, (next) => start({ scenario: next }), true, [topologyDetails, file, ...about], false),
    );
    form.querySelectorAll("details").forEach((it, index) => (it.open = wasOpen[index] ?? false));
    summaryText.textContent = setupSummary(scenario);
    fill(chips, faultChips(scenario, (next) => start({ scenario: next })));
  };

  const pick = (/** @type {import("../api.js").Card} */ it) => {
    gallery.hidden = true;
    start({ scenario: defaultScenario(it) });
  };

  /** Writes the current position into the address. */
  const updateAddress = () => {
    window.clearTimeout(addressTimer);
    const at = runView && runView.player.position >= 0 ? `&at=${runView.player.position + 1}` : "";
    if (runView && currentAddress !== "") history.replaceState(null, "", `#/run?${currentAddress}${at}`);
  };

  /**
   * Shows the result of a run.
   * @param {import("../parts/run-view.js").Result} result
   * @param {import("../parts/run-view.js").SavedView} [where]
   */
  const show = (result, where) => {
    shown = result;
    scenario = /** @type {import("../link.js").Scenario} */ (result.scenario);
    runView?.destroy();
    runView = new RunView(result, { change: (next, at) => start({ scenario: next }, at, shown ?? undefined), saved: where });
    fill(runElement, runView.element);
    drawTitle(result);
    drawForm(result.toml ?? "");
    // The address follows with a delay, because browsers limit how often it may change.
    runView.player.addEventListener("move", () => {
      window.clearTimeout(addressTimer);
      addressTimer = window.setTimeout(updateAddress, 250);
    });
  };

  /**
   * Runs a scenario and pushes its address, so that the browser's back button returns to the previous run.
   * @param {{ scenario?: any, toml?: string }} request
   * @param {{ event: number } | { time: number } | { step: number }} [at] the position to go to in the new run
   * @param {import("../parts/run-view.js").Result} [origin] the run of which the new one is a branch
   */
  const start = async (request, at, origin) => {
    pending?.abort();
    stopWaiting();
    pending = new AbortController();
    main.setAttribute("aria-busy", "true");
    // The notice appears only if the run takes longer than 400 ms.
    const slow = window.setTimeout(
      () =>
        fill(
          problem,
          runningNotice(() => pending?.abort()),
        ),
      400,
    );
    try {
      const result = await post("run", request, pending.signal);
      fill(problem);
      updateAddress();
      const address = encode(result.scenario);
      if (address !== currentAddress) {
        currentAddress = address;
        const same = location.hash === "" || location.hash === "#/run";
        history[same ? "replaceState" : "pushState"](null, "", `#/run?${address}`);
      }
      show(result);
      fill(branchNote, origin ? branched(origin, result) : null);
      if (at && "step" in at) runView?.player.go(at.step);
      else if (at && ("time" in at || at.event >= 0)) await runView?.jump(at);
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      const words = name === "AbortError" ? t("run.cancelled") : message;
      stopWaiting();
      if (isUnreachable(error)) {
        const notice = problemNotice(error, () => start(request, at, origin));
        stopWaiting = notice.stop;
        fill(problem, notice.element);
      } else fill(problem, h("p", { class: "problem", lang: name === "AbortError" ? undefined : "en" }, words));
      if (!runView) {
        fill(title, h("h1", { text: String(scenario.algorithm ?? t("page.run")) }));
        drawForm(request.toml ?? "");
        if (!isUnreachable(error)) openSetup(true);
      }
      const key = /** @type {any} */ (error).key;
      const invalidField = key && form.querySelector(`[data-key="${CSS.escape(String(key).replace("faults.", ""))}"]`);
      invalidField?.setAttribute("aria-invalid", "true");
    } finally {
      window.clearTimeout(slow);
      main.removeAttribute("aria-busy");
    }
  };

  if (saved) {
    show(saved.result, saved.where);
    gallery.hidden = !saved.open;
    if (saved.open) fill(gallery, cards(known, scenario.algorithm, pick));
    drawTitle(saved.result);
  } else {
    if (route.tab) chooseTab(route.tab);
    await start({ scenario }, route.at > 0 ? { step: route.at - 1 } : undefined);
    const started = /** @type {RunView | null} */ (runView);
    if (route.plays && !matchMedia("(prefers-reduced-motion: reduce)").matches) started?.player.play();
  }
  return {
    leave: () => {
      window.clearTimeout(addressTimer);
      stopWaiting();
      pending?.abort();
      runView?.destroy();
    },
    save: () => shown && runView && { result: shown, where: runView.save(), open: !gallery.hidden, setup: !form.hidden },
  };
}

/**
 * Returns the keys of a scenario that differ from their defaults, in the notation of scenario files. Faults at a time have chips.
 * @param {import("../link.js").Scenario} scenario
 */
function setupSummary(scenario) {
  const { algorithm: _, ...others } = scenario;
  const isChip = (/** @type {string} */ key) => Array.isArray(scenario.faults?.[key.replace("faults.", "")]);
  const keys = [...new URLSearchParams(encode(others))].filter(([key]) => !isChip(key) && key !== "arrival");
  const texts = keys.map(([key, value]) => `${key.replace("faults.", "")} ${value}`);
  if (scenario.arrival) texts.push(`arrival × ${scenario.arrival.length}`);
  return texts.join(" · ");
}

/**
 * Says how a branch of a run differs from the run.
 * @param {import("../parts/run-view.js").Result} before
 * @param {import("../parts/run-view.js").Result} after
 */
function branched(before, after) {
  if (!before.report || !after.report) return null;
  const outcome = (/** @type {import("../parts/verdicts.js").Report} */ report) =>
    t("run.outcome", { verdict: verdict(report).textContent ?? "", messages: number(report.messages.total) });
  const href = `#/compare/${encode(before.scenario ?? {})}/${encode(after.scenario ?? {})}`;
  return h(
    "p",
    { class: "note branch", role: "status" },
    t("run.branched", { before: outcome(before.report), after: outcome(after.report) }),
    " ",
    h("a", { href }, t("run.branched-compare")),
  );
}

/** @param {() => void} cancel */
function runningNotice(cancel) {
  return h(
    "p",
    { class: "waiting" },
    t("run.running"),
    " ",
    h("button", { type: "button", on: { click: cancel } }, t("run.cancel")),
  );
}
