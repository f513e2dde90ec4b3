/* Runs at the end of a page of `rill trace` and writes what it found into the body, for trace_page.sh. WIDTH pixels are what the page has. */
"use strict";
(function () {
  const wrong = [];
  const expect = (good, what) => { if (!good) wrong.push(what); };
  const all = selector => [...document.querySelectorAll(selector)];
  const text = selector => all(selector).map(e => e.textContent);
  const main = document.getElementById("pictures");
  const figures = () => all("figure").map(f => f.dataset.chart).join(" ");

  expect(document.body.dataset.shown === "yes", "the page was not drawn: " + text("[role=alert]").join());
  expect(figures() === "rows items item widths pruning stages", "figures: " + figures());
  /* No label crosses another or leaves its picture, as wide as the window and on a phone. */
  function labels(room) {
    for (const svg of all("figure svg[role=img]")) {
      if (svg.closest(".scroll")) continue;
      const texts = [...svg.querySelectorAll("text")], place = svg.getBoundingClientRect();
      const boxes = texts.map(t => t.getBoundingClientRect());
      expect(place.right <= room, "a picture wider than the page");
      boxes.forEach((a, i) => {
        expect(a.left >= place.left - 1 && a.right <= place.right + 1, "a label beyond its picture: " + texts[i].textContent);
        boxes.slice(0, i).forEach((b, j) => expect(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top,
          "labels cross: " + texts[i].textContent + " and " + texts[j].textContent));
      });
    }
  }

  expect(all("svg[role=img]").every(svg => svg.getAttribute("aria-label")), "a picture without a name");
  expect(document.documentElement.scrollWidth <= window.innerWidth, "the page is wider than the screen");
  labels(window.innerWidth);
  main.style.width = "360px";
  window.dispatchEvent(new Event("resize"));
  expect(document.querySelector("[data-chart=rows] svg[role=img]").getBoundingClientRect().width < 360, "pictures of a phone's width");
  labels(main.getBoundingClientRect().right);
  main.style.width = "";
  window.dispatchEvent(new Event("resize"));
  const svg = document.querySelector("[data-chart=rows] svg[role=img]"), ground = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: ground.left + 60, clientY: ground.top + 20 }));
  expect(/^timestep \d+: /.test(document.querySelector("[data-chart=rows] .tip").textContent), "no tip");

  /* Each input in turn, by the button. */
  const found = [];
  for (let more = true; more;) {
    const best = all(".node.best").length, shown = document.querySelector("[data-chart=item] .text");
    found.push({ title: document.querySelector("[data-chart=item] h2").textContent, nodes: all(".node").length, best: best,
      text: shown ? shown.textContent : "" });
    const next = all("[data-chart=item] button")[1];
    more = !next.disabled;
    next.click();
  }
  /* As a server does: again, with more. */
  const model = rillView.model(), twin = document.createElement("div");
  document.body.append(twin);
  JSON.parse(document.getElementById("events").textContent).forEach((event, i) => {
    model.add(event);
    if (i % 7 === 0) rillView.show(twin, model);
  });
  rillView.show(twin, model);
  expect(twin.querySelectorAll("figure").length === 6, "drawn while events come");
  twin.remove();

  /* Lists are as long as the trace, whatever numbers it names. */
  const far = rillView.model(), odd = document.createElement("div");
  for (const [worker, item, depth] of [[4e9, 0, 0], [3, 1, 3e9], [4e9, 0, 2e9]])
    far.add({ event: "timestep", timestep: depth, worker: worker, in_flight: 1, rows: 2, selected: 1, items: [item], depths: [depth],
      widths_before: [1], widths_merged: [2], widths_after: [1], seconds: {} });
  for (const item of [0, 1]) far.add({ event: "admitted", item: item, worker: item ? 3 : 4e9, timestep: 0 });
  document.body.append(odd);
  rillView.show(odd, far);
  expect([...odd.querySelectorAll("option")].map(o => o.value).join() === "3,4000000000", "workers of far numbers");
  expect([3, 4e9].map(w => far.byDepth(w).map(row => row.depth).join()).join(" ") === "3000000000 0,2000000000", "far depths");
  expect(odd.querySelectorAll("figure").length === 6, "a picture of far numbers");
  odd.remove();

  const result = { wrong: wrong, facts: text(".facts dd"), items: found, bars: +document.querySelector("[data-items]").dataset.items,
    refills: +document.querySelector("[data-refills]").dataset.refills, stages: all("[data-stage]").length, note: text(".left-out").join() };
  main.replaceChildren();
  document.getElementById("events").remove();
  document.body.dataset.result = encodeURIComponent(JSON.stringify(result)).replace(/'/g, "%27");
})();
