// Tests of the lessons in a real browser: questions, progress, changed runs, tasks, and a teacher's folder.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { openBrowser, openLab, openPage, screens, visit } from "./lab.mjs";

const examples = join(dirname(fileURLToPath(import.meta.url)), "../../../examples/lessons");
let lab, browser;
before(async () => {
  [lab, browser] = [await openLab(), await openBrowser()];
});
after(async () => {
  await browser?.close();
  lab?.close();
});

/** A test with its own page. It also fails if the page has reported a problem by the end. */
function withPage(name, body) {
  test(name, async () => {
    const { page, problems, close } = await openPage(browser, lab.address);
    try {
      await body(page, lab.address);
      assert.deepEqual(problems, []);
    } finally {
      await close();
    }
  });
}

const question = (page, place) => page.locator(`[data-question="${place}"]`);
const answer = (page, place) => question(page, place).getByRole("button", { name: "Answer", exact: true }).click();
const state = (page, place, wanted) => page.locator(`[data-question="${place}"][data-state="${wanted}"]`).waitFor();
const storage = (page) => page.evaluate(() => JSON.parse(localStorage.getItem("quorate.lessons") ?? "null"));

/** Answers both questions of the lesson "a-circle-of-voters". */
async function answerCircle(page) {
  await question(page, 0).locator("select").selectOption("ME2");
  await answer(page, 0);
  await state(page, 0, "right");
  await question(page, 1).getByLabel(/ask for its vote back/).check();
  await answer(page, 1);
  await state(page, 1, "right");
}

withPage("the verdict, the totals and the future are covered until the questions are answered", async (page, address) => {
  await visit(page, address, "#/lessons/a-circle-of-voters");
  const spoilers = page.locator('.lesson .verdict, [data-panel="properties"], [data-panel="counts"], .diagram .violation, .diagram .legend');
  assert.equal(await spoilers.count(), 0);
  const shade = () => page.locator(".diagram .future").evaluate((it) => getComputedStyle(it).opacity);
  assert.equal(await shade(), "1");
  await question(page, 0).locator("select").selectOption("ME1");
  await answer(page, 0);
  await question(page, 0).getByText("Not yet.").waitFor();
  await question(page, 1).getByLabel("Faster links").check();
  await answer(page, 1);
  await question(page, 1).getByText("The order of arrivals matters").waitFor();
  assert.equal(await spoilers.count(), 0, "a wrong answer shows nothing");
  assert.ok(!(await page.locator(".lesson").innerText()).includes("This is INQUIRE"), "nor the reason of a right option");
  await answerCircle(page);
  await page.locator(".lesson .verdict.violated").waitFor();
  await page.locator('[data-panel="properties"]').waitFor();
  assert.notEqual(await shade(), "1");
  assert.match(await question(page, 0).innerText(), /2 of 3 points/);
  await page.screenshot({ path: `${screens}/lesson-answered.png`, fullPage: true });
});

withPage("an answer can be shown without points, and with the keyboard alone", async (page, address) => {
  await visit(page, address, "#/lessons/ask-the-server");
  await question(page, 1).locator("input").focus();
  await page.keyboard.type("12");
  await page.keyboard.press("Enter");
  await state(page, 1, "right");
  await question(page, 0).getByRole("button", { name: "Show the answer" }).focus();
  await page.keyboard.press("Enter");
  await state(page, 0, "given-up");
  await question(page, 0).locator("strong", { hasText: "p1" }).waitFor();
  assert.match(await question(page, 0).innerText(), /0 of 3 points/);
});

withPage("progress is kept in this browser and can be deleted", async (page, address) => {
  await visit(page, address, "#/lessons/a-circle-of-voters");
  await answerCircle(page);
  const done = page.locator(".contents [aria-current] .done");
  assert.match(await done.innerText(), /6\/6/);
  await page.reload();
  await state(page, 1, "right");
  await page.locator(".lesson .verdict.violated").waitFor();
  assert.match(await done.innerText(), /6\/6/);
  assert.match(await page.locator(".progress-summary").innerText(), /^1 of \d+ lessons done, 6 points/);
  await visit(page, address, "#/lessons/heartbeats");
  await page.locator(".question details summary").click();
  await page.locator(".contents [aria-current] .done").waitFor();
  await page.getByRole("button", { name: "Start over" }).click();
  assert.ok(await storage(page), "the first click only asks");
  await page.getByRole("button", { name: "Really delete the progress?" }).click();
  assert.equal(await storage(page), null);
  assert.equal(await page.locator(".contents .done").count(), 0);
});

