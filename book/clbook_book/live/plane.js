// Points in a plane on a canvas, for the blocks whose points a reader moves; and how such a block begins and opens.
window.clbookPlane ??= {
  // The canvas at its size on the screen, white: {g, w, h}, its context and size in CSS pixels.
  fitted(canvas) {
    const zoom = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * zoom) || canvas.height !== Math.round(h * zoom)) {
      canvas.width = Math.round(w * zoom); canvas.height = Math.round(h * zoom);
    }
    const g = canvas.getContext("2d");
    g.setTransform(zoom, 0, 0, zoom, 0, 0);
    g.fillStyle = "#fff"; g.fillRect(0, 0, w, h);
    return { g, w, h };
  },
  // Scale and middle: `span` units across the shorter side, [x, y] in the middle.
  seen({ w, h }, span, [x, y]) {
    const scale = Math.min(w, h) / span;
    return { toX: (v) => w / 2 + (v - x) * scale, toY: (v) => h / 2 - (v - y) * scale,
      ofX: (p) => x + (p - w / 2) / scale, ofY: (p) => y - (p - h / 2) / scale };
  },
  // A point: a disc, or a square for the second class; `size` 1 is the ordinary one.
  mark(g, x, y, label, colour, alpha, size = 1) {
    g.fillStyle = colour; g.globalAlpha = alpha;
    g.beginPath();
    if (label) g.rect(x - 4 * size, y - 4 * size, 8 * size, 8 * size); else g.arc(x, y, 4.5 * size, 0, 2 * Math.PI);
    g.fill();
    g.globalAlpha = 1;
  },
  ring(g, x, y) {
    g.strokeStyle = "#1b1f24"; g.lineWidth = 2;
    g.beginPath(); g.arc(x, y, 9, 0, 2 * Math.PI); g.stroke();
  },
  // A finger on the canvas scrolls the page, but where `held` says that it has taken hold of something.
  holding(canvas, held) {
    canvas.addEventListener("touchstart", (event) => { if (held()) event.preventDefault(); }, { passive: false });
  },
  // The parts of a block, what it was given, its programs (of live/program.js), and how it says something.
  begun(figure) {
    const part = (name) => figure.querySelector(name), all = (name) => [...figure.querySelectorAll(name)];
    const setup = JSON.parse(part(".clbook-play-setup").textContent), status = part(".clbook-status");
    const made = setup.programs.map((spec, k) => `new Program(way${k}_setup(), way${k}_step(), ${JSON.stringify(spec)})`);
    const ways = new Function(`${part(".clbook-play-code").textContent}\nreturn [${made}];`)();
    const say = (text) => { if (status.textContent !== text) status.textContent = text; };
    return { part, all, setup, ways, say };
  },
  // The block can be used: buttons do what `actions` say by their data-do, those with a data-way choose a program; its
  // pictures stand in the place of the still one, and are drawn anew at another size. `offers` is for programs.
  opened({ part, all, setup }, { actions, choose, show, offers }) {
    for (const button of all("[data-do]")) button.addEventListener("click", actions[button.dataset.do]);
    for (const button of all("[data-way]")) button.addEventListener("click", () => choose(Number(button.dataset.way)));
    for (const button of all("button")) button.disabled = false;
    part("img").hidden = true;
    part(".clbook-pair").hidden = false;
    actions.reset();
    new ResizeObserver(() => show()).observe(part(".clbook-pair"));
    ((window.clbook ??= {}).explorers ??= {})[setup.name] = offers;
  },
};
