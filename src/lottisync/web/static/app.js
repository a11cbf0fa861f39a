// The page is the server's. This puts what differs in its place, by id.
const LIVE = "[data-live][id]";
const data = document.body.dataset;
const served = new Map(); // by id, as the server sent it
const held = new Map(); // by id, what came under the hand
let asking, again;

const when = (event, work, how) => document.addEventListener(event, work, how);
const find = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const active = () => document.activeElement;
const keep = (root) => all(LIVE, root).forEach((one) => served.set(one.id, one.outerHTML));
const say = (textContent, className = "said failed") => Object.assign(find("said"), { textContent, className });

// A row under the hand does not change.
const underHand = (element) => {
  return (element.contains(active()) && active().matches("input, textarea, select, button")) ||
    all("input:not([type=hidden]), textarea", element).some((field) => field.value !== field.defaultValue) ||
    element.matches(":active") || element.contains(hand?.on);
};

const put = (old, fresh) => {
  const made = document.importNode(fresh, true);
  const focused = old.contains(active()) && active();
  const place = focused && focused.closest("li[id], .fact details");
  for (const one of all("details[id]", made)) if (find(one.id)) one.open = find(one.id).open;
  // A decided row keeps its height.
  if (made.matches("[data-row]") && !old.querySelector("details[open]")) made.style.minHeight = `${old.getBoundingClientRect().height}px`;
  served.set(old.id, fresh.outerHTML);
  old.replaceWith(made);
  keep(made);
  if (focused) { // it stays, or goes to what is near
    const near = [place, place?.nextElementSibling, place?.previousElementSibling].find((one) => one && find(one.id));
    (find(focused.id) || (made.matches("[tabindex]") && made) || (near && find(near.id).querySelector("summary, button")) ||
      made.closest("section")?.querySelector("h2[tabindex]") || find("main")).focus({ preventScroll: true });
  }
  // A double tap takes nothing back.
  for (const button of all("[data-undo]", made)) {
    button.disabled = true;
    setTimeout(() => (button.disabled = false), 500);
  }
};

const merge = (fresh, acted) => {
  document.title = fresh.title;
  data.picture = fresh.body.dataset.picture;
  let news = 0;
  for (const element of all(LIVE, fresh)) {
    const old = find(element.id);
    if (!old) news += element.matches("[data-row]") && !element.parentElement.closest("[data-live]");
    else if (served.get(element.id) === element.outerHTML) held.delete(element.id);
    else if (!acted && underHand(old)) held.set(element.id, element);
    else {
      held.delete(element.id);
      put(old, element);
    }
  }
  // A settled conflict keeps its place.
  for (const card of all("[data-card][data-live]")) {
    if (card.toggleAttribute("data-gone", !fresh.getElementById(card.id)) && card.contains(active())) card.focus();
  }
  Object.assign(find("new") || {}, { hidden: !news, textContent: `${news} ${word}`, href: location.pathname + location.search });
};

// Out of reach there is neither answer nor page.
const ask = async (address, how) => {
  try {
    const answer = await fetch(address, how);
    return [answer, new DOMParser().parseFromString(await answer.text(), "text/html")];
  } catch { return []; }
};

const refresh = async () => {
  if (asking) return void (again = true);
  asking = true;
  const address = new URL(location);
  address.searchParams.set("since", data.since);
  const [answer, fresh] = await ask(address);
  if (answer?.status === 401) say(data.ended);
  else if (answer?.ok) {
    merge(fresh, false);
    reach(true);
  }
  asking = false;
  if (again) { again = false; refresh(); }
};

// A form is sent, its answer put in place.
when("submit", async (event) => {
  const { target: form, submitter } = event;
  if (form.method !== "post" || form.matches("[data-whole]")) return;
  event.preventDefault();
  if (form.ariaBusy || submitter?.ariaDisabled) return;
  const sent = new URLSearchParams(new FormData(form, submitter));
  const row = form.closest("[data-row]");
  form.ariaBusy = "true";
  typed = [];
  deciding = row?.id;
  const [answer, fresh] = await ask(form.action, { method: "POST", body: sent, signal: AbortSignal.timeout(1e4) });
  form.ariaBusy = deciding = null;
  const line = fresh?.getElementById("said");
  if (!line) return say(fresh?.body.textContent.trim() ?? data.away);
  merge(fresh, true);
  say(line.textContent, line.className);
  if (answer.ok) form.reset();
  if (row && lastKey) focusNext(row.id);
  if (answer.ok) typed.forEach(type);
});

// When the hand leaves, what came takes its place.
const settle = () => setTimeout(() => {
  for (const [id, fresh] of [...held]) {
    const old = find(id);
    if (old && underHand(old)) continue;
    held.delete(id);
    if (old) put(old, fresh);
  }
});
when("focusout", settle);

