// The frame of the console: navigation, language and colour theme.

import { ApiError } from "./api.js";
import { h, fill } from "./dom.js";
import { icon } from "./icons.js";
import { LANGUAGES, language, preferredLanguage, setLanguage, t } from "./texts.js";
import { problemNotice } from "./parts/problem.js";
import { present } from "./parts/presentation.js";
import { bindKeys } from "./player.js";

/**
 * A page renders itself into an element, given the rest of the address. `leave` is called before another page is shown.
 * `save` returns the state to keep when the language changes; it is passed to the next call of the page as `saved`.
 * @typedef {{ leave?: () => void, save?: () => any }} MountedPage
 * @typedef {(main: HTMLElement, rest: string, saved?: any) => void | MountedPage | Promise<void | MountedPage>} Page
 */

/** Pages of the lab; each module is loaded when first shown. @type {[string, () => Promise<{ page: Page }>][]} */
const LAB = [
  ["run", () => import("./pages/run.js")],
  ["compare", () => import("./pages/compare.js")],
  ["quorums", () => import("./pages/quorums.js")],
  ["experiments", () => import("./pages/experiments.js")],
  ["lessons", () => import("./pages/lessons.js")],
  ["open", () => import("./pages/open.js")],
];

/** Pages of the read-only view. It has the address of a run, so that only the path of a link changes. @type {typeof LAB} */
const EMBED = [["run", () => import("./pages/embed.js")]];

/** The back ends that the server offers: a lab, a cluster, or both; or the read-only view of a lab. */
const backends = (document.documentElement.dataset.has ?? "lab").split(" ");
/** @type {typeof LAB} */
const PAGES = [
  ...(backends.includes("lab") ? [/** @type {typeof LAB[0]} */ (["home", () => import("./pages/home.js")])] : []),
  ...(backends.includes("cluster") ? [/** @type {typeof LAB[0]} */ (["cluster", () => import("./pages/cluster.js")])] : []),
  ...(backends.includes("lab") ? LAB : []),
  ...(backends.includes("embed") ? EMBED : []),
];
const INITIAL_PAGE = PAGES[0][0];

const bar = /** @type {HTMLElement} */ (document.getElementById("bar"));
const skip = document.querySelector(".skip");
const main = /** @type {HTMLElement} */ (document.getElementById("main"));

/** Time after which a page that is not there yet is announced. */
const SLOW_MS = 300;
/** Pause between two attempts to load the texts. */
const RETRY_MS = 2_000;

/** @type {void | MountedPage} */
let mounted;
let showCount = 0;

function currentRoute() {
  const [, name = INITIAL_PAGE, rest = ""] = /^#\/([a-z]+)[?/]?(.*)$/s.exec(location.hash) ?? [];
  const isKnown = PAGES.some(([known]) => known === name);
  const isEmpty = ["", "#", "#/"].includes(location.hash);
  return isKnown && (isEmpty || location.hash.startsWith("#/")) ? { name, rest, isKnown } : { name: INITIAL_PAGE, rest: "", isKnown: false };
}

/** @param {any} [saved] state that the page saved before it was shown again */
async function show(saved) {
  const turn = (showCount += 1);
  const { name, rest, isKnown } = currentRoute();
  const address = location.hash;
  drawBar(name);
  document.title = `${t(`page.${name}`)} · quorate`;
  const load = PAGES.find(([known]) => known === name)?.[1];
  if (!load) return;
  const container = h("div", { class: `page page-${name}` });
  // A page that is there quickly needs no notice.
  const slow = window.setTimeout(() => turn === showCount && main.replaceChildren(loadingNotice()), SLOW_MS);
  /** @type {void | MountedPage} */
  let newPage;
  /** @type {() => void} */
  let again = () => {
    show(saved);
  };
  try {
    const { page } = await load().catch(() => {
      // A browser may remember that a script could not be loaded, so the whole page is loaded again.
      again = () => location.reload();
      throw new ApiError(t("problem.unreachable"), null, 0);
    });
    if (turn !== showCount) return;
    mounted?.leave?.();
    mounted = undefined;
    present(false);
    bindKeys(null);
    window.clearTimeout(slow);
    main.replaceChildren(container);
    newPage = await page(container, rest, saved);
  } catch (error) {
    if (turn !== showCount) return;
    const { element, stop } = problemNotice(error, again);
    main.replaceChildren(element);
    mounted = { leave: stop };
    main.dataset.shown = String(turn);
    return;
  } finally {
    window.clearTimeout(slow);
  }
  // The user may have navigated to another page in the meantime.
  if (turn !== showCount) return newPage?.leave?.();
  if (!isKnown) container.prepend(h("p", { class: "note", role: "alert", text: t("page.unknown", { address: address.slice(0, 80) }) }));
  mounted = newPage;
  // Browser tests wait for this attribute to change.
  main.dataset.shown = String(turn);
}

function loadingNotice() {
  return h("p", { class: "waiting", role: "status", text: t("page.loading") });
}

/** @param {string} name */
function drawBar(name) {
  if (backends.includes("embed")) return;
  const link = (/** @type {string} */ page) =>
    h("a", { href: `#/${page}`, "aria-current": page === name ? "page" : undefined }, t(`page.${page}`));
  const languages = h(
    "select",
    { "aria-label": t("bar.language"), id: "language" },
    LANGUAGES.map(([code, own]) => h("option", { value: code, selected: code === language, lang: code, text: own })),
  );
  languages.addEventListener("change", async () => {
    const [saved, top] = [mounted?.save?.(), window.scrollY];
    await setLanguage(languages.value);
    await show(saved);
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
    drawBar(currentRoute().name);
    document.getElementById("theme")?.focus();
  });
  fill(
    bar,
    h("a", { class: "brand", href: `#/${INITIAL_PAGE}` }, "quorate ", h("span", { text: backends.includes("lab") ? "lab" : "" })),
    h(
      "nav",
      { "aria-label": t("bar.pages") },
      PAGES.filter(([page]) => page !== "home").map(([page]) => link(page)),
    ),
    h("div", { class: "tools" }, languages, theme),
  );
  if (skip) skip.textContent = t("bar.skip");
  // On a narrow screen the page names do not all fit, so the current one is scrolled into view.
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
// The fragment is the address of a page, so the skip link must not change it.
skip?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", () => show());

/** Shows the first page once the texts are there. Without them there is no text in any other language. */
async function begin() {
  try {
    await setLanguage(preferredLanguage());
  } catch {
    main.replaceChildren(h("p", { class: "problem", role: "alert", text: "The server does not answer. Trying again…" }));
    window.setTimeout(begin, RETRY_MS);
    return;
  }
  await show();
}
await begin();
