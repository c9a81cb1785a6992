// Tests of the console in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { Causality } from "../../../console/causality.js";
import { fields } from "../../../console/debug.js";
import { decode, encode } from "../../../console/link.js";
import { flights } from "../../../console/parts/ring.js";
import { clusterTests } from "./cluster-tests.mjs";
import { accessibilityProblems, openBrowser, openLab, openPage, screens, visit } from "./lab.mjs";

let lab, browser;
before(async () => {
  [lab, browser] = [await openLab(), await openBrowser()];
});
after(async () => {
  await browser?.close();
  lab?.close();
});

/** A test with its own page. It also fails if the page has reported a problem by the end. */
function withPage(name, body, options) {
  test(name, async () => {
    const { page, problems, close } = await openPage(browser, lab.address, options);
    try {
      await body(page);
      assert.deepEqual(problems, []);
    } finally {
      await close();
    }
  });
}

const PAGES = [
  ["home", "#/home", ".self-playing .diagram svg"],
  ["run", "#/run", ".diagram svg"],
  ["compare", "#/compare", ".side:nth-child(2) .diagram svg"],
  ["quorums", "#/quorums", ".matrix td"],
  ["experiments", "#/experiments", ".choice"],
  ["lessons", "#/lessons", ".diagram svg"],
  ["open", "#/open", ".scenario-list button"],
];
const FIVE = "#/run?algorithm=ricart-agrawala&processes=5&requesters=all";
const where = (page) => page.locator(".where").textContent();
const panels = async (page) =>
  `${await page.locator(".stage-side").innerText()}\n${await page.locator(".panels").innerText()}`;

