// Cluster: the state of the nodes, the holder and queue of each lock, and the recent changes.

import { ClusterError, getJson, listLocks, setToken, watch } from "../cluster.js";
import { fill, h, s } from "../dom.js";
import { number, t } from "../texts.js";

/**
 * @typedef {{ node: number, address: string, up: boolean, suspected: boolean, trouble: string | null }} Member
 * @typedef {{ node: number, cluster: string, votes: boolean, quorum: boolean, quorums: string, lease_ms: number,
 *   replaced_within_ms: number, not_before_ms: number, sessions: number, requests: number, messages: number,
 *   members: Member[] }} Status
 * @typedef {{ name: string, kind: string, state: string, token: number | null, times: number | null, node: number,
 *   who: string, place: string, why: string, for_ms: number }} Request
 * @typedef {{ at: Date, name: string, holder: Request | null }} Change
 */

/** Interval at which the status and the locks are polled. */
const REFRESH_MS = 2000;
/** Maximum number of changes kept, and maximum number of waiters shown per lock. */
const CHANGES_MOST = 50;
const QUEUE_MOST = 10;

/** @type {import("../main.js").Page} */
export async function page(main, _rest, saved) {
  /** @type {Change[]} */
  const changes = saved?.changes ?? [];
  const stop = new AbortController();
  const problem = h("div", { role: "alert" });
  const facts = h("div", { class: "sheet", "data-part": "facts" });
  const members = h("div", { class: "sheet", "data-part": "members" });
  const locks = h("div", { class: "sheet", "data-part": "locks" });
  const recent = h("div", { class: "sheet", "data-part": "recent" });
  fill(
    main,
    h(
      "div",
      { class: "heading" },
      h("h1", { text: t("page.cluster") }),
      h("p", { class: "lead", text: t("cluster.lead") }),
    ),
    problem,
    h("div", { class: "quorums" }, locks, recent, members, facts),
  );

  const showError = (/** @type {any} */ error) => {
    if (error.name === "AbortError") return;
    if (error instanceof ClusterError && error.status === 401) return askForToken(problem, refresh);
    const text = error instanceof ClusterError ? error.message : t("cluster.silent");
    fill(problem, h("p", { class: "problem", lang: error instanceof ClusterError ? "en" : undefined, text }));
  };
  const refresh = async () => {
    try {
      const [status, listed] = await Promise.all([getJson("status", stop.signal), listLocks(stop.signal)]);
      fill(problem);
      drawFacts(facts, status);
      drawMembers(members, status);
      drawLocks(locks, listed);
    } catch (error) {
      showError(error);
    }
  };
  const drawRecent = () => {
    fill(recent, h("h3", { text: t("cluster.recent") }), recentTable(changes));
  };
  const follow = async () => {
    while (!stop.signal.aborted) {
      try {
        await watch(stop.signal, (change) => {
          changes.unshift({ at: new Date(), ...change });
          changes.length = Math.min(changes.length, CHANGES_MOST);
          drawRecent();
          scheduleRefresh();
        });
      } catch (error) {
        showError(error);
      }
      await new Promise((done) => setTimeout(done, REFRESH_MS));
    }
  };
  // A burst of changes causes a single refresh.
  let waiting = 0;
  const scheduleRefresh = () => {
    if (waiting) return;
    waiting = window.setTimeout(() => {
      waiting = 0;
      refresh();
    }, 150);
  };
  drawRecent();
  await refresh();
  const timer = setInterval(refresh, REFRESH_MS);
  follow();
  return {
    leave: () => {
      clearInterval(timer);
      clearTimeout(waiting);
      stop.abort();
    },
    save: () => ({ changes }),
  };
}

/**
 * @param {HTMLElement} element
 * @param {() => void} retry
 */
function askForToken(element, retry) {
  if (element.querySelector("input")) return;
  const token = h("input", { type: "password", autocomplete: "off", id: "token" });
  const form = h(
    "form",
    {
      class: "note",
      on: {
        submit: (/** @type {Event} */ event) => {
          event.preventDefault();
          setToken(token.value);
          fill(element);
          retry();
        },
      },
    },
    h("label", { class: "field" }, h("span", { text: t("cluster.token") }), token),
    h("button", { type: "submit", text: t("cluster.show") }),
  );
  fill(element, form);
}

/**
 * @param {HTMLElement} element
 * @param {Status} status
 */
function drawFacts(element, status) {
  const good = status.votes && status.quorum;
  const state = good ? t("cluster.ready") : status.quorum ? t("cluster.abstains") : t("cluster.lonely");
  const rows = [
    [t("cluster.asked"), t("cluster.node", { node: status.node })],
    [t("cluster.quorums"), status.quorums],
    [t("cluster.lease"), t("cluster.ms", { ms: number(status.lease_ms) })],
    [t("cluster.replaced"), t("cluster.ms", { ms: number(Math.round(status.replaced_within_ms)) })],
    [t("cluster.before"), t("cluster.ms", { ms: number(Math.round(status.not_before_ms)) })],
    [t("cluster.sessions"), number(status.sessions)],
    [t("cluster.requests"), number(status.requests)],
    [t("cluster.messages"), number(status.messages)],
  ];
  fill(
    element,
    h("h3", {}, t("cluster.state"), " ", h("span", { class: `badge${good ? "" : " wrong"}`, text: state })),
    h(
      "table",
      { class: "facts" },
      h(
        "tbody",
        {},
        rows.map(([what, value]) => h("tr", {}, h("th", { scope: "row", text: what }), h("td", { text: value }))),
      ),
    ),
  );
}

