// Lessons: the scenarios as a course, each with a text, what to look at and a question.

import { get, post } from "../api.js";
import { fill, h } from "../dom.js";
import { encode } from "../link.js";
import { Stage } from "../parts/stage.js";
import { verdict } from "../parts/verdicts.js";
import { language, t, tOr } from "../texts.js";

/**
 * @typedef {Record<string, string>} Texts
 * @typedef {{ lesson: { chapter: string, scenario: string, title: Texts, text: Texts, look: Texts, question: Texts, answer: Texts },
 *   keys: import("../link.js").Scenario }} Lesson
 */

/** @type {Promise<Lesson[]> | undefined} */
let course;

/** @type {import("../main.js").Page} */
export async function page(main, rest, kept) {
  course ??= get("lessons");
  const lessons = await course;
  const place = Math.max(0, Math.min(lessons.length - 1, Number(rest || 1) - 1));
  const { lesson, keys } = lessons[place];
  const say = (/** @type {Texts} */ texts) => texts[language] ?? texts.en;
  /** @type {import("../parts/stage.js").Result} */
  let shown = kept?.result ?? (await post("run", { scenario: keys }));
  const at = h("div", { class: "place" });
  const room = h("div");
  /** @type {Stage} */
  let stage;
  const run = (
    /** @type {import("../parts/stage.js").Result} */ it,
    /** @type {import("../parts/stage.js").Kept | undefined} */ where,
  ) => {
    shown = it;
    stage?.destroy();
    stage = new Stage(it, { change: again, kept: where });
    fill(at, stage.element);
    fill(room, it.report ? verdict(it.report) : null);
  };
  const again = async (
    /** @type {any} */ scenario,
    /** @type {{ event: number } | { time: number }} */ moment,
  ) => {
    try {
      run(await post("run", { scenario }), undefined);
      await stage.jump(moment);
    } catch (error) {
      fill(room, h("p", { class: "problem", lang: "en", text: /** @type {Error} */ (error).message }));
    }
  };
  const paragraphs = (/** @type {string} */ text) =>
    text
      .trim()
      .split(/\n\s*\n/)
      .map((it) => h("p", { text: it.replace(/\s+/g, " ") }));
  const turn = (/** @type {number} */ to, /** @type {string} */ key) =>
    to >= 0 && to < lessons.length
      ? h("a", { class: "button", href: `#/lessons/${to + 1}` }, t(key, { title: say(lessons[to].lesson.title) }))
      : h("span");
  const answer = h(
    "details",
    { open: kept?.answer },
    h("summary", { text: t("lessons.answer") }),
    paragraphs(say(lesson.answer)),
  );
  fill(
    main,
    h(
      "div",
      { class: "course" },
      contents(lessons, place, say),
      h(
        "article",
        { class: "lesson" },
        h(
          "div",
          { class: "heading" },
          h("p", { class: "eyebrow", text: `${place + 1} · ${chapter(lesson.chapter)}` }),
          h("h1", { text: say(lesson.title) }),
        ),
        h(
          "div",
          { class: "words" },
          paragraphs(say(lesson.text)),
          h("div", { class: "look" }, h("b", { text: t("lessons.look") }), paragraphs(say(lesson.look))),
        ),
        h(
          "div",
          { class: "actions" },
          room,
          h("a", { class: "button", href: `#/run?${encode(keys)}` }, t("lessons.open")),
        ),
        at,
        h(
          "div",
          { class: "question sheet" },
          h("h3", { text: t("lessons.question") }),
          paragraphs(say(lesson.question)),
          answer,
        ),
        h("div", { class: "turn" }, turn(place - 1, "lessons.previous"), turn(place + 1, "lessons.next")),
      ),
    ),
  );
  run(shown, kept?.where);
  main.querySelector(".contents [aria-current]")?.scrollIntoView({ block: "nearest" });
  if (!kept) window.scrollTo({ top: 0 });
  return {
    leave: () => stage.destroy(),
    keep: () => ({ result: shown, where: stage.keep(), answer: answer.open }),
  };
}

/** @param {string} name */
function chapter(name) {
  return tOr(`chapter.${name}`, name);
}

/**
 * @param {Lesson[]} lessons
 * @param {number} place
 * @param {(texts: Texts) => string} say
 */
function contents(lessons, place, say) {
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
                    { href: `#/lessons/${number + 1}`, "aria-current": number === place ? "page" : undefined },
                    h("span", { text: number + 1 }),
                    say(it.lesson.title),
                  ),
                )
              : null,
          ),
        ),
      ),
    ),
  );
}
