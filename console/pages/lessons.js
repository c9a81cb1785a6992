// Lessons: scenarios as a course. Each has a text, a note on what to observe, and questions that are answered before the
// verdict and the answers are shown.

import { post } from "../api.js";
import { fill, h } from "../dom.js";
import { decode, encode } from "../link.js";
import { addressOf, parseAddress } from "../parts/lesson-addresses.js";
import { contents } from "../parts/lesson-contents.js";
import { answersOf, chapterName, course, localized } from "../parts/lesson-course.js";
import { printPage } from "../parts/lesson-print.js";
import { isAnswered, keep, progressOf } from "../parts/lesson-progress.js";
import { questionPanel } from "../parts/lesson-questions.js";
import { parseShared, progressName, unpack } from "../parts/lesson-shared.js";
import { blocks, paragraphs } from "../parts/lesson-text.js";
import { writePage } from "../parts/lesson-write.js";
import { RunView } from "../parts/run-view.js";
import { verdict } from "../parts/verdicts.js";
import { t } from "../texts.js";
import { parseTime } from "../time.js";

/** @type {import("../main.js").Page} */
export async function page(main, rest, saved) {
  // Read each time, so that a change in a teacher's folder is shown.
  const { lessons, problem } = await course();
  const asked = parseAddress(rest);
  if (asked.name === "write") {
    await writePage(main, asked.query);
    return {};
  }
  if (asked.name === "shared") return showShared(main, lessons, asked.query, saved);
  if (asked.name === "print") {
    await printPage(main, lessons, asked.query);
    return {};
  }
  const found = lessons.findIndex((it) => it.name === asked.name);
  const isKnown = asked.name === "" || found >= 0;
  const index = Math.max(found, 0);
  const current = lessons[index];
  return showLesson(main, lessons, current, {
    problem,
    unknown: isKnown ? null : asked.name,
    query: isKnown ? asked.query : "",
    saved,
  });
}

/**
 * Shows a lesson that the address contains, before the course.
 * @param {HTMLElement} main
 * @param {import("../parts/lesson-course.js").NamedLesson[]} lessons
 * @param {string} query
 * @param {any} saved
 */
async function showShared(main, lessons, query, saved) {
  const end = query.indexOf("&");
  const [packed, edit] = end < 0 ? [query, ""] : [query.slice(0, end), query.slice(end + 1)];
  const source = await unpack(packed);
  if (!source) {
    fill(main, h("h1", { text: t("page.lessons") }), h("p", { class: "problem", role: "alert", text: t("lessons.shared-broken") }));
    return {};
  }
  const { lesson, answers } = await parseShared(source);
  const current = { ...lesson, name: progressName(packed), packed };
  return showLesson(main, [current, ...lessons], current, { problem: null, unknown: null, query: edit, saved, answers });
}

/**
 * @param {HTMLElement} main
 * @param {import("../parts/lesson-course.js").NamedLesson[]} lessons
 * @param {import("../parts/lesson-course.js").NamedLesson} current
 * @param {{ answers?: import("../parts/lesson-course.js").Answer[], problem: string | null, unknown: string | null, query: string, saved: any }} options
 */
