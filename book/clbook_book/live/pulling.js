// A point that a reader pulls, and what the kernel makes of it. K and all moves come from the traced program of the package.
window.clbookPull ??= (() => {
  const { LETTERS, fixed, sized, plane, cross, dot, ring, stroke } = clbookDrawing;
  const { reduced, made, moved, shown, pressed, pointed, keyed, nearest } = clbookBlock;
  const TURNING = 60; // pictures in which pushes become moves
  const SHADES = [[178, 24, 43], [33, 102, 172]]; // of positive and negative entries, as in all pictures of a kernel
  const ARROWED = "These are arrows. Press All pushes at once again, and the points come back.";
  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

  function pull(figure) {
    const block = moved(figure);
    if (!block) return;
    const { part, all, setup, ways, say } = block, { colours } = setup, { labels } = setup.programs[0];
    const data = part(".clbook-data"), embedding = part(".clbook-embedding"), matrix = part(".clbook-matrix");
    const n = labels.length, who = labels.map((_, i) => i);
    const start = Object.fromEntries(setup.knobs.map((knob) => [knob.name, knob.value]));
    let settings = { ...start }, way = 0, chosen = 0, turned = 0, pushing = false, held = false, invites = true;
    let rest = null, x = null;
    const pulls = new Float64Array(2 * n), places = {}; // places: how data and embedding are seen
    const run = () => ways[way];
    const entry = (i, j) => run().recorded.kernel[i * n + j];

    // The program anew, with the points where they stand.
    function restart(words = "") {
      run().start(settings, setup.seed);
      x = run().one.inputs["state.x"];
      rest ??= run().one.inputs["state.rest"].slice();
      sets.forEach((set) => set());
      pressed(all("[data-way]"), (_, k) => k === way);
      pressed(all("[data-do=pushes]"), () => pushing);
      look();
      if (words) say(words);
    }
    function look() {
      run().put({ rest, pull: pulls });
      run().one.step(true);
      show();
    }
    function letGo() { // the points stay where the pull has brought them
      say(moves());
      rest = run().recorded.z.slice();
      pulls.fill(0);
      look();
    }

    // --- in words ---
    const mates = who.map((i) => who.filter((j) => j !== i && labels[j] === labels[i]));
    const others = who.map((i) => who.filter((j) => labels[j] !== labels[i]));
    const name = () => `Point ${chosen + 1} of ${n}, ${setup.classes[labels[chosen]]}`;
    const row = (own = (j) => entry(chosen, j)) => [mates, others].map((those) => fixed(mean(those[chosen].map(own))));
    function ofRow() {
      const [own, other] = row();
      return `K is ${fixed(entry(chosen, chosen))} with itself, ${own} on average with its own cluster, ${other} with the other`;
    }
    const blocks = () => {
      const [own, cross] = [mates, others].map((those) => fixed(mean(who.flatMap((i) => those[i].map((j) => entry(i, j))))));
      return `${own} inside a cluster and ${cross} between clusters`;
    };
    function moves() {
      const { z } = run().recorded, length = (i) => Math.hypot(z[2 * i] - rest[2 * i], z[2 * i + 1] - rest[2 * i + 1]);
      const [own, other] = row(length);
      return `${name()}, moved by ${fixed(length(chosen))}, its cluster by ${own} on average, the other by ${other}.`;
    }
    // The length of the mean arrow over the mean length, in the mean of the clusters.
    function agreement(arrows) {
      return fixed(mean([0, 1].map((label) => {
        const own = who.filter((i) => labels[i] === label), along = (k) => mean(own.map((i) => arrows[2 * i + k]));
        return Math.hypot(along(0), along(1)) / mean(own.map((i) => Math.hypot(arrows[2 * i], arrows[2 * i + 1])));
      })));
    }
    function agreed() {
      const [pushes, after] = [run().recorded.pushes, run().recorded.moves].map(agreement);
      return `How far the arrows of a cluster agree (1: all alike): pushes ${pushes}, moves ${after}.`;
    }

    // --- pictures ---
    const on = (place, values, i) => [place.toX(values[2 * i]), place.toY(values[2 * i + 1])];
    function ofData() {
      const picture = sized(data), { g, GROUND } = picture, far = Math.max(...Array.from(x, Math.abs), 0.5);
      const place = places.data = plane(picture, [-1.15 * far, 1.15 * far]);
      const column = who.map((i) => entry(i, chosen)), largest = Math.max(...column.map(Math.abs), 1e-9);
      cross(g, place, picture);
      for (const i of who) { // as large as they are coupled to the chosen one; hollow where the sign is negative
        const weight = Math.abs(column[i]) / largest, radius = 4.5 * (0.5 + weight);
        dot(g, ...on(place, x, i), radius, colours[labels[i]], 0.25 + 0.7 * weight, labels[i]);
        if (column[i] < -0.05 * column[chosen]) dot(g, ...on(place, x, i), radius / 2, GROUND, 1, labels[i]);
      }
      ring(g, ...on(place, x, chosen));
    }
    function arrow(g, x0, y0, dx, dy) {
      const far = Math.hypot(dx, dy), tip = Math.min(6, far / 2), end = [x0 + dx, y0 + dy];
      const angle = Math.atan2(dy, dx);
      const barb = (turn) => [end[0] + tip * Math.cos(angle + turn), end[1] + tip * Math.sin(angle + turn)];
      stroke(g, [[x0, y0], end]);
      if (far > 1) stroke(g, [barb(2.6), end, barb(-2.6)]);
    }
    function ofPushes({ g, w, h, INK }) { // from one origin for each cluster; they turn from pushes into moves
      const { pushes, moves } = run().recorded, share = turned / TURNING, unit = Math.min(w, h) / 2.4;
      const along = (k) => unit * ((1 - share) * pushes[k] + share * moves[k]);
      g.lineWidth = 1.6; g.globalAlpha = 0.7;
      for (const i of who) {
        g.strokeStyle = colours[labels[i]];
        arrow(g, w * (labels[i] ? 0.72 : 0.28), h / 2, along(2 * i), -along(2 * i + 1));
      }
      g.globalAlpha = 1; g.fillStyle = INK; g.font = LETTERS; g.textAlign = "center"; g.textBaseline = "top";
      g.fillText(share < 0.5 ? "what the loss asks for" : "what the kernel makes of it", w / 2, 6);
    }
    function ofEmbedding() {
      const picture = sized(embedding), { g, MUTED, INK } = picture, { z } = run().recorded;
      const far = 1.25 * Math.max(setup.least, ...rest.map(Math.abs));
      if (!held) places.embedding = plane(picture, [-far, far]);
      if (pushing) return ofPushes(picture);
      const place = places.embedding, at = on(place, z, chosen);
      for (const i of who) {
        g.strokeStyle = colours[labels[i]]; g.lineWidth = 1.2; g.globalAlpha = 0.5;
        stroke(g, [on(place, rest, i), on(place, z, i)]);
        dot(g, ...on(place, z, i), 4.5, colours[labels[i]], 0.85, labels[i]);
      }
      ring(g, ...at);
      if (invites) { // until somebody has
        g.globalAlpha = 1; g.fillStyle = INK; g.font = LETTERS; g.textAlign = "left"; g.textBaseline = "bottom";
        g.fillText("pull me", at[0] + 8, at[1] - 6);
      }
      if (!pulls.some((v) => v)) return;
      g.setLineDash([3, 3]); g.strokeStyle = MUTED; // the rubber band
      stroke(g, [at, on(place, rest.map((v, k) => v + pulls[k]), chosen)]);
      g.setLineDash([]);
    }
    function ofMatrix() {
      const { g, w, h, INK, GROUND } = sized(matrix), side = Math.min(w, h) / n, K = run().recorded.kernel;
      const largest = Math.max(...K.map(Math.abs), 1e-9), zero = parseInt(GROUND.slice(1, 3), 16); // a zero is as the ground
      K.forEach((v, k) => {
        const share = Math.abs(v) / largest, shade = SHADES[v < 0 ? 1 : 0].map((c) => Math.round(zero + (c - zero) * share));
        g.fillStyle = `rgb(${shade})`;
        g.fillRect(k % n * side, Math.floor(k / n) * side, side + 0.5, side + 0.5);
      });
      g.strokeStyle = INK; g.lineWidth = 2;
      g.strokeRect(1, chosen * side, n * side - 2, side);
      g.lineWidth = 1; g.strokeRect(chosen * side, 1, side, n * side - 2);
    }
    function show() {
      ofData(); ofEmbedding(); ofMatrix();
      const points = `The data: ${setup.classes.join("s and ")}s.`, K = `The kernel, ${n} rows and columns: the mean entry is`;
      data.setAttribute("aria-label", `${points} The darker a point, the more ${name()}, moves it.`);
      matrix.setAttribute("aria-label", `${K} ${blocks()}. Row of ${name()}: ${ofRow()}.`);
    }

    // --- what a reader does ---
    function choose(i) { if (i >= 0 && i < n && i !== chosen) { chosen = i; show(); } }
    const told = () => say(`${name()}: ${ofRow()}.`);
    pointed(embedding, {
      press(spot, event) {
        const i = nearest(who, run().recorded.z, places.embedding, spot, event);
        if (pushing) say(ARROWED);
        held = !pushing && i >= 0;
        if (held) { invites = false; choose(i); }
        return held;
      },
      drag(spot, from) { // measured from where it was taken hold of
        const { ofX, ofY } = places.embedding;
        pulls.set([ofX(spot[0]) - ofX(from[0]), ofY(spot[1]) - ofY(from[1])], 2 * chosen);
        look();
        return false;
      },
      drop() { held = false; letGo(); },
      hover(spot, event) { if (!pushing) choose(nearest(who, run().recorded.z, places.embedding, spot, event)); },
      holds: () => true,
    });
    pointed(matrix, {
      press() { told(); return false; },
      hover([, y]) { choose(Math.floor(y * n / Math.min(matrix.clientWidth, matrix.clientHeight))); },
    });
    pointed(data, { hover(spot, event) { choose(nearest(who, x, places.data, spot, event)); } });
    keyed(embedding, {
      arrow(right, up) {
        if (pushing) return say(ARROWED);
        pulls.set([right * setup.step, up * setup.step], 2 * chosen);
        look();
        letGo();
      },
      page(step) { choose((chosen + n + step) % n); told(); },
      Home() { rest = null; restart("All points are back at the start."); },
    });

    function slider(knob) {
      const label = made("label", { title: knob.about }), out = made("output"), { low: min, high: max } = knob;
      const range = made("input", { type: "range", autocomplete: "off", min, max, step: (max - min) / 60 });
      label.append(made("span", { textContent: knob.label }), range, out);
      range.addEventListener("input", () => {
        settings[knob.name] = Number(range.value);
        restart();
        say(pushing ? agreed() : `The mean entry of K is ${blocks()}.`);
      });
      part(".clbook-knobs").append(label);
      return () => {
        const value = settings[knob.name];
        range.value = value;
        out.textContent = knob.words[value] ?? String(Number(value.toFixed(2)));
        range.setAttribute("aria-valuetext", out.textContent);
      };
    }
    const sets = setup.knobs.map(slider);
    function turn() {
      if (!pushing) return;
      turned = reduced.matches ? TURNING : Math.min(TURNING, turned + 1);
      ofEmbedding();
      if (turned < TURNING) requestAnimationFrame(turn);
      else say(agreed());
    }
    const actions = {
      pushes() {
        [pushing, turned] = [!pushing, 0];
        restart(pushing ? "The push on each point, from one origin for each cluster." : "Pull a point.");
        if (pushing) requestAnimationFrame(turn);
      },
      reset() {
        [settings, way, chosen, pushing, rest] = [{ ...start }, 0, 0, false, null];
        pulls.fill(0);
        restart("Pull a point.");
      },
    };

    // What programs may ask: where all stand, and what the last step has recorded.
    const offers = {
      state: () => ({ chosen, rest: Array.from(rest), pull: Array.from(pulls), x: Array.from(x),
        z: Array.from(run().recorded.z), kernel: Array.from(run().recorded.kernel) }),
    };
    shown(block, { actions, choose(number) { way = number; restart(); }, show, offers });
  }
  return pull;
})();