for (const [name, hash, ready] of PAGES) {
  withPage(`the page ${name} is there and fits from 360 px to a projector`, async (page) => {
    for (const [width, height] of [
      [1280, 900],
      [360, 780],
      [768, 1024],
      [1920, 1080],
    ]) {
      await page.setViewportSize({ width, height });
      await visit(page, lab.address, hash, ready);
      await page.waitForTimeout(100);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name} is ${wide} wide at ${width}`);
      await page.screenshot({ path: `${screens}/${name}-${width}.png` });
    }
    const nameless = await page
      .locator("button, a, select, input")
      .evaluateAll((all) =>
        all
          .filter(
            (it) =>
              !(it.getAttribute("aria-label") || it.textContent?.trim() || it.closest("label")?.textContent?.trim()),
          )
          .map((it) => it.outerHTML),
      );
    assert.deepEqual(nameless, [], "every control has a name");
  });

  for (const [device, options] of [
    ["a light screen", {}],
    ["a dark phone", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
  ]) {
    withPage(
      `axe finds nothing wrong with the page ${name} on ${device}`,
      async (page) => {
        await visit(page, lab.address, hash, ready);
        assert.deepEqual(await accessibilityProblems(page), []);
      },
      { reducedMotion: "reduce", ...options },
    );
  }

  withPage(
    `the page ${name} is dark where that is preferred`,
    async (page) => {
      await visit(page, lab.address, hash, ready);
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(ground, "rgb(13, 15, 18)");
      await page.screenshot({ path: `${screens}/${name}-dark.png` });
    },
    { colorScheme: "dark" },
  );
}

withPage("every algorithm runs from its card", async (page) => {
  await visit(page, lab.address, "#/run");
  const known = await (await page.request.get(`${lab.address}api/algorithms`)).json();
  for (const { name } of known.algorithms) {
    await page.locator("button.choose").click();
    await page.locator(`[data-algorithm="${name}"]`).click();
    // The heading also contains the family.
    await page.waitForFunction((name) => document.querySelector("h1")?.firstChild?.textContent === name, name);
    await page.locator(".diagram svg").waitFor();
    assert.equal(await page.locator(".problem").count(), 0, name);
    assert.equal(await page.locator(".verdict").count(), 1, name);
    await page.keyboard.press("End");
    assert.match(await where(page), /event ([\d,]+) of \1 /, name);
  }
});

withPage("steps forward and back show the same", async (page) => {
  await visit(page, lab.address, FIVE);
  const seen = [await panels(page)];
  for (let step = 1; step <= 30; step += 1) {
    await page.keyboard.press("ArrowRight");
    seen.push(await panels(page));
  }
  assert.match(await where(page), /^event 30 of 55/);
  assert.equal(new Set(seen).size, 31, "every event changes something");
  for (let step = 29; step >= 0; step -= 1) {
    await page.keyboard.press("ArrowLeft");
    assert.equal(await panels(page), seen[step], `step ${step}`);
  }
  await page.keyboard.press("End");
  assert.match(await where(page), /^event 55 of 55 · 11 ms/);
  await page.keyboard.press("Home");
  assert.match(await where(page), /^event 0 of 55/);
  await page.keyboard.press("Shift+ArrowRight");
  assert.match(await where(page), /^event 10 of 55/);
  await page.locator(".scrubber").fill("20");
  assert.match(await where(page), /^event 21 of 55/);
  await page.getByRole("button", { name: "One step forward" }).click();
  assert.match(await where(page), /^event 22 of 55/);
});

const DEADLOCK = "#/run?algorithm=maekawa-original&processes=3&requesters=all";

withPage(
  "the diagram, the event, the states and the properties are on one screen",
  async (page) => {
    for (const hash of [FIVE, DEADLOCK, "#/run?algorithm=ricart-agrawala&processes=64&requesters=all"]) {
      await visit(page, lab.address, hash);
      await page.keyboard.press("Shift+ArrowRight");
      for (const part of [".transport", ".diagram svg", "step", "properties", "details"]) {
        const element = page.locator(/^\w/.test(part) ? `[data-panel="${part}"]` : part);
        const { y, height } = await element.boundingBox();
        assert.ok(y > 0 && y + height <= 720, `${part} of ${hash} ends at ${y + height}`);
      }
    }
  },
  { viewport: { width: 1280, height: 720 } },
);

withPage(
  "on a phone the diagram begins in the first third, the event is in the player, and names stay",
  async (page) => {
    await visit(page, lab.address, DEADLOCK);
    const { y } = await page.locator(".diagram").boundingBox();
    assert.ok(y < 844 / 3, `the diagram begins at ${y}`);
    await page.keyboard.press("Shift+ArrowRight");
    assert.match(await page.locator(".transport .event-line").innerText(), /^p\d+: (receives|sends)/);
    await page.locator(".diagram").evaluate((diagram) => (diagram.scrollLeft = 200));
    await page.locator(".lane-names:not(.off) span", { hasText: "p2" }).waitFor();
    const small = await page.evaluate(() =>
      [...document.querySelectorAll("button, select, main a, nav a, input:not([type=checkbox])")]
        .filter((it) => it.checkVisibility() && it.getBoundingClientRect().height < 43.5)
        .map((it) => `${it.className} ${it.textContent}`),
    );
    assert.deepEqual(small, [], "a finger needs 44 px");
  },
  { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
);

withPage("each step moves the playhead, and is in front of the shade", async (page) => {
  await visit(page, lab.address, FIVE);
  const seen = new Set();
  for (let step = 1; step <= 55; step += 1) {
    await page.keyboard.press("ArrowRight");
    seen.add(await page.locator(".playhead").getAttribute("d"));
    assert.ok(await page.locator(".here:not(.off)").isVisible(), `step ${step}`);
  }
  assert.equal(seen.size, 55);
  const inFront = () => page.locator(".current").evaluate((it) => it.compareDocumentPosition(it.ownerSVGElement.querySelector(".future")));
  assert.equal(await inFront(), 2, "the current step comes after the shade");
  await page.keyboard.press("Home");
  for (let step = 0; step < 6; step += 1) await page.keyboard.press("ArrowRight");
  assert.ok((await page.locator(".current .message").count()) >= 4, "the requests that p0 sends");
});

withPage("Maekawa's deadlock: each process has its own vote, and the cycle is marked", async (page) => {
  await visit(page, lab.address, DEADLOCK);
  const own = await page.locator(".diagram .message").evaluateAll((all) => all.filter(({ dataset }) => dataset.from && dataset.from === dataset.to).length);
  assert.equal(own, 6, "three requests and three votes");
  await page.getByRole("tab", { name: "Waiting" }).click();
  await page.getByText("No process waits for another.").waitFor();
  await page.keyboard.press("End");
  await page.locator(".cycle.for-good", { hasText: /Cycle: p\d → p\d → p\d/ }).waitFor();
  assert.equal(await page.locator(".wait-for .edge.in-cycle").count(), 2);
  assert.ok((await page.locator(".wait-for .node").count()) === 3);
  // By keyboard, unlike after a click, the arrow keys move between the tabs.
  await page.locator(".diagram").focus();
  await page.getByRole("tab", { name: "Waiting" }).focus();
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "States");
});

withPage("what happens next is chosen, the run branches, and the address keeps it", async (page) => {
  await visit(page, lab.address, FIVE);
  for (let step = 0; step < 11; step += 1) await page.keyboard.press("ArrowRight");
  const before = await page.locator('[data-panel="step"]').innerText();
  await page.getByRole("tab", { name: "Choose" }).click();
  assert.equal(await page.locator(".choice-row.next").count(), 1);
  await page.getByRole("button", { name: "Deliver REQUEST from p3 to p2 next" }).click();
  await page.locator(".branch", { hasText: "This run is a branch of the one before." }).waitFor();
  await page.waitForFunction(() => /p2[^]*receives REQUEST from p3/.test(document.querySelector('[data-panel="step"]').textContent));
  assert.match(await where(page), /^event 12 of 55/);
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.locator('[data-panel="step"]').innerText(), before, "the past is the same");
  await page.waitForFunction(() => /arrival=/.test(location.hash));
  const address = page.url();
  const shown = await page.locator("#main").getAttribute("data-shown");
  await page.goBack();
  await page.waitForFunction((shown) => document.getElementById("main").dataset.shown !== shown, shown);
  assert.doesNotMatch(page.url(), /arrival=/);
  await visit(page, lab.address, address.slice(address.indexOf("#")).replace(/&at=.*/, ""));
  for (let step = 0; step < 12; step += 1) await page.keyboard.press("ArrowRight");
  assert.match(await page.locator('[data-panel="step"]').innerText(), /receives REQUEST from p3/);
});

withPage("of a FIFO link only the first message can be chosen, and a process crashes by a choice", async (page) => {
  await visit(page, lab.address, `${FIVE}&delay=uniform:1ms..9ms`);
  for (let step = 0; step < 14; step += 1) await page.keyboard.press("ArrowRight");
  await page.getByRole("tab", { name: "Choose" }).click();
  const links = await page.locator(".choice-row").evaluateAll((rows) => rows.map((row) => row.textContent.match(/p\d → p\d/)[0]));
  assert.ok(links.length > 3);
  assert.equal(new Set(links).size, links.length);
  await page.locator(".choice-faults").getByRole("button", { name: "Crash p4" }).click();
  await page.locator(".chip", { hasText: "crash 4@" }).waitFor();
});

withPage("a world is checked, and its counterexample opens on the stage", async (page) => {
  await visit(page, lab.address, "#/run?algorithm=maekawa-original&processes=3&requesters=all");
  await page.getByRole("tab", { name: "Check" }).click();
  await page.getByRole("button", { name: "Check every order" }).click();
  await page.locator(".check-result .verdict.violated", { hasText: /A shortest counterexample has \d+ steps/ }).waitFor();
  assert.match(await page.locator(".check-result .property").innerText(), /ME2/);
  const shown = await page.locator("#main").getAttribute("data-shown");
  await page.getByRole("link", { name: "Show the counterexample" }).click();
  await page.waitForFunction((shown) => document.getElementById("main").dataset.shown !== shown, shown);
  await page.locator(".title-row .verdict.violated", { hasText: "ME2" }).waitFor();
  assert.match(page.url(), /request=/);
  await page.keyboard.press("End");
  await page.getByRole("tab", { name: "Waiting" }).click();
  await page.locator(".cycle.for-good").waitFor();
  await page.getByRole("tab", { name: "Check" }).click();
  assert.ok(await page.locator(".check-result .verdict.violated").isVisible(), "the result stays");
  await visit(page, lab.address, "#/run?algorithm=ricart-agrawala&processes=3&requesters=all");
  await page.getByRole("button", { name: "Check every order" }).click();
  await page.locator(".check-result .verdict.holds", { hasText: /Holds in every order: [\d,]+ states/ }).waitFor();
});

withPage("a check shows its progress and can be cancelled", async (page) => {
  await visit(page, lab.address, "#/run?algorithm=lamport&processes=3&requesters=all");
  await page.getByRole("tab", { name: "Check" }).click();
  await page.locator(".check summary").click();
  await page.locator("[data-check=requests]").fill("4");
  assert.match(await page.locator(".check summary").innerText(), /Requests each: 4/);
  await page.getByRole("button", { name: "Check every order" }).click();
  await page.locator(".check-count", { hasText: /[1-9][\d,]+ states/ }).waitFor();
  await page.locator(".check-result").getByRole("button", { name: "Cancel" }).click();
  await page.locator(".check-result .verdict", { hasText: "Cancelled after" }).waitFor();
});

withPage("presentation mode fills the screen with the diagram and the step", async (page) => {
  await visit(page, lab.address, FIVE);
  const width = () => page.locator(".diagram svg .lane-name, .diagram svg text").first().evaluate((it) => it.getBoundingClientRect().height);
  const usual = await width();
  await page.keyboard.press("p");
  await page.waitForFunction((usual) => document.querySelector(".diagram svg text").getBoundingClientRect().height > usual * 1.5, usual);
  for (const hidden of ["#bar", ".setup-panel", ".stage-side", ".panels"]) assert.ok(!(await page.locator(hidden).isVisible()), hidden);
  for (let step = 0; step < 3; step += 1) await page.keyboard.press("ArrowRight");
  const line = page.locator(".event-line");
  assert.match(await line.innerText(), /p\d/);
  assert.ok((await line.evaluate((it) => parseFloat(getComputedStyle(it).fontSize))) >= 20);
  const bottom = await page.locator(".transport").evaluate((it) => it.getBoundingClientRect().bottom);
  assert.ok(bottom <= 900 && (await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight + 4)), "all of it is visible");
  await page.screenshot({ path: `${screens}/presentation.png` });
  await page.keyboard.press("p");
  await page.locator(".stage-side").waitFor();
  assert.match(await where(page), /^event 3 /);
});

withPage("Enter on the diagram opens the menu of the current step", async (page) => {
  await visit(page, lab.address, FIVE);
  await page.locator(".diagram").focus();
  for (let step = 0; step < 11; step += 1) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: /Lose/ }).waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".menu").count(), 0);
});

withPage("the embedded view is read-only, and leads to the lab", async (page) => {
  await page.goto(`${lab.address}embed${FIVE}&at=12`);
  await page.locator(".diagram svg").waitFor();
  assert.match(await where(page), /^event 12 /);
  assert.ok(!(await page.locator("#bar").isVisible()));
  assert.equal(await page.getByRole("tab", { name: "Choose" }).count(), 0);
  assert.equal(await page.locator("[data-fault], .fault-button").count(), 0);
  const href = await page.getByRole("link", { name: "Open in the lab" }).getAttribute("href");
  assert.match(href, /#\/run\?algorithm=ricart-agrawala&processes=5&requesters=all&at=12$/);
  await page.screenshot({ path: `${screens}/embed.png` });
});

withPage("a picture for a slide has the size of a slide", async (page) => {
  await visit(page, lab.address, FIVE);
  for (const [key, size] of [["slide-svg", /width="960" height="540" viewBox="0 -?[\d.]+ 960 5\d\d/], ["slide-png", null]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`[data-file=${key}]`).click()]);
    const bytes = readFileSync(await download.path());
    if (size) assert.match(bytes.toString(), size);
    else assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [1920, 1080]);
  }
});

withPage("the first page moves, and leads to the run, the lessons and back", async (page) => {
  await page.goto(lab.address);
  await page.locator(".self-playing .diagram svg").waitFor();
  const line = page.locator(".self-playing-line");
  await page.waitForFunction(() => /^p\d: /.test(document.querySelector(".self-playing-line").textContent));
  const before = await line.innerText();
  await page.waitForFunction((before) => document.querySelector(".self-playing-line").textContent !== before, before);
  await page.locator(".self-playing").getByRole("button").click();
  assert.match(await page.locator(".self-playing").getByRole("button").getAttribute("aria-label"), /Play/);
  await page.locator("[data-door=deadlock]").click();
  await page.waitForFunction(() => /^event [2-9]/.test(document.querySelector(".where")?.textContent ?? ""));
  await page.locator(".brand").click();
  await page.locator("[data-door=break]").click();
  await page.getByRole("tab", { name: "Choose", selected: true }).waitFor();
});

test("the first page is small enough for a slow network", async () => {
  const { page, close } = await openPage(browser, lab.address);
  try {
    const network = await page.context().newCDPSession(page);
    await network.send("Network.enable");
    // 400 kbit/s, with 100 ms to the server and back.
    await network.send("Network.emulateNetworkConditions", { offline: false, latency: 100, downloadThroughput: 50_000, uploadThroughput: 50_000 });
    let bytes = 0;
    network.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(lab.address, { waitUntil: "commit" });
    await page.locator("[data-door=deadlock]").waitFor();
    // At this speed, 145 kB take 2.9 s. A test of the time itself would depend on the machine.
    assert.ok(bytes < 145_000, `${bytes} bytes`);
  } finally {
    await close();
  }
});

withPage("an address that leads nowhere gets a page and a message", async (page) => {
  await visit(page, lab.address, "#/lessons/abc", ".lesson .diagram svg");
  assert.match(await page.locator(".note").first().innerText(), /There is no lesson abc; there are lessons 1 to \d+/);
  await visit(page, lab.address, "#/nonsense");
  assert.match(await page.locator(".note").first().innerText(), /There is no page #\/nonsense/);
  await visit(page, lab.address, "#/lessons/2", ".lesson .diagram svg");
  assert.equal(await page.locator(".note").count(), 0);
});

test("a server that does not answer is waited for", async () => {
  const { page, close } = await openPage(browser, lab.address);
  try {
    await visit(page, lab.address, FIVE);
    await page.context().setOffline(true);
    await page.evaluate(() => (location.hash = "#/lessons/3"));
    await page.locator(".problem", { hasText: "The server does not answer." }).waitFor();
    await page.evaluate(() => (location.hash = "#/run?algorithm=central&processes=3"));
    await page.locator(".problem", { hasText: "tries again by itself" }).waitFor();
    await page.context().setOffline(false);
    await page.locator("h1", { hasText: "central" }).waitFor();
    await page.locator(".diagram svg").waitFor();
    assert.equal(await page.locator(".problem").count(), 0);
    // While a run is shown, a change is repeated once the server is back.
    await page.context().setOffline(true);
    await page.locator(".fold").click();
    await page.locator("[data-key=seed]").fill("7");
    await page.locator("[data-key=seed]").press("Enter");
    await page.locator(".problem", { hasText: "The server does not answer." }).waitFor();
    assert.ok(await page.locator(".diagram svg").isVisible(), "the run stays");
    await page.context().setOffline(false);
    await page.waitForFunction(() => /seed=7/.test(location.hash));
    assert.equal(await page.locator(".problem").count(), 0);
  } finally {
    await close();
  }
});

test("the first page loads no script that it has not announced", async () => {
  const { page, close } = await openPage(browser, lab.address);
  try {
    const loaded = [];
    page.on("request", (request) => loaded.push(new URL(request.url()).pathname.slice(1)));
    await visit(page, lab.address, "#/run");
    const announced = await page.locator("link[rel=modulepreload]").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    const scripts = loaded.filter((path) => path.endsWith(".js"));
    assert.deepEqual(scripts.filter((path) => !announced.includes(path)), []);
    assert.deepEqual(announced.filter((path) => !scripts.includes(path)), []);
  } finally {
    await close();
  }
});

test("happened-before is the order of processes and messages", async () => {
  // p0 sends to p1, which then sends to p2; p2 takes a step of its own before it receives that.
  const steps = [
    [0, [{ type: "send", message: 1 }]],
    [2, []],
    [1, [{ type: "deliver", message: 1 }, { type: "send", message: 2 }]],
    [2, [{ type: "deliver", message: 2 }]],
    [0, []],
  ];
  const recording = { n: 3, length: steps.length, process: (step) => steps[step][0], records: (step) => steps[step][1] };
  const causality = new Causality(recording);
  assert.deepEqual([...causality.past(3)].sort(), [0, 1, 2]);
  assert.deepEqual([...causality.future(0)].sort(), [2, 3, 4]);
  assert.deepEqual(causality.chain(0, 3), [0, 2, 3]);
  assert.deepEqual(causality.chain(1, 4), []);
  assert.deepEqual(causality.cutAfter(2), [1, 1, 1]);
  assert.deepEqual(causality.judge([1, 1, 1]), { wrong: [], inTransit: 1 });
  assert.deepEqual(causality.judge([0, 0, 2]), { wrong: [{ sent: 2, received: 3 }], inTransit: 0 });
});

withPage("what happened before an event is marked, and two events are compared", async (page) => {
  await visit(page, lab.address, `${FIVE}&at=12`);
  await page.locator("[data-key=causality-order]").click();
  const counts = async () => (await page.locator(".causality-text p").innerText()).match(/\d+/g).map(Number);
  const [past, future, concurrent] = await counts();
  assert.equal(past + future + concurrent, 54);
  assert.equal(await page.locator(".step-mark.past").count(), past);
  await page.getByRole("button", { name: "Compare with this step" }).click();
  await page.keyboard.press("End");
  await page.locator(".pair", { hasText: /^event 12 \(p\d\) happened before event 55/ }).waitFor();
  assert.equal(await page.locator(".overlay .chain").count(), 1);
  await page.keyboard.press("Home");
  for (let step = 0; step < 13; step += 1) await page.keyboard.press("ArrowRight");
  await page.locator(".pair", { hasText: "are concurrent" }).waitFor();
  await page.locator("[data-key=causality-order]").click();
  assert.equal(await page.locator(".step-mark").count(), 0);
});

withPage("a cut is dragged, and moved by keys, until it is inconsistent", async (page) => {
  await visit(page, lab.address, `${FIVE}&at=12`);
  await page.locator("[data-key=causality-cut]").click();
  await page.locator(".causality-text .holds", { hasText: "Consistent cut" }).waitFor();
  const handle = page.locator('.cut-handle[data-process="1"]');
  const box = await handle.boundingBox();
  const wide = await page.locator(".diagram svg").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(wide.x + wide.width - 30, box.y, { steps: 5 });
  await page.mouse.up();
  await page.locator(".causality-text .violated", { hasText: /Inconsistent cut: [1-9]/ }).waitFor();
  assert.ok((await page.locator(".cut-message").count()) > 0);
  await page.screenshot({ path: `${screens}/cut.png` });
  await handle.focus();
  for (let step = 0; step < 15; step += 1) await page.keyboard.press("ArrowLeft");
  await page.locator(".causality-text .holds").waitFor();
  assert.match(await where(page), /^event 12 /, "the arrow keys moved the cut and not the run");
});

withPage("the step of the algorithm that an event executes is marked, in three languages", async (page) => {
  await visit(page, lab.address, `${FIVE}&at=11`);
  await page.getByRole("tab", { name: "Code" }).click();
  const marked = page.locator(".code-step.executed");
  assert.match(await marked.innerText(), /REQUEST\(t, j\).*(send REPLY to j|defer)/s);
  await page.keyboard.press("Home");
  await page.waitForFunction(() => document.querySelectorAll(".code-step.executed").length === 0);
  for (let step = 0; step < 6; step += 1) await page.keyboard.press("ArrowRight");
  assert.match(await marked.innerText(), /Acquire/);
  await page.locator("#language").selectOption("pt");
  await page.locator(".code-step.executed", { hasText: "avança o relógio" }).waitFor();
});

withPage("processes that are idle in the window can be folded", async (page) => {
  await visit(page, lab.address, "#/run?algorithm=token-ring&processes=12&request=0@0&request=1@0&until=40ms");
  const names = () => page.evaluate(() => [...document.querySelectorAll(".diagram svg text")].filter((it) => /^!? ?p\d+$/.test(it.textContent)).length);
  assert.equal(await names(), 12);
  // At the start, all processes have a step.
  await page.keyboard.press("End");
  for (let zoom = 0; zoom < 4; zoom += 1) await page.getByRole("button", { name: "Show fewer events" }).click();
  await page.locator("[data-key=fold-idle]").click();
  await page.waitForFunction(() => [...document.querySelectorAll(".diagram svg text")].filter((it) => /^!? ?p\d+$/.test(it.textContent)).length < 12);
  assert.ok((await names()) >= 1);
  await page.locator("[data-key=fold-idle]").click();
  await page.waitForFunction(() => [...document.querySelectorAll(".diagram svg text")].filter((it) => /^!? ?p\d+$/.test(it.textContent)).length === 12);
});

withPage("messages move between the processes of a ring", async (page) => {
  await visit(page, lab.address, `${FIVE}&at=11`);
  await page.locator("[data-key=ring]").click();
  assert.ok(!(await page.locator(".diagram").isVisible()));
  assert.equal(await page.locator(".ring-node").count(), 5);
  const places = () => page.locator(".ring-message > circle").evaluateAll((all) => all.map((it) => it.getAttribute("cx")).join(" "));
  await page.waitForFunction(() => document.querySelectorAll(".ring-message").length === 20, null);
  const before = await places();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((before) => [...document.querySelectorAll(".ring-message > circle")].map((it) => it.getAttribute("cx")).join(" ") !== before, before);
  await page.keyboard.press("End");
  await page.waitForFunction(() => document.querySelectorAll(".ring-message").length === 0);
  await page.locator("[data-key=ring]").click();
  assert.ok(await page.locator(".diagram").isVisible());
});

test("a flight ends where its message arrives or is lost", () => {
  const steps = [
    [0, [{ type: "send", process: 0, to: 1, message: 1, kind: "A" }, { type: "send", process: 0, to: 2, message: 2 }, { type: "lose", process: 0, message: 2 }]],
    [0, [{ type: "duplicate", process: 0, to: 1, message: 1 }]],
    [1, [{ type: "deliver", process: 1, message: 1 }]],
    [1, [{ type: "deliver", process: 1, message: 1 }]],
    [1, [{ type: "send", process: 1, to: 0, message: 3 }]],
  ];
  const recording = { n: 3, length: steps.length, process: (step) => steps[step][0], records: (step) => steps[step][1] };
  const found = flights(recording).map(({ sent, end, isLost }) => [sent, end, isLost]);
  assert.deepEqual(found, [[0, 2, false], [0, 0.5, true], [1, 3, false], [4, Infinity, false]]);
});

test("cycles are found in a wait-for graph", async () => {
  const { waitFor, shortestCycle } = await import(`${import.meta.dirname}/../../../console/wait-for.js`);
  const global = (waits, down = []) => ({
    states: waits.map((_, it) => it),
    up: waits.map((_, it) => (down.includes(it) ? 0 : 1)),
    waits,
  });
  const cycle = (waits, down) => shortestCycle(waitFor(global(waits, down)));
  assert.deepEqual(cycle([[1], [2], []]), []);
  assert.deepEqual(cycle([[0], []]), [], "a process that waits for itself is no cycle");
  assert.deepEqual(cycle([[1], [2], [3], [1, 0]]), [1, 2, 3]);
  assert.deepEqual(cycle([[1, 2], [3], [0], [1]]), [0, 2]);
  assert.deepEqual(cycle([[1], [0]], [1]), [], "a process that is down waits for nothing");
  const edges = waitFor(global([[1, 2], [0], []]));
  assert.deepEqual(edges.filter((edge) => edge.inCycle).map(({ from, to }) => [from, to]), [[0, 1], [1, 0]]);
});

withPage("it plays and pauses", async (page) => {
  await visit(page, lab.address, FIVE);
  await page.getByLabel("Speed").selectOption("25");
  await page.locator("h1").click();
  await page.keyboard.press("Space");
  await page.waitForFunction(() => /^event (?!0 )/.test(document.querySelector(".where")?.textContent ?? ""));
  await page.keyboard.press("Space");
  const paused = await where(page);
  await page.waitForTimeout(300);
  assert.equal(await where(page), paused);
});

/** Returns the screen position of a process line at a time. */
async function spot(page, process, time) {
  const body = { scenario: { algorithm: "ricart-agrawala", processes: 5, requesters: "all" }, from: 0, to: 11_000_000 };
  const shown = await page.locator(".diagram svg").boundingBox();
  const box = await page
    .locator(".diagram svg")
    .evaluate((svg) => [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height]);
  const data = { ...body, width: Math.round(box[0]), legend: true, spread: true };
  const answer = await page.request.post(`${lab.address}api/diagram`, { data });
  const { steps } = (await answer.json()).geometry;
  const after = steps.findIndex((step) => step.time > time);
  const [a, b] = [steps[after - 1], steps[after]];
  const x = a.x + ((time - a.time) / (b.time - a.time)) * (b.x - a.x);
  const lane = await page.locator(`.diagram .process[data-process="${process}"] .lane`).boundingBox();
  return [shown.x + (x * shown.width) / box[0], lane.y + lane.height / 2];
}

withPage("a process crashes where it is clicked, and all before stays", async (page) => {
  await visit(page, lab.address, FIVE);
  for (let step = 0; step < 20; step += 1) await page.keyboard.press("ArrowRight");
  const early = await panels(page);
  await page.keyboard.press("Home");
  // p4 is waiting for its turn at 5.5 ms.
  await page.locator(".board").evaluate((board) => board.scrollIntoView({ block: "center" }));
  await page.mouse.click(...(await spot(page, 4, 5_500_000)));
  await page.getByRole("menuitem", { name: /^Crash p4 at 5\.\d+ ms/ }).click();
  await page.locator(".chip", { hasText: "crash" }).waitFor();
  assert.match(page.url(), /faults\.crash=4@5\.?\d+[mu]s/);
  await page.keyboard.press("End");
  assert.equal(await page.locator(".process.down .name").innerText(), "p4");
  await page.keyboard.press("Home");
  for (let step = 0; step < 20; step += 1) await page.keyboard.press("ArrowRight");
  const again = await panels(page);
  // The verdicts on the whole run may differ, but the past events must not.
  const happened = (text) =>
    text
      .slice(0, text.indexOf("ASSUMPTIONS"))
      .replace(/MESSAGES SENT[^]*?PROCESSES/, "")
      .replace(/PROPERTIES[^]*?States/, "");
  assert.equal(happened(again), happened(early));
  await page.goBack();
  await page.locator(".verdict.holds").waitFor();
  assert.equal(await page.locator(".chip").count(), 0, "going back undoes it");
});

withPage("a link is cut at a message that is clicked", async (page) => {
  await visit(page, lab.address, "#/run?algorithm=central&processes=3&requesters=all");
  await page.locator(".diagram [data-message] path").last().click({ force: true });
  await page.getByRole("menuitem", { name: /^Cut the link/ }).click();
  await page.locator(".chip", { hasText: "cut link" }).waitFor();
  assert.match(page.url(), /faults\.cut=\d-\d@/);
});

withPage("logical times are shown at events on request", async (page) => {
  await visit(page, lab.address, "#/run?algorithm=central&processes=3&requesters=all");
  assert.equal(await page.locator(".diagram text.stamp").count(), 0);
  await page.getByLabel("Show logical times").check();
  await page.locator(".diagram text.stamp").first().waitFor();
  const stamps = await page.locator(".diagram text.stamp").allTextContents();
  assert.ok(stamps.length > 5 && stamps.every((stamp) => /^\d+ \(\d+,\d+,\d+\)$/.test(stamp)), stamps.join(" "));
});

withPage("the skip link leads into the page that is shown", async (page) => {
  await visit(page, lab.address, "#/quorums", ".matrix td");
  const url = page.url();
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
  assert.equal(page.url(), url);
});

withPage("a process crashes without a mouse too", async (page) => {
  await visit(page, lab.address, FIVE);
  for (let step = 0; step < 25; step += 1) await page.keyboard.press("ArrowRight");
  await page.getByRole("button", { name: "Crash p2 now" }).focus();
  await page.keyboard.press("Enter");
  await page.locator(".chip", { hasText: "2@1ms" }).waitFor();
  await page.locator(".verdict.violated").waitFor();
  await page.locator(".property.violated, .property").first().waitFor();
});

withPage("a link leads to the same run", async (page) => {
  await visit(
    page,
    lab.address,
    "#/run?algorithm=lamport&processes=4&requesters=all&delay=uniform:1ms..5ms&seed=9&faults.crash=2@7ms",
  );
  await page.keyboard.press("End");
  // The address is updated with a delay.
  await page.waitForURL(/&at=\d+$/);
  const [url, seen, at] = [page.url(), await panels(page), await where(page)];
  const other = await openPage(browser, lab.address);
  await other.page.goto(url);
  await other.page.locator(".diagram svg").waitFor();
  assert.equal(await where(other.page), at, "at the same moment");
  assert.equal(await panels(other.page), seen);
  await other.page.waitForTimeout(400);
  assert.equal(other.page.url(), url, "and to the same address");
  await other.close();
});

// A run with more events than one segment holds: the lab repeats the run for each requested segment.
const LONG = "#/run?algorithm=ricart-agrawala&processes=128&requesters=all";
const here = (page) => page.locator(".run-view:not([data-loading])").waitFor();

withPage("any part of a long run is seen, stepped and drawn", async (page) => {
  await visit(page, lab.address, LONG);
  await page.locator(".note", { hasText: "32,896 events" }).waitFor();
  await page.locator(".scrubber").fill("32500");
  await here(page);
  assert.match(await where(page), /^event 32,501 of 32,896/);
  // Some processes are inside, and the diagram shows it although this is far from the start.
  assert.match(await page.locator('[data-panel="step"]').innerText(), /receives REPLY from p\d+/);
  await page.waitForFunction(() => /window from \d{3}/.test(document.querySelector(".diagram svg")?.textContent ?? ""));
  assert.ok((await page.locator(".diagram .stay.inside").count()) > 1);
  assert.ok((await page.locator(".diagram [data-message]").count()) > 50);
  await page.screenshot({ path: `${screens}/run-long.png` });
  // The counts of messages sent before this segment are known, and so are the process states.
  assert.match(await page.locator('[data-panel="counts"]').innerText(), /REQUEST\s+16,256\s+16,256/);
  const seen = [];
  for (let step = 0; step < 5; step += 1) {
    seen.push(await panels(page));
    await page.keyboard.press("ArrowRight");
  }
  for (const before of seen.reverse()) {
    await page.keyboard.press("ArrowLeft");
    assert.equal(await panels(page), before);
  }
  // Steps across a segment boundary, forward and back. The listed messages in flight may differ.
  const world = async () => {
    const texts = ["step", "details", "counts", "processes"].map((name) => page.locator(`[data-panel="${name}"]`).innerText());
    return (await Promise.all(texts)).join("\n");
  };
  await page.locator(".scrubber").fill("9999");
  await here(page);
  const edge = await world();
  await page.keyboard.press("ArrowRight");
  await here(page);
  assert.notEqual(await world(), edge);
  await page.keyboard.press("ArrowLeft");
  await here(page);
  assert.equal(await world(), edge);
  await page.keyboard.press("End");
  await here(page);
  assert.match(await where(page), /^event 32,896 of 32,896 · 257 ms/);
  await page.getByRole("tab", { name: "In flight" }).click();
  assert.equal(await page.getByRole("tabpanel").innerText(), "No message is under way.");
  await page.keyboard.press(",");
  assert.match(await where(page), /· 256 ms/, "the moment before");
});

withPage("of many lines those are drawn that are chosen, and all processes can be seen", async (page) => {
  await visit(page, lab.address, LONG);
  await page.getByLabel("Process lines to draw").fill("100-102, 7");
  await page.getByLabel("Process lines to draw").press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".diagram g.process").length === 4);
  assert.deepEqual(await page.locator(".diagram g.process text").allTextContents(), ["p100", "p101", "p102", "p7"]);
  await page.getByRole("button", { name: "Next →" }).click();
  assert.equal(await page.locator(".processes .name").first().innerText(), "p64");
  await page.locator(".processes .name").first().click();
  await page.keyboard.press("Shift+ArrowRight");
  assert.equal(await page.locator(".processes .name").last().innerText(), "p127");
});

withPage("a long trace is downloaded whole", async (page) => {
  await visit(page, lab.address, LONG);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("[data-file=trace]").click()]);
  const lines = readFileSync(await download.path(), "utf8").trimEnd().split("\n");
  assert.equal(lines.filter((line) => line.includes('"type":"deliver"')).length, 2 * 128 * 127);
});

test("every scenario that comes with quorate fits into an address and back", async () => {
  const ask = async (path, body) => {
    const options = body && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    return (await fetch(`${lab.address}api/${path}`, options)).json();
  };
  const all = await ask("scenarios");
  assert.ok(all.length > 100);
  for (const { name, toml } of all) {
    if (name.startsWith("quorum/") || !/^algorithm/m.test(toml)) continue;
    const { scenario, error } = await ask("scenario", { toml });
    assert.equal(error, undefined, name);
    const back = await ask("scenario", { scenario: decode(encode(scenario)) });
    assert.deepEqual(back.scenario, scenario, name);
  }
});

test("states are taken apart into names and values", () => {
  const state =
    "Stack { upper: Lamport { id: ProcessId(1), n: 3, clock: LamportClock { time: 4 }, queue: [Stamp { time: 1, process: ProcessId(0) }], note: \"a, b\" }, lower: Heartbeat { late: Span(2500000) } }";
  assert.deepEqual(fields(state), [
    ["upper.clock", "4"],
    ["upper.queue", "[1.p0]"],
    ["upper.note", '"a, b"'],
    ["lower.late", "2.5 ms"],
  ]);
  assert.deepEqual(fields("Waiting"), [["state", "Waiting"]]);
});

withPage("everything is said in the language that is chosen", async (page) => {
  await visit(page, lab.address, FIVE);
  for (const [code, run, event] of [
    ["pt", "Executar", "Este evento"],
    ["es", "Ejecutar", "Este suceso"],
    ["en", "Run", "This event"],
  ]) {
    await page.locator("#language").selectOption(code);
    await page.locator("nav a[aria-current]", { hasText: run }).waitFor();
    await page.locator(".diagram svg").waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), code);
    assert.equal((await page.locator('[data-panel="step"] h2').textContent()) ?? "", event);
    assert.match(page.url(), /requesters=all/, "the run stays");
    await page.screenshot({ path: `${screens}/run-${code}.png` });
    for (const width of [360, 700, 768, 1000]) {
      await page.setViewportSize({ width, height: 780 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${code} is ${wide} wide at ${width}`);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  }
  await page.locator("#language").selectOption("pt");
  await page.locator("nav a[aria-current]", { hasText: "Executar" }).waitFor();
  await page.reload();
  await page.locator("nav a[aria-current]", { hasText: "Executar" }).waitFor();
  await visit(page, lab.address, "#/lessons/48");
  await page.locator("h1", { hasText: "Dois dentro" }).waitFor();
});

