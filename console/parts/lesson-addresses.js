// Addresses of lessons: a name that stays when lessons are added, and optionally an edited scenario.
//
//   #/lessons/the-token?algorithm=token-ring&processes=5

/** Lessons by the number that they once had in addresses. */
const NUMBERED = [
  "half-of-the-round-trip", "what-the-ways-differ-by", "five-past-three", "a-server-that-lies", "heartbeats",
  "news-over-the-cube", "slow-is-not-dead", "learning-to-wait", "a-detour-around-a-broken-link", "a-sender-that-dies",
  "pass-it-on-first", "an-echo-and-a-promise", "the-answer-before-the-question", "held-back", "one-order-for-all",
  "ask-the-server", "a-new-server", "stamps-41-and-34", "the-token", "down-the-tree", "votes-that-come-back",
  "requests-down-the-tree", "numbers-at-the-bakery", "three-permits", "votes-for-k", "readers-and-a-writer",
  "one-forum-many-subjects", "clean-and-dirty-forks", "different-bottles", "the-ring-elects", "announced-directly",
  "the-bully", "elected-by-a-detector", "three-rounds", "four-generals", "a-coordinator-in-turn",
  "what-a-majority-has-accepted", "a-coin-decides", "a-bank-transfer", "a-picture-of-a-bank", "money-from-nowhere",
  "white-and-red", "the-tree-that-shrinks", "a-black-token", "counted-but-not-coloured", "a-probe-that-comes-back",
  "one-message-is-enough", "priorities-instead-of-stamps", "a-circle-of-voters", "everybody-waits-for-one",
  "one-round-too-few", "three-generals", "echoes-alone", "two-leaders", "any-value", "blocked",
  "a-third-phase-and-a-partition", "two-views-two-holders", "settled-quorums", "each-holds-one-fork",
  "a-log-with-a-leader", "figure-eight", "paxos-for-every-slot", "replicas-that-lie",
];

/**
 * Splits the part of an address that follows the page.
 * @param {string} rest
 */
export function parseAddress(rest) {
  const at = rest.indexOf("?");
  const [name, query] = at < 0 ? [rest, ""] : [rest.slice(0, at), rest.slice(at + 1)];
  return { name: /^[1-9]\d?$/.test(name) ? (NUMBERED[Number(name) - 1] ?? name) : name, query };
}

/**
 * @param {{ name: string, packed?: string }} lesson
 * @param {string} [edited] the changed scenario
 */
export function addressOf({ name, packed }, edited = "") {
  if (packed === undefined) return edited === "" ? `#/lessons/${name}` : `#/lessons/${name}?${edited}`;
  return edited === "" ? `#/lessons/shared?${packed}` : `#/lessons/shared?${packed}&${edited}`;
}
