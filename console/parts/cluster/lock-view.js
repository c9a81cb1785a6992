// The page of one lock: its holder, queue, history and tokens, and its release by force.

import { getJson } from "../../cluster.js";
import { isCurrent } from "../../cluster-state.js";
import { fill, h } from "../../dom.js";
import { formatDuration, formatMoment } from "../../durations.js";
import { setText } from "../../keyed.js";
import { askedFor, endpointOptions, placeParts } from "../../lock-names.js";
import { number, t } from "../../texts.js";
import { handOverView } from "./hand-over-view.js";
import { historyTable } from "./history.js";
import { copyButton } from "./names.js";
import { confirmRelease, mayRelease } from "./release.js";
import { pagedTable, textCell } from "./table.js";
import { tokenCheck } from "./token-check.js";

/**
 * @typedef {import("../../cluster-state.js").Request} Request
 * @typedef {import("../../cluster-state.js").Known} Known
 * @typedef {import("./history.js").Vote} Vote
 * @typedef {{ node: number, last: number, valid_ms: number | null, ttl_ms: number | null, votes: Vote[] }} History
 */

const PAGE_SIZE = 20;
/** Interval at which the votes of all nodes are requested if this node has nothing new. */
const HAND_OVERS_MS = 10_000;

/** @param {string} rest @param {() => void} refresh @returns {import("./view.js").View} */
export function lockView(rest, refresh) {
  const query = new URLSearchParams(rest);
  const [name, kind] = [query.get("name") ?? "", query.get("kind") === "election" ? "election" : "lock"];
  /** @type {History | null} */
  let history = null;
  let historyAt = 0;
  /** @type {{ records: import("../../hand-overs.js").Records, at: number } | null} */
  let handOvers = null;
  /** The last change of the history for which the hand-overs were requested. */
  let requestedFor = "";
  const done = h("p", { class: "note", role: "status", hidden: true });
  const release = h("button", { type: "button", class: "danger", text: t("release.button"), hidden: true });
  /** @type {Request | null} */
  let holder = null;
  release.addEventListener("click", () => {
    if (!holder) return;
    const values = { who: holder.who || t("lock.nameless") };
    confirmRelease(holder, () => {
      done.hidden = false;
      setText(done, t("release.done", values));
      refresh();
    });
  });
  const age = h("p", { class: "note", hidden: true });
  const [facts, queue, past, happened] = [holderFacts(), queueTable(), historyTable(), handOverView()];
  let drawnAt = 0;
  const free = h("p", { class: "lead", hidden: true });
  const command = h("code");
  const note = h("p", { class: "faint" });
  const element = h("div", { class: "cluster-view lock-page" });
  fill(
    element,
    h(
      "section",
      { class: "sheet", "data-part": "holder" },
      h("p", {}, h("a", { href: "#/cluster", text: `‹ ${t("lock.back")}` })),
      h("div", { class: "lock-name" }, h("h2", { dir: "auto", text: name }), h("span", { class: "badge", text: t(`cluster.kind.${kind}`) }), copyButton(name), h("span", { class: "space" }), release),
      done,
      age,
      h("h3", { text: t("cluster.holder") }),
      free,
      facts.element,
    ),
    h("section", { class: "sheet", "data-part": "queue" }, h("h3", { text: t("cluster.queue") }), queue.element),
    h("section", { class: "sheet", "data-part": "hand-overs" }, h("h3", { text: t("happened.title") }), happened.element),
    h("section", { class: "sheet", "data-part": "history" }, h("h3", { text: t("lock.history") }), note, past.element),
    h("section", { class: "sheet", "data-part": "tokens" }, h("h3", { text: t("lock.tokens") }), tokenCheck(name, kind)),
    h("section", { class: "sheet" }, h("h3", { text: t("lock.shell") }), h("pre", { class: "command", tabindex: "0" }, command)),
  );
  return {
    element,
    title: name,
    also: async (signal) => {
      history = await getJson(`history?${new URLSearchParams({ name, kind })}`, signal);
      historyAt = Date.now();
      // All nodes are asked only if there is something new, and now and then: a node may vote later than the others.
      const newest = JSON.stringify(history?.votes.slice(0, 2).map(({ number, token, end }) => [number, token, end]) ?? []);
      if (newest === requestedFor && handOvers && historyAt - handOvers.at < HAND_OVERS_MS) return;
      const records = await getJson(`hand-overs?${new URLSearchParams({ name, kind })}`, signal);
      handOvers = { records, at: Date.now() };
      requestedFor = newest;
    },
    show: (known) => {
      const current = isCurrent(known);
      const lock = known.locks?.find((lock) => lock.name === name && lock.kind === kind) ?? null;
      holder = lock?.holder ?? null;
      age.hidden = current || !known.locksAt;
      if (known.locksAt) setText(age, t("locks.last-known", { time: formatMoment(known.locksAt), age: formatDuration(Date.now() - known.locksAt.getTime()) }));
      release.hidden = !holder || !current || !mayRelease(known.node, name);
      free.hidden = holder !== null;
      setText(free, t(known.locks === null ? "locks.unknown" : lock ? "lock.between" : current ? "lock.free" : "lock.was-free"));
      facts.show(holder, history && current ? { ...history, at: historyAt } : null);
      queue.show(lock?.queue ?? []);
      const values = { node: history?.node ?? "" };
      setText(note, history ? t(history.votes.length > 0 ? "lock.history-of" : "lock.history-none", values) : "");
      // The list knows the token of the holder, also if this node has voted with another number.
      const present = (/** @type {Vote} */ vote) => vote.ended_ms === null && vote.token === null && current;
      past.show((history?.votes ?? []).map((vote) => (present(vote) ? { ...vote, token: holder?.token ?? null } : vote)), historyAt);
      if (handOvers && handOvers.at !== drawnAt) {
        happened.show(handOvers.records, handOvers.at);
        drawnAt = handOvers.at;
      }
      const verb = kind === "election" ? "elect" : "lock";
      setText(command, `quorate ${verb} ${shellWord(name)} ${endpointOptions(known.status)} -- COMMAND`.replace("  ", " "));
    },
  };
}

