// What the pages of the inspector do in the browser: follow the journal, fetch further parts, make changes, and obey keys.
const main = document.getElementById("main");
const said = document.getElementById("live");
// The server escapes every text. Only its own pages become elements here.
const policy = globalThis.trustedTypes?.createPolicy("haft", { createHTML: (html) => html });

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(html) : html;
  return template.content;
}

function say(text, isBad = false) {
  said.textContent = text;
  said.hidden = text === "";
  said.classList.toggle("bad", isBad);
}

async function get(url) {
  const answer = await fetch(url, { headers: { accept: "text/html" } });
  if (answer.status === 401) location.reload();
  if (!answer.ok) throw new Error(`the inspector answered ${answer.status}`);
  return parse(await answer.text());
}

// Moments in the time of this browser.
function localize(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title]):not([data-left])")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    const isToday = at.toDateString() === new Date().toDateString();
    const clock = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    time.textContent = isToday ? clock : `${at.toLocaleDateString()} ${clock}`;
    time.title = time.dateTime;
  }
}

// Further parts: a link that is replaced by what it leads to, once it comes into view.
const coming = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) more(target);
}, { rootMargin: "600px" });

async function more(link) {
  if (link.dataset.busy) return;
  link.dataset.busy = "1";
  coming.unobserve(link);
  try {
    const part = await get(link.dataset.more);
    const place = link.closest("li.more") ?? link;
    enhance(part);
    if ("end" in link.dataset) place.before("\n\n[…]\n\n");
    place.replaceWith(part);
  } catch (error) {
    delete link.dataset.busy;
    say(`Not loaded: ${error.message}`, true);
  }
}

// Buttons that change something can be pressed half a second after they appeared or moved.
const ARMED_AFTER_MS = 500;
const armed = new Map();

function placeOf(button) {
  const box = button.getBoundingClientRect();
  return `${Math.round((box.left + scrollX) / 8)},${Math.round((box.top + scrollY) / 8)}`;
}

function watchButtons() {
  const now = performance.now();
  for (const button of document.querySelectorAll("button[data-arm]")) {
    const place = placeOf(button);
    const known = armed.get(button);
    if (!known || known.place !== place || document.hidden) {
      armed.set(button, { place, since: now });
      button.disabled = true;
    } else if (now - known.since >= ARMED_AFTER_MS && !button.dataset.busy) {
      button.disabled = false;
    }
  }
}

// The secret of this tab. Pages of other ports cannot read where it comes from.
async function tabSecret() {
  const known = sessionStorage.getItem("haft-tab");
  if (known) return known;
  const browser = localStorage.getItem("haft-browser") ?? "";
  const answer = await fetch("/tab", { method: "POST", headers: { "haft-browser": browser } });
  if (!answer.ok) throw new Error(await answer.text());
  const tab = await answer.text();
  sessionStorage.setItem("haft-tab", tab);
  return tab;
}

// A person who goes on to another page while a change is made is not called back to this one.
let isLeaving = false;
addEventListener("beforeunload", () => (isLeaving = true));
addEventListener("pageshow", () => (isLeaving = false));

async function change(form, button) {
  const result = form.querySelector("[role=alert]");
  const body = new URLSearchParams(new FormData(form, button));
  button.dataset.busy = "1";
  button.disabled = true;
  result.textContent = "";
  try {
    const nonce = button.dataset.nonce ?? form.dataset.nonce;
    const headers = { "haft-tab": await tabSecret(), "haft-nonce": nonce };
    // A field of the form may be named «action», and would hide the property.
    const answer = await fetch(form.getAttribute("action"), { method: "POST", headers, body });
    if (answer.ok) {
      const next = new URL(answer.headers.get("haft-next") ?? location.href, location.href);
      if (next.href === location.href && main.dataset.live === "swap") {
        // The page shows the outcome in place, perhaps already: it is not loaded again under the hands of the person.
        pending ??= new Set();
        show();
      } else if (!isLeaving) {
        location.assign(next);
      }
      return;
    }
    const text = await answer.text();
    if (text.startsWith("this tab is not known")) sessionStorage.removeItem("haft-tab");
    result.textContent = `Nothing was changed: ${text}`;
  } catch {
    // Without an answer it is not known whether the change was made.
    result.textContent = "The inspector did not answer. Load the page again to see whether the change was made.";
  }
  result.focus?.();
}

addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  event.preventDefault();
  const button = event.submitter;
  if (button && !button.disabled && button.dataset.busy !== "1") change(form, button);
});

function enhance(root) {
  localize(root);
  for (const link of root.querySelectorAll("a[data-more]")) {
    if (link.closest("li.more")) coming.observe(link);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      more(link);
    });
  }
}

// Following the journal. A hidden page does not follow: browsers allow six connections to a server.
let stream = null;
let last = Number(main.dataset.last ?? 0);
let pending = null;
let shownLast = last;