withPage("another language keeps the moment, the run and the address", async (page) => {
  const say = async (code) => {
    // The old page stays until the new one is ready.
    const before = await page.locator("#main").getAttribute("data-shown");
    await page.locator("#language").selectOption(code);
    await page.waitForFunction(
      ([code, before]) =>
        document.documentElement.lang === code && document.getElementById("main")?.dataset.shown !== before,
      [code, before],
    );
    await page.locator(".diagram svg").first().waitFor();
  };
  await visit(page, lab.address, `${FIVE}&faults.crash=4@5500us`);
  await page.getByRole("button", { name: "Show fewer events" }).click();
  for (let step = 0; step < 30; step += 1) await page.keyboard.press("ArrowRight");
  await page.waitForURL(/&at=30$/);
  const url = page.url();
  await say("pt");
  assert.match(await where(page), /^evento 30 de /);
  assert.equal(page.url(), url);
  // The texts in the drawing are translated too.
  const drawn = await page.locator(".diagram svg").textContent();
  assert.match(drawn, /dentro da seção crítica/);
  assert.match(drawn, /enviada em/);
  assert.doesNotMatch(drawn, /sent at|inside the critical|waits/);
  assert.match(await page.locator(".diagram svg > desc").textContent(), /processos e .* mensagens/);
  await say("es");
  assert.match(await where(page), /^suceso 30 de /);
  await visit(page, lab.address, "#/compare", ".side:nth-child(2) .diagram svg");
  for (let step = 0; step < 4; step += 1) await page.keyboard.press("ArrowRight");
  const moment = await where(page);
  await say("pt");
  assert.equal(await where(page), moment);
  await visit(page, lab.address, "#/lessons/heartbeats");
  await page.keyboard.press("Shift+ArrowRight");
  await page.locator(".question details summary").click();
  await say("en");
  assert.match(await where(page), /^event 10 of /);
  assert.ok(await page.locator(".question details").evaluate((it) => it.open), "the answer stays open");
  await visit(page, lab.address, "#/open", ".scenario-list button");
  await page.locator("#pasted").fill('algorithm = "central"\nprocesses = 3\nrequesters = "all"');
  await page.locator("#show").click();
  await page.locator(".diagram svg").waitFor();
  await page.locator("h1").click();
  await page.keyboard.press("End");
  const end = (await where(page)).match(/\d+/)[0];
  await say("es");
  assert.match(await where(page), new RegExp(`^suceso ${end} de ${end} `));
  assert.match(await page.locator("#pasted").inputValue(), /central/);
});