/** Quotes a word for a shell, if it needs quotes. @param {string} text */
function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function holderFacts() {
  const keys = ["lock.user", "lock.host", "lock.process", "lock.command", "lock.why", "lock.since", "lock.validity", "cluster.tokens", "lock.node"];
  const values = keys.map(() => h("dd", { dir: "auto" }));
  const rows = keys.map((key, index) => h("div", { class: "fact", "data-fact": key }, h("dt", { class: "label", text: t(key) }), values[index]));
  const meter = h("progress", { max: 1, "aria-hidden": "true" });
  const left = h("span");
  values[6].append(left, meter);
  const element = h("dl", { class: "facts holder-facts" }, rows);
  return {
    element,
    show: (/** @type {Request | null} */ holder, /** @type {(History & { at: number }) | null} */ history) => {
      element.hidden = holder === null;
      if (!holder) return;
      const place = placeParts(holder.place);
      const vote = history?.votes[0]?.ended_ms === null ? history.votes[0] : undefined;
      // The list counts from the request, and the vote of the node from the grant.
      const held = vote ? t("lock.held-for", { time: formatDuration(vote.began_ms) }) : "";
      const texts = [holder.who || t("lock.nameless"), place.host, place.process, place.command, holder.why, held, "", holder.token ?? "", t("cluster.node", { node: holder.node })];
      texts.forEach((text, index) => {
        rows[index].hidden = text === "" && index !== 6;
        if (index !== 6) setText(values[index], text);
      });
      const [valid, ttl] = [history?.valid_ms ?? null, history?.ttl_ms ?? null];
      rows[6].hidden = valid === null;
      if (valid === null || ttl === null) return;
      setText(left, t("lock.valid", { left: formatDuration(valid), ttl: formatDuration(ttl) }));
      meter.value = valid / ttl;
    },
  };
}

/** @typedef {{ key: string, position: number, request: Request }} Waiter */

function queueTable() {
  const none = h("p", { class: "lead", text: t("lock.no-queue") });
  const table = pagedTable({
    label: t("cluster.queue"),
    pageSize: PAGE_SIZE,
    state: { sort: "position", down: false, page: 0 },
    onState: () => {},
    keyOf: (/** @type {Waiter} */ waiter) => waiter.key,
    columns: [
      { id: "position", label: t("lock.position"), class: "number", sort: ({ position }) => position, cell: textCell(({ position }) => number(position)) },
      { id: "who", label: t("lock.user"), sort: ({ request }) => request.who, cell: textCell(({ request }) => request.who || t("lock.nameless")) },
      { id: "place", label: t("lock.place"), sort: ({ request }) => request.place, cell: textCell(({ request }) => request.place) },
      { id: "why", label: t("lock.why"), cell: textCell(({ request }) => request.why) },
      { id: "for", label: t("lock.waits"), class: "number", sort: ({ request }) => askedFor(request), cell: textCell(({ request }) => formatDuration(askedFor(request))) },
      { id: "node", label: t("lock.node"), class: "number", sort: ({ request }) => request.node, cell: textCell(({ request }) => request.node) },
    ],
  });
  return {
    element: h("div", {}, none, table.element),
    show: (/** @type {Request[]} */ queue) => {
      none.hidden = queue.length > 0;
      table.element.hidden = queue.length === 0;
      /** @type {Map<string, number>} */
      const seen = new Map();
      table.show(
        queue.map((request, index) => {
          // Requests have no public identity; those with equal texts are told apart by their order.
          const texts = JSON.stringify([request.who, request.place, request.why]);
          seen.set(texts, (seen.get(texts) ?? 0) + 1);
          return { key: `${texts} ${seen.get(texts)}`, position: index + 1, request };
        }),
      );
    },
  };
}
