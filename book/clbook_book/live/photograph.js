// Views of the chosen photograph. Numbers and pixels come from the training's own functions, `clbookViews`; here they
// are put on the screen and said in words.
function clbookViewsDrawn(block, bytes) {
  const { make: made, draws, columns, Generator } = clbookViews(), make = made();
  const side = Math.sqrt(make.inputs["given.photograph"].length / 3);
  const list = block.querySelector("ol"), button = block.querySelector("button");
  const column = (name) => make.outputs.drawn[columns.indexOf(name)];
  const items = [...list.children];
  let generator, photograph = null, name = "", seed = 0, turn = 0;
  button.addEventListener("click", () => {
    seed++;
    begin();
  });

  // What was done to a view, in a few words.
  function said() {
    const words = [`${Math.round(100 * column("height") * column("width"))} % of it`];
    if (column("flip") < 0) words.push("mirrored");
    if (column("grey")) words.push("without colours");
    else if (["brightness", "contrast", "saturation"].some((factor) => column(factor) !== 1)) words.push("other colours");
    return words.join(", ");
  }

  function draw(item) {
    for (const { into, size } of draws) generator.rand(make.inputs[into] ?? new Float32Array(size));
    make.step(true);
    const pixels = new ImageData(side, side), view = make.outputs.view, n = side * side;
    for (let k = 0; k < n; k++) {
      for (let c = 0; c < 3; c++) pixels.data[4 * k + c] = Math.round(255 * view[c * n + k]);
      pixels.data[4 * k + 3] = 255;
    }
    item.querySelector("canvas").getContext("2d").putImageData(pixels, 0, 0);
    item.querySelector("span").textContent = said();
  }

  // One view at a time, so that keys are answered in between; a newer choice takes the place of an older one.
  function begin() {
    if (!photograph) return;
    const mine = ++turn;
    block.dataset.drawn = "";
    generator = new Generator(seed);
    make.inputs["given.photograph"].set(photograph);
    make.prepare();
    let k = 0;
    const next = () => {
      if (mine !== turn) return;
      draw(items[k++]);
      if (k < items.length) setTimeout(next);
      else block.dataset.drawn = `${name}, ${seed}`;
    };
    setTimeout(next);
  }

  const sheet = createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
  return (tile, across, called) => sheet.then((picture) => {
    const canvas = document.createElement("canvas"), n = side * side;
    canvas.width = canvas.height = side;
    const context = canvas.getContext("2d");
    context.drawImage(picture, -side * (tile % across), -side * Math.floor(tile / across));
    const { data } = context.getImageData(0, 0, side, side);
    photograph = Float32Array.from({ length: 3 * n }, (_, k) => data[4 * (k % n) + Math.floor(k / n)] / 255);
    name = called;
    block.querySelector("p").textContent = `Views of ${name}, as the training draws them:`;
    begin();
  });
}
