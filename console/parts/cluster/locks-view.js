// The list of locks: search, prefixes, sorting and pages.

import { lockAddress } from "../../cluster.js";
import { isCurrent } from "../../cluster-state.js";
import { fill, h } from "../../dom.js";
import { formatDuration, formatMoment } from "../../durations.js";
import { setText } from "../../keyed.js";
import { askedFor, endpointOptions, lockMatches, placeParts, prefixTree } from "../../lock-names.js";
import { number, t } from "../../texts.js";
import { nameLink } from "./names.js";
import { prefixMenu } from "./prefix-tree.js";
import { recentChanges } from "./recent.js";
import { pagedTable, textCell } from "./table.js";

/** @typedef {import("../../lock-names.js").Lock} Lock */
/** @typedef {import("../../cluster-state.js").Known} Known */

const PAGE_SIZE = 25;
/** Maximum number of waiters that a row names. */
const WAITERS_MOST = 2;

/** @param {string} rest the query of the page's address @returns {import("./view.js").View} */
export function locksView(rest) {
  const query = new URLSearchParams(rest);
  const state = { sort: query.get("sort") ?? "name", down: query.get("down") === "1", page: Math.max(0, Number(query.get("page") ?? 1) - 1 || 0) };
  let [words, prefix, only] = [query.get("q") ?? "", query.get("prefix") ?? "", query.get("only") ?? ""];
  /** @type {Known | null} */
  let known = null;

  /** The choices are in the address, so that it can be shared and the way back leads to the same list. */
  const remember = () => {
    const entries = { q: words, prefix, only, sort: state.sort === "name" ? "" : state.sort, down: state.down ? "1" : "", page: state.page ? String(state.page + 1) : "" };
    const chosen = new URLSearchParams(Object.entries(entries).filter(([, value]) => value !== ""));
    history.replaceState(history.state, "", `#/cluster${chosen.size ? `?${chosen}` : ""}`);
  };
  const table = pagedTable({
    label: t("cluster.locks"),
    columns: columns(),
    keyOf: (/** @type {Lock} */ lock) => lock.key,
    pageSize: PAGE_SIZE,
    state,
    onState: remember,
  });
  const narrow = () => {
    draw();
    table.first();
  };
  const search = h("input", { type: "search", value: words, autocomplete: "off", spellcheck: "false", "data-part": "search" });
  search.addEventListener("input", () => {
    words = search.value;
    narrow();
  });
  const choice = h("select", {}, ["", "held", "waited", "free"].map((value) => h("option", { value, selected: value === only, text: t(`locks.only${value && "."}${value}`) })));
  choice.addEventListener("change", () => {
    only = choice.value;
    narrow();
  });
  const tree = prefixMenu(prefix, (chosen) => {
    prefix = chosen;
    narrow();
  });
  const clear = h("button", { type: "button", text: t("locks.clear") });
  clear.addEventListener("click", () => {
    [words, only, prefix] = ["", "", ""];
    [search.value, choice.value] = ["", ""];
    tree.choose("");
    narrow();
    search.focus();
  });
  const age = h("p", { class: "note", "data-part": "age", hidden: true });
  const note = h("p", { class: "lead", "data-part": "none", hidden: true });
  const missing = h("p", { class: "faint", hidden: true });
  const recent = recentChanges();
  const list = h("section", { class: "sheet", "data-part": "locks" });
  fill(
    list,
    h("h2", { text: t("cluster.locks") }),
    age,
    h(
      "div",
      { class: "row locks-tools", role: "search" },
      h("label", { class: "field grows" }, h("span", { text: t("locks.search") }), search),
      h("label", { class: "field" }, h("span", { text: t("locks.show") }), choice),
    ),
    h("div", { class: "locks-body" }, tree.element, h("div", { class: "locks-list" }, note, clear, table.element, missing)),
  );

  const draw = () => {
    if (!known) return;
    const locks = known.locks ?? [];
    const stale = !isCurrent(known);
    list.classList.toggle("stale", stale && known.locks !== null);
    age.hidden = !(stale && known.locksAt);
    if (known.locksAt) {
      const values = { time: formatMoment(known.locksAt), age: formatDuration(Date.now() - known.locksAt.getTime()) };
      setText(age, t("locks.last-known", values));
    }
    // The tree shows what the search finds, too.
    const found = locks.filter((lock) => fits(lock, only) && (words.trim() === "" || lockMatches(lock, words.trim())));
    tree.show(prefixTree(found.map(({ name }) => name)), found.length);
    const chosen = prefix ? found.filter(({ name }) => name.startsWith(prefix)) : found;
    table.show(chosen);
    const nothing = chosen.length === 0;
    table.element.hidden = nothing;
    note.hidden = !nothing;
    clear.hidden = !nothing || locks.length === 0;
    setText(note, noteFor(known, locks.length));
    const parts = [known.more ? t("locks.too-many") : "", known.silent.length > 0 ? t("locks.silent", { nodes: known.silent.join(", ") }) : ""];
    setText(missing, parts.filter(Boolean).join(" "));
    missing.hidden = missing.textContent === "";
  };
  return {
    element: h("div", { class: "cluster-view" }, list, recent.element),
    title: t("cluster.locks"),
    show: (now) => {
      known = now;
      draw();
      recent.show(now.changes);
    },
  };
}

