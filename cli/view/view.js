/* The page of a model of events (model.js): draws all pictures into an element, and again when its width changes. */
"use strict";
(function () {
  const V = rillView;

  /* "beam-size 5"; null where the option is not set, or 0. */
  function option(options, name) {
    return options[name] ? name.replace(/_/g, "-") + " " + options[name] : null;
  }

  function drawHead(parent, model) {
    const run = model.run, options = run.options || {};
    const said = ["method", "beam_size", "batch_size", "max_batch_hypotheses", "max_children"].map(name => option(options, name)).filter(Boolean);
    const chain = model.links.concat(options.scorers || []);
    V.make(parent, "h1", {}, model.title);
    const facts = [run.model, run.domain, said.join(", "), chain.join(" + "), run.hardware, run.version ? "rill " + run.version : ""];
    V.make(parent, "p", { class: "run" }, facts.filter(Boolean).join(" \u00b7 "));
    const out = model.leftOut;
    if (!out) return;
    const parts = [];
    if (out.timesteps < out.of_timesteps) parts.push("only the first " + out.timesteps + " of " + out.of_timesteps + " timesteps");
    if (out.trees < out.of_trees) parts.push("trees of only the first " + out.trees + " of " + out.of_trees + " inputs");
    if (parts.length) V.make(parent, "p", { class: "left-out", role: "note" }, "Left out for size: this page has " + parts.join(", and ") + ".");
  }

  function drawAll(element, model, state) {
    element.replaceChildren();
    if (model.compared) V.drawCompared(element, model.title, model.compared);
    else drawRun(element, model, state);
    for (const box of element.querySelectorAll("figure")) if (box.querySelector("svg[role=img]")) V.saveButton(box);
  }

  function drawRun(element, model, state) {
    const workers = [...model.workers.values()].sort((a, b) => a.number - b.number);
    const worker = model.workers.get(state.worker) || workers[0], again = change => {
      const at = window.scrollY;
      Object.assign(state, change);
      drawAll(element, model, state);
      window.scrollTo(0, at);
    };
    drawHead(element, model);
    if (workers.length > 1) {
      const label = V.make(element, "label", { class: "worker" }, "worker "), select = V.make(label, "select", {});
      workers.forEach(w => V.make(select, "option", w === worker ? { value: w.number, selected: "" } : { value: w.number }, String(w.number)));
      select.addEventListener("change", () => again({ worker: +select.value, chosen: null }));
    }
    if (!worker) {
      V.make(element, "p", { class: "note" }, "No timesteps yet.");
      return;
    }
    const ids = [...model.items.values()].filter(i => i.worker === worker.number).map(i => i.id);
    if (state.chosen === null || !model.items.has(state.chosen)) state.chosen = ids.length ? ids.reduce((a, b) => Math.min(a, b)) : null;
    const choose = id => again({ chosen: id, worker: model.items.get(id).worker });
    V.drawSummary(element, model, worker);
    V.drawRows(element, model, worker);
    V.drawItems(element, model, worker, choose, state.chosen);
    if (state.chosen !== null) V.drawItem(element, model, state.chosen, choose);
    V.drawWidths(element, model, worker);
    V.drawPruning(element, model, worker);
    V.drawStages(element, model, worker);
  }

  V.show = function (element, model) {
    const state = element.rillState || (element.rillState = { worker: 0, chosen: null, width: 0 });
    element.classList.add("rill-view");
    drawAll(element, model, state);
    if (state.watched) return;
    state.watched = true;
    state.width = element.clientWidth;
    window.addEventListener("resize", () => {
      if (element.clientWidth === state.width) return;
      state.width = element.clientWidth;
      drawAll(element, model, state);
    });
  };

  /* A whole page's: events from the element `from`, pictures into `to`. What goes wrong is shown, not only logged. */
  V.page = function (to, from) {
    try {
      const model = V.model();
      for (const event of JSON.parse(from.textContent)) model.add(event);
      V.show(to, model);
      document.body.dataset.shown = "yes";
    } catch (error) {
      document.body.dataset.shown = "no";
      V.make(to, "p", { class: "left-out", role: "alert" }, "This page cannot be drawn: " + error.message);
    }
  };
})();