withPage("garbage is read, refused and never acted on", async (page) => {
  await visit(page, lab.address, "#/open", ".scenario-list button");
  const garbage = [
    "<img src=x onerror=alert(1)><script>alert(2)</script>",
    '{"event":1,"time":0,"process":0,"type":"fault","fault":"<script>alert(3)</script>"}\n{"no":"record"}',
    '{"__proto__":{"polluted":true}}',
    'algorithm = "<svg onload=alert(4)>"\nprocesses = 3',
    "\u0000\u0001\u0002".repeat(1000),
    "x".repeat(1_500_000),
  ];
  for (const text of garbage) {
    await page.locator("#pasted").fill(text);
    await page.locator("#show").click();
    await page.locator(".problem").waitFor();
    assert.equal(await page.locator("main script, main img").count(), 0);
  }
  const bytes = Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 7919) % 256));
  await page.locator("input[type=file]").setInputFiles({ name: "garbage.toml", mimeType: "text/plain", buffer: bytes });
  await page.locator(".problem").waitFor();
  for (const hash of [
    "#/run?algorithm=%3Cscript%3E&processes=1e9",
    "#/run?__proto__.x=1",
    "#/lessons/999",
    "#/nowhere",
    "#/quorums?n=-4&system=%3Cb%3E",
    "#/compare/a/b",
  ]) {
    await visit(page, lab.address, hash, "main h1");
  }
  assert.equal(await page.evaluate(() => /** @type {any} */ ({}).polluted ?? /** @type {any} */ ({}).x), undefined);
  // A trace that contains markup is shown as plain text.
  const trace = '{"event":1,"time":0,"process":0,"type":"fault","fault":"<b>bold</b>"}\n';
  await visit(page, lab.address, "#/open", ".scenario-list button");
  await page.locator("#pasted").fill(trace);
  await page.locator("#show").click();
  await page.locator(".diagram svg").waitFor();
  await page.keyboard.press("End");
  assert.equal(await page.locator("main b", { hasText: /^bold$/ }).count(), 0);
});

