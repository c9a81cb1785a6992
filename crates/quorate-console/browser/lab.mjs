// A lab and a browser for the tests: the binary that was built, and the Chromium that the machine has.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";

const { QUORATE_BIN, QUORATE_BROWSER_MODULES, QUORATE_CHROMIUM, QUORATE_SCREENS } = process.env;
const require = createRequire(`${QUORATE_BROWSER_MODULES}/`);
const { chromium } = require("playwright-core");

export const screens = QUORATE_SCREENS;
mkdirSync(screens, { recursive: true });

/** Starts the lab and waits for its address. */
export async function openLab() {
  const lab = spawn(QUORATE_BIN, ["lab", "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
  const [address] = await Promise.race([
    new Promise((resolve) => createInterface({ input: lab.stdout }).once("line", (line) => resolve([line]))),
    new Promise((_, reject) => lab.once("exit", (code) => reject(new Error(`the lab ended with ${code}`)))),
  ]);
  return { address, close: () => lab.kill() };
}

/** Starts a cluster and waits for the address of its page. */
export async function openCluster() {
  const cluster = spawn(QUORATE_BIN, ["up", "-n", "5", "--port", "0"], { stdio: ["ignore", "pipe", "ignore"] });
  const address = await new Promise((resolve, reject) => {
    createInterface({ input: cluster.stdout }).on("line", (line) => {
      const [, page] = /^page +(http\S+)$/.exec(line) ?? [];
      if (page) resolve(page);
    });
    cluster.once("exit", (code) => reject(new Error(`the cluster ended with ${code}`)));
  });
  return { address, close: () => cluster.kill() };
}

/** A command of the binary that runs against a cluster until it is closed. */
export function run(address, words) {
  const command = spawn(QUORATE_BIN, words, {
    stdio: "ignore",
    env: { ...process.env, QUORATE_ENDPOINT: new URL(address).host },
  });
  return { close: () => command.kill() };
}

export function openBrowser() {
  // As root, which CI usually is, Chromium's sandbox does not start.
  return chromium.launch({ executablePath: QUORATE_CHROMIUM, args: ["--no-sandbox"] });
}

/**
 * A page that notes everything it should not have done: errors, warnings, dialogs, requests to anywhere else.
 */
export async function openPage(browser, address, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: "en-GB",
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems = [];
  page.on("console", (message) => {
    // A refusal is an answer, and Chromium reports it all the same.
    const refusal = /Failed to load resource: the server responded with a status of 4\d\d/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !refusal) problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !url.startsWith("blob:")) problems.push(`request to ${url}`);
  });
  return { page, problems, close: () => context.close() };
}

/** Opens an address of the lab, and waits until there is something to see. */
export async function visit(page, address, hash, ready = ".diagram svg") {
  const main = page.locator("#main");
  if (page.url().startsWith(address)) {
    const before = await main.getAttribute("data-shown");
    await page.evaluate((hash) => {
      // The same address again is a change too.
      if (location.hash === hash) history.replaceState(null, "", "#/");
      location.hash = hash;
    }, hash);
    await page.waitForFunction((before) => document.getElementById("main")?.dataset.shown !== before, before);
  } else {
    await page.goto(`${address}${hash}`);
  }
  await page.locator(ready).first().waitFor();
}
