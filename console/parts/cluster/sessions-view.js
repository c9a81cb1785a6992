// The sessions of clients, as the node that answers knows them.

import { ClusterError, getJson, lockAddress } from "../../cluster.js";
import { fill, h } from "../../dom.js";
import { formatDuration } from "../../durations.js";
import { setText } from "../../keyed.js";
import { number, t } from "../../texts.js";
import { nameLink } from "./names.js";
import { pagedTable, textCell } from "./table.js";

/**
 * @typedef {{ name: string, kind: string }} Named
 * @typedef {{ who: string, place: string, node: number | null, ttl_ms: number, left_ms: number, age_ms: number | null,
 *   holding: number, holds: Named[], waiting: number, waits: Named[] }} Session
 * @typedef {Session & { key: string }} SessionRow
 */

const PAGE_SIZE = 25;
/** Maximum number of names in a cell. */
const NAMES_MOST = 2;

/** @returns {import("./view.js").View} */
export function sessionsView() {
  let words = "";
  /** @type {{ node: number, count: number, sessions: Session[] } | null} */
  let answer = null;
  /** @type {string | null} */
  let refusal = null;
  const note = h("p", { class: "faint" });
  const search = h("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const table = pagedTable({
    label: t("sessions.title"),
    pageSize: PAGE_SIZE,
    state: { sort: "who", down: false, page: 0 },
    onState: () => {},
    keyOf: (/** @type {SessionRow} */ session) => session.key,
    columns: [
      { id: "who", label: t("lock.user"), sort: ({ who }) => who, cell: textCell(({ who }) => who || t("lock.nameless")) },
      { id: "place", label: t("lock.place"), class: "wide-cell", sort: ({ place }) => place, cell: textCell(({ place }) => place) },
      { id: "holds", label: t("sessions.holds"), sort: ({ holding }) => holding, cell: () => namesCell((it) => [it.holding, it.holds]) },
      { id: "waits", label: t("sessions.waits"), sort: ({ waiting }) => waiting, cell: () => namesCell((it) => [it.waiting, it.waits]) },
      { id: "age", label: t("sessions.age"), class: "number", sort: ({ age_ms }) => age_ms ?? 0, cell: textCell(({ age_ms }) => (age_ms === null ? "" : formatDuration(age_ms))) },
      { id: "left", label: t("sessions.left"), class: "number", sort: ({ left_ms }) => left_ms, cell: textCell(({ left_ms, ttl_ms }) => t("sessions.of", { left: formatDuration(left_ms), ttl: formatDuration(ttl_ms) })) },
      { id: "node", label: t("lock.node"), class: "number", sort: ({ node }) => node ?? -1, cell: textCell(({ node }) => node ?? "") },
    ],
  });
  const draw = () => {
    setText(note, refusal ?? (answer ? t("sessions.of-node", { node: answer.node, count: number(answer.count) }) : t("page.loading")));
    note.lang = refusal ? "en" : document.documentElement.lang;
    const all = keyed(answer?.sessions ?? []);
    const wanted = words.toLowerCase().split(/\s+/);
    const matches = (/** @type {Session} */ it) => {
      const text = [it.who, it.place, ...it.holds.map(({ name }) => name), ...it.waits.map(({ name }) => name)].join("\n").toLowerCase();
      return wanted.every((word) => text.includes(word));
    };
    table.show(all.filter(matches));
  };
  search.addEventListener("input", () => {
    words = search.value.trim();
    draw();
    table.first();
  });
  return {
    element: h(
      "div",
      { class: "cluster-view" },
      h(
        "section",
        { class: "sheet", "data-part": "sessions" },
        h("h2", { text: t("sessions.title") }),
        note,
        h("div", { class: "row", role: "search" }, h("label", { class: "field grows" }, h("span", { text: t("sessions.search") }), search)),
        table.element,
      ),
    ),
    title: t("sessions.title"),
    also: async (signal) => {
      try {
        answer = await getJson("sessions", signal);
        refusal = null;
      } catch (error) {
        if (!(error instanceof ClusterError) || error.status !== 403) throw error;
        refusal = error.message;
      }
    },
    show: draw,
  };
}

/**
 * Sessions have no public identity; those with equal texts are told apart by their order, the oldest first.
 * @param {Session[]} sessions
 * @returns {SessionRow[]}
 */
function keyed(sessions) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  const oldestFirst = [...sessions].sort((a, b) => (b.age_ms ?? 0) - (a.age_ms ?? 0));
  return oldestFirst.map((session) => {
    const texts = JSON.stringify([session.who, session.place]);
    seen.set(texts, (seen.get(texts) ?? 0) + 1);
    return { ...session, key: `${texts} ${seen.get(texts)}` };
  });
}

/** @param {(session: Session) => [number, Named[]]} namesOf */
function namesCell(namesOf) {
  const [count, list] = [h("b", { class: "queue-length" }), h("span", { class: "cell-names" })];
  let drawn = "";
  return {
    content: [count, list],
    update: (/** @type {Session} */ session) => {
      const [all, names] = namesOf(session);
      setText(count, all > 0 ? number(all) : "");
      const first = names.slice(0, NAMES_MOST);
      const now = JSON.stringify(first);
      if (now === drawn) return;
      drawn = now;
      fill(list, first.map(({ name, kind }) => nameLink(lockAddress(kind, name), name)));
    },
  };
}