withPage("a scenario from the shelf and a trace are shown", async (page) => {
  await visit(page, lab.address, "#/open", ".scenario-list button");
  await page.getByLabel("Search scenarios").fill("two enter");
  await page.locator(".scenario-list button").first().click();
  await page.locator(".verdict.violated").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("[data-file=trace]").click()]);
  const trace = readFileSync(await download.path(), "utf8");
  await page
    .locator("input[type=file]")
    .setInputFiles({ name: "run.jsonl", mimeType: "text/plain", buffer: Buffer.from(trace) });
  await page.locator("h2", { hasText: "A trace" }).waitFor();
  await page.locator(".diagram svg").waitFor();
  // A dropped file is shown as well.
  await page.locator(".drop").evaluate((drop) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File(['algorithm = "raymond"\nprocesses = 4'], "raymond.toml"));
    drop.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
  });
  await page.locator("h2", { hasText: "raymond" }).waitFor();
});

withPage("a run that takes long is cancelled, and one that is too large refused", async (page) => {
  await visit(page, lab.address, FIVE);
  await page.evaluate(() => (location.hash = "#/run?algorithm=ricart-agrawala&processes=1200&requesters=all"));
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator(".problem", { hasText: "Cancelled." }).waitFor();
  await visit(page, lab.address, "#/run?algorithm=central&processes=5000", ".problem");
  assert.match(await page.locator(".problem").innerText(), /at most 4096 are run here/);
  await visit(page, lab.address, FIVE);
});

