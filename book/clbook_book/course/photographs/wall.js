// The wall of photographs: one is chosen, by pointer or arrow keys; a slider says what is compared.
// What is shown is counted here from the record's lists of neighbours.
function clbookWall(root) {
  const find = (selector) => root.querySelector(selector);
  const data = JSON.parse(find(".clbook-wall-setup").textContent);
  const bytes = Uint8Array.from(atob(find(".clbook-wall-sprite").textContent.trim()), (c) => c.charCodeAt(0));
  const address = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
  const sheet = new Image();
  const photographs = data.nearest[0].length, each = photographs / data.classes.length;
  const slider = find("input"), canvas = find(".clbook-map"), context = canvas.getContext("2d");
  const views = find(".clbook-views");
  const drawing = views && clbookViewsDrawn(views, bytes);
  let place = 0, chosen = data.first;

  const kind = (tile) => data.tiles[tile];
  const own = (where, k) => data.nearest[where][k].filter((tile) => kind(tile) === kind(k)).length;
  const many = (count, label) => `${count} ${count === 1 ? data.classes[label] : data.plurals[label]}`;
  const make = (name, look, text = "") => {
    const made = document.createElement(name);
    made.className = look;
    made.textContent = text;
    return made;
  };

  // An element that shows an image of the sprite.
  function show(element, tile) {
    const row = Math.floor(tile / data.across), column = tile % data.across;
    element.style.backgroundPosition = `${100 * column / (data.across - 1)}% ${100 * row / Math.max(data.rows - 1, 1)}%`;
    return element;
  }

  // The grid, a row per class.
  const cells = [], buttons = [];
  data.classes.forEach((name, label) => {
    const row = make("div", "");
    row.setAttribute("role", "row");
    const head = make("span", "", name);
    head.setAttribute("role", "rowheader");
    row.append(head);
    for (let k = label * each; k < (label + 1) * each; k++) {
      const cell = make("span", ""), button = show(make("button", "clbook-tile"), k);
      cell.setAttribute("role", "gridcell");
      button.type = "button";
      button.addEventListener("click", () => choose(k));
      cell.append(button);
      row.append(cell);
      cells.push(cell);
      buttons.push(button);
    }
    find(".clbook-photographs").append(row);
  });

  const keys = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -each, ArrowDown: each };
  find(".clbook-photographs").addEventListener("keydown", (event) => {
    let to = chosen + keys[event.key];
    if (event.key === "Home") to = chosen - chosen % each;
    if (event.key === "End") to = chosen - chosen % each + each - 1;
    if (Number.isNaN(to) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();  // JupyterLab would take the arrow keys for itself
    if (to < 0 || to >= photographs) return;
    choose(to);
    buttons[to].focus();
  });

  const named = (k) => each > 1 ? `${data.classes[kind(k)]} ${k % each + 1} of ${each}` : data.classes[kind(k)];

  // The eight nearest at a place, with the names of their classes.
  function beside(where) {
    const block = make("div", "clbook-beside"), list = make("ol", "");
    const alike = own(where, chosen);
    block.append(make("p", "", `${data.places[where].title}: ${alike} of ${data.nearest[where][chosen].length} alike`));
    for (const tile of data.nearest[where][chosen]) {
      const item = make("li", kind(tile) === kind(chosen) ? "clbook-own" : "");
      item.append(show(make("span", "clbook-tile"), tile), data.classes[kind(tile)]);
      list.append(item);
    }
    block.append(list);
    return block;
  }

  // "5 cats, 2 dogs, 1 frog", the most frequent first.
  function counted(tiles) {
    const counts = data.classes.map(() => 0);
    tiles.forEach((tile) => counts[kind(tile)]++);
    const order = counts.map((count, label) => [count, label]).filter(([count]) => count);
    return order.sort((a, b) => b[0] - a[0]).map(([count, label]) => many(count, label)).join(", ");
  }

  // What the chosen photograph's class is mistaken for, among all test images, with examples from the wall.
  function enemies() {
    const label = kind(chosen), row = data.confusion[place][label], all = row.reduce((a, b) => a + b);
    const others = row.map((count, other) => [count, other]).filter(([, other]) => other !== label);
    const [first, second] = others.sort((a, b) => b[0] - a[0]);
    const block = find(".clbook-enemies");
    block.replaceChildren(make("p", "", `Of the ${all.toLocaleString("en")} ${data.plurals[label]} among all test images, ` +
      `${row[label]} are found by their ten nearest training images. The others are mistaken most often for ` +
      `${data.plurals[first[1]]} (${first[0]}) and ${data.plurals[second[1]]} (${second[0]}).`));
    const lost = [];
    for (let k = label * each; k < (label + 1) * each; k++) {
      const rival = data.nearest[place][k].filter((tile) => kind(tile) === first[1]).length;
      if (rival > own(place, k)) lost.push(k);
    }
    if (!lost.length) return;
    block.append(make("p", "", `On this wall, nearer to ${data.plurals[first[1]]} than to ${data.plurals[label]}:`));
    const some = make("div", "clbook-some");
    for (const k of lost.slice(0, 8)) {
      const button = show(make("button", "clbook-tile"), k);
      button.type = "button";
      button.setAttribute("aria-label", named(k));
      button.addEventListener("click", () => { choose(k); buttons[k].focus(); });
      some.append(button);
    }
    block.append(some);
  }

  function share() {
    const lit = buttons.filter((_, k) => own(place, k) >= data.most).length;
    find(".clbook-share").textContent = `${data.places[place].said}, ${lit} of ${photographs} photographs ` +
      `(${Math.round(100 * lit / photographs)} %) have mostly their own class among their eight nearest. The others are faded.`;
  }

  // The map: every photograph at its place in the plane; classmates of the chosen one are framed.
  const box = { width: 0, height: 0, size: 0 };
  const at = (k) => data.plane[place][k].map((value, axis) =>
    box.size + (axis ? box.height - 2 * box.size : box.width - 2 * box.size) * (axis ? 1 - value : 1 + value) / 2);
  function draw() {
    if (!data.plane || !sheet.complete || !canvas.clientWidth) return;
    const ratio = window.devicePixelRatio || 1, side = sheet.naturalWidth / data.across;
    box.width = canvas.clientWidth;
    box.height = Math.round(0.75 * box.width);
    box.size = Math.max(14, Math.round(box.width / 32));
    canvas.width = box.width * ratio;
    canvas.height = box.height * ratio;
    canvas.style.height = `${box.height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const accent = getComputedStyle(root).getPropertyValue("--clbook-accent");
    const last = (k) => (k === chosen ? 2 : kind(k) === kind(chosen) ? 1 : 0);
    const order = buttons.map((_, k) => k).sort((a, b) => last(a) - last(b) || a - b);
    for (const k of order) {
      const [x, y] = at(k), size = k === chosen ? 2 * box.size : box.size, half = size / 2;
      if (last(k)) {
        const frame = last(k) + 1;
        context.fillStyle = accent;
        context.fillRect(x - half - frame, y - half - frame, size + 2 * frame, size + 2 * frame);
      }
      context.drawImage(sheet, side * (k % data.across), side * Math.floor(k / data.across), side, side, x - half, y - half, size, size);
    }
  }
  function describe() {
    if (!data.plane) return;
    const far = (k) => Math.hypot(...data.plane[place][k].map((value, axis) => value - data.plane[place][chosen][axis]));
    const near = buttons.map((_, k) => k).filter((k) => k !== chosen).sort((a, b) => far(a) - far(b)).slice(0, 8);
    canvas.setAttribute("aria-label", `Map of the ${photographs} photographs, ${data.places[place].title.toLowerCase()}: ` +
      `those that are alike lie close together. Around ${named(chosen)} lie ${counted(near)}. Framed: all ${data.plurals[kind(chosen)]}.`);
  }
  canvas.addEventListener("click", (event) => {
    const frame = canvas.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top;
    const far = (k) => Math.hypot(at(k)[0] - x, at(k)[1] - y);
    choose(buttons.map((_, k) => k).reduce((a, b) => (far(b) < far(a) ? b : a)));
  });

  function choose(k) {
    chosen = k;
    update();
    drawing?.(chosen, data.across, named(chosen));
  }

  function update() {
    const reference = place ? 0 : Math.min(1, data.places.length - 1);
    slider.setAttribute("aria-valuetext", data.places[place].title);
    find(".clbook-ticks").childNodes.forEach((tick, k) => tick.classList.toggle("clbook-now", k === place));
    buttons.forEach((button, k) => {
      const alike = own(place, k);
      button.classList.toggle("clbook-strange", alike < data.most);
      button.tabIndex = k === chosen ? 0 : -1;
      button.setAttribute("aria-label", `${named(k)}, ${alike} of its ${data.nearest[place][k].length} nearest alike`);
      cells[k].setAttribute("aria-selected", k === chosen);
    });
    const large = make("div", "clbook-large");
    large.append(show(make("span", "clbook-tile"), chosen), make("span", "", named(chosen)));
    const rows = make("div", "");
    rows.append(beside(place), beside(reference));
    find(".clbook-chosen").replaceChildren(large, rows);
    share();
    find(".clbook-said").textContent = `${data.places[place].said}, ${named(chosen)} lies beside ` +
      `${counted(data.nearest[place][chosen])}.`;
    if (data.confusion) enemies();
    describe();
    draw();
  }

  slider.max = data.places.length - 1;
  for (const where of data.places) find(".clbook-ticks").append(make("span", "", where.name));
  slider.addEventListener("input", () => { place = Number(slider.value); update(); });
  slider.addEventListener("keydown", (event) => event.stopPropagation());
  root.style.setProperty("--clbook-sheet", `url(${address})`);
  root.style.setProperty("--clbook-rows", data.rows);
  root.style.setProperty("--clbook-each", each);
  sheet.addEventListener("load", draw);
  sheet.src = address;
  find(".clbook-still").hidden = true;
  find(".clbook-live").hidden = false;
  canvas.hidden = !data.plane;
  new ResizeObserver(draw).observe(canvas);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  choose(chosen);
}
