// As much of a browser's document as the dashboard uses: elements are objects, and stay the ones they are.
"use strict";
const fs = require("fs"), vm = require("vm");

class Element {
  constructor(name) {
    Object.assign(this, { name, children: [], attributes: new Map(), own: "", listeners: {}, parent: null, hidden: false });
    Object.assign(this, { clientWidth: 1000, scrollWidth: 1000, scrollLeft: 0, made: ++Element.made });
  }
  get textContent() { return this.children.length ? this.children.map((one) => one.textContent).join("") : this.own; }
  set textContent(text) { this.children = []; this.own = String(text); Element.written++; }
  get className() { return this.getAttribute("class") || ""; }
  set className(text) { this.setAttribute("class", text); }
  get firstChild() { return this.children[0] || null; }
  getAttribute(key) { return this.attributes.has(key) ? this.attributes.get(key) : null; }
  setAttribute(key, value) { this.attributes.set(key, String(value)); Element.written++; }
  append(...more) { for (const one of more) this.insertBefore(one, null); }
  appendChild(one) { this.append(one); return one; }
  insertBefore(one, before) {
    if (one.parent) one.remove();
    const place = before ? this.children.indexOf(before) : this.children.length;
    this.children.splice(place, 0, one);
    one.parent = this;
  }
  remove() { // an element that has the focus loses it
    for (let at = Element.focused; at; at = at.parent) if (at === this) { Element.focused = null; break; }
    this.parent.children.splice(this.parent.children.indexOf(this), 1);
    this.parent = null;
  }
  addEventListener(kind, call) { this.listeners[kind] = call; }
  click() { this.listeners.click({}); }
  focus() { Element.focused = this; }
  scrollIntoView() {}
  all() { return [this, ...this.children.flatMap((one) => one.all())]; }
}
Object.assign(Element, { made: 0, written: 0, focused: null });

/** Run the script of a page; return what tests look at. */
function open(path) {
  const text = fs.readFileSync(path, "utf-8"), named = new Map();
  const script = text.slice(text.indexOf("<script>") + 8, text.lastIndexOf("</script>"));
  for (const [, id] of text.matchAll(/id="([\w-]+)"/g)) named.set(id, new Element(id));
  named.get("recording").own = text.match(/type="application\/json">(.*?)<\/script>/s)[1];
  const page = { answer: null, now: 0, timers: [], byId: (id) => named.get(id), Element };
  const body = new Element("body");
  page.body = body;
  const context = vm.createContext({
    document: { getElementById: page.byId, createElement: (name) => new Element(name), body,
      createElementNS: (_, name) => new Element(name), title: "" },
    addEventListener() {}, console, setTimeout: (call) => page.timers.push(call),
    fetch: async () => { if (!page.answer) throw new Error("gone"); return { ok: true, text: async () => page.answer }; },
    Date: class extends Date { static now() { return page.now; } },
  });
  vm.runInContext(script + "\n;this.inside = { moments, points, sizes, KEPT_CHARACTERS, take, show };", context);
  page.inside = context.inside;
  page.context = context;
  /** Let the page look again, with this answer. */
  page.look = async (moment) => {
    for (let n = 0; n < 20; n++) await null;  // what it began before
    page.answer = moment && JSON.stringify(moment);
    page.timers.splice(0).forEach((call) => call());
    for (let n = 0; n < 20; n++) await null;
  };
  return page;
}
function node(n, more = {}) {
  const counters = { events: 5, duplicates: 0, parasites: 0, missed: 0, told_missed: 0, event_copies_sent: 1, upward_sent: 0,
    repaired: 0, bytes_sent: 9, records_dropped: 0, ...(more.counters || {}) };
  const community = { topic: n % 2 ? ".a" : ".a.b", state: "member", size: 9, peers: 3, published: 0, delivered: 7 * n, missed: 0,
    supers: [".a"], latency_ms_p50: 1, latency_ms_p99: 2, haves_sent: 0, wants_sent: 0, holes: 0 };
  const peers = [1, 2, 3].map((k) => ({ peer: "p" + ((n + 2 * k) % 10), address: "tcp://10.0.0.1:" + k, state: "heard",
    tables: [community.topic], holds: [], links: [] }));
  return { socket: "s" + n, peer: "p" + n, address: "tcp://10.0.0.2:" + n, process: n, up_seconds: 1, suspects: 0,
    discovery: "connected", conditions: [], communities: [community], peers, ...more, counters };
}
module.exports = { open, node };