withPage("what is shown can be taken away as files", async (page) => {
  await visit(page, lab.address, FIVE);
  for (const [file, begins] of [
    ["scenario", "algorithm = "],
    ["trace", '{"event":'],
    ["svg", "<svg"],
    ["png", "\u0089PNG"],
  ]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`[data-file=${file}]`).click()]);
    assert.match(download.suggestedFilename(), /^ricart-agrawala\.(toml|jsonl|svg|png)$/);
    assert.ok(readFileSync(await download.path(), "latin1").startsWith(begins), file);
  }
});

withPage("two runs move in step", async (page) => {
  await visit(page, lab.address, "#/compare", ".side:nth-child(2) .diagram svg");
  for (let step = 0; step < 4; step += 1) await page.keyboard.press("ArrowRight");
  assert.match(await where(page), /^3 ms \/ 16 ms/);
  const sent = await page.locator(".now-line b").allInnerTexts();
  assert.deepEqual(
    sent.map(Number).map((it) => it > 0),
    [true, true],
  );
  await page.locator("select[data-side='1']").selectOption("ricart-agrawala");
  await page.getByLabel("Seed 2").fill("5");
  await page.getByLabel("Seed 2").press("Enter");
  await page.waitForFunction(() => /seed=5/.test(location.hash));
});