/** @param {Member} member */
function stateOf(member) {
  if (!member.up) return "down";
  return member.suspected ? "suspected" : "up";
}

/**
 * @param {HTMLElement} element
 * @param {Status} status
 */
function drawMembers(element, status) {
  const row = (/** @type {Member} */ member) =>
    h(
      "tr",
      { "data-state": stateOf(member) },
      h("td", { text: member.node }),
      h("td", { text: member.address }),
      h(
        "td",
        {},
        h("span", { class: `badge ${BADGES[stateOf(member)]}`, text: t(`cluster.${stateOf(member)}`) }),
        member.trouble ? h("small", { lang: "en", text: ` ${member.trouble}` }) : null,
      ),
    );
  fill(
    element,
    h("h3", { text: t("cluster.members") }),
    cube(status.members),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        {},
        head(["cluster.number", "cluster.address", "cluster.how"]),
        h("tbody", {}, status.members.map(row)),
      ),
    ),
  );
}

/** @type {Record<string, string>} */
const BADGES = { up: "mark-decided", suspected: "mark-suspected", down: "wrong" };

/**
 * Draws the hypercube along which nodes test each other: the numbers of neighbours differ in one bit.
 * @param {Member[]} members
 */
function cube(members) {
  const [n, size, middle] = [members.length, 320, 160];
  const at = (/** @type {number} */ node) => {
    const turn = (2 * Math.PI * node) / Math.max(n, 1) - Math.PI / 2;
    return n === 1 ? { x: middle, y: middle } : { x: middle + 128 * Math.cos(turn), y: middle + 128 * Math.sin(turn) };
  };
  const drawing = s("svg", { viewBox: `0 0 ${size} ${size}`, class: "cube", role: "img" });
  drawing.setAttribute("aria-label", t("cluster.cube"));
  for (const one of members) {
    for (let bit = 1; bit < n; bit *= 2) {
      const other = one.node ^ bit;
      if (other <= one.node || other >= n) continue;
      const [a, b] = [at(one.node), at(other)];
      drawing.append(s("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y }));
    }
  }
  for (const member of members) {
    const { x, y } = at(member.node);
    const group = s("g", { class: stateOf(member) });
    const label = s("text", { x, y: y + 5 });
    // A symbol marks the state too, so that colour is not the only cue.
    label.textContent = `${member.node}${{ up: "", suspected: "?", down: "×" }[stateOf(member)]}`;
    group.append(s("circle", { cx: x, cy: y, r: n > 24 ? 11 : 18 }), label);
    drawing.append(group);
  }
  return drawing;
}

/** @param {string[]} keys */
function head(keys) {
  return h(
    "thead",
    {},
    h(
      "tr",
      {},
      keys.map((key) => h("th", { scope: "col", text: t(key) })),
    ),
  );
}

/**
 * @param {HTMLElement} element
 * @param {Request[]} requests
 */
function drawLocks(element, requests) {
  /** @type {Map<string, Request[]>} */
  const byName = new Map();
  for (const request of requests) {
    const name = `${request.kind} ${request.name}`;
    byName.set(name, [...(byName.get(name) ?? []), request]);
  }
  const rows = [...byName.values()].map((queue) => {
    const holder = queue.find((request) => request.state === "holding");
    const waiting = queue.filter((request) => request !== holder);
    const shown = waiting.slice(0, QUEUE_MOST).map((request) => h("li", { text: describeRequest(request) }));
    const more = waiting.length - shown.length;
    return h(
      "tr",
      {},
      h("td", {}, h("b", { text: queue[0].name }), " ", h("small", { text: t(`cluster.kind.${queue[0].kind}`) })),
      h(
        "td",
        {},
        holder
          ? [h("div", { text: describeRequest(holder) }), h("small", { text: heldSince(holder) })]
          : h("small", { text: t("cluster.nobody") }),
      ),
      h("td", {}, shown.length ? h("ol", {}, shown, more > 0 && h("li", { text: t("cluster.more", { more }) })) : ""),
    );
  });
  fill(
    element,
    h("h3", { text: t("cluster.locks") }),
    rows.length
      ? h(
          "div",
          { class: "scroll" },
          h("table", {}, head(["cluster.name", "cluster.holder", "cluster.queue"]), h("tbody", {}, rows)),
        )
      : h("p", { class: "lead", text: t("cluster.free") }),
  );
}

/** @param {Request} request */
function describeRequest(request) {
  const parts = [request.who, request.place && `(${request.place})`, request.why && `: ${request.why}`];
  return `${parts.filter(Boolean).join(" ")} · ${t("cluster.node", { node: request.node })}`;
}

/** @param {Request} request */
function heldSince(request) {
  const values = { token: request.token ?? 0, seconds: number(Math.round(request.for_ms / 1000)) };
  return t("cluster.since", values);
}

/** @param {Change[]} changes */
function recentTable(changes) {
  if (changes.length === 0) return h("p", { class: "lead", text: t("cluster.quiet") });
  const row = (/** @type {Change} */ change) =>
    h(
      "tr",
      {},
      h("td", {}, h("time", { datetime: change.at.toISOString(), text: change.at.toLocaleTimeString() })),
      h("td", {}, h("b", { text: change.name })),
      h("td", { text: change.holder ? describeRequest(change.holder) : t("cluster.freed") }),
      h("td", { text: change.holder?.token ?? "" }),
    );
  const keys = ["cluster.when", "cluster.name", "cluster.what", "cluster.tokens"];
  return h("div", { class: "scroll" }, h("table", {}, head(keys), h("tbody", {}, changes.map(row))));
}
