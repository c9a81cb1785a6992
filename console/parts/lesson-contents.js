// The table of contents of the course, with what is done and the points.

import { h } from "../dom.js";
import { number, t } from "../texts.js";
import { addressOf } from "./lesson-addresses.js";
import { chapterName, localized } from "./lesson-course.js";
import { POINTS_MOST, pointsOf, progressOf, resetProgress } from "./lesson-progress.js";

/**
 * @param {import("./lesson-course.js").NamedLesson[]} lessons
 * @param {string} current
 * @param {() => void} onReset called after the progress was reset
 */
export function contents(lessons, current, onReset) {
  const chapters = [...new Set(lessons.map((it) => it.lesson.chapter))];
  const row = (/** @type {import("./lesson-course.js").NamedLesson} */ named, /** @type {number} */ place) => {
    const { name, lesson } = named;
    const { done, attempts } = progressOf(name, lesson.questions.length);
    const points = attempts.reduce((sum, it) => sum + pointsOf(it), 0);
    const all = attempts.length * POINTS_MOST;
    return h(
      "li",
      {},
      h(
        "a",
        { href: addressOf(named), "aria-current": name === current ? "page" : undefined },
        h("span", { text: place + 1 }),
        h("span", { class: "lesson-title" }, localized(lesson.title)),
        done
          ? h(
              "span",
              { class: "done" },
              h("span", { "aria-hidden": "true", text: "✓" }),
              h("span", { class: "unseen", text: t("lessons.done") }),
              all > 0 ? ` ${number(points)}/${number(all)}` : "",
            )
          : null,
      ),
    );
  };
  return h(
    "nav",
    { class: "contents", "aria-label": t("page.lessons") },
    summary(lessons, onReset),
    chapters.map((chapter) =>
      h(
        "div",
        {},
        h("h2", { text: chapterName(chapter) }),
        h(
          "ol",
          {},
          lessons.map((it, place) => (it.lesson.chapter === chapter ? row(it, place) : null)),
        ),
      ),
    ),
  );
}

/**
 * How much is done, and the ways to the answer sheet and to a new start.
 * @param {import("./lesson-course.js").NamedLesson[]} lessons
 * @param {() => void} onReset
 */
function summary(lessons, onReset) {
  const all = lessons.map((it) => progressOf(it.name, it.lesson.questions.length));
  const done = all.filter((it) => it.done).length;
  const points = all.flatMap((it) => it.attempts).reduce((sum, it) => sum + pointsOf(it), 0);
  const reset = h("button", { type: "button", class: "quiet" }, t("lessons.reset-progress"));
  let isAsked = false;
  reset.addEventListener("click", () => {
    if (isAsked) {
      resetProgress();
      onReset();
    }
    isAsked = true;
    reset.textContent = t("lessons.reset-sure");
  });
  reset.addEventListener("blur", () => {
    isAsked = false;
    reset.textContent = t("lessons.reset-progress");
  });
  const hasProgress = all.some((it) => it.done || it.attempts.some((attempt) => attempt.wrong + attempt.hints > 0 || attempt.state !== "open"));
  return h(
    "div",
    { class: "progress-summary" },
    h("p", { text: t("lessons.progress", { done: number(done), all: number(lessons.length), points: number(points) }) }),
    h("progress", { max: String(lessons.length), value: done, "aria-label": t("lessons.progress-label") }),
    h(
      "div",
      { class: "row" },
      h("a", { href: "#/lessons/print" }, t("lessons.print")),
      h("a", { href: "#/lessons/write" }, t("lessons.write")),
      hasProgress ? reset : null,
    ),
  );
}
