// The questions of a lesson: each is answered before its answer is shown.

import { fill, h, select } from "../dom.js";
import { language, number, t } from "../texts.js";
import { localized } from "./lesson-course.js";
import { POINTS_MOST, pointsOf } from "./lesson-progress.js";
import { inline, paragraphs } from "./lesson-text.js";

/**
 * @typedef {import("./lesson-progress.js").Attempt} Attempt
 * @typedef {import("../parts/run-view.js").Result} Result
 * @typedef {{ attempt: () => Attempt, change: (next: Attempt) => void, answer: () => Promise<import("./lesson-course.js").Answer>,
 *   address: (scenario: import("../link.js").Scenario) => string, keys: import("../link.js").Scenario, result: () => Result | null, isEdited: () => boolean }} QuestionContext
 *   `change` keeps a new state of the attempt; `keys` is the scenario of the lesson; `result` is the run that is shown
 */

/** Maximum difference between a time that was typed and the time in the report, in milliseconds. */
const TIME_TOLERANCE_MS = 0.005;

/**
 * Creates the panel of a question. `update` is called when another run is shown.
 * @param {import("./lesson-course.js").Question} question
 * @param {number} place
 * @param {QuestionContext} context
 */
export function questionPanel(question, place, context) {
  const element = h("section", { class: "question sheet", "data-question": String(place), "data-kind": question.kind, tabindex: "-1" });
  // The number makes the names of several panels differ.
  const title = h("h2", { id: `question-${place}`, text: `${number(place + 1)} · ${t(`lessons.kind.${question.kind}`)}` });
  element.setAttribute("aria-labelledby", title.id);
  const points = h("span", { class: "badge" });
  const body = h("div", { class: "question-body" });
  const feedback = h("div", { class: "feedback", role: "status" });
  fill(element, h("div", { class: "question-head" }, title, points), ask(question), body, feedback);
  const form = { choice, predict, break: breakIt }[question.kind];

  const draw = () => {
    const attempt = context.attempt();
    element.dataset.state = attempt.state;
    points.textContent =
      attempt.state === "open"
        ? t("lessons.points-left", { points: number(Math.max(1, POINTS_MOST - attempt.wrong - attempt.hints)) })
        : t("lessons.points", { points: number(pointsOf(attempt)), all: number(POINTS_MOST) });
    fill(body);
    form(/** @type {any} */ (question), place, { ...context, change, body, feedback });
  };
  /** @param {Attempt} next */
  const change = (next) => {
    const hadFocus = element.contains(document.activeElement);
    context.change(next);
    draw();
    // The control that had the focus was replaced.
    const focusable = /** @type {HTMLElement | null} */ (body.querySelector("input:not(:disabled), select, button, a"));
    if (hadFocus) (focusable ?? element).focus({ preventScroll: true });
  };
  draw();
  return { element, update: () => question.kind === "break" && draw() };
}

/** The question itself. @param {import("./lesson-course.js").Question} question */
function ask(question) {
  return h("div", { class: "ask" }, paragraphs(localized(question.ask)));
}

/**
 * @typedef {QuestionContext & { body: HTMLElement, feedback: HTMLElement }} FormContext
 * @param {FormContext} context
 */
function giveUpButton({ attempt, change }) {
  return h("button", { type: "button", class: "quiet", "data-act": "give-up", on: { click: () => change({ ...attempt(), state: "given-up" }) } }, t("lessons.give-up"));
}

/** @param {FormContext} context @param {import("../dom.js").Child[]} [details] */
function sayWrong({ attempt, change, feedback }, details = []) {
  change({ ...attempt(), wrong: attempt().wrong + 1 });
  fill(feedback, h("p", { class: "not-yet" }, h("span", { "aria-hidden": "true", text: "✕ " }), t("lessons.not-yet")), details);
}

/** The outcome of a question that is no longer open. @param {Attempt} attempt */
function outcome({ state }) {
  return state === "right"
    ? h("p", { class: "is-right" }, h("span", { "aria-hidden": "true", text: "✓ " }), t("lessons.right"))
    : h("p", { class: "is-given-up" }, t("lessons.given-up"));
}

/**
 * @param {import("./lesson-course.js").Choice} question
 * @param {number} place
 * @param {FormContext} context
 */