/** Says why no row is shown. @param {Known} known @param {number} all */
function noteFor(known, all) {
  if (known.locks === null) return t(known.status && !known.status.quorum ? "locks.unknown" : known.refused ? "locks.refused" : "page.loading");
  if (all > 0) return t("locks.nothing-found");
  if (known.node?.caller.observe.length === 0) return t("locks.refused");
  // Without a quorum, it is not known whether a lock is held.
  return isCurrent(known) ? t("cluster.free", { command: `quorate lock demo ${endpointOptions(known.status)}`.trim() }) : t("locks.unknown");
}

/** @param {Lock} lock @param {string} only */
function fits({ holder, queue }, only) {
  if (only === "held") return holder !== null;
  if (only === "waited") return queue.length > 0;
  return only !== "free" || holder === null;
}

/** @returns {import("./table.js").Column<Lock>[]} */
function columns() {
  const held = (/** @type {Lock} */ { holder }) => (holder ? formatDuration(askedFor(holder)) : "");
  return [
    { id: "name", label: t("cluster.name"), class: "wide-cell", sort: ({ name }) => name, cell: nameCell },
    { id: "holder", label: t("cluster.holder"), sort: ({ holder }) => holder?.who ?? "", cell: holderCell },
    { id: "for", label: t("locks.for"), class: "number", sort: ({ holder }) => (holder ? askedFor(holder) : 0), cell: textCell(held) },
    { id: "waiting", label: t("cluster.queue"), sort: ({ queue }) => queue.length, cell: queueCell },
  ];
}

/** @param {Lock} lock */
function nameCell({ name, kind }) {
  const badge = kind === "election" ? h("span", { class: "badge", text: t("cluster.kind.election") }) : null;
  return { content: [nameLink(lockAddress(kind, name), name), " ", badge], update: () => {} };
}

function holderCell() {
  const [who, why, place] = [h("b", { dir: "auto" }), h("span", { dir: "auto" }), h("small", { class: "faint one-line", dir: "auto" })];
  return {
    content: [h("div", { class: "one-line" }, who, why), place],
    update: (/** @type {Lock} */ { holder }) => {
      setText(who, holder ? holder.who || t("lock.nameless") : t("cluster.nobody"));
      who.classList.toggle("faint", !holder);
      setText(why, holder?.why ? ` · ${holder.why}` : "");
      setText(place, holder?.place ?? "");
      const { host } = placeParts(holder?.place ?? "");
      place.title = holder?.place ?? "";
      setText(place, host);
    },
  };
}

function queueCell() {
  const [count, names] = [h("b", { class: "queue-length" }), h("small", { class: "faint one-line", dir: "auto" })];
  return {
    content: [count, names],
    update: (/** @type {Lock} */ { queue }) => {
      setText(count, queue.length > 0 ? number(queue.length) : "");
      const first = queue.slice(0, WAITERS_MOST).map(({ who, why }) => (why ? `${who}: ${why}` : who));
      const more = queue.length - first.length;
      setText(names, [...first, ...(more > 0 ? [t("cluster.more", { more: number(more) })] : [])].join(", "));
    },
  };
}
