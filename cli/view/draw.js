/* What the pictures share: elements, scales, axes, legends. Colours are classes of view.css, so that light and dark are its affair. */
"use strict";
(function () {
  const SPACE = "http://www.w3.org/2000/svg", FONT = ["font-family", "font-size", "font-weight"];

  /* An element; of SVG where `parent` is. Children that are no elements become text. */
  function make(parent, name, attributes, ...children) {
    const svg = name === "svg" || (parent && parent.namespaceURI === SPACE);
    const element = svg ? document.createElementNS(SPACE, name) : document.createElement(name);
    for (const key of Object.keys(attributes || {})) if (attributes[key] !== null) element.setAttribute(key, attributes[key]);
    element.append(...children.filter(c => c !== null && c !== undefined));
    if (parent) parent.append(element);
    return element;
  }

  /* 20000 as "20k" */
  function short(value, digits = 3) {
    if (value >= 1e6) return +(value / 1e6).toPrecision(digits) + "M";
    if (value >= 1e4) return +(value / 1e3).toPrecision(digits) + "k";
    return String(+value.toPrecision(digits));
  }

  function seconds(value) {
    if (value >= 1) return value.toFixed(2) + " s";
    if (value >= 1e-3) return (value * 1e3).toFixed(1) + " ms";
    return (value * 1e6).toFixed(0) + " \u00b5s";
  }

  function cut(text, length) {
    return [...text].length > length ? [...text].slice(0, Math.max(length - 1, 1)).join("") + "\u2026" : text;
  }

  /* Round values from `least` to `most`, about `wanted` of them. */
  function ticks(least, most, wanted, whole) {
    const raw = Math.max(most - least, 1e-9) / wanted, power = Math.pow(10, Math.floor(Math.log10(raw)));
    let step = power * [1, 2, 5, 10].find(times => times * power >= raw * 0.999);
    if (whole && step < 1) step = 1;
    const found = [];
    for (let i = Math.ceil(least / step - 1e-6); i * step <= most + step * 1e-6; i++) found.push(+(i * step).toPrecision(12));
    return found;
  }

  /* The same on a logarithmic scale. */
  function logTicks(least, most, wanted) {
    const found = [], times = 3 * Math.log10(most / least) > wanted ? [1] : [1, 2, 5];
    for (let power = Math.pow(10, Math.floor(Math.log10(least))); power <= most; power *= 10)
      found.push(...times.map(t => t * power).filter(value => value >= least && value <= most));
    return found;
  }

  /* A figure with its title, a sentence, and room for a picture as wide as the page. */
  function figure(parent, key, title, sentence) {
    const box = make(parent, "figure", { "data-chart": key });
    const caption = make(box, "figcaption", {}, make(null, "h2", {}, title));
    if (sentence) make(caption, "p", {}, sentence);
    return box;
  }

  /* entries: [[class, label]], in the order in which they are drawn. */
  function legend(parent, entries) {
    const list = make(parent, "ul", { class: "legend" });
    for (const [mark, label] of entries) {
      const entry = make(list, "li", {});
      const swatch = make(entry, "svg", { width: 18, height: 12, "aria-hidden": "true" });
      if (mark.startsWith("line")) make(swatch, "path", { d: "M0 6h18", class: mark });
      else if (mark.startsWith("dot")) make(swatch, "circle", { cx: 9, cy: 6, r: 5, class: mark });
      else if (mark === "refill") make(swatch, "path", { d: "M9 2l5 8h-10z", class: mark });
      else make(swatch, "rect", { width: 18, height: 12, class: mark });
      make(entry, "span", {}, label);
    }
  }

  /* Draw axes from 0, or o.xLeast and o.yLeast. o.log: logarithmic x; o.bare: no numbers at y. Returns the plot. */
  function axes(box, o) {
    const width = Math.max(280, Math.floor(box.clientWidth || 800)), height = o.height || 220;
    const room = { left: o.bare ? 14 : 60, right: width - 14, top: 10, bottom: height - (o.under || 0) - 42 };
    const svg = make(box, "svg", { width: width, height: height, viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": o.label });
    const least = { x: o.xLeast || 0, y: o.yLeast || 0 };
    const most = { x: o.xMost > 0 ? o.xMost : 1, y: o.yMost > 0 ? o.yMost * (o.air === undefined ? 1.06 : o.air) : 1 };
    const plot = Object.assign({ svg: svg }, room), at = o.log ? Math.log : value => value;
    plot.x = value => room.left + (room.right - room.left) * (at(value) - at(least.x)) / (at(most.x) - at(least.x));
    plot.y = value => room.bottom - (room.bottom - room.top) * (value - least.y) / (most.y - least.y);
    for (const value of o.bare ? [] : ticks(least.y, most.y, Math.max(2, Math.floor((room.bottom - room.top) / 44)), o.yWhole)) {
      make(svg, "path", { d: "M" + room.left + " " + plot.y(value).toFixed(1) + "H" + room.right, class: "grid" });
      make(svg, "text", { x: room.left - 6, y: plot.y(value) + 4, "text-anchor": "end" }, short(value, 6));
    }
    /* bar(): draw a bar from x to x + wide and y to y + high, both > 0. column(): return the column at a place, of n columns. */
    plot.bar = (x, wide, y, high, kind) => {
      const left = plot.x(x), right = plot.x(x + wide), gap = right - left > 6 ? 1.5 : 0;
      return make(svg, "rect", { x: (left + gap / 2).toFixed(1), width: Math.max(0.6, right - left - gap).toFixed(1),
        y: plot.y(y + high).toFixed(1), height: (plot.y(y) - plot.y(y + high)).toFixed(1), class: kind });
    };
    plot.column = (x, n) => Math.floor((x - room.left) / (room.right - room.left) * n);
    const below = room.bottom + (o.under || 0);
    for (const value of (o.log ? logTicks : ticks)(least.x, most.x, Math.max(2, Math.floor((room.right - room.left) / 90)), !o.xPart)) {
      if (value + (o.shift || 0) > most.x) continue;
      make(svg, "path", { d: "M" + plot.x(value + (o.shift || 0)).toFixed(1) + " " + below + "v4", class: "axis" });
      make(svg, "text", { x: plot.x(value + (o.shift || 0)), y: below + 17, "text-anchor": "middle" }, short(value, 6));
    }
    make(svg, "path", { d: "M" + room.left + " " + room.top + "V" + below + "H" + room.right, class: "axis" });
    make(svg, "text", { x: (room.left + room.right) / 2, y: below + 35, "text-anchor": "middle", class: "title" }, o.xTitle);
    make(svg, "text", { transform: "translate(13 " + (room.top + room.bottom) / 2 + ") rotate(-90)", "text-anchor": "middle", class: "title" },
      o.yTitle);
    return plot;
  }

  /* A line of text under the pointer or the finger: `told(event)` gives it, "" for none. */
  function tip(box, svg, told) {
    const line = make(box, "p", { class: "tip", "aria-live": "polite" }, "\u00a0");
    const move = event => {
      const place = svg.getBoundingClientRect();
      line.textContent = told(event.clientX - place.left, event.clientY - place.top) || "\u00a0";
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    svg.addEventListener("pointerleave", () => { line.textContent = "\u00a0"; });
  }

  /* Returns a figure as an SVG file for a paper: title, legend and pictures in place, in the colours of a light page. */
  function svgOf(box) {
    const page = box.closest(".rill-view"), ground = box.getBoundingClientRect(), out = make(null, "svg", {});
    let width = ground.width, height = 0;
    for (const scrolled of box.querySelectorAll(".scroll")) scrolled.scrollLeft = 0; /* a part scrolled out has a place left of the page */
    function place(element, made) {
      const at = element.getBoundingClientRect();
      width = Math.max(width, at.right - ground.left);
      height = Math.max(height, at.bottom - ground.top + 8);
      return make(out, made, { transform: "translate(" + (at.left - ground.left).toFixed(1) + " " + (at.top - ground.top).toFixed(1) + ")" });
    }
    function style(element, from, names) {
      const all = getComputedStyle(from);
      for (const name of names) element.setAttribute(name, all.getPropertyValue(name));
      element.removeAttribute("class");
    }
    page.classList.add("light");
    const rect = make(out, "rect", { width: "100%", height: "100%" });
    rect.setAttribute("fill", getComputedStyle(page).backgroundColor);
    for (const svg of box.querySelectorAll("svg")) {
      const group = place(svg, "g");
      group.append(...[...svg.children].map(child => child.cloneNode(true)));
      const copies = group.querySelectorAll("*");
      svg.querySelectorAll("*").forEach((from, i) => style(copies[i], from,
        from.tagName === "text" ? ["fill", ...FONT] : ["fill", "stroke", "stroke-width", "stroke-dasharray"]));
    }
    for (const from of box.querySelectorAll("h2, h3, .legend span")) {
      const text = make(place(from, "g"), "text", { y: "1em" }, from.textContent);
      style(text, from, FONT);
      text.setAttribute("fill", getComputedStyle(from).color);
    }
    page.classList.remove("light");
    for (const [name, value] of [["width", width], ["height", height], ["viewBox", "0 0 " + width + " " + height]]) out.setAttribute(name, value);
    return new XMLSerializer().serializeToString(out).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "?"); /* which XML has not */
  }

  function saveButton(box) {
    make(box, "button", { type: "button", class: "save" }, "Save as SVG").addEventListener("click", () => {
      const link = make(null, "a", { download: box.dataset.chart + ".svg" });
      link.href = URL.createObjectURL(new Blob([svgOf(box)], { type: "image/svg+xml" }));
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  Object.assign(rillView, { make, short, seconds, cut, figure, legend, axes, tip, svgOf, saveButton });
})();
