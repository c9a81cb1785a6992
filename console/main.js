// The frame of the console: where we are, in which language, light or dark.

import { h, fill } from "./dom.js";
import { icon } from "./icons.js";
import { LANGUAGES, language, preferred, speak, t } from "./texts.js";
import { takeKeys } from "./player.js";

/**
 * A page shows itself in an element for the rest of an address. It says what to do when it is left, and what to keep
 * when it is shown again in another language: that is handed to its next showing.
 * @typedef {{ leave?: () => void, keep?: () => any }} Shown
 * @typedef {(main: HTMLElement, rest: string, kept?: any) => void | Shown | Promise<void | Shown>} Page
 */

/** Each page is loaded when it is first shown. @type {[string, () => Promise<{ page: Page }>][]} */
const LAB = [
  ["run", () => import("./pages/run.js")],
  ["compare", () => import("./pages/compare.js")],
  ["quorums", () => import("./pages/quorums.js")],
  ["experiments", () => import("./pages/experiments.js")],
  ["lessons", () => import("./pages/lessons.js")],
  ["open", () => import("./pages/open.js")],
];

/** What there is behind this page says the server: a lab, a cluster, or both. */
const has = (document.documentElement.dataset.has ?? "lab").split(" ");
/** @type {typeof LAB} */
const PAGES = [
  ...(has.includes("cluster") ? [/** @type {typeof LAB[0]} */ (["cluster", () => import("./pages/cluster.js")])] : []),
  ...(has.includes("lab") ? LAB : []),
];
const FIRST = PAGES[0][0];

const bar = /** @type {HTMLElement} */ (document.getElementById("bar"));
const skip = document.querySelector(".skip");
const main = /** @type {HTMLElement} */ (document.getElementById("main"));

/** @type {void | Shown} */
let showing;
let shown = 0;

function here() {
  const [, name = FIRST, rest = ""] = /^#\/([a-z]+)[?/]?(.*)$/s.exec(location.hash) ?? [];
  return PAGES.some(([known]) => known === name) ? { name, rest } : { name: FIRST, rest: "" };
}

/** @param {any} [kept] what the same page has kept */
async function show(kept) {
  const turn = (shown += 1);
  const { name, rest } = here();
  drawBar(name);
  document.title = `${t(`page.${name}`)} · quorate`;
  const load = PAGES.find(([known]) => known === name)?.[1];
  if (!load) return;
  const { page } = await load();
  if (turn !== shown) return;
  showing?.leave?.();
  showing = undefined;
  takeKeys(null);
  const room = h("div", { class: `page page-${name}` });
  main.replaceChildren(room);
  const shownNow = await page(room, rest, kept);
  // Somebody may have gone elsewhere meanwhile.
  if (turn !== shown) return shownNow?.leave?.();
  showing = shownNow;
  // Whoever waits for a page can see that it is there.
  main.dataset.shown = String(turn);
}

/** @param {string} name */
function drawBar(name) {
  const link = (/** @type {string} */ page) =>
    h("a", { href: `#/${page}`, "aria-current": page === name ? "page" : undefined }, t(`page.${page}`));
  const languages = h(
    "select",
    { "aria-label": t("bar.language"), id: "language" },
    LANGUAGES.map(([code, own]) => h("option", { value: code, selected: code === language, lang: code, text: own })),
  );
  languages.addEventListener("change", async () => {
    const [kept, top] = [showing?.keep?.(), window.scrollY];
    await speak(languages.value);
    await show(kept);
    window.scrollTo({ top });
    document.getElementById("language")?.focus();
  });
  const dark = isDark();
  const label = t(dark ? "bar.light" : "bar.dark");
  const theme = h(
    "button",
    { type: "button", class: "key", id: "theme", "aria-label": label, title: label },
    icon(dark ? "sun" : "moon"),
  );
  theme.addEventListener("click", () => {
    setTheme(isDark() ? "light" : "dark");
    drawBar(here().name);
    document.getElementById("theme")?.focus();
  });
  fill(
    bar,
    h("a", { class: "brand", href: `#/${FIRST}` }, "quorate ", h("span", { text: has.includes("lab") ? "lab" : "" })),
    h(
      "nav",
      { "aria-label": t("bar.pages") },
      PAGES.map(([page]) => link(page)),
    ),
    h("div", { class: "tools" }, languages, theme),
  );
  if (skip) skip.textContent = t("bar.skip");
  // On a narrow screen the names of the pages do not all fit.
  const nav = bar.querySelector("nav");
  const current = /** @type {HTMLElement | null | undefined} */ (nav?.querySelector("[aria-current]"));
  if (nav && current) nav.scrollLeft = current.offsetLeft - nav.offsetLeft - 24;
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** @param {string} theme */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("quorate.theme", theme);
}

const chosen = localStorage.getItem("quorate.theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
await speak(preferred());
// What stands behind the # is the address of a page, and the skip link must not change it.
skip?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", () => show());
await show();
