// The block that diagnoses a reader's file: a button or a drop for files, a worker that reads and computes, and the lines.
window.clbookDiagnose ??= (root) => {
  const all = (selector) => [...root.querySelectorAll(selector)], one = (selector) => root.querySelector(selector);
  const setup = JSON.parse(one(".clbook-setup").textContent), status = one(".clbook-status"), drop = one(".clbook-drop");
  const input = one("input[type=file]"), fields = Object.fromEntries(all("[data-of]").map((field) => [field.dataset.of, field]));
  const code = one(".clbook-worker").textContent;
  let worker = null, files = [], done = () => {};

  // Numbers and texts as clbook.diagnose has them.
  const share = (x) => `${(100 * x).toFixed(Math.abs(x) >= 0.1 ? 0 : 1)} %`;
  const short = (x, digits) => Number.isInteger(x) ? String(x) : Math.abs(x) < 1e-12 ? "0" : String(Number(x.toPrecision(digits)));
  const two = (x) => Math.abs(x) >= 10 ? String(Math.round(x)) : short(x, 2); // as many digits as the picture can show
  const word = (x) => Math.abs(x) >= 100 ? x.toFixed(0) : short(x, 3);
  const filled = (text, numbers) => text.replace(/\{([\w.]+)(%?)\}/g, (_, name, percent) => (percent ? share : word)(numbers[name]));
  const place = (x) => 100 * (Math.min(Math.max(x, setup.left), setup.right) - setup.left) / (setup.right - setup.left);

  function asked() {
    const settings = { seed: 0, most: setup.most, largest: setup.largest, factor: setup.factors[fields.scale.value] };
    const number = (field, fine) => {
      const value = Number(field.value.replace(",", ".")), ok = field.value.trim() !== "" && fine(value);
      field.setAttribute("aria-invalid", !ok);
      return ok ? value : null;
    };
    const tau = number(fields.tau, (x) => x > 0 && x < Infinity);
    if (tau === null) return "The temperature must be a number above 0.";
    const every = fields.batch.value.trim() === "";
    if (every) fields.batch.removeAttribute("aria-invalid");
    const batch = every ? null : number(fields.batch, (x) => Number.isInteger(x) && x >= 2);
    if (batch === null && !every) return "The batch must be a whole number, 2 or more, or stay empty.";
    return { ...settings, tau, batch };
  }

  function clear() {
    for (const mark of all(".clbook-strip b, [data-own], .clbook-says")) mark.hidden = true;
    for (const value of all("[data-value]")) value.textContent = "";
    for (const item of all("li")) item.classList.remove("clbook-alarm");
  }

  function show({ numbers, n, looked, d, inBatch, left }) {
    const alarms = [];
    let count = 0;
    one("[data-own]").hidden = false;
    for (const line of setup.lines) {
      const item = one(`[data-line="${line.key}"]`);
      if (line.key === "batch" && !inBatch) {
        item.querySelector("strong").textContent = line.name.replace("{size}", "its size");
        item.querySelector("[data-value]").textContent = "(one batch holds all these points: the line above says it)";
        continue;
      }
      count++;
      const alarm = Boolean(numbers[line.key + ".alarm"]), name = filled(line.name, numbers);
      const beside = Object.entries(line.beside).map(([what, key]) => `${what} ${two(numbers[key])}`).join("; ");
      item.querySelector("strong").textContent = name;
      item.querySelector("[data-value]").textContent = `${two(numbers[line.key])} (${beside})`;
      const says = item.querySelector(".clbook-says"), mark = item.querySelector(".clbook-strip b");
      says.textContent = filled(alarm ? line.alarm : line.calm, numbers);
      if (alarm) {
        const marked = document.createElement("em");
        marked.textContent = "Alarm. ";
        says.prepend(marked);
        alarms.push(name);
      }
      says.hidden = false;
      item.classList.toggle("clbook-alarm", alarm);
      if (!mark) continue;
      mark.hidden = false;
      mark.style.left = `${place(numbers[line.share])}%`;
      const strip = mark.parentNode;
      strip.dataset.runs ??= strip.getAttribute("aria-label");
      strip.setAttribute("aria-label", `your file ${two(numbers[line.share])}; ${strip.dataset.runs}`);
    }
    const points = looked < n ? `${looked} of ${n} points, those that report takes, too` : `${n} points`;
    const said = alarms.length ? `${alarms.length} ${alarms.length > 1 ? "alarms" : "alarm"}: ${alarms.join("; ")}` : "no alarm";
    const more = left.length ? ` The other arrays of the file (${left.join(", ")}) are read in Python only.` : "";
    status.textContent = `${files.map((file) => file.name).sort().join(" and ")}: ${points} in ${d} dimensions, ${count} lines, ${said}.${more}`;
  }

  function end(found) {
    worker?.terminate();
    worker = null;
    root.dataset.state = found.refused ? "refused" : "shown";
    if (found.refused) status.textContent = found.refused;
    else show(found);
    done(found);
  }

  // What the button does: the numbers of some files, or {refused: a sentence}.
  function diagnose(chosen) {
    files = [...chosen];
    worker?.terminate();
    clear();
    const settings = asked();
    return new Promise((resolve) => {
      done = resolve;
      if (typeof settings === "string") return end({ refused: settings });
      root.dataset.state = "busy";
      status.textContent = "Reading and computing, which takes some seconds for many points.";
      const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
      worker = new Worker(address);
      URL.revokeObjectURL(address);
      worker.onmessage = ({ data }) => end(data);
      worker.onerror = (event) => { event.preventDefault(); end({ refused: `This file could not be read (${event.message}).` }); };
      worker.postMessage({ files, settings });
    });
  }

  // A file of the reader's: what an example wrote into the fields is not about it.
  const buttons = all(".clbook-examples button");
  function own(chosen) {
    for (const button of buttons) {
      if (button.ariaPressed === "true") for (const field of [fields.tau, fields.batch]) field.value = field.defaultValue;
      button.setAttribute("aria-pressed", false);
    }
    diagnose(chosen);
  }

  input.addEventListener("change", () => { if (input.files.length) own(input.files); });
  for (const field of Object.values(fields)) field.addEventListener("change", () => { if (files.length) diagnose(files); });
  buttons.forEach((button, k) => button.addEventListener("click", () => {
    const { name, file, fields: said } = setup.examples[k];
    for (const [field, value] of Object.entries(said)) fields[field].value = value;
    for (const other of buttons) other.setAttribute("aria-pressed", other === button);
    input.value = "";
    diagnose([new File([Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0))], name)]);
  }));
  for (const button of buttons) button.disabled = false;
  for (const field of [input, ...Object.values(fields)]) {
    field.disabled = false;
    field.addEventListener("keydown", (event) => event.stopPropagation());
  }
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.toggle("clbook-over", kind === "dragenter" || kind === "dragover");
    if (kind === "drop" && event.dataTransfer.files.length) own(event.dataTransfer.files);
  });
  status.textContent = "No file yet. Choose one, or drop it here: it stays on your computer.";
  buttons[0]?.click();
  ((window.clbook ??= {}).diagnoses ??= {})[setup.name] = { diagnose };
};
