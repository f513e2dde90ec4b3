/* Looks at the page that is shown, for serve_page.py: what is wider than the screen, what text does not stand out from its ground, what
 * labels leave their chart. Returns a list of sentences. */
(function () {
  const wrong = [], seen = new Set();
  const say = what => { if (!seen.has(what)) wrong.push(what); seen.add(what); };

  function rgb(text) {
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    return numbers.length === 4 && numbers[3] === 0 ? null : numbers.slice(0, 3);
  }

  function luminance(colour) {
    const [r, g, b] = colour.map(c => c / 255).map(c => (c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4)));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function contrast(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  }

  /* The ground of an element: the nearest one that has a colour. */
  function groundOf(element) {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour) return colour;
    }
    return [255, 255, 255];
  }

  function look(element, text, colour) {
    const found = rgb(colour), ratio = contrast(found, groundOf(element));
    if (ratio < 4.5) say("contrast " + ratio.toFixed(2) + ": " + text.slice(0, 40));
  }

  let n = 0;
  for (const element of document.querySelectorAll("body *")) {
    if (!element.checkVisibility() || element.closest("script, style, option, [disabled]")) continue;
    const text = [...element.childNodes].filter(c => c.nodeType === 3 && c.data.trim()).map(c => c.data.trim()).join(" ");
    const style = getComputedStyle(element);
    if (element.placeholder && !element.value) look(element, element.placeholder, getComputedStyle(element, "::placeholder").color);
    if (element.value && element.matches("input, textarea, select")) look(element, String(element.value), style.color);
    if (!text || element.tagName === "title") continue;
    n++;
    look(element, text, element.closest("svg") ? style.fill : style.color);
    const place = element.getBoundingClientRect(), chart = element.closest("svg[role=img]");
    if (chart && !chart.closest(".scroll")) {
      const frame = chart.getBoundingClientRect();
      if (place.left < frame.left - 1 || place.right > frame.right + 1 || place.top < frame.top - 1 || place.bottom > frame.bottom + 1)
        say("a label beyond its chart: " + text);
      if (parseFloat(style.fontSize) * frame.width / chart.viewBox.baseVal.width < 11) say("a label of less than 11 pixels: " + text);
    } else if (!chart && place.right > innerWidth + 1) say("wider than the screen: " + text);
  }
  if (n < 10) say("only " + n + " texts");
  if (document.documentElement.scrollWidth > innerWidth) say("the page is wider than the screen");
  return wrong;
})();
