"use strict";
// Draws the plots of a report, or draws them anew from other data; what was zoomed and hidden `before` stays so.
const drawReport = (data, before = null) => {
  for (const id of ["history", "components", "separation", "acceptance"]) document.getElementById(id).replaceChildren();
  document.querySelectorAll("#chains label").forEach((label) => label.remove());
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7a5195", "#8c8c00"];
  const colour = (chain) => COLOURS[chain % COLOURS.length];
  const EDGE = { left: 46, right: 8, top: 8, bottom: 20 };
  const FEWEST = Math.min(10, data.draws);
  const zoom = { from: 0, to: data.draws };
  const isHidden = new Set(before ? before.isHidden : []);
  const redraws = { along: [], all: [] };

  // Numbers travel as single-precision words in base64.
  const unpack = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  };
  const cache = new Map();
  const numbers = (text) => cache.get(text) || cache.set(text, unpack(text)).get(text);

  const make = (name, attributes = {}, parent = null, text = null) => {
    const isShape = ["svg", "path", "line", "rect", "text", "g"].includes(name);
    const node = isShape ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== null) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  };
  const short = (value) => (value === 0 ? "0" : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(1) : String(+value.toPrecision(4)));

  // Round numbers for the ticks of an axis.
  const ticks = (low, high, count) => {
    const raw = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((m) => m * power >= raw) * power;
    const found = [];
    for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step) found.push(Math.abs(x) < step / 1e6 ? 0 : x);
    return found;
  };

  // A plot: a figure with a drawing that is made anew for its width; `paint(frame)` draws into it.
  const plot = (parent, caption, label, height, isAlong, paint, className = "") => {
    const figure = make("figure", { class: `plot ${className}` }, parent);
    const svg = make("svg", { role: "img", class: isAlong ? "zooms" : "" }, figure);
    make("figcaption", {}, figure, caption);
    const frame = { svg, height, label };
    const redraw = () => {
      frame.width = Math.max(160, figure.clientWidth || 600);
      svg.setAttribute("viewBox", `0 0 ${frame.width} ${height}`);
      svg.replaceChildren();
      paint(frame);
      svg.setAttribute("aria-label", isAlong ? `${label}, draws ${Math.round(zoom.from)} to ${Math.round(zoom.to)}` : label);
    };
    (isAlong ? redraws.along : redraws.all).push(redraw);
    new ResizeObserver(() => { if (Math.abs((figure.clientWidth || 600) - frame.width) > 1) redraw(); }).observe(figure);
    if (isAlong) {
      svg.setAttribute("tabindex", "0");
      listen(frame);
    }
    redraw();
    return frame;
  };

  const axes = (frame, x, range, count = 5) => {
    const { svg, width, height } = frame, y = range || [0, 1];
    const left = EDGE.left, right = width - EDGE.right, top = EDGE.top, bottom = height - EDGE.bottom;
    const spreadX = x[1] - x[0] || 1, spreadY = y[1] - y[0] || 1;
    frame.x = (value) => left + ((value - x[0]) / spreadX) * (right - left);
    frame.y = (value) => bottom - ((value - y[0]) / spreadY) * (bottom - top);
    frame.back = (pixel) => x[0] + ((pixel - left) / (right - left)) * spreadX;
    frame.box = { left, right, top, bottom };
    make("path", { class: "axis", d: `M${left},${top}V${bottom}H${right}` }, svg);
    for (const value of ticks(x[0], x[1], Math.max(2, Math.min(count, width / 70)))) {
      const isLast = frame.x(value) > right - 14;
      make("text", { x: isLast ? width - 1 : frame.x(value), y: height - 5, "text-anchor": isLast ? "end" : "middle" }, svg, short(value));
    }
    for (const value of range === null ? [] : ticks(y[0], y[1], 4)) {
      make("text", { x: left - 5, y: frame.y(value) + 4, "text-anchor": "end" }, svg, short(value));
    }
  };

  // A line; where more than two points fall on a pixel, their extremes.
  const line = (frame, values, from, to, at, options) => {
    const first = Math.max(0, from), last = Math.min(values.length, to);
    const pixels = Math.max(1, frame.box.right - frame.box.left);
    const stride = Math.max(1, Math.floor((last - first) / (2 * pixels)));
    let d = "", isDown = false;
    const put = (i) => {
      if (!Number.isFinite(values[i])) { isDown = false; return; }
      d += `${isDown ? "L" : "M"}${frame.x(at(i)).toFixed(1)},${frame.y(values[i]).toFixed(1)}`;
      isDown = true;
    };
    for (let i = first; i < last; i += stride) {
      if (stride === 1) { put(i); continue; }
      let low = i, high = i;
      for (let j = i; j < Math.min(i + stride, last); j++) { if (values[j] < values[low]) low = j; if (values[j] > values[high]) high = j; }
      put(Math.min(low, high));
      if (low !== high) put(Math.max(low, high));
    }
    make("path", { class: "line", d, ...options }, frame.svg);
  };

  const spread = (series) => {
    let low = Infinity, high = -Infinity;
    for (const [values, from, to] of series) {
      for (let i = Math.max(0, from); i < Math.min(values.length, to); i++) { if (values[i] < low) low = values[i]; if (values[i] > high) high = values[i]; }
    }
    if (!(low <= high)) return [0, 1];
    const pad = (high - low) * 0.04 || Math.abs(high) * 0.1 || 1;
    return [low - pad, high + pad];
  };

  const every = Array.from({ length: data.chains }, (_, chain) => chain);
  const shown = () => every.filter((chain) => !isHidden.has(chain));
  const moments = (frame, chain) => {
    const found = data.separation;
    if (!found) return;
    const { top, bottom, left, right } = frame.box;
    const inside = (t) => t >= zoom.from - 1 && t <= zoom.to;
    for (const [a, b] of (found.apart || [])[chain] || []) {
      const from = Math.max(left, frame.x(a)), to = Math.min(right, frame.x(b + 1));
      if (to > from) make("rect", { class: "apart", x: from, y: top, width: to - from, height: bottom - top }, frame.svg);
    }
    for (const [kind, times] of [["mark", found.marks[chain]], ["meet", (found.coalescences || [])[chain] || []]]) {
      const near = times.filter(inside);
      if (near.length < 400) for (const t of near) make("line", { class: kind, x1: frame.x(t), x2: frame.x(t), y1: top, y2: bottom }, frame.svg);
    }
  };

  // ZOOM: one range for all plots along the draws, kept in the address so that a view can be shared.
  const show = (from, to) => {
    const width = Math.min(data.draws, Math.max(FEWEST, to - from));
    zoom.from = Math.min(Math.max(0, from), data.draws - width);
    zoom.to = zoom.from + width;
    redraws.along.forEach((redraw) => redraw());
    const isWhole = zoom.from <= 0 && zoom.to >= data.draws;
    document.getElementById("range").textContent = `draws ${Math.round(zoom.from).toLocaleString("en")} to ${Math.round(zoom.to).toLocaleString("en")}`;
    try { history.replaceState(null, "", isWhole ? location.pathname + location.search : `#draws=${Math.round(zoom.from)}-${Math.round(zoom.to)}`); } catch { /* a page without an address */ }
  };
  const change = (how) => {
    const width = zoom.to - zoom.from, middle = (zoom.from + zoom.to) / 2;
    if (how === "in") show(middle - width / 4, middle + width / 4);
    if (how === "out") show(middle - width, middle + width);
    if (how === "left") show(zoom.from - width / 4, zoom.to - width / 4);
    if (how === "right") show(zoom.from + width / 4, zoom.to + width / 4);
    if (how === "all") show(0, data.draws);
  };
  const KEYS = { "+": "in", "=": "in", "-": "out", "_": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Escape: "all" };
  const listen = (frame) => {
    const svg = frame.svg;
    let start = null, choice = null;
    const place = (event) => {
      const box = svg.getBoundingClientRect();
      const pixel = ((event.clientX - box.left) / box.width) * frame.width;
      return Math.min(Math.max(pixel, frame.box.left), frame.box.right);
    };
    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
      event.preventDefault();
      change(KEYS[event.key]);
    });
    svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      start = place(event);
      choice = make("rect", { class: "choice", x: start, y: frame.box.top, width: 0, height: frame.box.bottom - frame.box.top }, svg);
      try { svg.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone */ }
    });
    svg.addEventListener("pointermove", (event) => {
      if (start === null) return;
      const now = place(event);
      choice.setAttribute("x", Math.min(start, now));
      choice.setAttribute("width", Math.abs(now - start));
    });
    const finish = (event) => {
      if (start === null) return;
      const [a, b] = [start, place(event)].sort((p, q) => p - q);
      start = null;
      choice.remove();
      if (event.type === "pointerup" && b - a > 6) show(frame.back(a), frame.back(b));
    };
    svg.addEventListener("pointerup", finish);
    svg.addEventListener("pointercancel", finish);
    svg.addEventListener("dblclick", () => change("all"));
  };

  const trace = (parent, component) => {
    const isPair = component.traces.length > 1, width = component.width;
    const perDraw = width === 1 ? 1 : 2 / width;
    const at = (i) => (width === 1 ? i : (Math.floor(i / 2) + 0.25 + (i % 2) / 2) * width);
    const caption = isPair ? "Trace: first chain solid, second dashed; shaded while they are apart" : width > 1 ? `Trace: extremes of every ${width} draws` : "Trace";
    plot(parent, caption, `Trace of ${component.name}`, 170, true, (frame) => {
      const from = Math.floor(zoom.from * perDraw) - 1, to = Math.ceil(zoom.to * perDraw) + 1;
      const lines = shown().flatMap((chain) => component.traces.map((leg, k) => [numbers(leg[chain]), from, to, chain, k]));
      axes(frame, [zoom.from, zoom.to], spread(lines));
      if (data.separation && shown().length === 1) moments(frame, shown()[0]);
      for (const [values, , , chain, k] of lines) line(frame, values, from, to, at, { stroke: colour(chain), class: k ? "line second" : "line" });
    }, "wide");
  };

  const density = (parent, component) => {
    plot(parent, component.densities[0].is_discrete ? "Frequencies" : "Density", `Density of ${component.name}`, 170, false, (frame) => {
      const curves = shown().flatMap((chain) => component.densities.map((leg, k) => [numbers(leg.y[chain]), 0, Infinity, chain, k, numbers(leg.x)]));
      const grids = component.densities.map((leg) => [numbers(leg.x), 0, Infinity]);
      const highest = spread(curves)[1];
      axes(frame, spread(grids), [0, highest], 4);
      for (const [values, , , chain, k, x] of curves) line(frame, values, 0, values.length, (i) => x[i], { stroke: colour(chain), class: k ? "line second" : "line" });
    });
  };

  const ranks = (parent, component) => {
    plot(parent, "Ranks among all chains: level if they agree", `Ranks of ${component.name}`, 170, false, (frame) => {
      const bars = shown().map((chain) => [numbers(component.ranks[chain]), 0, Infinity, chain]);
      const bins = numbers(component.ranks[0]).length;
      axes(frame, [0, 1], [0, Math.max(2 / bins, spread(bars)[1])], 3);
      make("path", { class: "level", d: `M${frame.box.left},${frame.y(1 / bins)}H${frame.box.right}` }, frame.svg);
      for (const [values, , , chain] of bars) {
        let d = "";
        values.forEach((value, i) => { d += `${i ? "V" : "M" + frame.x(0).toFixed(1) + ","}${frame.y(value).toFixed(1)}H${frame.x((i + 1) / bins).toFixed(1)}`; });
        make("path", { class: "line", d, stroke: colour(chain) }, frame.svg);
      }
    });
  };

  const acceptance = (parent) => {
    const names = { single: [""], coupled: ["first chain", "second chain"], lagged: ["first chain", "second chain"], shadowed: ["exact", "approximate"] }[data.kind];
    const windows = numbers(data.acceptance[0][0]).length, width = data.draws / windows;
    const caption = `Share of accepted candidates in ${windows} windows${names.length > 1 ? `: ${names[0]} solid, ${names[1]} dashed` : ""}`;
    plot(parent, caption, "Acceptance along the run", 150, true, (frame) => {
      const lines = shown().flatMap((chain) => data.acceptance.map((leg, k) => [numbers(leg[chain]), 0, Infinity, chain, k]));
      axes(frame, [zoom.from, zoom.to], [0, Math.min(1, Math.max(0.1, spread(lines)[1]))]);
      const from = Math.floor(zoom.from / width) - 1, to = Math.ceil(zoom.to / width) + 1;
      for (const [values, , , chain, k] of lines) line(frame, values, from, to, (i) => Math.min(Math.max((i + 0.5) * width, zoom.from), zoom.to), { stroke: colour(chain), class: k ? "line second" : "line" });
    }, "wide");
  };

  const separation = (section) => {
    const found = data.separation;
    if (!found) return;
    section.hidden = false;
    make("h2", {}, section, data.kind === "coupled" ? "Separation and coalescence" : "Separation");
    const text = data.kind === "coupled" ? "Each row is a pair of chains. Red: they separate; green, dashed: they are equal again; shaded: apart. While one pair alone is shown, its traces have these marks, too." : "Each row is a chain. Red: the approximate kernel would have decided otherwise.";
    make("p", { class: "hint" }, section, text);
    plot(section, "Moments of separation along the draws", "Moments of separation", 34 + 16 * Math.min(every.length, 24), true, (frame) => {
      axes(frame, [zoom.from, zoom.to], null);
      const chains = every.slice(0, 24), full = frame.box, height = (full.bottom - full.top) / Math.max(1, chains.length);
      chains.forEach((chain, row) => {
        frame.box = { ...full, top: full.top + row * height + 1, bottom: full.top + (row + 1) * height - 1 };
        make("text", { x: full.left - 5, y: frame.box.top + height / 2 + 3, "text-anchor": "end", fill: colour(chain) }, frame.svg, String(chain));
        moments(frame, chain);
      });
      frame.box = full;
    }, "wide");
    plot(section, "Separations so far: counted solid, expected from the gaps dashed", "Separations so far", 170, true, (frame) => {
      const at = (i) => Math.min((i + 1) * found.width, data.draws);
      const from = Math.floor(zoom.from / found.width) - 2, to = Math.ceil(zoom.to / found.width) + 1;
      const lines = shown().flatMap((chain) => [[numbers(found.counted[chain]), from, to, chain, 0], [numbers(found.expected[chain]), from, to, chain, 1]]);
      axes(frame, [zoom.from, zoom.to], spread(lines));
      for (const [values, , , chain, k] of lines) line(frame, values, from, to, (i) => Math.max(at(i), zoom.from), { stroke: colour(chain), class: k ? "line second" : "line" });
    }, "wide");
  };

  // What a page that follows a run has in addition: how its diagnostics came to be what they are.
  const diagnostics = (section) => {
    const found = data.history;
    section.hidden = !found;
    if (!found) return;
    make("h2", {}, section, "Diagnostics over time");
    for (const [name, caption, values, level, least] of [
      ["R-hat", "Largest R-hat of a component, by the draws so far; dotted: 1.01", found.rhat, 1.01, [1, 1.02]],
      ["ESS", "Smallest effective sample size, by the draws so far; dotted: 400", found.ess, 400, [0, 440]],
    ]) {
      plot(section, caption, `${name} over time`, 140, true, (frame) => {
        const known = values.filter(Number.isFinite);
        axes(frame, [zoom.from, zoom.to], [least[0], Math.max(least[1], ...known)]);
        make("path", { class: "level", d: `M${frame.box.left},${frame.y(level)}H${frame.box.right}` }, frame.svg);
        const near = found.draws.map((t, i) => i).filter((i) => found.draws[i] >= zoom.from && found.draws[i] <= zoom.to);
        if (near.length) line(frame, values, near[0], near[near.length - 1] + 1, (i) => found.draws[i], { stroke: COLOURS[0] });
        for (const i of near) if (Number.isFinite(values[i])) make("rect", { x: frame.x(found.draws[i]) - 2, y: frame.y(values[i]) - 2, width: 4, height: 4, fill: COLOURS[0] }, frame.svg);
      }, "wide");
    }
  };

  // Of coupled chains one pair is shown first, so that its traces can be told apart.
  const chooser = document.getElementById("chains");
  if (data.kind === "coupled") {
    chooser.querySelector("legend").textContent = "Pairs";
    if (!before) every.slice(1).forEach((chain) => isHidden.add(chain));
  }
  for (const chain of every) {
    const label = make("label", {}, chooser);
    const box = make("input", { type: "checkbox" }, label);
    box.checked = !isHidden.has(chain);
    make("span", { class: "swatch", style: `background:${colour(chain)}` }, label);
    label.append(String(chain));
    box.addEventListener("change", () => {
      if (box.checked) isHidden.delete(chain); else isHidden.add(chain);
      [...redraws.along, ...redraws.all].forEach((redraw) => redraw());
    });
  }
  const holder = document.getElementById("components");
  for (const component of data.components) {
    const block = make("div", { class: "component" }, holder);
    make("h3", {}, block, component.name);
    trace(block, component);
    density(block, component);
    ranks(block, component);
  }
  diagnostics(document.getElementById("history"));
  separation(document.getElementById("separation"));
  acceptance(document.getElementById("acceptance"));
  document.querySelectorAll("[data-zoom]").forEach((button) => { button.onclick = () => change(button.dataset.zoom); });
  const asked = /^#draws=(\d+)-(\d+)$/.exec(location.hash);
  const kept = before && !before.isWhole ? [before.zoom.from, before.zoom.to] : asked ? [Number(asked[1]), Number(asked[2])] : null;
  show(...(kept || [0, data.draws]));
  document.body.dataset.ready = "true";
  return { zoom, isHidden, get isWhole() { return zoom.from <= 0 && zoom.to >= data.draws; } };
};
