// Lessons: scenarios as a course. Each has a text, a note on what to observe, and a question with an answer.

import { get, post } from "../api.js";
import { fill, h } from "../dom.js";
import { encode } from "../link.js";
import { RunView } from "../parts/run-view.js";
import { verdict } from "../parts/verdicts.js";
import { language, t, tOr } from "../texts.js";

/**
 * @typedef {Record<string, string>} Texts
 * @typedef {{ lesson: { chapter: string, scenario: string, title: Texts, text: Texts, look: Texts, question: Texts, answer: Texts },
 *   keys: import("../link.js").Scenario }} Lesson
 */

/** @type {Promise<Lesson[]> | undefined} */
let lessonsPromise;

/** @type {import("../main.js").Page} */
export async function page(main, rest, saved) {
  lessonsPromise ??= get("lessons").catch((error) => {
    lessonsPromise = undefined;
    throw error;
  });
  const lessons = await lessonsPromise;
  const asked = rest === "" ? 1 : Number(rest);
  const isKnown = Number.isInteger(asked) && asked >= 1 && asked <= lessons.length;
  const index = isKnown ? asked - 1 : 0;
  const { lesson, keys } = lessons[index];
  const localized = (/** @type {Texts} */ texts) => texts[language] ?? texts.en;
  /** @type {import("../parts/run-view.js").Result} */
  let shown = saved?.result ?? (await post("run", { scenario: keys }));
  const runElement = h("div", { class: "place" });
  const verdictElement = h("div");
  /** @type {RunView} */
  let runView;
  const run = (
    /** @type {import("../parts/run-view.js").Result} */ it,
    /** @type {import("../parts/run-view.js").SavedView | undefined} */ where,
  ) => {
    shown = it;
    runView?.destroy();
    runView = new RunView(it, { change: rerun, saved: where });
    fill(runElement, runView.element);
    fill(verdictElement, it.report ? verdict(it.report) : null);
  };
  const rerun = async (
    /** @type {any} */ scenario,
    /** @type {{ event: number } | { time: number }} */ moment,
  ) => {
    try {
      run(await post("run", { scenario }), undefined);
      await runView.jump(moment);
    } catch (error) {
      fill(verdictElement, h("p", { class: "problem", lang: "en", text: /** @type {Error} */ (error).message }));
    }
  };
  const paragraphs = (/** @type {string} */ text) =>
    text
      .trim()
      .split(/\n\s*\n/)
      .map((it) => h("p", { text: it.replace(/\s+/g, " ") }));
  const lessonLink = (/** @type {number} */ to, /** @type {string} */ key) =>
    to >= 0 && to < lessons.length
      ? h("a", { class: "button", href: `#/lessons/${to + 1}` }, t(key, { title: localized(lessons[to].lesson.title) }))
      : h("span");
  const answer = h(
    "details",
    { open: saved?.answer },
    h("summary", { text: t("lessons.answer") }),
    paragraphs(localized(lesson.answer)),
  );
  fill(
    main,
    h(
      "div",
      { class: "course" },
      contents(lessons, index, localized),
      h(
        "article",
        { class: "lesson" },
        isKnown ? null : h("p", { class: "note", role: "alert", text: t("lessons.unknown", { which: rest, all: lessons.length }) }),
        h(
          "div",
          { class: "heading" },
          h("p", { class: "eyebrow", text: `${index + 1} · ${chapter(lesson.chapter)}` }),
          h("h1", { text: localized(lesson.title) }),
        ),
        h(
          "div",
          { class: "words" },
          paragraphs(localized(lesson.text)),
          h("div", { class: "look" }, h("b", { text: t("lessons.look") }), paragraphs(localized(lesson.look))),
        ),
        h(
          "div",
          { class: "actions" },
          verdictElement,
          h("a", { class: "button", href: `#/run?${encode(keys)}` }, t("lessons.open")),
        ),
        runElement,
        h(
          "div",
          { class: "question sheet" },
          h("h3", { text: t("lessons.question") }),
          paragraphs(localized(lesson.question)),
          answer,
        ),
        h("div", { class: "turn" }, lessonLink(index - 1, "lessons.previous"), lessonLink(index + 1, "lessons.next")),
      ),
    ),
  );
  run(shown, saved?.where);
  main.querySelector(".contents [aria-current]")?.scrollIntoView({ block: "nearest" });
  if (!saved) window.scrollTo({ top: 0 });
  return {
    leave: () => runView.destroy(),
    save: () => ({ result: shown, where: runView.save(), answer: answer.open }),
  };
}

/** @param {string} name */
function chapter(name) {
  return tOr(`chapter.${name}`, name);
}

/**
 * @param {Lesson[]} lessons
 * @param {number} index
 * @param {(texts: Texts) => string} localized
 */
function contents(lessons, index, localized) {
  const chapters = [...new Set(lessons.map((it) => it.lesson.chapter))];
  return h(
    "nav",
    { class: "contents", "aria-label": t("page.lessons") },
    chapters.map((name) =>
      h(
        "div",
        {},
        h("h3", { text: chapter(name) }),
        h(
          "ol",
          {},
          lessons.map((it, number) =>
            it.lesson.chapter === name
              ? h(
                  "li",
                  {},
                  h(
                    "a",
                    { href: `#/lessons/${number + 1}`, "aria-current": number === index ? "page" : undefined },
                    h("span", { text: number + 1 }),
                    localized(it.lesson.title),
                  ),
                )
              : null,
          ),
        ),
      ),
    ),
  );
}