async function showLesson(main, lessons, current, { answers: known, problem, unknown, query, saved }) {
  const { name, lesson, keys } = current;
  const original = encode(keys);
  const progress = progressOf(name, lesson.questions.length);
  const isOpen = (/** @type {string[]} */ ...kinds) =>
    lesson.questions.some((it, place) => kinds.includes(it.kind) && progress.attempts[place].state === "open");
  // A task to break something needs the verdict; it is the judge.
  const isConcealed = () => isOpen("choice", "predict");

  /** @type {import("../parts/run-view.js").Result | null} */
  let shown = saved?.result ?? null;
  /** @type {RunView | null} */
  let runView = null;
  /** The scenario in the address; it is empty unless the scenario was edited. */
  let edited = query === "" || encode(decode(query)) === original ? "" : encode(decode(query));
  /** Whether another page is shown by now. */
  let isLeft = false;
  /** @type {Promise<import("../parts/lesson-course.js").Answer[]> | undefined} */
  let answers = known && Promise.resolve(known);

  const runElement = h("div", { class: "place" });
  const verdictElement = h("div", { role: "status" });
  const editElement = h("div");
  const lookElement = h("div");
  const contentsElement = h("div", { class: "contents-frame" });

  const drawContents = () => fill(contentsElement, contents(lessons, name, reset));
  const reset = () => {
    const empty = progressOf(name, lesson.questions.length);
    progress.done = empty.done;
    progress.attempts = empty.attempts;
    drawQuestions();
    drawContents();
    drawRun(runView?.save());
  };

  const drawRun = (/** @type {import("../parts/run-view.js").SavedView | undefined} */ where) => {
    if (!shown) return;
    const wasConcealed = isConcealed();
    runView?.destroy();
    runView = new RunView(shown, { change: rerun, saved: where, stamps: lesson.stamps, concealed: wasConcealed });
    fill(runElement, wasConcealed ? h("p", { class: "note", text: t("lessons.concealed") }) : null, runView.element);
    fill(verdictElement, shown.report && !wasConcealed ? verdict(shown.report) : null);
    fill(
      lookElement,
      localized(lesson.look) && !isOpen("predict")
        ? h("div", { class: "look" }, h("b", { text: t("lessons.look") }), paragraphs(localized(lesson.look)))
        : null,
    );
    drawEdit();
  };

  /** Says that the run was changed, whether that has solved a task, and how to undo it. */
  const drawEdit = () => {
    if (edited === "") return fill(editElement);
    const task = lesson.questions.findIndex((it) => it.kind === "break");
    const undo = h("button", { type: "button", "data-act": "reset", on: { click: () => start(keys, "") } }, t("lessons.reset"));
    const show = () => panels[task].element.scrollIntoView({ block: "center" });
    const solved = progress.attempts[task]?.state === "right";
    fill(
      editElement,
      h(
        "p",
        { class: "note edited", role: "status" },
        t("lessons.edited"),
        " ",
        undo,
        task < 0 ? null : h("button", { type: "button", class: solved ? "solved" : "", on: { click: show } }, t(solved ? "lessons.task-solved" : "lessons.task")),
      ),
    );
  };

  /**
   * Runs a scenario of this lesson, shows it, and writes it into the address.
   * @param {import("../link.js").Scenario} scenario
   * @param {string} address
   * @param {{ event: number } | { time: number }} [moment]
   */
  const start = async (scenario, address, moment) => {
    try {
      const result = await post("run", { scenario });
      if (isLeft) return;
      shown = result;
      const after = shown?.scenario ? encode(shown.scenario) : address;
      edited = address === "" || after === original ? "" : after;
      const hash = addressOf(current, edited);
      if (location.hash !== hash) history.pushState(null, "", hash);
      drawRun(undefined);
      panels.forEach((it) => it.update());
      drawEdit();
      if (moment) await runView?.jump(moment);
    } catch (error) {
      fill(verdictElement, h("p", { class: "problem", role: "alert", lang: "en", text: /** @type {Error} */ (error).message }));
    }
  };
  const currentView = () => runView;
  const rerun = (/** @type {any} */ scenario, /** @type {{ event: number } | { time: number }} */ moment) => {
    start(scenario, encode(scenario), moment);
  };

  const before = h("div", { class: "questions before" });
  const after = h("div", { class: "questions" });
  /** @type {ReturnType<typeof questionPanel>[]} */
  let panels = [];
  const drawQuestions = () => {
    panels = lesson.questions.map((question, place) =>
      questionPanel(question, place, {
        attempt: () => progress.attempts[place],
        change: (next) => changeAttempt(place, next),
        answer: async () => (await (answers ??= answersOf(name)))[place],
        address: (scenario) => addressOf(current, encode(scenario)),
        keys,
        result: () => shown,
        isEdited: () => edited !== "",
      }),
    );
    const isPredict = (/** @type {number} */ place) => lesson.questions[place].kind === "predict";
    fill(before, panels.flatMap((it, place) => (isPredict(place) ? [it.element] : [])));
    fill(after, panels.flatMap((it, place) => (isPredict(place) ? [] : [it.element])));
  };
  const changeAttempt = (/** @type {number} */ place, /** @type {import("../parts/lesson-progress.js").Attempt} */ next) => {
    const [wasConcealed, wasPredicting] = [isConcealed(), isOpen("predict")];
    progress.attempts[place] = next;
    progress.done = isAnswered(progress.attempts);
    keep(name, progress);
    drawContents();
    if (wasConcealed !== isConcealed() || wasPredicting !== isOpen("predict")) drawRun(runView?.save());
  };

  const freeAnswer = h(
    "details",
    { open: saved?.answer },
    h("summary", { text: t("lessons.answer") }),
    paragraphs(localized(lesson.answer)),
  );
  freeAnswer.addEventListener("toggle", () => {
    if (!freeAnswer.open || progress.done || lesson.questions.length > 0) return;
    progress.done = true;
    keep(name, progress);
    drawContents();
  });
  const place = lessons.indexOf(current);
  const lessonLink = (/** @type {number} */ to, /** @type {string} */ key) =>
    to >= 0 && to < lessons.length
      ? h("a", { class: "button", href: addressOf(lessons[to]) }, t(key, { title: localized(lessons[to].lesson.title) }))
      : h("span");
  shown ??= await post("run", { scenario: edited === "" ? keys : decode(edited) });
  const hasFree = localized(lesson.question) !== "";
  drawContents();
  fill(
    main,
    problem ? h("p", { class: "problem", role: "alert", lang: "en", text: problem }) : null,
    h(
      "div",
      { class: "course" },
      contentsElement,
      h(
        "article",
        { class: "lesson" },
        unknown === null ? null : h("p", { class: "note", role: "alert", text: t("lessons.unknown", { which: unknown, all: lessons.length }) }),
        h(
          "div",
          { class: "heading" },
          h("p", { class: "eyebrow", text: `${place + 1} · ${chapterName(lesson.chapter)}` }),
          h("h1", { text: localized(lesson.title) }),
        ),
        h(
          "div",
          { class: "words" },
          lesson.body.length > 0 ? blocks(lesson.body) : paragraphs(localized(lesson.text)),
          lookElement,
        ),
        before,
        editElement,
        h(
          "div",
          { class: "actions" },
          verdictElement,
          h("a", { class: "button", href: `#/run?${encode(keys)}` }, t("lessons.open")),
          current.packed === undefined
            ? h("a", { class: "button quiet", href: `#/lessons/print?lesson=${name}` }, t("lessons.print-one"))
            : h("a", { class: "button quiet", href: `#/lessons/write?${current.packed}` }, t("lessons.write-again")),
        ),
        runElement,
        after,
        hasFree
          ? h(
              "div",
              { class: "question sheet free" },
              h("h2", { text: t("lessons.question") }),
              paragraphs(localized(lesson.question)),
              freeAnswer,
            )
          : null,
        h("div", { class: "turn" }, lessonLink(place - 1, "lessons.previous"), lessonLink(place + 1, "lessons.next")),
      ),
    ),
  );
  drawQuestions();
  drawRun(saved?.where);
  // A prediction is asked at a moment of the run.
  const moment = lesson.questions.find((it, at) => it.kind === "predict" && it.at && progress.attempts[at].state === "open");
  if (!saved && edited === "" && moment?.kind === "predict" && moment.at) await currentView()?.jump({ time: parseTime(moment.at) });
  main.querySelector(".contents [aria-current]")?.scrollIntoView({ block: "nearest" });
  if (!saved) window.scrollTo({ top: 0 });
  return {
    leave: () => {
      isLeft = true;
      runView?.destroy();
    },
    save: () => ({ result: shown, where: runView?.save(), answer: freeAnswer.open }),
  };
}
