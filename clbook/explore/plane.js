// Points in a plane on a canvas, for the blocks whose points a reader moves.
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
};