withPage("what is clicked in one of two runs goes wrong in both", async (page) => {
  await visit(page, lab.address, "#/compare", ".side:nth-child(2) .diagram svg");
  for (let step = 0; step < 4; step += 1) await page.keyboard.press("ArrowRight");
  const moment = (await where(page)).split(" / ")[0];
  await page.locator(".side:nth-child(2) .board").evaluate((board) => board.scrollIntoView({ block: "center" }));
  const lane = await page.locator(".side:nth-child(2) .diagram .process[data-process='3'] .lane").boundingBox();
  await page.mouse.click(lane.x + lane.width / 2, lane.y);
  await page.getByRole("menuitem", { name: /^Crash p3 at / }).click();
  await page.waitForURL(/faults\.crash=/);
  const [left, right] = page.url().split("#/compare/")[1].split("/");
  assert.match(left, /faults\.crash=3@/);
  assert.equal(left.match(/faults\.crash=[^&]+/)?.[0], right.match(/faults\.crash=[^&]+/)?.[0]);
  for (const side of [1, 2]) await page.locator(`.side:nth-child(${side}) .diagram .down`).first().waitFor({ state: "attached" });
  assert.equal((await where(page)).split(" / ")[0], moment, "and the moment stays");
  await page.locator(".side:nth-child(1) .diagram [data-message] path").last().click({ force: true });
  await page.getByRole("menuitem", { name: /^Cut the link/ }).click();
  await page.waitForURL(/faults\.cut=.*faults\.cut=/);
  assert.equal(await page.locator(".chip").count(), 2, "what is on both sides is told once");
});