// Keys, not in a field.
let lastKey = "", typed, deciding;
const rows = () => all("[data-row]").filter((row) => row.checkVisibility());
const focusRow = (row) => {
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
};
const focusNext = (id) => {
  const place = rows().indexOf(find(id));
  focusRow(rows().slice(place + 1).find((row) => row.querySelector(".yes")) || find(id));
};
const step = (by) => (row) => focusRow(rows()[Math.max(rows().indexOf(row) + by, 0)]);
const press = (selector) => (row) => row?.querySelector(selector)?.click();
const open = (selector) => (row) => {
  const field = row?.querySelector(selector);
  if (field) field.closest("details").open = true;
  field?.focus();
};
const KEYS = {
  j: step(1), ArrowDown: step(1), k: step(-1), ArrowUp: step(-1),
  y: press(".yes"), n: press(".no"), d: press("[value=defer]"), u: press("[data-undo]"), o: press(".why summary"),
  e: open(".edit [name^=arg]"), r: open(".reason [name=reason]"),
  Y: (row) => row?.closest("[data-card]")?.querySelector("footer .filled")?.focus(),
  ".": () => press("#new:not([hidden])")(document),
  "/": () => find("q")?.focus(),
  "?": () => { press("summary")(find("keys")); find("keys")?.firstChild.focus(); },
};
// Keys wait while a row is decided.
const type = (key) => {
  const row = active().closest("[data-row]");
  if (row && row.id === deciding) typed.push(key);
  else KEYS[key](row);
};
when("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, textarea, select")) return;
  const place = lastKey === "g" && all(`[id^="place-${CSS.escape(event.key)}"]`)[0];
  lastKey = event.key;
  if (place) place.click();
  else if (KEYS[event.key]) {
    event.preventDefault();
    type(event.key);
  }
});

// Fingers swipe, pointers drag.
let hand;
when("pointerdown", (event) => {
  lastKey = "";
  typed = [];
  const { clientX: x, clientY: y, target } = event;
  const item = target.closest(".grip")?.closest("li");
  const row = event.pointerType === "touch" && Math.min(x, innerWidth - x) >= 24 && target.closest("[data-row]:not(.heed)");
  if (item || row?.querySelector?.(".yes, .no")) hand = { on: item || row, swipe: !item, x, y, by: 0 };
});
when("pointermove", (event) => {
  if (!hand) return;
  const across = event.clientX - hand.x, down = event.clientY - hand.y;
  if (!hand.by) {
    if (Math.hypot(across, down) < 10) return;
    if (Math.abs(across) > Math.abs(down) !== hand.swipe) return void (hand = null);
  }
  hand.by = hand.swipe ? across : down;
  hand.on.style.translate = hand.swipe ? `${across}px` : `0 ${down}px`;
  if (hand.swipe) hand.on.dataset.swipe = across > 0 ? "yes" : "no";
});
const swiped = (row, by) => {
  if (Math.abs(by) < Math.min(96, row.clientWidth * 0.4)) return;
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) navigator.vibrate?.(10);
  press(by > 0 ? ".yes" : ".no")(row);
};
const dropped = (item, by) => {
  const middle = (one) => one.offsetTop + one.offsetHeight / 2 - item.offsetTop - item.offsetHeight / 2;
  const passed = [...item.parentElement.children].filter((one) => middle(one) * by > 0 && Math.abs(middle(one)) < Math.abs(by));
  const button = item.querySelector("[name=steps]");
  button.value = Math.sign(by) * passed.length;
  if (passed.length) button.form.requestSubmit(button);
};
const release = (event) => {
  if (!hand) return;
  const { on, swipe, by } = hand;
  hand = null;
  delete on.dataset.swipe;
  on.style.translate = "";
  settle();
  if (!by) return;
  when("click", (click) => { if (click.target.closest(".grip")) click.preventDefault(); }, { once: true });
  if (event.type === "pointerup") (swipe ? swiped : dropped)(on, by);
};
when("pointerup", release);
when("pointercancel", release);

// One stream a page, until it is hidden for 20 s. Out of reach nothing is decided.
let stream, hiding;
const reach = (there) => {
  for (const button of all("[action^='/decide'] button")) button.ariaDisabled = there ? null : "true";
  if (!there) say(data.away);
  else if (find("said").textContent === data.away) say("", "said");
};
const listen = () => {
  if (stream || !data.picture) return;
  stream = new EventSource(`/live?seen=${encodeURIComponent(data.picture)}`);
  stream.onmessage = refresh;
  stream.addEventListener("ended", () => { stream.close(); say(data.ended); });
  // Refused for good: ask once.
  stream.onerror = () => { reach(false); if (stream?.readyState === 2) refresh(); };
  stream.onopen = () => reach(true);
};
when("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => { stream?.close(); stream = null; }, 2e4);
  else listen();
});

const word = find("new")?.textContent;
keep(document);
listen();
// The clock of this zone.
const zone = `zone=${encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone)};`;
if (!`${document.cookie};`.includes(zone)) {
  document.cookie = `${zone} SameSite=Strict; Path=/; Max-Age=31536000`;
  if (data.picture) refresh();
}
