// Tests of the cluster's page in a real browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { handOvers, positions } from "../../../console/hand-overs.js";
import { askedFor, lockMatches, lockRows, placeParts, prefixTree } from "../../../console/lock-names.js";
import { parseMetrics, rate } from "../../../console/metrics.js";
import { accessibilityProblems, openCluster, openNodes, openPage, run, screens, visit } from "./lab.mjs";

const ROW = '[data-part="locks"] tbody tr';
const rows = (page) => page.locator(ROW);
const names = (page) => page.locator(`${ROW} .name`).evaluateAll((all) => all.map((it) => it.textContent));

/** Posts JSON to a node, and returns the answer. */
async function post(address, path, body) {
  const response = await fetch(`${address}v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.status === 204 ? null : response.json();
}

/** Opens a session that holds these locks. */
async function holdAll(address, locks, who = "holder", why = "test") {
  const { session } = await post(address, "sessions", { ttl_ms: 60_000, who, place: "build-1, process 12: make" });
  await Promise.all(locks.map((name) => post(address, "acquire", { session, name, why })));
  return session;
}

/** A test with a cluster in one process and a page that has reported no problem by the end. */
function withCluster(name, browserOf, body) {
  test(name, async () => {
    const cluster = await openCluster();
    const { page, problems, close } = await openPage(browserOf(), cluster.address);
    const closings = [];
    try {
      await body(page, cluster.address, (closing) => closings.push(closing));
      assert.deepEqual(problems, []);
    } finally {
      closings.forEach((closing) => closing());
      await close();
      cluster.close();
    }
  });
}

/** Registers the tests. The browser is there when they run. */
export function clusterTests(browserOf) {
  withCluster("the cluster shows its nodes, and who has and waits for what as it happens", browserOf, async (page, address) => {
    const commands = [];
    try {
      await visit(page, address, "#/cluster", '[data-part="none"]');
      const hint = await page.locator('[data-part="none"]').textContent();
      assert.ok(hint.includes(`--endpoint ${new URL(address).host}`), `the hint has the real endpoint: ${hint}`);
      commands.push(run(address, ["lock", "deploy", "--why", "release 7", "--", "sleep", "60"]));
      await rows(page).getByText("release 7").waitFor();
      commands.push(run(address, ["lock", "deploy", "--why", "second", "--", "sleep", "60"]));
      await rows(page).getByText("second").waitFor();
      // The holder leaves, and the page shows its successor.
      commands[0].close();
      await page.locator('[data-part="recent"]').getByText("second").first().waitFor();
      for (const [view, ready] of [
        ["", ROW],
        ["/sessions", '[data-part="sessions"] tbody tr'],
        ["/nodes", ".cube g.up:nth-of-type(5)"],
        ["/charts", ".metric-chart .line"],
        ["/lock?kind=lock&name=deploy", ".history li"],
      ]) {
        await visit(page, address, `#/cluster${view}`, ready);
        for (const [width, height] of [
          [1280, 900],
          [360, 780],
        ]) {
          await page.setViewportSize({ width, height });
          await page.waitForTimeout(100);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${view} is ${wide} wide at ${width}`);
          for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
            assert.deepEqual(await accessibilityProblems(page), [], `${view} at ${width}, ${colorScheme}`);
          }
          await page.screenshot({ path: `${screens}/cluster-${view.match(/[a-z]+/)?.[0] ?? "locks"}-${width}.png` });
        }
      }
      // The same server also offers the lab.
      await visit(page, address, "#/run?algorithm=ricart-agrawala&processes=5&requesters=all", ".diagram svg");
    } finally {
      commands.forEach((command) => command.close());
    }
  });

  test("without a quorum the page says so, and shows the last known state as such", async () => {
    const nodes = await openNodes(3);
    const { page, close } = await openPage(browserOf(), nodes.address);
    const alarm = (name) => page.locator(`[data-alarm="${name}"]`);
    try {
      await holdAll(nodes.address, ["deploy/web"]);
      await visit(page, nodes.address, "#/cluster", ROW);
      assert.equal(await page.locator(".alarm").count(), 0);
      assert.doesNotMatch(await page.title(), /⚠/);
      nodes.kill(2);
      await alarm("down").waitFor();
      assert.match(await page.title(), /^⚠ Node 2 down/);
      assert.equal(await page.locator('[data-part="age"]').isVisible(), false, "with a quorum the list is as of now");
      nodes.kill(1);
      await alarm("quorum").waitFor();
      assert.match(await page.title(), /^⚠ No quorum/);
      const first = await page.locator("#main .page > :visible").first().getAttribute("class");
      assert.match(first, /cluster-banner/, "the banner is above everything");
      await page.locator('[data-part="age"]').getByText("Last known state").waitFor();
      assert.deepEqual(await names(page), ["deploy/web"]);
      await page.screenshot({ path: `${screens}/cluster-no-quorum.png` });
      // A page that knows no earlier state does not claim that nothing is held.
      await page.reload();
      await page.getByText("it is not known which locks are held").waitFor();
      assert.equal(await page.getByText("No lock is held").count(), 0);
      nodes.start(1);
      await rows(page).getByText("deploy/web").waitFor({ timeout: 60_000 });
      await alarm("quorum").waitFor({ state: "detached" });
      nodes.kill(0);
      await alarm("contact").waitFor();
      assert.match(await page.title(), /^⚠ No answer/);
      assert.deepEqual(await names(page), ["deploy/web"], "the last known state");
      nodes.start(0);
      await alarm("contact").waitFor({ state: "detached", timeout: 60_000 });
    } finally {
      await close();
      nodes.close();
    }
  });

  withCluster("a node that hangs counts as one that does not answer, until it answers", browserOf, async (page, address) => {
    await holdAll(address, ["deploy/web"]);
    await visit(page, address, "#/cluster", ROW);
    await page.route("**/v1/status", () => {});
    await page.locator('[data-alarm="contact"]').waitFor();
    assert.deepEqual(await names(page), ["deploy/web"], "the last known state");
    assert.equal(await page.locator('[data-figure="summary.held"] b').textContent(), "–", "it is not known");
    await page.unroute("**/v1/status");
    await page.locator('[data-alarm="contact"]').waitFor({ state: "detached" });
    await page.locator('[data-figure="summary.held"]').getByText("1").waitFor();
  });

  withCluster("many locks are searched, sorted and paged, and prefixes are a tree", browserOf, async (page, address) => {
    const locks = Array.from({ length: 60 }, (_, it) => `team-${it % 3}/job-${it}`);
    await holdAll(address, locks);
    await holdAll(address, ["<b>x</b>/last"], "zoe", "<img src=x>");
    await visit(page, address, "#/cluster", ROW);
    assert.equal(await rows(page).count(), 25);
    await page.getByText("1 to 25 of 61").waitFor();
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(height < 3_000, `it is ${height} high`);
    const next = page.getByRole("button", { name: "Next", exact: true });
    await next.click();
    await page.getByText("26 to 50 of 61").waitFor();
    await next.click();
    await page.getByText("51 to 61 of 61").waitFor();
    assert.equal(await rows(page).count(), 11);
    // The way back from a lock leads to the same page of the list.
    await page.locator(`${ROW} .name`).first().click();
    await page.locator(".lock-page").waitFor();
    await page.goBack();
    await page.getByText("51 to 61 of 61").waitFor();
    await page.getByRole("searchbox").fill("job-5");
    await page.getByText("1 to 11 of 11").waitFor();
    await page.locator(".prefix", { hasText: "team-1/" }).click();
    // Numbers in names are sorted as numbers.
    await page.waitForFunction((row) => document.querySelectorAll(row).length === 3, ROW);
    assert.deepEqual(await names(page), ["team-1/job-52", "team-1/job-55", "team-1/job-58"]);
    await page.locator("th .sorts").first().click();
    assert.deepEqual(await names(page), ["team-1/job-58", "team-1/job-55", "team-1/job-52"]);
    assert.equal(await page.locator("th[aria-sort]").getAttribute("aria-sort"), "descending");
    // The address has the choices.
    assert.match(page.url(), /q=job-5&prefix=team-1%2F&down=1/);
    await page.reload();
    await page.waitForFunction((row) => document.querySelectorAll(row).length === 3, ROW);
    await page.getByRole("searchbox").fill("nothing like it");
    await page.getByText("No lock matches.").waitFor();
    await page.getByRole("button", { name: "Clear the search" }).click();
    await page.getByRole("searchbox").fill("zoe");
    await page.waitForFunction((row) => document.querySelectorAll(row).length === 1, ROW);
    assert.deepEqual(await names(page), ["<b>x</b>/last"], "texts of clients are text");
  });

  withCluster("rows keep the focus and the selection when the list is refreshed", browserOf, async (page, address) => {
    await holdAll(address, ["a/one", "a/two", `a/${"long-".repeat(30)}end`]);
    await visit(page, address, "#/cluster", ROW);
    await page.getByText("1 to 3 of 3").waitFor();
    const before = await page.evaluate((row) => {
      const two = [...document.querySelectorAll(`${row} .name`)].find((it) => it.textContent === "a/two");
      two.focus();
      const selection = getSelection();
      selection.selectAllChildren(two);
      two.dataset.mark = "same";
      return { selected: selection.toString(), held: two.closest("tr").querySelector(".number").textContent };
    }, ROW);
    assert.equal(before.selected, "a/two");
    await holdAll(address, ["a/aaa"]);
    await page.getByText("1 to 4 of 4").waitFor();
    await page.waitForFunction(
      ({ row, held }) => [...document.querySelectorAll(row)].some((it) => it.textContent.includes("a/two") && it.querySelector(".number").textContent !== held),
      { row: ROW, held: before.held },
    );
    const after = await page.evaluate(() => [getSelection().toString(), document.activeElement.dataset.mark, document.activeElement.textContent]);
    assert.deepEqual(after, ["a/two", "same", "a/two"]);
    // The whole of a shortened name is its title, and is copied.
    const long = page.locator(`${ROW} .name:has(.stem)`);
    const { title, selected, shown } = await long.evaluate((it) => {
      getSelection().selectAllChildren(it);
      const stem = it.querySelector(".stem");
      return { title: it.title, selected: getSelection().toString(), shown: stem.clientWidth < stem.scrollWidth };
    });
    assert.equal(title, `a/${"long-".repeat(30)}end`);
    assert.equal(selected, title);
    assert.ok(shown, "it is shortened");
  });

  withCluster("a lock has a page, and is released by force with confirmation and a reason", browserOf, async (page, address, close) => {
    // A vote that was released by force is free once the validity of its holder has ended, so that is short here.
    const { session: first } = await post(address, "sessions", { ttl_ms: 4_000, who: "ann", place: "build-1, process 12: make" });
    const { session } = await post(address, "sessions", { ttl_ms: 4_000, who: "ben", place: "host-2, process 7: psql" });
    const alive = setInterval(() => [first, session].forEach((it) => fetch(`${address}v1/sessions/${it}/keep-alive`, { method: "POST" })), 1_000);
    close(() => clearInterval(alive));
    await post(address, "acquire", { session: first, name: "db/main", why: "migration" });
    const waits = post(address, "acquire", { session, name: "db/main", why: "backup" });
    await visit(page, address, "#/cluster", ROW);
    await page.locator(`${ROW} .name`).click();
    const fact = (key) => page.locator(`[data-fact="${key}"] dd`);
    await fact("lock.user").getByText("ann").waitFor();
    assert.equal(await fact("lock.host").textContent(), "build-1");
    assert.equal(await fact("lock.command").textContent(), "make");
    await fact("lock.validity").getByText(/\d+ m?s of 4 s/).waitFor();
    await page.locator('[data-part="queue"] tbody tr').getByText("ben").waitFor();
    await page.locator(".history li").getByText("holds it").waitFor();
    // The dialog asks for a reason, and can be left without an effect.
    const open = page.getByRole("button", { name: "Release by force…" });
    await open.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("ann at build-1").waitFor();
    await dialog.getByRole("button", { name: "Release", exact: true }).click();
    assert.ok(await dialog.isVisible(), "a reason is required");
    await page.keyboard.press("Escape");
    assert.equal(await dialog.count(), 0);
    assert.equal(await open.evaluate((it) => it === document.activeElement), true, "the focus is back");
    const held = await (await fetch(`${address}v1/sessions/${first}`)).json();
    assert.equal(held.requests.length, 1, "nothing has happened");
    await open.click();
    await dialog.getByRole("textbox").fill("the host is gone");
    await dialog.getByRole("button", { name: "Release", exact: true }).click();
    await fact("lock.user").getByText("ben").waitFor();
    await page.locator(".history li", { hasText: "ann" }).getByText("released by force").waitFor();
    await page.getByText("ann no longer holds the lock.").waitFor();
    // What happened is drawn from the records of all nodes: ann's votes end with a cross, and ben's last.
    const drawn = (what) => page.locator(`.hand-over-picture ${what}`);
    await drawn(".stay.lasts").nth(2).waitFor();
    assert.equal(await drawn(".lane").count(), 5);
    assert.ok((await drawn(".stay-cross").count()) >= 3, "a quorum has taken its votes back");
    const keys = await page.locator(".hand-over-legend li").allTextContents();
    assert.match(keys[0], /^A ann · migration/);
    assert.match(keys[1], /^B ben · backup/);
    await page.getByText("Step by step").click();
    await page.getByText(/node \d takes its vote from A \(ann\): released by force/).first().waitFor();
    const { token } = await waits;
    await page.locator('[data-part="tokens"] input').fill(String(token - 1));
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText(`the greatest known is ${token}`).waitFor();
    await page.screenshot({ path: `${screens}/cluster-lock.png`, fullPage: true });
  });
}

test("votes of several nodes become events in order, each with a column of its own", () => {
  const vote = (request, began_ms, ended_ms, end) => ({ request, number: 1, began_ms, ended_ms, end });
  const records = {
    requests: [],
    voters: [
      { node: 0, votes: [vote(1, 10, null, null), vote(0, 5_000, 10, "expired")] },
      { node: 2, votes: [vote(1, 12, null, null), vote(0, 5_001, 12.5, "released")] },
    ],
  };
  const { shown, events, stays } = handOvers(records);
  assert.deepEqual(shown, [1, 0], "the newest request first");
  const texts = events.map(({ node, what, request }) => `${node} ${what} ${request}`);
  assert.deepEqual(texts, ["2 given 0", "0 given 0", "2 ended 0", "2 given 1", "0 ended 0", "0 given 1"]);
  assert.deepEqual(stays.map(({ node, from, to }) => [node, from, to]), [[0, 5, null], [0, 1, 4], [2, 3, null], [2, 0, 2]]);
  const { columns, end } = positions(events, 10);
  assert.deepEqual(columns, [...columns].sort((a, b) => a - b));
  assert.ok(columns[2] - columns[1] > 3 * (columns[1] - columns[0]) / 2 && end > columns[5], "a longer pause takes more room");
  const many = Array.from({ length: 9 }, (_, it) => vote(it, 100 - it, 90 - it, "released"));
  assert.deepEqual(handOvers({ requests: [], voters: [{ node: 0, votes: many }] }).shown, [8, 7, 6, 5], "only the last ones");
});

test("names of locks are grouped, matched and split", () => {
  const request = (name, state, who = "") => ({ name, kind: "lock", state, who, place: "", why: "" });
  const [lock] = lockRows([request("a", "waiting", "x"), request("a", "holding", "y"), request("b", "holding")]);
  assert.deepEqual([lock.holder.who, lock.queue.map(({ who }) => who)], ["y", ["x"]]);
  assert.ok(lockMatches(lock, "A x") && !lockMatches(lock, "a z"), "every word is found");
  const tree = prefixTree(["a/b/c/1", "a/b/c/2", "a/b/d", "e/f/1", "plain"]);
  const shape = (nodes) => nodes.map(({ label, count, children }) => [label, count, shape(children)]);
  assert.deepEqual(shape(tree), [["a/b/", 3, [["c/", 2, []]]], ["e/f/", 1, []]], "what leads to one place is joined");
  assert.deepEqual(placeParts("host, process 12: make all"), { host: "host", process: "12", command: "make all" });
  assert.equal(askedFor({ asked_ms: 5_000, for_ms: 10 }), 5_000, "also after the client has moved to another node");
  assert.equal(askedFor({ asked_ms: null, for_ms: 10 }), 10);
  assert.deepEqual(placeParts("elsewhere"), { host: "elsewhere", process: "", command: "" });
});

test("rates come from counters, and a restart is no negative rate", () => {
  const values = parseMetrics('# HELP x\nquorate_votes_total 7\nquorate_losses_total{why="a"} 1\nquorate_losses_total{why="b"} 2\nquorate_wait_seconds_bucket{le="1"} 4\n');
  assert.deepEqual([...values], [["votes_total", 7], ["losses_total", 3]]);
  const samples = [10, 30, 5].map((votes, it) => ({ at: it * 4_000, values: new Map([["votes_total", votes]]) }));
  assert.deepEqual(rate(samples, ["votes_total"]).map(({ value }) => value), [5, 0]);
});
