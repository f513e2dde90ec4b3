/* Runs at the end of a page of `rill trace`, `rill bench` or `rill tune` and writes what it found into the body, for trace_page.sh. */
"use strict";
(function () {
  const wrong = [];
  const expect = (good, what) => { if (!good) wrong.push(what); };
  const all = selector => [...document.querySelectorAll(selector)];
  const text = selector => all(selector).map(e => e.textContent);
  const main = document.getElementById("pictures");
  const figures = () => all("figure").map(f => f.dataset.chart).join(" ");

  expect(document.body.dataset.shown === "yes", "the page was not drawn: " + text("[role=alert]").join());
  const first = all("figure")[0].dataset.chart, result = { wrong: wrong };
  expect(["rows items item widths pruning stages", "speeds rows", "front"].includes(figures()), "figures: " + figures());
  /* No label crosses another or leaves its picture, as wide as the window and on a phone. */
  function labels(width) {
    for (const svg of all("figure svg[role=img]")) {
      if (svg.closest(".scroll")) continue;
      const texts = [...svg.querySelectorAll("text")], place = svg.getBoundingClientRect();
      const boxes = texts.map(t => t.getBoundingClientRect());
      expect(place.right <= width, "a picture wider than the page");
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
  if (all("svg[role=img]").length)
    expect(document.querySelector("svg[role=img]").getBoundingClientRect().width < 360, "pictures of a phone's width");
  labels(main.getBoundingClientRect().right);
  main.style.width = "";
  window.dispatchEvent(new Event("resize"));

  /* What stands below a picture while the pointer is at (x, y) of it. */
  function tipAt(svg, x, y) {
    const ground = svg.getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX: ground.left + x, clientY: ground.top + y }));
    let at = svg;
    while (!at.matches(".tip")) at = at.nextElementSibling;
    return at.textContent;
  }

  /* A saved picture is whole by itself: colours and fonts are in it, and title, legend and labels. */
  const files = [];
  URL.createObjectURL = blob => { files.push(blob.size); return "#"; };
  for (const box of all("figure")) {
    const button = box.querySelector(".save");
    expect(!button === !box.querySelector("svg[role=img]"), "a button where there is a picture: " + box.dataset.chart);
    if (!button) continue;
    const text = rillView.svgOf(box), root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const within = [...root.querySelectorAll("*")], shapes = within.filter(e => /^(path|rect|circle|text)$/.test(e.tagName));
    button.click();
    expect(files.pop() === new Blob([text]).size, "the button saves it");
    expect(root.tagName === "svg" && +root.getAttribute("width") > 0 && +root.getAttribute("height") > 0, "a picture of a size");
    expect(shapes.every(e => /^(none|rgb\()/.test(e.getAttribute("fill"))) && !/class=|var\(|NaN|undefined|Infinity/.test(text), "its colours");
    expect(shapes[0].getAttribute("fill") === "rgb(255, 255, 255)", "a light ground");
    const told = root.textContent;
    for (const e of box.querySelectorAll("h2, h3, .legend span, svg text")) expect(told.includes(e.textContent.replace("\x01", "?")), "it lacks: " + e.textContent);
  }

  const kinds = { rows: lookAtTrace, speeds: lookAtBench, front: lookAtTune };
  kinds[first]();

  function lookAtBench() {
    result.speeds = text("[data-chart=speeds] svg text").filter(t => / inputs.s$/.test(t)).length;
    result.names = text("[data-chart=speeds] svg .title[y]:not([text-anchor])");
    result.methods = text("[data-chart=rows] h3");
    result.timesteps = all("[data-chart=rows] svg[role=img]").map(svg =>
      [...svg.querySelectorAll("[data-timesteps]")].reduce((sum, bar) => sum + +bar.dataset.timesteps, 0));
    const bar = document.querySelector("[data-timesteps]"), x = +bar.getAttribute("x") + bar.getAttribute("width") / 2;
    expect(/^\d+( to \d+)? rows in \d+ timesteps: \d+\.\d %$/.test(tipAt(bar.closest("svg"), x, 50)), "a tip");
  }

  function lookAtTune() {
    const circles = all("svg[role=img] circle"), at = c => [+c.getAttribute("cx"), +c.getAttribute("cy")];
    result.points = circles.length;
    result.front = all("svg[role=img] circle.front").length;
    result.tips = circles.map(c => tipAt(c.closest("svg"), ...at(c)));
    result.labels = text(".front-label");
    result.note = text(".note").join();
    result.line = all(".line-front").map(p => (p.getAttribute("d").match(/[MV]/g) || []).length).join();
  }

  function lookAtTrace() {
    expect(/^timestep \d+: /.test(tipAt(document.querySelector("[data-chart=rows] svg[role=img]"), 60, 20)), "no tip");

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
    const model = rillView.model(), container = document.createElement("div");
    document.body.append(container);
    JSON.parse(document.getElementById("events").textContent).forEach((event, i) => {
      model.add(event);
      if (i % 7 === 0) rillView.show(container, model);
    });
    rillView.show(container, model);
    expect(container.querySelectorAll("figure").length === 6, "drawn while events come");
    container.remove();

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
    Object.assign(result, { facts: text(".facts dd"), items: found, bars: +document.querySelector("[data-items]").dataset.items,
      refills: +document.querySelector("[data-refills]").dataset.refills, stages: all("[data-stage]").length, note: text(".left-out").join() });
  }

  result.title = text("h1").join();
  result.run = text(".run").join();
  main.replaceChildren();
  document.getElementById("events").remove();
  document.body.dataset.result = encodeURIComponent(JSON.stringify(result)).replace(/'/g, "%27");
})();