function choice(question, place, context) {
  const { attempt, change, body, feedback } = context;
  const { state, given } = attempt();
  const several = question.options.filter((it) => it.right).length > 1;
  const chosen = new Set(Array.isArray(given) ? given : []);
  const isOpen = state === "open";
  const inputs = question.options.map((_, index) =>
    h("input", {
      type: several ? "checkbox" : "radio",
      name: `question-${place}`,
      value: String(index),
      checked: chosen.has(index),
      disabled: !isOpen,
    }),
  );
  const why = (/** @type {import("./lesson-course.js").ChoiceOption} */ option) =>
    h("span", { class: "why" }, inline(localized(option.why)));
  const row = (/** @type {import("./lesson-course.js").ChoiceOption} */ option, /** @type {number} */ index) =>
    h(
      "li",
      { class: isOpen ? "" : option.right ? "right" : "wrong" },
      h(
        "label",
        {},
        inputs[index],
        isOpen ? null : h("span", { class: "glyph", "aria-hidden": "true", text: option.right ? "✓" : "✕" }),
        isOpen ? null : h("span", { class: "unseen", text: t(option.right ? "lessons.option-right" : "lessons.option-wrong") }),
        h("span", {}, inline(localized(option.text))),
      ),
      isOpen ? null : why(option),
    );
  const list = h("ul", { class: "plain options" }, question.options.map(row));
  const legend = h("legend", { class: several && isOpen ? "faint" : "unseen", text: t(several ? "lessons.choose-all" : "lessons.choose-one") });
  if (!isOpen) return fill(body, outcome(attempt()), h("fieldset", {}, legend, list));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const picked = inputs.flatMap((input, index) => (input.checked ? [index] : []));
    if (picked.length === 0) return fill(feedback, h("p", { text: t("lessons.choose-first") }));
    const isRight = question.options.every((it, index) => Boolean(it.right) === picked.includes(index));
    if (isRight) {
      fill(feedback);
      return change({ ...attempt(), state: "right", given: picked });
    }
    const wrong = picked.filter((index) => !question.options[index].right);
    const reasons = wrong.map((index) => h("p", { class: "why" }, inline(localized(question.options[index].why))));
    context.change({ ...attempt(), given: picked });
    sayWrong(context, reasons.length > 0 ? reasons : [h("p", { class: "why", text: t("lessons.one-missing") })]);
  };
  fill(body, h("form", { on: { submit } }, h("fieldset", {}, legend, list), buttons(context)));
}

/** @param {FormContext} context */
function buttons(context) {
  return h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, t("lessons.submit")), giveUpButton(context));
}

/**
 * @param {import("./lesson-course.js").Predict} question
 * @param {number} place
 * @param {FormContext} context
 */
function predict(question, place, context) {
  const { attempt, change, answer, body, feedback, result } = context;
  const { state, given } = attempt();
  if (state !== "open") {
    const value = h("strong", { text: "…" });
    answer().then(
      (it) => (value.textContent = shownValue(question, it?.value)),
      (error) => (value.textContent = error.message),
    );
    const said = state === "right" || given === undefined ? null : h("p", { class: "faint", text: t("lessons.you-said", { value: String(given) }) });
    return fill(body, outcome(attempt()), h("p", {}, t("lessons.value"), " ", value), said, paragraphs(localized(question.why)));
  }
  const input = valueInput(question, result(), given);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const typed = input.value.trim();
    if (typed === "") return fill(feedback, h("p", { text: t("lessons.choose-first") }));
    try {
      const expected = (await answer())?.value;
      if (isSame(question, typed, expected)) {
        fill(feedback);
        change({ ...attempt(), state: "right", given: typed });
      } else {
        context.change({ ...attempt(), given: typed });
        sayWrong(context, [h("p", { class: "why", text: t("lessons.look-again") })]);
      }
    } catch (error) {
      fill(feedback, h("p", { class: "problem", lang: "en", text: /** @type {Error} */ (error).message }));
    }
  };
  const label = h("label", { class: "field value-field" }, h("span", { text: t(`lessons.unit.${question.unit}`) }), input);
  fill(body, h("form", { class: "in-line", on: { submit } }, label, buttons(context)));
}

/**
 * @param {import("./lesson-course.js").Predict} question
 * @param {Result | null} result
 * @param {any} given
 */
