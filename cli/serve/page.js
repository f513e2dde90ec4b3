/* The page of a server: asks, shows outputs as they grow, what the server has in flight, and the search, drawn by rillView. */
"use strict";
(function () {
  const at = id => document.getElementById(id);
  const models = new Map();
  let busy = false;

  function headers() {
    const all = { "Content-Type": "application/json" };
    if (at("token").value) all.Authorization = "Bearer " + at("token").value;
    return all;
  }

  async function ask(path, body) {
    const answer = await fetch(path, body ? { method: "POST", headers: headers(), body: JSON.stringify(body) } : { headers: headers() });
    if (answer.ok) return answer;
    if (answer.status === 401) at("word").hidden = false;
    let why = answer.status + " " + answer.statusText;
    try {
      why = (await answer.json()).error.message;
    } catch (e) { /* it is told by its number */ }
    throw new Error(why);
  }

  function make(parent, tag, name, text) {
    return rillView.make(parent, tag, name ? { class: name } : {}, text);
  }

  /* --- models and load --- */

  async function readModels() {
    const list = (await (await ask("v1/models")).json()).models;
    for (const model of list) {
      if (!models.has(model.name)) make(at("model"), "option", "", model.name);
      models.set(model.name, model);
    }
    describe();
  }

  function describe() {
    const model = models.get(at("model").value);
    if (!model) return;
    at("about").textContent = model.description;
    at("k").placeholder = model.options.beam_size;
  }

  const load = [];
  function drawLoad() {
    const most = Math.max(4, ...load.map(p => p.flight + p.waiting)), x = i => 40 + i * 860 / 119, y = v => 78 - 68 * v / most;
    const line = of => load.map((p, i) => x(i).toFixed(1) + "," + y(of(p)).toFixed(1)).join(" ");
    const now = load[load.length - 1];
    at("load").innerHTML = '<svg viewBox="0 0 900 90" role="img" aria-label="inputs in flight and waiting, the last two minutes">' +
      '<text x="34" y="14" text-anchor="end" font-size="12" fill="currentColor">' + most + '</text>' +
      '<text x="34" y="82" text-anchor="end" font-size="12" fill="currentColor">0</text>' +
      '<path d="M40 8V78H900" fill="none" stroke="currentColor" opacity=".4"/>' +
      '<polyline points="' + line(p => p.flight) + '" fill="none" stroke="currentColor" stroke-width="2"/>' +
      '<polyline points="' + line(p => p.flight + p.waiting) + '" fill="none" stroke="currentColor" stroke-dasharray="4 3"/></svg>' +
      '<p class="note">' + now.flight + " in flight (line), " + now.waiting + " waiting (dashed: both); " + now.done + " done.</p>";
  }

  async function watchLoad() {
    try {
      await readModels();
      const sum = name => [...models.values()].reduce((n, m) => n + m.inputs[name], 0);
      load.push({ flight: sum("under_way"), waiting: sum("waiting"), done: sum("done") });
      if (load.length > 120) load.shift();
      drawLoad();
    } catch (e) { at("state").textContent = e.message; }
    setTimeout(watchLoad, 1000);
  }

  /* --- outputs --- */

  function showInputs(texts) {
    at("outputs").replaceChildren();
    return texts.map(text => {
      make(at("outputs"), "p", "input", text);
      const place = make(at("outputs"), "div");
      const line = make(place, "p");
      return { place: place, final: make(line, "span"), draft: make(line, "span", "draft"), known: "" };
    });
  }

  function showEvent(rows, name, data) {
    const row = rows[data.input];
    if (name === "final") row.known = data.text;
    if (name === "final" || name === "draft") {
      row.final.textContent = row.known;
      if (name === "draft") row.draft.textContent = data.text.startsWith(row.known) ? data.text.slice(row.known.length) : " \u2026 " + data.text;
      return;
    }
    row.place.replaceChildren();
    if (data.error) make(row.place, "p", "error", data.error.message);
    for (const warning of data.warnings || []) make(row.place, "p", "note", warning);
    const list = make(row.place, "ol");
    for (const output of data.outputs || []) {
      const item = make(list, "li", "", output.text + " ");
      make(item, "span", "score", output.score === null ? "" : output.score.toFixed(3) + (output.finish_reason === "stop" ? "" : ", cut short"));
    }
  }

  async function decode(body, rows) {
    const reader = (await ask("v1/decode", { ...body, stream: true })).body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const [name, data] = block.split("\n");
        if (name !== "event: end") showEvent(rows, name.slice(7), JSON.parse(data.slice(6)));
      }
    }
  }

  async function look(body) {
    const lines = (await (await ask("v1/trace", body)).text()).split("\n");
    const model = rillView.model();
    for (const line of lines) if (line) model.add(JSON.parse(line));
    at("search-note").textContent = "Decoded once more by itself: an answer does not depend on what is decoded beside it.";
    rillView.show(at("search"), model);
  }

  async function submit(event) {
    event.preventDefault();
    const texts = at("text").value.split("\n").filter(text => text.trim());
    if (busy || !texts.length) return;
    busy = true;
    const options = {};
    if (at("k").value) options["beam-size"] = +at("k").value;
    if (at("n").value > 1) options["n-best"] = +at("n").value;
    const body = { model: at("model").value, inputs: texts, options: options };
    const start = performance.now();
    at("state").textContent = "decoding";
    try {
      await decode(body, showInputs(texts));
      at("state").textContent = (performance.now() - start).toFixed(0) + " ms";
      await look({ ...body, inputs: texts.slice(0, 20) });
      document.body.dataset.done = String(+(document.body.dataset.done || 0) + 1);
    } catch (e) {
      at("state").textContent = e.message;
    }
    busy = false;
  }

  at("ask").addEventListener("submit", submit);
  at("model").addEventListener("change", describe);
  at("text").addEventListener("keydown", e => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) submit(e); });
  watchLoad();
  /* A link may bring its input along: /#input=TEXT */
  const brought = new URLSearchParams(location.hash.slice(1)).get("input");
  if (brought) {
    at("text").value = brought;
    readModels().then(() => at("ask").requestSubmit(), () => {});
  }
})();