function follow() {
  const { live, run } = main.dataset;
  if (stream || document.hidden) return;
  const query = new URLSearchParams({ after: String(last) });
  if (run) query.set("run", run);
  if (!live) query.set("only", "asks");
  stream = new EventSource(`/events?${query}`);
  stream.addEventListener("open", sayLive);
  stream.addEventListener("asks", (event) => {
    showWaiting(JSON.parse(event.data).pending);
    if ("asks" in main.dataset) {
      pending ??= new Set();
      show();
    }
  });
  stream.addEventListener("change", (event) => {
    const { runs, last: newest } = JSON.parse(event.data);
    last = newest;
    pending = new Set([...(pending ?? []), ...runs]);
    show();
  });
  stream.addEventListener("error", () => say("Connection lost: this page may be out of date", true));
}

// How many calls wait for an answer: in the navigation, the title and the icon of every page.
let waiting = 0;
const title = document.title;

function showWaiting(count) {
  waiting = count;
  const badge = document.getElementById("asks-count");
  badge.textContent = String(count);
  badge.hidden = count === 0;
  document.title = count > 0 ? `(${count}) ${title}` : title;
  document.querySelector("link[rel=icon]").href = count > 0 ? "/assets/icon-ask.svg" : "/assets/icon.svg";
  sayLive();
}

function sayLive() {
  const asks = waiting > 0 ? `${waiting} waiting for you` : "";
  say(main.dataset.live ? (asks ? `Live: ${asks}` : "Live") : asks);
}

// The time that is left for an answer.
function countDown() {
  for (const time of document.querySelectorAll("time[data-left]")) {
    const left = Math.max(0, Math.ceil((new Date(time.dateTime) - Date.now()) / 1000));
    const clock = new Date(time.dateTime).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    time.textContent = `${clock} (${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left)`;
  }
}

function pause() {
  stream?.close();
  stream = null;
}

let isShowing = false;
async function show() {
  if (isShowing) return;
  isShowing = true;
  try {
    while (pending) {
      const runs = pending;
      pending = null;
      await ({ runs: showRuns, run: showRun, swap: showAgain })[main.dataset.live](runs);
    }
    if (stream?.readyState === EventSource.OPEN) sayLive();
  } catch (error) {
    say(`Not up to date: ${error.message}`, true);
  } finally {
    isShowing = false;
  }
}

// The rows of a scale have their bars in the same window of time. New rows widen it.
function widen(scale) {
  const bars = [];
  for (let row = scale.nextElementSibling; row && !row.matches("li.scale"); row = row.nextElementSibling) {
    const bar = row.querySelector("svg.bar");
    if (bar) bars.push(bar);
  }
  const number = (part, name) => Number(part.getAttribute(name));
  const from = Math.min(...bars.map((bar) => number(bar.firstElementChild, "x")));
  const ends = bars.map((bar) => number(bar.lastElementChild, "x") + number(bar.lastElementChild, "width"));
  const lasts = Math.max(1, Math.max(...ends) - from);
  for (const bar of bars) bar.setAttribute("viewBox", `${from} 0 ${lasts} 10`);
  scale.querySelector("[data-scale]").textContent = lasts < 1000 ? `${lasts} ms` : `${(lasts / 1000).toFixed(1)} s`;
}

function put(rows, part, addsFirst) {
  enhance(part);
  const isFocused = (row) => row.contains(document.activeElement);
  const added = [...part.querySelectorAll("li.row")];
  putRows(rows, added, addsFirst, isFocused);
  const scales = new Set();
  for (const row of added) {
    let before = row;
    while (before && !before.matches("li.scale")) before = before.previousElementSibling;
    if (before) scales.add(before);
  }
  scales.forEach(widen);
}

function putRows(rows, added, addsFirst, isFocused) {
  for (const row of added) {
    const known = document.getElementById(row.id);
    if (known) {
      const focused = isFocused(known);
      known.replaceWith(row);
      if (focused) row.querySelector("a").focus();
    } else if (addsFirst) {
      rows.prepend(row);
    } else if (!rows.querySelector("li.more")) {
      rows.append(row);
    }
  }
}

async function showRuns(runs) {
  const rows = document.getElementById("rows");
  const names = [...runs];
  const isFirst = !new URLSearchParams(location.search).has("before");
  for (let from = 0; from < names.length; from += 50) {
    const query = new URLSearchParams(location.search);
    query.delete("before");
    query.set("only", names.slice(from, from + 50).join(","));
    const part = await get(`/runs?${query}`);
    const found = [...part.querySelectorAll("li.row")].map((row) => row.id);
    for (const name of names) {
      const gone = document.getElementById(`run-${name}`);
      if (gone && !found.includes(gone.id) && names.indexOf(name) >= from && names.indexOf(name) < from + 50) gone.remove();
    }
    if (found.length > 0) document.querySelector("main > .empty")?.remove();
    // The oldest is put first, so that the newest ends on top.
    const reversed = document.createDocumentFragment();
    reversed.append(...[...part.querySelectorAll("li.row")].reverse());
    if (isFirst) put(rows, reversed, true);
    else put(rows, keepKnown(reversed), false);
  }
}