withPage("damaged progress is ignored", async (page, address) => {
  for (const text of ["{", '{"version":1,"lessons":{"a-circle-of-voters":{"done":true,"attempts":[{"state":"<b>"},7]}}}', "[]", "null"]) {
    await visit(page, address, "#/lessons/heartbeats");
    await page.evaluate((text) => localStorage.setItem("quorate.lessons", text), text);
    await visit(page, address, "#/lessons/a-circle-of-voters");
    await state(page, 0, "open");
    assert.equal(await page.locator(".contents .done").count(), 0);
  }
});

withPage("a changed run stays in the address and can be reset", async (page, address) => {
  await visit(page, address, "#/lessons/held-back");
  await page.keyboard.press("ArrowRight");
  await page.getByRole("tab", { name: "Choose" }).click();
  await page.locator(".choice-faults").getByRole("button", { name: "Crash p2" }).click();
  await page.locator(".edited").waitFor();
  assert.match(page.url(), /#\/lessons\/held-back\?.*faults\.crash=2@/);
  const changed = page.url();
  await page.reload();
  await page.locator(".edited").waitFor();
  assert.equal(page.url(), changed);
  await page.getByRole("button", { name: "Reset the run" }).click();
  await page.waitForFunction(() => location.hash === "#/lessons/held-back");
  assert.equal(await page.locator(".edited").count(), 0);
  await page.goBack();
  await page.locator(".edited").waitFor();
  assert.equal(page.url(), changed);
});

withPage("a task is judged by the report of the run", async (page, address) => {
  const lesson = "#/lessons/a-request-that-is-told-nothing";
  const run = "algorithm=quorum-published&quorums=grid&request=1@0&request=2@0&request=3@0";
  await visit(page, address, lesson);
  const judge = page.locator(".judge");
  assert.match(await judge.innerText(), /Change the run until ME2 breaks/);
  await question(page, 0).locator("[data-act=hint]").click();
  assert.equal(await page.locator(".hints li").count(), 1);
  await visit(page, address, `${lesson}?${run}&processes=4&arrival=6@1`);
  await judge.getByText("ME2 holds in this run.").waitFor();
  await visit(page, address, `${lesson}?${run}&processes=4&faults.lose=1-0@0`);
  await judge.getByText("also breaks an assumption").waitFor();
  await visit(page, address, `${lesson}?${run}&processes=5&arrival=4@1`);
  await judge.getByText("Only runs of quorum-published with 4 processes count here.").waitFor();
  await state(page, 0, "open");
  await visit(page, address, `${lesson}?${run}&processes=4&arrival=4@1`);
  await state(page, 0, "right");
  assert.match(await question(page, 0).innerText(), /2 of 3 points/);
  await page.getByRole("button", { name: "✓ The task is solved" }).waitFor();
});

withPage("a run that breaks another property does not solve a task", async (page, address) => {
  const run = "algorithm=central&processes=5&request=3@0&request=1@100us&request=4@200us&request=2@300us";
  await visit(page, address, `#/lessons/ask-the-server?${run}&faults.crash=0@500us`);
  await page.locator(".judge", { hasText: "ME1 holds in this run." }).waitFor();
  await state(page, 2, "open");
});

withPage("another order of arrivals solves a task", async (page, address) => {
  await visit(page, address, "#/lessons/a-request-that-is-told-nothing");
  const deliver = page.getByRole("button", { name: "Deliver REQUEST from p2 to p0" });
  await page.getByRole("tab", { name: "Choose" }).click();
  await page.locator("h1").click();
  for (let step = 0; step < 20 && (await deliver.count()) === 0; step += 1) await page.keyboard.press("ArrowRight");
  await deliver.click();
  await state(page, 0, "right");
  assert.match(page.url(), /arrival=4@/);
});

withPage("a fault in the diagram solves a task without leaving the lesson", async (page, address) => {
  await visit(page, address, "#/lessons/the-token-comes-when-asked");
  await page.getByRole("tab", { name: "Choose" }).click();
  // In the tab list, arrow keys choose a tab.
  await page.locator("h1").click();
  const lose = page.getByRole("button", { name: "Lose TOKEN" });
  for (let step = 0; step < 12 && (await lose.count()) === 0; step += 1) await page.keyboard.press("ArrowRight");
  await lose.click();
  await state(page, 1, "right");
  assert.match(page.url(), /faults\.lose=0-2@1ms/);
});

withPage("old numbers lead to the lessons that they named", async (page, address) => {
  await visit(page, address, "#/lessons/48");
  assert.equal(await page.locator("h1").innerText(), "Two processes inside");
  await visit(page, address, "#/lessons/64");
  assert.equal(await page.locator("h1").innerText(), "Replicas that lie");
  await visit(page, address, "#/lessons/65");
  await page.locator(".note", { hasText: "There is no lesson 65" }).waitFor();
});

withPage("answer sheets have room for answers, or the solutions", async (page, address) => {
  await visit(page, address, "#/lessons/print?chapter=exclusion", ".printed-lesson");
  const sheet = page.locator(".answer-sheet");
  assert.ok((await sheet.locator(".blank").count()) > 10);
  assert.equal(await sheet.locator(".solution").count(), 0);
  assert.doesNotMatch(await sheet.innerText(), /☒|its request is the second/);
  await page.getByLabel("With solutions").check();
  await sheet.locator(".solution").first().waitFor();
  assert.match(await sheet.innerText(), /its request is the second to arrive at p0/);
  await sheet.locator(".solution strong", { hasText: /^12$/ }).waitFor();
  await page.emulateMedia({ media: "print" });
  assert.ok(!(await page.locator("#bar").isVisible()));
  assert.ok(!(await page.locator(".print-controls").isVisible()));
});

withPage("a lesson is written on the page, and its address contains it", async (page, address) => {
  await visit(page, address, "#/lessons/write", "#lesson-text");
  const text = page.locator("#lesson-text");
  await text.fill((await text.inputValue()).replace("Two at the door", "<b>Ours</b>").replace("order.1", "order.99"));
  const show = page.getByRole("button", { name: "Show the lesson" });
  await show.click();
  await page.locator(".problem", { hasText: "no `order.99`" }).waitFor();
  await text.fill((await text.inputValue()).replace("order.99", "order.0").replace("p2: its", "p1: its"));
  await show.click();
  await page.locator(".lesson .diagram svg").waitFor();
  assert.equal(await page.locator("h1").innerText(), "<b>Ours</b>");
  await question(page, 0).locator("select").selectOption("1");
  await answer(page, 0);
  await state(page, 0, "right");
  // A changed run and the lesson share the address.
  await page.getByRole("tab", { name: "Choose" }).click();
  await page.locator(".choice-faults").getByRole("button", { name: "Crash p3" }).click();
  await page.locator(".edited").waitFor();
  assert.match(page.url(), /#\/lessons\/shared\?[\w-]+&.*faults\.crash=3@/);
  await page.reload();
  await page.locator(".edited").waitFor();
  await state(page, 0, "right");
  await page.getByRole("link", { name: "Edit this lesson" }).click();
  await page.locator("#lesson-text").waitFor();
  assert.match(await page.locator("#lesson-text").inputValue(), /<b>Ours<\/b>/);
});

withPage("an address without a lesson, or with one that is too large, is refused", async (page, address) => {
  const bomb = await page.evaluate(async () => {
    const stream = new Blob([JSON.stringify(["x".repeat(20_000_000), ""])]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  });
  for (const packed of ["", "%%%", "abc", bomb]) {
    await visit(page, address, `#/lessons/shared?${packed}`, ".problem");
    await page.locator(".problem", { hasText: "contains no lesson" }).waitFor();
  }
});

test("a teacher's folder comes first, and its text is never markup", async () => {
  const own = await openLab("--lessons", examples);
  const { page, problems, close } = await openPage(browser, own.address);
  try {
    await visit(page, own.address, "#/lessons");
    assert.equal(await page.locator("h1").innerText(), "Two at the door");
    assert.equal(await page.locator(".contents h2").first().innerText(), "Monday");
    assert.equal(await page.locator(".words em").innerText(), "central server");
    assert.equal(await page.locator(".words li").count(), 3);
    await question(page, 0).locator("select").selectOption("2");
    await answer(page, 0);
    await state(page, 0, "right");
    assert.deepEqual(problems, []);
  } finally {
    await close();
    own.close();
  }
});

test("a mistake in a teacher's folder is named, and the course is still there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quorate-lessons-"));
  const text = (title) => `+++\ntitle = ${title}\n+++\n<img src=x onerror=alert(1)> **x** \`<b>\`\n`;
  writeFileSync(join(folder, "own.toml"), 'algorithm = "central"\nprocesses = 3\n');
  writeFileSync(join(folder, "own.md"), text('"<script>alert(2)</script>"'));
  const own = await openLab("--lessons", folder);
  const { page, problems, close } = await openPage(browser, own.address);
  try {
    await visit(page, own.address, "#/lessons/own");
    assert.equal(await page.locator("h1").innerText(), "<script>alert(2)</script>");
    assert.equal(await page.locator(".words strong").innerText(), "x");
    assert.equal(await page.locator("main img, main script, main b:not(.look b)").count(), 0);
    writeFileSync(join(folder, "own.md"), text("nothing"));
    await visit(page, own.address, "#/lessons");
    await page.locator(".problem", { hasText: "own.md:2:" }).waitFor();
    assert.equal(await page.locator("h1").innerText(), "What happened before");
    assert.deepEqual(problems, []);
  } finally {
    await close();
    own.close();
    rmSync(folder, { recursive: true });
  }
});