function valueInput({ unit }, result, given) {
  const nothing = { value: "", label: t("lessons.choose") };
  if (unit === "process") {
    const n = Number(result?.scenario?.processes ?? 0);
    const processes = Array.from({ length: n }, (_, it) => ({ value: String(it), label: `p${it}` }));
    return select([nothing, ...processes], String(given ?? ""));
  }
  if (unit === "property") {
    const ids = (result?.report?.properties ?? []).map((it) => ({ value: it.id, label: it.id }));
    return select([nothing, ...ids, { value: "none", label: t("lessons.no-property") }], String(given ?? ""));
  }
  return h("input", { type: "text", inputmode: unit === "ms" ? "decimal" : "text", autocomplete: "off", spellcheck: "false", value: String(given ?? "") });
}

/**
 * @param {import("./lesson-course.js").Predict} question
 * @param {string} typed
 * @param {number | string | undefined} expected
 */
function isSame({ unit }, typed, expected) {
  if (typeof expected === "number") {
    // A comma is the decimal point of two of the three languages.
    const value = Number(language === "en" ? typed : typed.replace(",", "."));
    return Number.isFinite(value) && Math.abs(value - expected) <= (unit === "ms" ? TIME_TOLERANCE_MS : 0);
  }
  return typed.toLowerCase() === String(expected ?? "").toLowerCase();
}

/**
 * @param {{ unit: import("./lesson-course.js").Predict["unit"] }} question
 * @param {number | string | undefined} value
 */
export function shownValue({ unit }, value) {
  if (value === undefined) return "";
  if (unit === "process") return `p${value}`;
  if (unit === "property" && value === "none") return t("lessons.no-property");
  const text = typeof value === "number" ? number(value) : value;
  return unit === "ms" ? `${text} ms` : text;
}

/**
 * @param {import("./lesson-course.js").Break} question
 * @param {number} _place
 * @param {FormContext} context
 */
function breakIt(question, _place, context) {
  const { attempt, change, answer, body, address, result, isEdited } = context;
  const { state, hints } = attempt();
  if (state === "open" && isEdited() && judge(question, context).isBroken) return change({ ...attempt(), state: "right" });
  if (state !== "open") {
    const way = h("p", {});
    answer().then(
      (it) => it?.solution && fill(way, h("a", { href: address(it.solution) }, t("lessons.show-solution"))),
      () => {},
    );
    return fill(body, outcome(attempt()), paragraphs(localized(question.why)), way);
  }
  const shown = question.hints.slice(0, hints);
  const hint = () => change({ ...attempt(), hints: hints + 1 });
  const words = !isEdited() || !result()?.report ? t("lessons.break-lead", { property: question.property }) : judge(question, context).words;
  fill(
    body,
    h("p", { class: "judge", text: words }),
    question.within ? h("p", { class: "faint", text: t("lessons.within") }) : null,
    shown.length > 0 ? h("ol", { class: "hints" }, shown.map((it) => h("li", {}, inline(localized(it))))) : null,
    h(
      "div",
      { class: "row" },
      hints < question.hints.length
        ? h("button", { type: "button", "data-act": "hint", on: { click: hint } }, t("lessons.hint", { left: number(question.hints.length - hints) }))
        : null,
      giveUpButton(context),
    ),
  );
}

/**
 * Judges the run that is shown, by its report. A run of another algorithm or of another size proves nothing.
 * @param {import("./lesson-course.js").Break} question
 * @param {FormContext} context
 */
function judge({ property: id, within }, { keys, result }) {
  const shown = result();
  const [report, scenario] = [shown?.report, shown?.scenario ?? {}];
  const property = id;
  if (!report || scenario.algorithm !== keys.algorithm || scenario.processes !== keys.processes) {
    return { isBroken: false, words: t("lessons.judge-other", { algorithm: String(keys.algorithm), processes: String(keys.processes) }) };
  }
  const isViolated = report.properties.some((it) => it.id === id && it.status === "violated");
  if (!isViolated) return { isBroken: false, words: t("lessons.judge-holds", { property }) };
  const broken = report.assumptions.filter((it) => !it.met);
  if (within && broken.length > 0) return { isBroken: false, words: t("lessons.judge-outside", { property, assumption: broken[0].id }) };
  return { isBroken: true, words: "" };
}