function keepKnown(part) {
  for (const row of part.querySelectorAll("li.row")) if (!document.getElementById(row.id)) row.remove();
  return part;
}

async function showRun() {
  const page = await get(location.href);
  const head = page.getElementById("head");
  localize(head);
  const old = document.getElementById("head");
  if (!old.contains(document.activeElement)) old.replaceWith(head);
  const rows = document.getElementById("rows");
  if (rows.classList.contains("tree")) {
    const fresh = page.getElementById("rows");
    enhance(fresh);
    if (!rows.contains(document.activeElement)) rows.replaceWith(fresh);
    return;
  }
  let more = true;
  while (more) {
    const query = new URLSearchParams(location.search);
    query.delete("end");
    query.set("after", String(shownLast));
    const part = await get(`/runs/${encodeURIComponent(main.dataset.run)}/calls?${query}`);
    const link = part.querySelector("a[data-more]");
    if (link) shownLast = Number(new URL(link.dataset.more, location.href).searchParams.get("after"));
    else shownLast = last;
    part.querySelector("li.more")?.remove();
    const scale = part.querySelector("li.scale");
    if (rows.querySelector("li.scale")) scale?.remove();
    else if (scale) rows.prepend(scale);
    if (part.querySelector("li.row")) document.querySelector("main > .empty")?.remove();
    put(rows, part, false);
    more = link !== null;
  }
  if (document.getElementById("follow")?.checked) rows.lastElementChild?.scrollIntoView({ block: "end" });
}

// Shows the whole page again. A card whose content is the same stays, with what the person wrote into it.
async function showAgain() {
  const active = document.activeElement;
  const page = await get(location.href);
  const fresh = page.getElementById("main");
  const open = [...main.querySelectorAll("details[open] > summary")].map((it) => it.textContent);
  enhance(fresh);
  const id = active?.id;
  const kept = new Map();
  for (const card of fresh.children) {
    const known = card.dataset.keep && document.getElementById(card.id);
    if (known && known.dataset.keep === card.dataset.keep && known.parentElement === main) kept.set(card, known);
  }
  const stays = new Set(kept.values());
  for (const node of [...main.childNodes]) if (!stays.has(node)) node.remove();
  let at = main.firstChild;
  for (const node of [...fresh.childNodes]) {
    const known = kept.get(node) ?? node;
    if (known === at) at = at.nextSibling;
    else main.insertBefore(known, at);
  }
  for (const summary of main.querySelectorAll("details > summary")) {
    if (open.includes(summary.textContent)) summary.parentElement.open = true;
  }
  countDown();
  if (id && document.activeElement !== active) document.getElementById(id)?.focus();
  if (!fresh.dataset.live) {
    delete main.dataset.live;
    pause();
    follow();
  }
}

document.addEventListener("visibilitychange", () => (document.hidden ? pause() : follow()));
addEventListener("pagehide", pause);
addEventListener("pageshow", (event) => event.persisted && follow());

// Keys. They do nothing while a person writes.
const keys = document.getElementById("keys");
document.getElementById("keys-button").addEventListener("click", () => keys.showModal());
const sections = { a: "/asks", r: "/runs", d: "/doubts", s: "/sessions", p: "/plans", e: "/permissions" };
let isGoing = false;

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
  if (event.target.matches("input, textarea, select, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const section = isGoing ? sections[event.key] : undefined;
  isGoing = event.key === "g" && !isGoing;
  if (section) {
    // On the page itself, a navigation would only take away the focus.
    if (section !== location.pathname + location.search) location.assign(section);
  } else if (event.key === "?") keys.showModal();
  else if (event.key === "u") main.querySelector("a[data-up]")?.click();
  else if (event.key === "/") {
    event.preventDefault();
    (main.querySelector("input[type=search]") ?? main.querySelector(".filters input, .filters select"))?.focus();
  } else if (event.key === "j" || event.key === "k") {
    const links = [...main.querySelectorAll(".rows > .row > a:first-child, .card > h2 > a")];
    const at = links.indexOf(document.activeElement);
    const next = links[event.key === "j" ? at + 1 : Math.max(at - 1, 0)];
    next?.focus();
  }
});

// The secret of a link is of no use here: this browser is logged in.
if (location.hash.startsWith("#token=")) history.replaceState(null, "", location.pathname + location.search);
enhance(document);
watchButtons();
setInterval(watchButtons, 100);
countDown();
setInterval(countDown, 1000);
follow();
