// The answer sheet: the questions of the course with room for answers, or with the solutions, to be printed.

import { fill, h } from "../dom.js";
import { t } from "../texts.js";
import { answersOf, chapterName, localized } from "./lesson-course.js";
import { shownValue } from "./lesson-questions.js";
import { blocks, inline, paragraphs } from "./lesson-text.js";
import { encode } from "../link.js";

/** Lines for a free answer. */
const LINES = 3;

/**
 * @param {HTMLElement} main
 * @param {import("./lesson-course.js").NamedLesson[]} lessons
 * @param {string} query `chapter=NAME`, `lesson=NAME` and `solutions` select the contents
 */
export async function printPage(main, lessons, query) {
  const wanted = new URLSearchParams(query);
  const chapters = [...new Set(lessons.map((it) => it.lesson.chapter))];
  const chapter = wanted.get("chapter") ?? (wanted.has("lesson") ? "" : chapters[0]);
  const withSolutions = wanted.has("solutions");
  const chosen = lessons.filter(
    (it) => (chapter === "" || it.lesson.chapter === chapter) && (!wanted.has("lesson") || it.name === wanted.get("lesson")),
  );
  const go = (/** @type {string} */ nextChapter, /** @type {boolean} */ solutions) => {
    const next = new URLSearchParams(nextChapter === "" ? {} : { chapter: nextChapter });
    if (nextChapter === "") next.set("chapter", "");
    location.hash = `#/lessons/print?${next}${solutions ? "&solutions" : ""}`;
  };
  const chapterField = h(
    "select",
    {},
    [...chapters, ""].map((it) =>
      h("option", { value: it, selected: it === chapter, text: it === "" ? t("lessons.all-chapters") : chapterName(it) }),
    ),
  );
  chapterField.addEventListener("change", () => go(chapterField.value, withSolutions));
  const solutionsField = h("input", { type: "checkbox", checked: withSolutions });
  solutionsField.addEventListener("change", () => go(chapter, solutionsField.checked));
  const sheet = h("div", { class: "answer-sheet" });
  fill(
    main,
    h("h1", { text: t(withSolutions ? "lessons.sheet-solutions" : "lessons.sheet") }),
    h(
      "div",
      { class: "print-controls row" },
      h("label", { class: "field" }, h("span", { text: t("lessons.chapter") }), chapterField),
      h("label", { class: "field check" }, solutionsField, h("span", { text: t("lessons.with-solutions") })),
      h("button", { type: "button", class: "primary", on: { click: () => window.print() } }, t("lessons.print-now")),
      h("a", { class: "button", href: "#/lessons" }, t("lessons.back")),
    ),
    withSolutions ? null : h("p", { class: "sheet-name", text: t("lessons.name-line") }),
    sheet,
  );
  const answers = await Promise.all(
    chosen.map((it) => (withSolutions && it.lesson.questions.length > 0 ? answersOf(it.name).catch(() => []) : [])),
  );
  const place = new Map(lessons.map((it, index) => [it.name, index + 1]));
  fill(
    sheet,
    chosen.map((it, index) => printedLesson(it, place.get(it.name) ?? 0, withSolutions, answers[index])),
  );
}

/**
 * @param {import("./lesson-course.js").NamedLesson} named
 * @param {number} place
 * @param {boolean} withSolutions
 * @param {import("./lesson-course.js").Answer[]} answers
 */
function printedLesson({ lesson, keys }, place, withSolutions, answers) {
  const { question, answer } = lesson;
  const free = localized(question);
  return h(
    "section",
    { class: "printed-lesson" },
    h("h2", { text: `${place} · ${localized(lesson.title)}` }),
    localized(lesson.text) ? paragraphs(localized(lesson.text)) : blocks(lesson.body),
    h("p", { class: "faint address" }, h("code", { text: encode(keys) })),
    lesson.questions.length + (free ? 1 : 0) === 0
      ? null
      : h(
          "ol",
          { class: "printed-questions" },
          lesson.questions.map((it, index) => printedQuestion(it, withSolutions, answers[index] ?? null)),
          free ? h("li", {}, paragraphs(free), withSolutions ? solution(paragraphs(localized(answer))) : lines()) : null,
        ),
  );
}

/**
 * @param {import("./lesson-course.js").Question} question
 * @param {boolean} withSolutions
 * @param {import("./lesson-course.js").Answer} answer
 */
function printedQuestion(question, withSolutions, answer) {
  const asked = paragraphs(localized(question.ask));
  if (question.kind === "choice") {
    const box = (/** @type {import("./lesson-course.js").ChoiceOption} */ it) =>
      h(
        "li",
        {},
        h("span", { class: "box", "aria-hidden": "true", text: withSolutions && it.right ? "☒" : "☐" }),
        " ",
        withSolutions && it.right ? h("strong", {}, inline(localized(it.text))) : inline(localized(it.text)),
        withSolutions ? h("div", { class: "why" }, inline(localized(it.why))) : null,
      );
    return h("li", {}, asked, h("ul", { class: "plain" }, question.options.map(box)));
  }
  if (!withSolutions) return h("li", {}, asked, question.kind === "break" ? lines() : h("p", { class: "blank" }));
  const value =
    question.kind === "predict"
      ? h("p", {}, h("strong", { text: shownValue(question, answer?.value) }))
      : h("p", {}, h("code", { text: answer?.solution ? encode(answer.solution) : "" }));
  return h("li", {}, asked, solution([value, ...paragraphs(localized(question.why))]));
}

/** @param {Node[]} children */
function solution(children) {
  return h("div", { class: "solution" }, children);
}

function lines() {
  return Array.from({ length: LINES }, () => h("p", { class: "blank" }));
}
