// How all blocks draw on a canvas: axes, points, curves and bars, and where the panels of a run stand.
window.clbookDrawing ??= (() => {
  const { phrase, entry } = window.clbookTasks; // of tasks.js
  const LETTERS = "12px DejaVu Sans, Verdana, sans-serif";
  const LIGHT = { INK: "#1b1f24", MUTED: "#5b6470", GRID: "#dde1e6", GROUND: "#ffffff" };
  const DARK = { INK: "#e6e9ed", MUTED: "#a9b1bb", GRID: "#3d444d", GROUND: "#121212" };
  let { INK, MUTED, GRID, GROUND } = LIGHT; // for what is drawn on, as `sized` finds it: a picture has no ground of its own
  const HEAD = 20, EDGE = 8; // pixels: of a line above a run, and left free at both ends of it

  // --- a canvas, and marks on it, in pixels ---
  // The canvas at a size on the screen, empty: its context and size in CSS pixels. What is drawn stands out from its ground.
  function sized(canvas, w = canvas.clientWidth, h = canvas.clientHeight) {
    ({ INK, MUTED, GRID, GROUND } = bright(getComputedStyle(canvas).color) ? DARK : LIGHT);
    const zoom = devicePixelRatio || 1, [wide, high] = [Math.round(w * zoom), Math.round(h * zoom)];
    if (canvas.width !== wide || canvas.height !== high) { canvas.width = wide; canvas.height = high; }
    const g = canvas.getContext("2d");
    g.setTransform(zoom, 0, 0, zoom, 0, 0);
    g.clearRect(0, 0, w, h);
    return { g, w, h, INK, MUTED, GROUND };
  }
  function bright(colour) { // of letters: then what they stand on is dark
    const [r = 0, g = 0, b = 0] = colour.match(/[\d.]+/g)?.map(Number) ?? []; // "" of a figure that has been taken away
    return 0.3 * r + 0.6 * g + 0.1 * b > 128;
  }
  function within(g, frame, drawing) { // nothing of it outside of the axes
    g.save(); g.beginPath(); g.rect(frame.x, frame.y, frame.w, frame.h); g.clip();
    drawing();
    g.restore(); g.globalAlpha = 1;
  }
  function stroke(g, places) { // through all places that are numbers
    let on = false;
    g.beginPath();
    for (const [x, y] of places) {
      if (Number.isFinite(y)) g[on ? "lineTo" : "moveTo"](x, y);
      on = Number.isFinite(y);
    }
    g.stroke();
  }
  function dot(g, x, y, radius, colour, alpha = 0.8, square = false) {
    g.fillStyle = colour; g.globalAlpha = alpha;
    g.beginPath();
    const half = 0.89 * radius; // as much to the eye
    if (square) g.rect(x - half, y - half, 2 * half, 2 * half);
    else g.arc(x, y, radius, 0, 2 * Math.PI);
    g.fill();
    g.globalAlpha = 1;
  }
  function ring(g, x, y, radius = 9, colour = INK, width = 2) {
    g.strokeStyle = colour; g.lineWidth = width;
    g.beginPath(); g.arc(x, y, radius, 0, 2 * Math.PI); g.stroke();
  }
  function outlined(g, text, x, y, colour) { // to be read on lines and points
    g.fillStyle = colour; g.strokeStyle = GROUND; g.lineWidth = 3; g.globalAlpha = 1;
    for (const draw of ["strokeText", "fillText"]) g[draw](text, x, y);
  }
  function numbered(g, places, colours, numbers, off = 3) { // those points' numbers beside them; of two in one place on either side
    g.font = LETTERS;
    numbers.forEach((i, k) => {
      const [x, y] = places[i], second = numbers.slice(0, k).some((j) => Math.hypot(places[j][0] - x, places[j][1] - y) < 12);
      const side = second ? -1 : 1;
      g.textAlign = second ? "right" : "left"; g.textBaseline = second ? "top" : "bottom";
      outlined(g, String(i), x + off * side, y - (off - 1) * side, colours(i));
    });
  }

  // --- numbers and axes ---
  const minus = (text) => text.replace("-", "\u2212");
  const said = (v) => minus(String(Number(v.toPrecision(4))));
  const fixed = (v) => minus((Math.abs(v) < 0.005 ? 0 : v).toFixed(2));
  const when = (at) => at === null ? "not separable so far" : `separable from iteration ${at}`;

  // Round numbers between low and high, about `count` of them.
  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(Math.abs(v) < step / 1e6 ? 0 : v);
    return found;
  }
  const extent = (values) => {
    let low = Infinity, high = -Infinity;
    for (const v of values) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
    if (low > high) return [0, 1];
    const pad = 0.06 * Math.max(high - low, 1e-9);
    return [low - pad, high + pad];
  };
  // The same, of numbers that come while it trains: round ends, so that a picture changes its scale seldom.
  function roomy(values) {
    const [low, high] = extent(values), step = (high - low) / 4, unit = 2 ** Math.ceil(Math.log2(step));
    return [Math.floor(low / unit) * unit, Math.ceil(high / unit) * unit];
  }

  // A plane at one scale in both directions, which shows at least xs and ys, [low, high] each, in the middle of a frame.
  function plane({ x = 0, y = 0, w, h }, xs, ys = xs) {
    const scale = Math.max((xs[1] - xs[0]) / w, (ys[1] - ys[0]) / h);
    const around = ([low, high], size) => [(low + high - scale * size) / 2, (low + high + scale * size) / 2];
    const [left, right] = around(xs, w), [bottom, top] = around(ys, h);
    return { limits: [left, right, bottom, top], toX: (v) => x + (v - left) / scale, toY: (v) => y + (top - v) / scale,
      ofX: (p) => left + (p - x) * scale, ofY: (p) => top - (p - y) * scale };
  }
  function cross(g, { toX, toY }, { w, h }) { // where both coordinates are 0
    g.strokeStyle = GRID; g.lineWidth = 1;
    stroke(g, [[0, toY(0)], [w, toY(0)]]);
    stroke(g, [[toX(0), 0], [toX(0), h]]);
  }

  // Axes: `frame` has x, y, w, h in pixels; limits [left, right, bottom, top]; ratios: whether x goes by them.
  function stage(g, frame, limits, { ratios = false, xlabel = "", ylabel = "", title = "", bare = false, places, labels = [] }) {
    const [left, right, bottom, top] = limits, f = ratios ? Math.log : (v) => v;
    const toX = (v) => frame.x + frame.w * (f(v) - f(left)) / (f(right) - f(left));
    const toY = (v) => frame.y + frame.h * (top - v) / (top - bottom);
    const powers = Array.from({ length: 16 }, (_, k) => 10 ** k).filter((v) => v >= left && v <= right);
    const small = (v) => v && Math.abs(v) < 1e-4 ? minus(v.toExponential(0)) : said(v);
    g.font = LETTERS; g.lineWidth = 1; g.textAlign = "center"; g.textBaseline = "top"; g.strokeStyle = GRID; g.fillStyle = MUTED;
    const xs = places ?? (ratios ? powers : ticks(left, right, 4));
    for (const [k, v] of bare ? [] : xs.entries()) {
      stroke(g, [[toX(v), frame.y], [toX(v), frame.y + frame.h]]);
      g.fillText(labels[k] ?? said(v), toX(v), frame.y + frame.h + 4);
    }
    g.textAlign = "right"; g.textBaseline = "middle";
    for (const v of bare ? [] : ticks(bottom, top, 4)) {
      stroke(g, [[frame.x, toY(v)], [frame.x + frame.w, toY(v)]]);
      g.fillText(small(v), frame.x - 4, toY(v));
    }
    g.fillStyle = INK; g.textAlign = "center"; g.textBaseline = "bottom";
    let shown = title; // the last part of a title that has no room, such as the iteration, is left out
    while (shown.includes(", ") && g.measureText(shown).width > frame.w + 40) shown = shown.slice(0, shown.lastIndexOf(", "));
    g.fillText(shown, frame.x + frame.w / 2, frame.y - 5);
    g.textBaseline = "top"; g.fillText(xlabel, frame.x + frame.w / 2, frame.y + frame.h + 19);
    g.save(); g.translate(frame.x - 42, frame.y + frame.h / 2); g.rotate(-Math.PI / 2); g.textBaseline = "middle";
    g.fillText(ylabel, 0, 0); g.restore();
    return { toX, toY };
  }

  // --- what panels have in common ---
  // Points at [x, y, how dark] in pixels; own(i): the colour of one.
  function cloud(g, frame, places, own, numbers = [], radius = 3) {
    within(g, frame, () => {
      places.forEach(([x, y, alpha], i) => dot(g, x, y, radius, own(i), alpha));
      numbered(g, places, own, numbers, radius);
    });
  }
  // Lines over time, {values: one for each row, colour, alpha, width, dash} each; where they end.
  function overTime(g, frame, run, lines, axis, how) {
    const { toX, toY } = stage(g, frame, [1, run.steps + 1, ...axis], { xlabel: "iteration", ...how, ratios: true });
    const places = lines.map(({ values }) => // t + 1: an axis by ratios has no 0
      run.rows.map(({ t }, k) => [toX(t + 1), toY(values[k])]));
    within(g, frame, () => lines.forEach(({ colour, alpha = 1, width = 1.6, dash = [] }, k) => {
      g.strokeStyle = colour; g.globalAlpha = alpha; g.lineWidth = width; g.setLineDash(dash);
      stroke(g, places[k]);
      g.setLineDash([]);
      dot(g, ...places[k].at(-1), 2.5, colour);
    }));
    return { toX, ends: places.map((line) => line.at(-1)) };
  }

  // How each kind of panel is drawn. A run as it stands: {rows: [{t, row}], labels, recorded: {name: shape}, steps, at}; a panel
  // is as live/panels.py says.
  const kinds = {
    paths(g, frame, run, panel, colours) {
      const name = panel.of[0], { rows, at } = run, found = at !== null && at !== undefined;
      const lines = Array.from({ length: run.recorded[name][1] }, (_, i) => ({ values: rows.map(({ row }) => row[name][i]),
        width: 1, colour: colours[run.labels[i] % colours.length], alpha: run.labels[i] ? 0.45 : 0.75 }));
      const title = at === undefined || rows.length < 2 ? panel.title : when(at);
      const axis = roomy(lines.flatMap(({ values }) => values));
      const { toX } = overTime(g, frame, run, lines, axis, { ylabel: "embedding", title });
      g.strokeStyle = INK; g.lineWidth = 1.4;
      if (found) within(g, frame, () => stroke(g, [[toX(at + 1), frame.y], [toX(at + 1), frame.y + frame.h]]));
    },

    points(g, frame, run, panel, colours) {
      const [name, views] = panel.of, [n, d] = run.recorded[name].slice(-2), { t, row: last } = run.rows.at(-1);
      const row = { ...run.rows[0].row, ...last }; // what is held stands in the first row alone
      const place = d === 3 ? turned(panel.eye) : (v, i) => [v[i * d], v[i * d + 1], 1];
      const lift = (i) => panel.ball && d === 2 ? 1 + 0.25 * (0.618 * i % 1) : 1; // a band, in which each can be seen
      const at = (v, i) => { const [x, y, depth] = place(v, i); return [lift(i % n) * x, lift(i % n) * y, depth]; };
      const of = (row, which) => Array.from({ length: row[which].length / d }, (_, i) => at(row[which], i));
      const all = panel.ball ? [] : run.rows.flatMap((one) => panel.of.flatMap((which) => of(one.row, which)));
      const edge = d === 3 ? 1.15 : 1.4;
      const limits = panel.ball ? [[-edge, edge]] : [0, 1].map((axis) => roomy(all.map((point) => point[axis])));
      const title = run.held.includes(name) ? panel.title : `${panel.title ? panel.title + ", " : ""}iteration ${t}`;
      const joined = panel.more?.joined; // those of one colour, on axes that have no meaning of their own
      const words = panel.ball || joined ? { bare: true, title } : { xlabel: "coordinate 1", ylabel: "coordinate 2", title };
      const { toX, toY } = stage(g, frame, plane(frame, ...limits).limits, words);
      if (panel.ball) ring(g, toX(0), toY(0), toX(1) - toX(0), MUTED, 1);
      const classes = panel.colour ? row[panel.colour] : run.labels, own = (i) => colours[classes[i] % colours.length];
      const alpha = (i, depth) => row.there && !row.there[i % n] ? 0 : depth < 0 ? 0.25 : 0.8; // some may not be there
      const seen = (which) => of(row, which).map(([x, y, depth], i) => [toX(x), toY(y), alpha(i, depth)]);
      const places = seen(name), copies = views ? seen(views) : [];
      within(g, frame, () => places.forEach((_, i) => {
        g.strokeStyle = own(i); g.globalAlpha = 0.6;
        stroke(g, copies.filter((_, k) => k % n === i));
      }));
      if (joined) within(g, frame, () => places.forEach((from, i) => places.slice(0, i).forEach((to, j) => {
        g.strokeStyle = own(i); g.globalAlpha = 0.45; g.lineWidth = 2;
        if (classes[i] === classes[j]) stroke(g, [from, to]);
      })));
      cloud(g, frame, places, own, panel.numbers, joined ? 5 : 3);
    },

    // The data of the start, at one scale in both directions; numbers lie on a line, apart in height so that all are seen.
    data(g, frame, run, panel, colours) {
      const values = run.rows[0].row[panel.of[0]], d = run.recorded[panel.of[0]].at(-1), given = panel.limits;
      const all = Array.from({ length: values.length / d }, (_, i) => d === 2 ? [values[2 * i], values[2 * i + 1]]
        : [values[i], (0.618 * i) % 1 - 0.5]);
      const fits = given && values.every((v) => v >= given[0] && v <= given[1]);
      const limits = plane(frame, fits ? given : roomy([...values, ...given ?? []])).limits;
      const { toX, toY } = stage(g, frame, d === 2 ? limits : [...limits.slice(0, 2), -2, 2], { title: panel.title, bare: true });
      g.strokeStyle = GRID; g.strokeRect(frame.x, frame.y, frame.w, frame.h);
      const own = (i) => colours[run.labels[i % run.labels.length] % colours.length];
      cloud(g, frame, all.map(([x, y]) => [toX(x), toY(y)]), own);
    },

    curves(g, frame, run, panel, colours) {
      const found = panel.of.flatMap((name) => Array.from({ length: run.recorded[name].at(-1) }, (_, j) =>
        run.rows.map(({ row }) => row[name][j])));
      const named = found.length > 1 && found.length === panel.names.length; // one line for each name: it stands at its end
      const dashes = named ? [[], [7, 5], [2, 3]] : [[]]; // lines that lie on each other are told apart
      const own = named || found.length === 1 ? () => INK : (k) => colours[k % colours.length]; // entries are those of classes
      const lines = found.map((values, k) => ({ values, name: panel.names[k], colour: own(k),
        dash: dashes[k % dashes.length] }));
      const all = found.flat(), given = panel.limits ?? [];
      const kept = given.length && all.every((v) => !(v < given[0] || v > given[1]));
      const axis = kept ? given : roomy([...all, ...given]);
      if (given.length && all.every((v) => !(v < given[0]))) axis[0] = given[0]; // what cannot be negative has no room below 0
      const { ends } = overTime(g, frame, run, lines, axis, { title: panel.title || panel.names.join(", ") });
      if (named) within(g, frame, () => namesAt(g, frame, lines, ends));
    },

    bars(g, frame, run, panel, colours) {
      const { row, t } = run.rows.at(-1), values = row[panel.of[0]], places = Array.from(values, (_, i) => i + 1);
      const [low, high] = panel.limits ?? extent(values), { labels, tone } = panel.more ?? {};
      const title = `${panel.title || panel.names[0]}, iteration ${t}`;
      const limits = [0.4, values.length + 0.6, Math.min(low, 0), high];
      const { toX, toY } = stage(g, frame, limits, { xlabel: panel.xlabel, title, places, labels });
      const end = values.some((v) => v > high) ? frame.y + 17 : frame.y; // room for the number of a bar that goes on
      within(g, frame, () => values.forEach((v, i) => {
        g.fillStyle = panel.colour ? colours[row[panel.colour][i] % colours.length] : colours[tone] ?? INK;
        const top = Math.max(toY(Math.max(v, 0)), end);
        g.fillRect(toX(i + 0.7), top, toX(i + 1.3) - toX(i + 0.7), toY(0) - top);
        if (toY(v) >= end) return;
        g.globalCompositeOperation = "destination-out"; g.globalAlpha = 1; g.lineWidth = 2.5; // it has two cuts
        for (const y of [end + 10, end + 16]) stroke(g, [[toX(i + 0.65), y + 3], [toX(i + 1.35), y - 3]]);
        g.globalCompositeOperation = "source-over";
      }));
      g.font = LETTERS.replace("12", "10"); g.textAlign = "center"; g.textBaseline = "bottom";
      const digits = Math.max(0, 3 - Math.ceil(Math.log10(high))), room = toX(2) - toX(1) - 4;
      const whole = Array.from(values, (v) => minus(String(Number(Number(v.toPrecision(2)).toFixed(digits)))));
      const fits = (words) => words.every((word) => g.measureText(word).width <= room);
      // 0.75 where there is room for it, else .75, else no number above a bar.
      const told = [whole, whole.map((word) => word.replace(/^(\D?)0\./, "$1."))].find(fits);
      told?.forEach((word, i) => outlined(g, word, toX(i + 1),
        Math.max(Math.min(toY(Math.max(values[i], 0)), frame.y + frame.h), end, frame.y + 14) - 2, INK));
    },

    // Both views of one point, held: of each entry two bars side by side, which are alike where the views agree.
    pair(g, frame, run, panel, colours) {
      const row = { ...run.rows[0].row, ...run.rows.at(-1).row }, values = row[panel.of[0]], n = values.length / 2;
      const places = Array.from({ length: n }, (_, i) => i + 1), limits = [0.4, n + 0.6, ...panel.limits];
      const { toX, toY } = stage(g, frame, limits, { xlabel: panel.xlabel, title: panel.title, places });
      values.forEach((v, k) => {
        const left = toX(k % n + (k < n ? 0.66 : 1.03)), top = toY(Math.max(v, 0));
        g.fillStyle = colours[row[panel.colour][k % n] % colours.length]; g.globalAlpha = k < n ? 1 : 0.5;
        g.fillRect(left, top, 0.32 * (toX(2) - toX(1)), toY(Math.min(v, 0)) - top);
      });
      g.globalAlpha = 1;
    },

    // Shares, a column of discs each: the more of an entry, the more of its disc is filled.
    discs(g, frame, run, panel, colours) {
      const { row, t } = run.rows.at(-1), [columns, n] = run.recorded[panel.of[0]].slice(-2);
      const title = `${panel.title}, iteration ${t}`, { toX, toY } = stage(g, frame, [0.4, columns + 0.6, n + 0.6, 0.4],
        { xlabel: panel.xlabel, title, bare: true });
      const whole = 0.4 * Math.min(toX(2) - toX(1), toY(2) - toY(1));
      row[panel.of[0]].forEach((share, k) => {
        const [x, y] = [toX(Math.floor(k / n) + 1), toY(k % n + 1)], own = colours[row[panel.colour][k % n] % colours.length];
        ring(g, x, y, whole, own, 1);
        dot(g, x, y, whole * Math.sqrt(Math.max(0, Math.min(1, share))), own, 1);
      });
      g.font = LETTERS; g.fillStyle = MUTED; g.textAlign = "center"; g.textBaseline = "top";
      panel.more.labels.forEach((word, k) => g.fillText(word, toX(k + 1), frame.y + frame.h + 4));
    },
  };

  // A name stands above the end of its line, of lines that fall below it, where there is room; from the highest line
  // downwards, or from the lowest one upwards, so that names follow each other as the lines do.
  function namesAt(g, frame, lines, places) {
    const falls = lines.every(({ values }) => values[0] >= values.at(-1)), taken = [];
    const ends = lines.map((line, k) => ({ ...line, x: places[k][0], y: places[k][1] })).filter(({ y }) => Number.isFinite(y));
    ends.sort((a, b) => falls ? b.y - a.y : a.y - b.y);
    const free = (y) => taken.every((other) => Math.abs(other - y) >= 13); // no name stands on another one
    const fits = (y) => y > frame.y && y + 13 < frame.y + frame.h && free(y);
    g.textBaseline = "top";
    for (const end of ends) {
      const [above, below] = [end.y - 16, end.y + 3], sides = falls ? [below, above] : [above, below];
      let y = sides.find(fits) ?? sides[1];
      while (!free(y)) y += falls ? -1 : 1;
      taken.push(y);
      const right = end.x > frame.x + frame.w / 2;
      g.textAlign = right ? "right" : "left";
      outlined(g, end.name, end.x + (right ? -3 : 3), y, end.colour);
    }
  }

  // Points in space as they are seen from afar: [right, up, towards the reader]. eye: how far the reader has gone around
  // the third axis, and up, as angles.
  const EYE = { around: 0.6, up: 0.35 };
  function turned({ around, up }) {
    const [c, s, level, rise] = [Math.cos(around), Math.sin(around), Math.cos(up), Math.sin(up)];
    return (v, i) => {
      const [x, y, z] = [v[3 * i], v[3 * i + 1], v[3 * i + 2]];
      const towards = x * c + y * s, right = y * c - x * s;
      return [right, z * level - towards * rise, towards * level + z * rise];
    };
  }

  // --- a run: its name, the numbers in question, and its panels ---
  // The name of a run, a list of words, as many of them as there is room for.
  function head(g, words, { x, y, w }) {
    g.font = `bold ${LETTERS}`; g.fillStyle = INK; g.textAlign = "left"; g.textBaseline = "top";
    const written = (k) => words.slice(0, k).join(", ") + (k < words.length ? `, ${words.length - k} more` : "");
    let k = words.length;
    while (k > 1 && g.measureText(written(k)).width > w - 2 * EDGE) k -= 1;
    g.fillText(written(k), x + EDGE, y + 4);
  }

  // The numbers in question, in so many lines; a share has a bar beside it. Where there is less room, all is narrower.
  function meters(g, says, row, { x, y, w, lines }) {
    const each = Math.ceil(says.length / lines);
    for (let k = 0; k < lines; k++) line(g, says.slice(k * each, (k + 1) * each), row, { x, y: y + k * HEAD, w });
  }
  function line(g, says, row, { x, y, w }) {
    const bar = w > 400 ? 60 : 24;
    g.font = LETTERS; g.textAlign = "left"; g.textBaseline = "top";
    const told = says.map((each) => {
      const text = phrase(row, each), share = each[3] === "%" && entry(row, each[0]);
      return { text, share, long: g.measureText(text).width };
    });
    const whole = told.reduce((sum, { share, long }) => sum + long + 20 + (share === false ? 0 : bar), -20);
    const k = Math.min(1, (w - 2 * EDGE) / whole);
    let at = x + EDGE;
    for (const { text, share, long } of told) {
      g.fillStyle = INK; g.fillText(text, at, y + 4, k * long);
      at += k * (long + 20);
      if (share === false) continue;
      g.fillStyle = GRID; g.fillRect(at - 14 * k, y + 7, k * bar, 7);
      g.fillStyle = INK; g.fillRect(at - 14 * k, y + 7, k * bar * Math.max(0, Math.min(1, share)), 7);
      at += k * bar;
    }
  }

  function draw(g, box, run, panel, colours) {
    const [left, below] = panel.ball || panel.kind === "data" || panel.more?.joined ? [10, 10]
      : panel.kind === "discs" ? [10, 40] : [56, 40]; // room for numbers and words along the axes
    const frame = { x: box.x + left, y: box.y + 26, w: box.w - left - (left === 10 ? 10 : 20), h: box.h - 26 - below };
    const paths = panel.kind === "points" && run.recorded[panel.of[0]].at(-1) === 1;
    kinds[paths ? "paths" : panel.kind](g, frame, run, panel, colours);
  }

  // Where all of it stands: of each run its name, the numbers in question and its panels, in pixels. Panels stand side by
  // side; on a phone two by two, with curves and bars below each other. says: how many numbers.
  function layout(panels, count, width, { named, says }) {
    const narrow = width < 480, rows = [];
    const wide = ({ kind }) => ["curves", "bars", "pair", "discs"].includes(kind);
    for (const panel of panels) {
      const last = rows.at(-1), joins = !narrow || (last?.length === 1 && !wide(last[0]) && !wide(panel));
      if (last && joins) last.push(panel); else rows.push([panel]);
    }
    const usual = (row) => !narrow ? 260 : row.length > 1 ? Math.max(190, width / 2 + 16) : 190;
    const tall = (row) => Math.max(usual(row), ...row.map(({ height }) => Math.min(height, width))); // some ask for more
    const lines = narrow && says > 3 ? 2 : 1, heads = (named ? HEAD : 0) + (says && (narrow || !named) ? lines * HEAD : 0);
    const each = heads + rows.reduce((sum, row) => sum + tall(row), 0);
    const half = named && says && !narrow ? width / 2 : 0; // name and numbers share a line
    const places = Array.from({ length: count }, (_, i) => {
      let y = i * each;
      const name = named && { x: 0, y, w: half || width }, boxes = [];
      const meter = says && { x: half, y: y + (named && narrow ? HEAD : 0), w: width - half, lines };
      y += heads;
      for (const row of rows) {
        const shares = row.reduce((sum, { span }) => sum + span, 0), h = tall(row);
        let x = 0;
        for (const { span } of row) { boxes.push({ x, y, w: width * span / shares, h }); x += width * span / shares; }
        y += h;
      }
      return { name, meter, boxes };
    });
    return { height: each * count, places };
  }

  return { LETTERS, EYE, said, ticks, fixed, when, sized, plane, stage, within, cross, dot, ring, stroke, head, meters, draw, layout };
})();
