// Starts the lab and the browser for the tests: the built binary and the installed Chromium.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";

const { QUORATE_BIN, QUORATE_BROWSER_MODULES, QUORATE_CHROMIUM, QUORATE_SCREENS } = process.env;
const require = createRequire(`${QUORATE_BROWSER_MODULES}/`);
const { chromium } = require("playwright-core");

export const screens = QUORATE_SCREENS;
mkdirSync(screens, { recursive: true });

/** Starts the lab, with further flags, and waits for its address. */
export async function openLab(...flags) {
  const lab = spawn(QUORATE_BIN, ["lab", "--no-open", ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  const [address] = await Promise.race([
    new Promise((resolve) => createInterface({ input: lab.stdout }).once("line", (line) => resolve([line]))),
    new Promise((_, reject) => lab.once("exit", (code) => reject(new Error(`the lab ended with ${code}`)))),
  ]);
  return { address, close: () => lab.kill() };
}

/** Starts a cluster and waits for the address of its web page. */
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

/** Returns free ports. They are free for a moment, until another program takes one. */
async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

/** Starts a cluster whose nodes are processes of their own, which can be killed and started again. */
export async function openNodes(count) {
  const folder = mkdtempSync(`${tmpdir()}/quorate-nodes-`);
  const ports = await freePorts(2 * count);
  const peers = Array.from({ length: count }, (_, it) => `${it} = "127.0.0.1:${ports[count + it]}"`).join("\n");
  const processes = [];
  const start = (node, ...options) => {
    processes[node] = spawn(QUORATE_BIN, ["node", "--config", `${folder}/${node}.toml`, ...options], { stdio: "ignore" });
  };
  for (let node = 0; node < count; node += 1) {
    const config = `cluster = "1"\nid = ${node}\nclients = "127.0.0.1:${ports[node]}"\ndata = "${folder}/${node}"\n[peers]\n${peers}\n`;
    writeFileSync(`${folder}/${node}.toml`, config);
    start(node, "--new-cluster");
  }
  const address = `http://127.0.0.1:${ports[0]}/`;
  for (let tries = 0; !(await fetch(`${address}readyz`).catch(() => null))?.ok; tries += 1) {
    if (tries > 200) throw new Error("the nodes do not become ready");
    await new Promise((done) => setTimeout(done, 100));
  }
  return {
    address,
    start,
    kill: (node) => processes[node].kill("SIGKILL"),
    close: () => {
      processes.forEach((process) => process.kill("SIGKILL"));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a command of the binary against a cluster; `close` kills it. */
export function run(address, words) {
  const command = spawn(QUORATE_BIN, words, {
    stdio: "ignore",
    env: { ...process.env, QUORATE_ENDPOINT: new URL(address).host },
  });
  return { close: () => command.kill() };
}

export function openBrowser() {
  // Chromium's sandbox does not start as root, and CI usually runs as root.
  return chromium.launch({ executablePath: QUORATE_CHROMIUM, args: ["--no-sandbox"] });
}

/**
 * Opens a page that collects problems: errors, warnings, dialogs, and requests to other hosts.
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
    // A 4xx status can be the expected answer, but Chromium logs it as an error.
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

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Problems that axe-core finds on the page that is shown: the rule, and the elements that break it. */
export async function accessibilityProblems(page) {
  // The page's own policy forbids to add a script, so it is evaluated.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, html }) => `${id}: ${target.join(" ")}: ${html.slice(0, 100)}`));
}

/** Opens an address of the lab and waits until an element that matches `ready` is visible. */
export async function visit(page, address, hash, ready = ".diagram svg") {
  const main = page.locator("#main");
  if (page.url().startsWith(address)) {
    const before = await main.getAttribute("data-shown");
    await page.evaluate((hash) => {
      // Visiting the current address again must also trigger a hash change.
      if (location.hash === hash) history.replaceState(null, "", "#/");
      location.hash = hash;
    }, hash);
    await page.waitForFunction((before) => document.getElementById("main")?.dataset.shown !== before, before);
  } else {
    await page.goto(`${address}${hash}`);
  }
  await page.locator(ready).first().waitFor();
}
