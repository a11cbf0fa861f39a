// The page is the server's. This script only saves the reload: it asks for the page again and puts what differs in its
// place, by id. It draws nothing of its own and decides nothing.
"use strict";
(() => {
  const LIVE = "[data-live][id]";
  const body = document.body;
  const served = new Map(); // id -> the HTML that the server sent last
  const held = new Map(); // id -> what came while the row was under the hand
  let asking = null;
  let again = false;

  const each = (root, selector, work) => root.querySelectorAll(selector).forEach(work);
  const keep = () => each(document, LIVE, (element) => served.set(element.id, element.outerHTML));
  const say = (text) => {
    const line = document.getElementById("said");
    if (text && line.textContent !== text) line.textContent = text;
  };

  // A row under the hand does not change: focus in it, or an open edit with something typed.
  const underHand = (element) => {
    const focused = document.activeElement;
    return (element.contains(focused) && focused !== element && focused.matches("input, textarea, select, button")) ||
      [...element.querySelectorAll("input:not([type=hidden]), textarea")].some((field) => field.value !== field.defaultValue) ||
      element.matches(":active");
  };

  const put = (old, fresh) => {
    const open = new Set([...old.querySelectorAll("details[id]")].filter((one) => one.open).map((one) => one.id));
    const shut = new Set([...old.querySelectorAll("details[id]")].filter((one) => !one.open).map((one) => one.id));
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    served.set(old.id, fresh.outerHTML);
    const made = document.importNode(fresh, true);
    each(made, "details[id]", (one) => { if (open.has(one.id)) one.open = true; else if (shut.has(one.id)) one.open = false; });
    // A decided row keeps its height. One that has to say more may grow.
    if (made.hasAttribute("data-row") && !old.querySelector("details[open]")) made.style.minHeight = `${old.getBoundingClientRect().height}px`;
    old.replaceWith(made);
    if (focused) {
      const same = focused.id && document.getElementById(focused.id);
      (same || (made.tabIndex >= 0 || made.hasAttribute("tabindex") ? made : document.getElementById("main"))).focus({ preventScroll: true });
    }
    // A double tap must not take back what it just did.
    each(made, "[data-undo]", (button) => { button.disabled = true; setTimeout(() => { button.disabled = false; }, 500); });
    each(made, LIVE, (inner) => served.set(inner.id, inner.outerHTML));
  };

  const merge = (fresh, acted) => {
    document.title = fresh.title;
    body.dataset.picture = fresh.body.dataset.picture;
    let news = 0;
    each(fresh, LIVE, (element) => {
      const old = document.getElementById(element.id);
      if (!old) { if (element.hasAttribute("data-row") && !element.parentElement.closest("[data-live]")) news += 1; return; }
      if (served.get(element.id) === element.outerHTML) { held.delete(element.id); return; }
      if (!acted && underHand(old)) { held.set(element.id, element); return; }
      held.delete(element.id);
      put(old, element);
    });
    const button = document.getElementById("new");
    if (button) {
      button.hidden = news === 0;
      button.textContent = news ? `${news} ${button.dataset.word}` : button.dataset.word;
      button.href = location.pathname + location.search;
    }
  };

  const pageAddress = () => {
    const address = new URL(location.href);
    if (body.dataset.since) address.searchParams.set("since", body.dataset.since);
    address.searchParams.delete("done");
    address.hash = "";
    return address;
  };

  const parsed = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");

  const refresh = async () => {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(pageAddress(), { credentials: "same-origin" });
      if (answer.status === 401) say("This browser is no longer let in.");
      else if (answer.ok) merge(await parsed(answer), false);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // out of reach; the stream comes back by itself
    } finally {
      asking = false;
      if (again) { again = false; refresh(); }
    }
  };

  // A form is sent as it is, and the page that comes back is put in place.
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post" || form.hasAttribute("data-whole")) return;
    event.preventDefault();
    if (form.getAttribute("aria-busy") === "true") return;
    const sent = new URLSearchParams(new FormData(form, event.submitter));
    form.setAttribute("aria-busy", "true");
    const row = form.closest("[data-row]");
    try {
      const answer = await fetch(form.action, { method: "POST", body: sent, credentials: "same-origin" });
      const fresh = await parsed(answer);
      if (!fresh.getElementById("said")) { say(fresh.body.textContent.trim()); return; }
      merge(fresh, true);
      const line = document.getElementById("said");
      line.className = fresh.getElementById("said").className;
      line.textContent = fresh.getElementById("said").textContent;
      if (row && lastKey) focusNext(row.id);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      say("Out of reach. Nothing was done.");
    } finally {
      form.removeAttribute("aria-busy");
    }
  });

  // What came while a row was under the hand takes its place when the hand leaves.
  document.addEventListener("focusout", () => setTimeout(() => {
    for (const [id, fresh] of [...held]) {
      const old = document.getElementById(id);
      if (old && underHand(old)) continue;
      held.delete(id);
      if (old) put(old, fresh);
    }
  }, 0));

  // Keys: only with focus on a row or the page, never in a field, never with a modifier.
  let lastKey = "";
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.getClientRects().length);
  const focusRow = (row) => { if (row) { row.focus({ preventScroll: true }); row.scrollIntoView({ block: "nearest" }); } };
  const focusNext = (id) => {
    const all = rows();
    const place = all.findIndex((row) => row.id === id);
    focusRow(all.slice(place + 1).find((row) => row.querySelector(".yes")) || all[place]);
  };
  const press = (row, selector) => { const button = row && row.querySelector(selector); if (button) button.click(); };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, textarea, select")) return;
    const row = document.activeElement.closest("[data-row]");
    const all = rows();
    const before = lastKey;
    lastKey = event.key;
    if (before === "g") {
      const place = { i: "inbox", t: "tasks", c: "conflicts", d: "devices", a: "activity" }[event.key];
      if (place) location.href = `/${place}`;
      return;
    }
    switch (event.key) {
      case "j": case "ArrowDown": if (all.length) { event.preventDefault(); focusRow(all[Math.min(all.indexOf(row) + 1, all.length - 1)]); } break;
      case "k": case "ArrowUp": if (all.length) { event.preventDefault(); focusRow(all[Math.max(all.indexOf(row) - 1, 0)]); } break;
      case "y": press(row, ".yes"); break;
      case "n": press(row, ".no"); break;
      case "d": press(row, "button[value=defer]"); break;
      case "u": press(row, "[data-undo]"); break;
      case "e": case "r": {
        const field = row && row.querySelector(event.key === "e" ? "form.edit input:not([type=hidden])" : "form.reason input[name=reason]");
        if (field) { event.preventDefault(); field.closest("details").open = true; field.focus(); }
        break;
      }
      case "o": { const why = row && row.querySelector("details.why"); if (why) why.open = !why.open; break; }
      case ".": { const button = document.getElementById("new"); if (button && !button.hidden) location.href = button.href; break; }
      case "/": { const field = document.getElementById("q"); if (field) { event.preventDefault(); field.focus(); } break; }
    }
  });
  document.addEventListener("pointerdown", () => { lastKey = ""; });

  // Swipe on touch: right confirms, left rejects, as the two buttons do (S1-38).
  let swipe = null;
  document.addEventListener("pointerdown", (event) => {
    const row = event.pointerType === "touch" && event.target.closest("[data-row]:not(.heed)");
    if (!row || !row.querySelector(".yes, .no") || event.clientX < 24 || event.clientX > innerWidth - 24) return;
    swipe = { row, x: event.clientX, y: event.clientY, on: false, by: 0 };
  });
  document.addEventListener("pointermove", (event) => {
    if (!swipe) return;
    const across = event.clientX - swipe.x;
    if (!swipe.on) {
      if (Math.hypot(across, event.clientY - swipe.y) < 10) return;
      if (Math.abs(across) <= Math.abs(event.clientY - swipe.y)) { swipe = null; return; }
      swipe.on = true;
    }
    swipe.by = across;
    swipe.row.style.translate = `${across}px`;
  });
  const release = (event) => {
    if (!swipe) return;
    const { row, on, by } = swipe;
    swipe = null;
    row.style.translate = "";
    if (event.type !== "pointerup" || !on || Math.abs(by) < Math.min(96, row.clientWidth * 0.4)) return;
    if (navigator.vibrate && !matchMedia("(prefers-reduced-motion: reduce)").matches) navigator.vibrate(10);
    press(row, by > 0 ? ".yes" : ".no");
  };
  document.addEventListener("pointerup", release);
  document.addEventListener("pointercancel", release);

  // One event stream a page; a page that is hidden for 20 seconds lets go of it.
  let stream = null;
  let hiding = 0;
  const listen = () => {
    if (stream) return;
    stream = new EventSource(`/live?seen=${encodeURIComponent(body.dataset.picture)}`);
    stream.addEventListener("message", refresh);
    stream.addEventListener("ended", () => { stream.close(); say("This browser is no longer let in."); });
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => { if (stream) { stream.close(); stream = null; } }, 20000);
    else { listen(); }
  });

  const button = document.getElementById("new");
  if (button) button.dataset.word = button.textContent;
  keep();
  listen();
})();
