// What the page of the dashboard holds to; each claim gets the page, open and before its first answer.
"use strict";
const assert = require("assert");
const { open, node } = require("./small_document.js");

const claims = {
  async elements_stay_the_same_and_what_has_not_changed_is_not_written(page) {
    const nodes = () => [...Array(10).keys()].map((n) => node(n));
    await page.look({ taken: 1, nodes: nodes() });
    const seen = ["tiles", "overlay", "rates", "communities", "peers"];
    const all = () => seen.flatMap((id) => page.byId(id).all());
    await page.look({ taken: 3, nodes: nodes() });
    const before = all(), written = page.Element.written;
    const dot = page.byId("overlay").all().find((one) => one.getAttribute("tabindex") === "0");
    dot.focus();
    await page.look({ taken: 5, nodes: nodes() });
    assert.deepStrictEqual(all(), before);
    assert.strictEqual(page.Element.focused, dot);
    assert(page.Element.written - written < 12, page.Element.written - written);  // the times
    const more = [...nodes(), node(11, { counters: { missed: 4 } })];
    await page.look({ taken: 7, nodes: more.filter((one) => one.peer !== "p0") });
    assert.strictEqual(page.Element.focused === dot, !dot.key.endsWith("p0"));
    const made = page.Element.made;
    await page.look({ taken: 9, nodes: more });
    assert(page.Element.made - made < 40);  // the dot and the row of the one that came back
  },
  async a_tile_leads_to_the_processes_that_are_meant(page) {
    const deaf = { name: "deaf", about: "", ok: false, says: "hears nothing", do: "look", because: null, since: 1 };
    const so = { ...deaf, name: "alone", because: "deaf" };
    const nodes = [node(1), node(2, { conditions: [deaf] }), node(3, { counters: { missed: 2 } }),
      node(4, { conditions: [so] }), { socket: "s5", error: "s5: no process listens there" }];
    await page.look({ taken: 1, nodes });
    const tile = (title) => page.byId("tiles").children.find((one) => one.textContent.includes(title));
    const rows = () => page.byId("peers").children.slice(1).map((row) => row.children.map((one) => one.textContent));
    const press = (title) => { tile(title).children[0].click(); return rows().map((row) => row[0]); };
    assert.strictEqual(rows().length, 5);
    assert.deepStrictEqual(press("have findings"), ["tcp://10.0.0.2:2"]);
    assert.strictEqual(rows()[0][1], "! findings");
    assert(page.byId("peers-of").textContent.endsWith("have findings, 1 of 5"));
    assert.strictEqual(page.Element.focused, page.byId("peers-of"));
    assert.deepStrictEqual(press("events lost"), ["tcp://10.0.0.2:3"]);
    assert.deepStrictEqual(press("give no answer"), ["s5"]);
    assert.strictEqual(rows()[0][1], "✕ no answer");
    page.byId("all").click();
    assert.strictEqual(rows().length, 5);
    assert.strictEqual(tile("processes").children[0].listeners.click, undefined);
  },
  async who_gives_no_answer_is_crossed_where_it_stood(page) {
    await page.look({ taken: 1, nodes: [node(1), node(3)] });
    const crosses = () => page.byId("overlay").all().filter((one) => one.className === "cross").length;
    assert.strictEqual(crosses(), 0);
    await page.look({ taken: 3, nodes: [node(1), { socket: "s3", error: "s3: gone" }] });
    assert.strictEqual(crosses(), 1);
  },
  async a_dead_source_looks_dead_and_alive_again(page) {
    await page.look({ taken: 1795793311, nodes: [node(1)] });
    assert(page.byId("dead").hidden);
    assert(page.byId("when").textContent.startsWith("2026-11-27 15:28:31 UTC ("));
    for (page.now of [14000, 16000]) {
      await page.look(null);
      assert.strictEqual(page.byId("dead").hidden, page.now < 15000);
    }
    assert.strictEqual(page.body.className, "dead");
    assert(page.byId("dead").textContent.startsWith("No answer since 2026-11-27 15:28:31 UTC"));
    page.now = 40000;  // it answers, and always the same
    await page.look({ taken: 1795793311, nodes: [node(1)] });
    assert.strictEqual(page.body.className, "dead");
    await page.look({ taken: 1795793341, nodes: [node(1)] });
    assert.strictEqual(page.body.className, "");
  },
  async an_hour_of_a_thousand_processes_has_a_bound_and_goes_back_to_its_beginning(page) {
    const { moments, sizes, points, take, KEPT_CHARACTERS } = page.inside;
    const size = 2.5e6;  // of a moment of a thousand processes with twenty peers
    for (let n = 0; n < 1800; n++) {
      take({ taken: 2 * n, nodes: [node(1)] }, size);
      assert(sizes.reduce((a, b) => a + b, 0) <= KEPT_CHARACTERS);
      assert.strictEqual(sizes.length, moments.length);
    }
    assert(moments.length >= KEPT_CHARACTERS / size / 2);
    assert.strictEqual(moments[0].taken, 0);
    assert.strictEqual(moments[moments.length - 1].taken, 3598);
    assert.strictEqual(points.length, 1799);  // the chart has them all
    for (let n = 1800; n < 9000; n++) take({ taken: 2 * n, nodes: [node(1)] }, 100);
    assert(moments.length <= 1800 && points.length <= 1800);
    assert(moments.every((one, n) => !n || moments[n - 1].taken < one.taken));
  },
  async a_thousand_processes_take_a_bounded_heap_however_long_the_page_is_open(page) {
    const hex = (n) => n.toString(16).padStart(32, "0"), { take, moments, show } = page.inside;
    const peers = (n, look) => [...Array(20).keys()].map((k) => ({ peer: hex((n + k * look) % 1000),
      address: `tcp://10.0.0.${k}:7000`, state: "heard", tables: [".a"], holds: [".a"], links: [] }));
    const nodes = (look) => [...Array(1000).keys()].map((n) =>
      node(n, { peer: hex(n), counters: { events: 1000 * look + n, bytes_sent: 1e6 * look }, peers: peers(n, look) }));
    const heaps = [];
    for (let look = 1; look <= 60; look++) {
      const text = JSON.stringify({ taken: 2 * look, nodes: nodes(look) });
      take(JSON.parse(text), text.length);
      if (look % 20) continue;
      show();
      global.gc();
      heaps.push(process.memoryUsage().heapUsed);
    }
    assert(moments.length < 60);  // it forgets by now
    assert(Math.max(...heaps) < 170e6, heaps);  // of the 50 MB of text, its elements and this test
    assert(heaps[2] < 1.2 * heaps[1], heaps);
  },
};
const [, , claim, path] = process.argv;
claims[claim](open(path)).catch((error) => { console.error(error); process.exit(1); });
