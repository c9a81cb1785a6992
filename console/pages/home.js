// The first page: what quorate is, and one click to something that moves.

import { fill, h } from "../dom.js";
import { encode } from "../link.js";
import { selfPlaying } from "../parts/self-playing.js";
import { t } from "../texts.js";

/** Three processes with a vote each, which wait for each other for ever. */
const DEADLOCK = { algorithm: "maekawa-original", processes: 3, requesters: "all" };
/** An algorithm that works until a process crashes. */
const TO_BREAK = { algorithm: "ricart-agrawala", processes: 3, requesters: "all" };

/** @type {import("../main.js").Page} */
export async function page(main) {
  const hasCluster = (document.documentElement.dataset.has ?? "").includes("cluster");
  const hero = h("div", { class: "hero-picture" });
  const door = (/** @type {string} */ key, /** @type {string | null} */ href) => {
    const content = [h("h2", { text: t(`home.${key}`) }), h("p", { text: t(`home.${key}-text`) })];
    return href ? h("a", { class: "door", href, "data-door": key }, content) : h("div", { class: "door", "data-door": key }, content, h("code", { text: "quorate up" }));
  };
  fill(
    main,
    h(
      "div",
      { class: "hero" },
      h(
        "div",
        { class: "hero-text" },
        h("h1", { text: t("home.title") }),
        h("p", { class: "lead", text: t("home.lead") }),
        h("p", { text: t("home.deadlock-caption") }),
      ),
      hero,
    ),
    h(
      "nav",
      { class: "doors", "aria-label": t("home.doors") },
      door("deadlock", `#/run?${encode(DEADLOCK)}&play=1`),
      door("break", `#/run?${encode(TO_BREAK)}&at=8&tab=choices`),
      door("lessons", "#/lessons"),
      door("cluster", hasCluster ? "#/cluster" : null),
    ),
  );
  let stop = () => {};
  let left = false;
  // The doors can be used before the picture is there.
  selfPlaying(DEADLOCK).then(
    (picture) => {
      if (left) return picture.stop();
      stop = picture.stop;
      fill(hero, picture.element);
    },
    (error) => fill(hero, h("p", { class: "problem", text: error.message })),
  );
  return {
    leave: () => {
      left = true;
      stop();
    },
  };
}