withPage("timers that run out are marked", async (page) => {
  await visit(page, lab.address, "#/run?algorithm=heartbeat&processes=4");
  const titles = await page.locator(".diagram g[data-process] > title").allTextContents();
  assert.ok(titles.some((title) => /^p0 a timer expires .* at 4/.test(title)), titles.slice(0, 9).join("; "));
  assert.match(await page.locator(".diagram .legend").textContent(), /a timer expires/);
});

withPage("quorums change when processes are failed by a click", async (page) => {
  await visit(page, lab.address, "#/quorums", ".matrix td");
  const quorum = () => page.locator(".owners tr").first().innerText();
  const whole = await quorum();
  await page.locator(".picture [data-process='1']").first().click();
  await page.locator(".nodes button[data-process='1'][aria-pressed=true]").waitFor();
  assert.notEqual(await quorum(), whole);
  await page.locator(".nodes button[data-process='2']").click();
  await page.locator(".nodes button[data-process='2'][aria-pressed=true]").waitFor();
  assert.match(page.url(), /failed=1,2/);
  await page.getByRole("button", { name: "show this pair" }).first().click();
  await page.locator(".matrix td.apart").first().waitFor();
  await page.screenshot({ path: `${screens}/quorums-apart.png`, fullPage: true });
});

withPage("a system that is not monotone shows a failure that changes a quorum", async (page) => {
  await visit(page, lab.address, "#/quorums?system=grid-rebuilt&n=7", ".matrix td");
  const verdict = page.locator(".property.violated", { hasText: "Not monotone" });
  await verdict.getByRole("button", { name: "show this pair" }).click();
  await page.locator(".nodes button[aria-pressed=true]").waitFor();
  await page.screenshot({ path: `${screens}/quorums-not-monotone.png`, fullPage: true });
  await page.locator("select[data-key=system]").selectOption("wall");
  await page.locator(".property.holds", { hasText: "Monotone" }).waitFor();
  await page.screenshot({ path: `${screens}/quorums-wall.png`, fullPage: true });
});

withPage("an experiment is started, watched, read and cancelled", async (page) => {
  await visit(page, lab.address, "#/experiments", ".choice");
  const start = (name) => page.locator(`[data-experiment="${name}"] button`).click();
  await page.locator('[data-experiment="consensus-rounds"] input').first().fill("1");
  await start("consensus-rounds");
  await page.locator(".block table").first().waitFor({ timeout: 60_000 });
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Download CSV").click()]);
  assert.ok(readFileSync(await download.path(), "utf8").includes(","));
  await page.screenshot({ path: `${screens}/experiments-done.png`, fullPage: true });
  await page.locator('[data-experiment="mutex-cost"] input').first().fill("1000");
  await start("mutex-cost");
  await page.locator("progress").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator(".problem", { hasText: "cancelled" }).waitFor({ timeout: 60_000 });
});

withPage("every lesson opens with its run", async (page) => {
  await visit(page, lab.address, "#/lessons");
  const addresses = await page.locator(".contents li a").evaluateAll((links) => links.map((it) => it.getAttribute("href")));
  assert.ok(addresses.length >= 90);
  for (const address of addresses) {
    await visit(page, lab.address, address);
    assert.equal(await page.locator(".problem, .run-view > .note, .note[role=alert]").count(), 0, address);
    await page.locator(".question details summary").click();
  }
});

withPage("dark and light can be switched", async (page) => {
  await visit(page, lab.address, FIVE);
  const paper = () => page.locator(".diagram .paper").evaluate((it) => getComputedStyle(it).fill);
  assert.equal(await paper(), "rgb(255, 255, 255)");
  await page.locator("#theme").click();
  assert.equal(await paper(), "rgb(20, 23, 27)", "the drawing follows");
});

/** Measures steps in milliseconds, each from the key press until the layout is up to date; sorted. */
function stepTimes(page, steps) {
  return page.evaluate(async (steps) => {
    const times = [];
    for (let step = 0; step < steps; step += 1) {
      const begun = performance.now();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
      document.body.getBoundingClientRect();
      times.push(performance.now() - begun);
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    }
    return times.sort((a, b) => a - b);
  }, steps);
}

withPage("it is quick enough to be used: figures, not promises", async (page) => {
  const begun = Date.now();
  await visit(page, lab.address, FIVE);
  const first = Date.now() - begun;
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN);
  const report = (what, times) =>
    console.log(
      `    ${what}: median ${times[times.length >> 1].toFixed(1)} ms, longest ${times[times.length - 1].toFixed(1)} ms`,
    );
  console.log(`    default run: first contentful paint ${paint.toFixed(0)} ms, diagram drawn after ${first} ms`);
  await visit(page, lab.address, "#/run?algorithm=ricart-agrawala&processes=64&requesters=all");
  report("a step at n = 64", await stepTimes(page, 60));
  const large = Date.now();
  await visit(page, lab.address, "#/run?algorithm=ricart-agrawala&processes=512&requesters=all");
  console.log(
    `    n = 512, everybody asks: drawn after ${Date.now() - large} ms; ${await page.locator(".note").first().textContent()}`,
  );
  report("a step at n = 512", await stepTimes(page, 30));
  const jump = Date.now();
  await page.locator(".scrubber").fill("400000");
  await here(page);
  console.log(`    n = 512, to the middle of 524,800 events: ${Date.now() - jump} ms`);
  report("a step there", await stepTimes(page, 30));
  await page.waitForFunction(() => !/window from 0 /.test(document.querySelector(".diagram svg")?.textContent ?? ""));
  await page.screenshot({ path: `${screens}/run-512.png` });
});

clusterTests(() => browser);
