// The explorer's frames: unpacked, arranged, drawn as SVG, and their numbers. Functions of data alone; nothing of the page.
window.clbookFrames ??= (() => {
  const LETTERS = 9; // CSS pixels: no letters are smaller
  const NARROWEST = 280; // CSS pixels: no picture is made narrower to be less high
  const MARGIN = 6; // CSS pixels around a part

  // --- the frames, as clbook/explore/vector.py packs them ---
  // Places are stored as differences from the one before.
  const sums = (steps) => { let s = 0; return steps.map((v) => (s += v)); };
  const shared = (list) => list.every((k) => k === list[0]) ? list.slice(0, 1) : list; // one for all, or one for each point
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const inflated = (text) => new Response(new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("gzip")));

  // A promise of { frames, paths, scale, letters, width, height }. A frame has ops (what is drawn: paths or an image at
  // points, cut to clips), axes, series (the numbers behind it) and alt.
  async function unpack(text) {
    const [drawings, numbers] = text.trim().split(" ").map(inflated), data = await drawings.json();
    const marks = data.ops; // one list for each property
    const ops = marks.clips.map((clips, i) => {
      const paths = sums(marks.paths[i]), styles = marks.styles[i];
      return { clips, paths: shared(paths), styles: shared(styles).map((k) => data.styles[k]), x: sums(marks.x[i]),
        y: sums(marks.y[i]), image: marks.images[i], key: JSON.stringify([clips, paths, styles]) };
    });
    // float32 numbers without their last bytes, as differences: all lowest bytes, then all second ones, then all highest.
    const planes = new Uint8Array(await numbers.arrayBuffer()), count = planes.length / 3;
    const difference = (i) => planes[i] | planes[count + i] << 8 | planes[2 * count + i] << 16;
    let from = 0;
    const columns = data.lengths.map((n) => {
      let whole = 0;
      const bits = Uint32Array.from({ length: n }, () => (whole += difference(from++)) << 8);
      return new Float32Array(bits.buffer);
    });
    const series = data.series.map(([axes, name, kind, extra, ...refs]) => ({ axes, name, kind, extra,
      columns: refs.map((k) => columns[k]) }));
    const frames = data.frames.map(([drawn, place, held, alt]) => (
      { ops: drawn.map((k) => ops[k]), axes: data.axes[place],
        series: held.map((k) => series[k]), alt }));
    const scale = 96 / 72 / data.units; // a canvas unit in CSS pixels
    return { frames, paths: data.paths, boxes: new Map(), scale, letters: data.letters * scale, width: data.size[0], height: data.size[1] };
  }

  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

  // --- the parts of a figure, cut between its axes: a phone shows them below and beside each other ---
  function pathBox(text) { // of relative path data
    let x = 0, y = 0, start = [0, 0];
    const xs = [], ys = [];
    for (const [, letter, numbers] of text.matchAll(/([mlqcz])([-\d ]*)/g)) {
      if (letter === "z") { [x, y] = start; continue; }
      const steps = numbers.match(/-?\d+/g).map(Number);
      for (let k = 0; k < steps.length; k += 2) { xs.push(x + steps[k]); ys.push(y + steps[k + 1]); }
      x = xs.at(-1); y = ys.at(-1);
      if (letter === "m") start = [x, y];
    }
    return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  }

  const boxOfPath = ({ paths, boxes }, k) => boxes.get(k) ?? boxes.set(k, pathBox(paths[k])).get(k);

  // Where the axes of a frame stand: frames of one place have the same parts, so that only the data move in them.
  const placeOf = (frame) => JSON.stringify(frame.axes.map((a) => a && a.slice(0, 4)));

  function partsOf(data, frames) { // [x0, y0, x1, y1, row] of each part of frames of one place, in reading order
    const whole = [0, 0, data.width, data.height], boxOf = (k) => boxOfPath(data, k);
    const panels = frames[0].axes.filter((a) => a), within = (part) => (b) => [0, 1].every((k) => b[k] < part[k + 2] && b[k + 2] > part[k]);
    // The boxes of all that is drawn, of what is cut to its axes the cut alone; what fills the whole figure is ground.
    const ops = new Set(frames.flatMap((frame) => frame.ops));
    const ink = [...ops].filter((op) => !op.image && op.x.length).flatMap((op) => {
      const cut = op.clips.map(boxOf);
      if (cut.length) return [cut[0].map((_, k) => (k < 2 ? Math.max : Math.min)(...cut.map((c) => c[k])))];
      return op.x.map((x, i) => boxOf(op.paths[i % op.paths.length]).map((v, k) => v + (k % 2 ? op.y[i] : x)));
    }).filter((b) => b[2] - b[0] < 0.99 * data.width || b[3] - b[1] < 0.99 * data.height);
    function divide(part, axis) { // after a column of axes and the names of its lines; before a row and its titles, at the wider one of the last two gaps
      const [low, high] = [axis, axis + 2], cuts = [];
      const inside = within(part), boxes = panels.filter(inside).sort((a, b) => a[low] - b[low]);
      let end = boxes[0]?.[high];
      for (const next of boxes.slice(1)) {
        if (next[low] > end) {
          const between = ink.filter((b) => inside(b) && b[high] > end && b[low] < next[low]).sort((a, b) => a[low] - b[low]);
          const gaps = [];
          let at = end;
          for (const b of [...between, next]) {
            if (b[low] > at) gaps.push({ middle: (at + b[low]) / 2, width: b[low] - at });
            at = Math.max(at, b[high]);
          }
          const near = axis ? gaps.slice(-2).sort((a, b) => b.width - a.width) : gaps.filter((gap) => gap.width * data.scale > 3.3);
          if (gaps.length) cuts.push((near[0] ?? gaps[0]).middle); // a name is nearer than that to what leads to it
        }
        end = Math.max(end, next[high]);
      }
      const edges = [part[low], ...cuts, part[high]];
      return cuts.map((_, k) => k).concat(cuts.length).map((k) => part.map((v, i) => i === low ? edges[k] : i === high ? edges[k + 1] : v));
    }
    // What is written above or below the panels of a row, across several, is a part of its own: it would tie them together.
    function split(row) {
      const own = panels.filter(within(row)), marks = ink.filter(within(row));
      const covers = (a, b) => a[0] < b[2] && a[2] > b[0];
      const ends = own.filter((a) => !own.some((other) => covers(other, a) && other[3] < a[1]));
      const feet = own.filter((a) => !own.some((other) => covers(other, a) && other[1] > a[3]));
      const head = marks.filter((b) => ends.filter((a) => covers(a, b)).length > 1 && b[3] <= Math.min(...ends.map((a) => a[1])));
      const foot = marks.filter((b) => feet.filter((a) => covers(a, b)).length > 1 && b[1] >= Math.max(...feet.map((a) => a[3])));
      const rest = marks.filter((b) => !head.includes(b) && !foot.includes(b));
      const between = (above, below) => [Math.max(...above.map((b) => b[3])), Math.min(...below.map((b) => b[1]))];
      const cuts = [between(head, rest), between(rest, foot)].filter(([above, below]) => -Infinity < above && above < below && below < Infinity);
      const edges = [row[1], ...cuts.map(([above, below]) => (above + below) / 2), row[3]];
      return edges.slice(1).map((edge, k) => [row[0], edges[k], row[2], edge]);
    }
    const rows = divide(whole, 1).flatMap(split);
    // White margins stay away, but for a little.
    const pictures = [...ops].filter((op) => op.image).map(({ x, y }) => [x[0], y[0], x[0] + x[1], y[0] + y[1]]);
    const seen = [...ink, ...panels, ...pictures], margin = MARGIN / data.scale;
    const trimmed = (part) => {
      const own = seen.filter(within(part)), edge = (k, sign) => Math.max(...own.map((b) => sign * b[k])) + margin;
      return own.length ? part.map((v, k) => k < 2 ? Math.max(v, -edge(k, -1)) : Math.min(v, edge(k, 1))) : part;
    };
    return rows.flatMap((row, i) => divide(row, 0).map((part) => [...trimmed(part), i]));
  }
  function allParts(data) { // Map: place -> the parts there
    const frames = new Map();
    for (const frame of data.frames) {
      const place = placeOf(frame);
      if (!frames.has(place)) frames.set(place, []);
      frames.get(place).push(frame);
    }
    return new Map([...frames].map(([place, own]) => [place, partsOf(data, own)]));
  }

  // The parts one below the other, in CSS pixels, and beside the one before where both are of one row of the figure and
  // there is room for both.
  function stacked(data, parts, room, zoom) {
    const scale = data.scale * zoom, size = (part, k) => (part[k + 2] - part[k]) * scale, rows = [];
    for (const part of parts) {
      const row = rows.at(-1);
      if (row && row[0][4] === part[4] && [...row, part].reduce((sum, each) => sum + size(each, 0), 0) <= room) row.push(part); else rows.push([part]);
    }
    const widths = rows.map((row) => row.reduce((sum, part) => sum + size(part, 0), 0)), width = Math.max(...widths), tiles = [];
    let height = 0;
    rows.forEach((row, i) => {
      let x = Math.max(Math.min(width, room) - widths[i], 0) / 2;
      const top = Math.min(...row.map((part) => part[1])), bottom = Math.max(...row.map((part) => part[3]));
      for (const [x0, , x1] of row) {
        tiles.push({ part: [x0, top, x1, bottom], x, y: height, scale });
        x += (x1 - x0) * scale;
      }
      height += (bottom - top) * scale;
    });
    return { width, height, tiles };
  }

  // Where the parts of a figure stand, in CSS pixels: the whole as it is, or on a phone, of this room and no higher than
  // `tall` where that can be, in parts.
  function arranged(data, frame, room, tall = Infinity) {
    const whole = [0, 0, data.width, data.height];
    if (!room) return { width: data.width * data.scale, height: data.height * data.scale, tiles: [{ part: whole, x: 0, y: 0, scale: data.scale }] };
    // All parts of all frames have one scale: the largest at which the widest of them fits, and all of them are as low as
    // asked. If there is none, that at which they are lowest. What is wider than the screen then is scrolled.
    const known = (data.parts ??= allParts(data)), all = [...known.values()], least = LETTERS / data.letters;
    const widest = Math.max(...all.flat().map(([x0, , x1]) => (x1 - x0) * data.scale)), zooms = (data.zooms ??= new Map());
    const asked = `${room} ${tall}`;
    if (!zooms.has(asked)) {
      const largest = Math.max(Math.min(room / widest, 1.5), least), tried = [];
      for (let zoom = largest; zoom > least; zoom *= 0.97) tried.push(zoom);
      tried.push(least);
      // A smaller scale may set two parts in a row, so that the whole is wider.
      const sizes = tried.map((zoom) => all.map((parts) => stacked(data, parts, room, zoom)));
      const heights = sizes.map((each) => Math.max(...each.map(({ height }) => height)));
      const wide = tried.map((_, k) => k).filter((k) => k === 0 || sizes[k].every(({ width }) => width >= NARROWEST));
      const lowest = wide.reduce((best, k) => heights[k] < heights[best] ? k : best);
      zooms.set(asked, tried[wide.find((k) => heights[k] <= tall) ?? lowest]);
    }
    return stacked(data, known.get(placeOf(frame)), room, zooms.get(asked));
  }

  // The frame as SVG. A shape that comes many times is defined once and used.
  function drawSvg(data, frame, { width, height, tiles } = arranged(data, frame)) {
    const clips = new Set(), reused = new Set(), body = [];
    for (const op of frame.ops) {
      const drawn = [];
      body.push(drawn);
      for (const k of op.clips) { clips.add(k); drawn.push(`<g clip-path="url(#c${k})">`); }
      if (op.image) {
        drawn.push(`<image x="${op.x[0]}" y="${op.y[0]}" width="${op.x[1]}" height="${op.y[1]}" `
          + `preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,${op.image}"/>`);
      } else {
        const again = op.paths.length === 1 && op.x.length > 1;
        if (again) reused.add(op.paths[0]);
        const oneStyle = op.styles.length === 1;
        if (oneStyle) drawn.push(`<g ${op.styles[0]}>`);
        op.x.forEach((x, i) => {
          const style = oneStyle ? "" : op.styles[i];
          drawn.push(again ? `<use href="#p${op.paths[0]}" x="${x}" y="${op.y[i]}" ${style}/>`
            : `<path transform="translate(${x} ${op.y[i]})" d="${data.paths[op.paths[i]]}" ${style}/>`);
        });
        if (oneStyle) drawn.push("</g>");
      }
      drawn.push("</g>".repeat(op.clips.length));
    }
    const defs = [...clips].map((k) => `<clipPath id="c${k}"><path d="${data.paths[k]}"/></clipPath>`).join("")
      + [...reused].map((k) => `<path id="p${k}" d="${data.paths[k]}"/>`).join("");
    const start = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"`;
    const title = `<title>${escaped(frame.alt)}</title>`;
    if (tiles.length === 1) return `${start} viewBox="${box(tiles[0].part)}">${title}<defs>${defs}</defs>${body.flat().join("")}</svg>`;
    // Of each part what reaches into it: drawing all of the figure in each takes seconds where there are many.
    const reach = frame.ops.map((op) => reachOf(data, op));
    return `${start}>${title}<defs>${defs}</defs>` + tiles.map(({ part, x, y, scale }) =>
      `<svg x="${x}" y="${y}" width="${(part[2] - part[0]) * scale}" height="${(part[3] - part[1]) * scale}" viewBox="${box(part)}">`
      + `${body.filter((_, i) => [0, 1].every((k) => reach[i][k] <= part[k + 2] && reach[i][k + 2] >= part[k])).flat().join("")}</svg>`).join("") + "</svg>";
  }
  function reachOf(data, op) { // [x0, y0, x1, y1] of all that it draws
    const { clips, image, paths, x, y } = op;
    if (image) return [x[0], y[0], x[0] + x[1], y[0] + y[1]];
    if (clips.length) return boxOfPath(data, clips[0]);
    const wide = [Infinity, Infinity, -Infinity, -Infinity], stroke = 3 / data.scale;
    x.forEach((left, i) => boxOfPath(data, paths[i % paths.length]).forEach((v, k) => {
      wide[k] = (k < 2 ? Math.min : Math.max)(wide[k], v + (k % 2 ? y[i] : left));
    }));
    return wide.map((v, k) => k < 2 ? v - stroke : v + stroke);
  }
  const box = ([x0, y0, x1, y1]) => `${x0} ${y0} ${x1 - x0} ${y1 - y0}`;

  // Between two frames the dots that both have are on their way.
  const between = (one, two, part) => ({ ...one, ops: one.ops.map((op, i) => {
    const next = two.ops[i];
    if (op.image || !next || next.key !== op.key || next.x.length !== op.x.length || next === op) return op;
    const mix = (a, b) => a.map((v, k) => v + part * (b[k] - v));
    return { ...op, x: mix(op.x, next.x), y: mix(op.y, next.y) };
  }) });

  // --- the numbers behind a frame: [x0, y0, x1, y1, left, right, bottom, top, x log, y log, panel, x name, y name, words, time reached] ---
  const near = (a, b) => Math.abs(a - b) <= 2e-5 * Math.max(1, Math.abs(b));
  // A value in column k: at some places on x and y stand words.
  const said = (axes, k, v, digits) => (k < 2 && axes[13 + k]?.find(([at]) => near(v, at))?.[1]) || String(Number.isInteger(v) ? v : Number(v.toPrecision(digits)));
  // The names of a series' columns, as data.column_names has them.
  function called([panel, xName, yName], { kind, extra }) {
    const [x, y] = kind === "cells" ? [xName || "column", yName || "row"] : [xName || "x", yName || (xName && panel) || "y"];
    return [x, y === x ? `${y} (vertical)` : y, ...extra];
  }

  function drawCsv(frame, comment, time) {
    const named = (text) => /^[=@]/.test(text) ? `'${text}` : text; // a name, and no formula of a spreadsheet's
    const quoted = (text) => /[",\n]/.test(text) ? `"${named(text).replace(/"/g, '""')}"` : named(text);
    const head = ["panel", "series", ...(time ? [time[0]] : [])], first = head.length, rows = [];
    for (const series of frame.series) {
      const axes = frame.axes[series.axes] ?? [];
      const places = called(axes.slice(10), series).map((name) => {
        const at = head.indexOf(name, first);
        return at < 0 ? head.push(name) - 1 : at;
      });
      series.columns[0].forEach((_, i) => {
        const row = [axes[10] || String(series.axes + 1), series.name, ...(time ? [time[1]] : [])];
        series.columns.forEach((column, k) => { row[places[k]] = Number.isNaN(column[i]) ? "" : said(axes, k, column[i], 5); });
        rows.push(row);
      });
    }
    const full = rows.map((row) => Array.from(head, (_, i) => quoted(row[i] ?? "")).join(","));
    return [`# ${comment}`, head.map(quoted).join(","), ...full].join("\n") + "\n";
  }

  // The datum nearest to (x, y) in the innermost axes there: its place in units, and its name and values in words.
  function nearest(frame, x, y) {
    const inside = frame.axes.findLastIndex((a) => a && x >= a[0] && x <= a[2] && y >= a[1] && y <= a[3]);
    if (inside < 0) return null;
    const a = frame.axes[inside];
    const along = (from, to, low, high, log) => {
      const f = log ? Math.log : (v) => v, span = f(high) - f(low);
      return (v) => from + (to - from) * (f(v) - f(low)) / span;
    };
    const toX = along(a[0], a[2], a[4], a[5], a[8]), toY = along(a[3], a[1], a[6], a[7], a[9]);
    let best = null, least = Infinity;
    for (const series of frame.series) {
      if (series.axes !== inside) continue;
      const { columns, kind, extra } = series;
      columns[0].forEach((v, i) => {
        if (a[15] !== null && v > a[15]) return; // what is covered has no names
        const px = toX(v), py = toY(columns[1][i]);
        const far = kind !== "bars" ? Math.hypot(px - x, py - y) : extra[0] === "start" ? Math.abs(py - y) : Math.abs(px - x);
        if (far < least) { least = far; best = { series, i, px, py }; }
      });
    }
    if (!best) return null;
    const { series, i, px, py } = best, clamp = (v, low, high) => Math.min(Math.max(v, low), high);
    const word = (k, value) => k < 2 && !a[11 + k] && a[13 + k]?.some(([at]) => near(value, at)); // of an axis without a name
    const values = called(a.slice(10), series).map((name, k) => {
      const value = series.columns[k][i], text = said(a, k, value, 4);
      return word(k, value) ? text : `${name} = ${text}`;
    })
      .filter((_, k) => k < 2 || !["from", "start", "item"].includes(series.extra[k - 2]));
    return { px: clamp(px, a[0], a[2]), py: clamp(py, a[1], a[3]),
      text: `${series.name}: ${values.join(", ")}`.replace(/-(?=\d)/g, "\u2212") };
  }
  return { unpack, arranged, drawSvg, between, drawCsv, nearest };
})();
