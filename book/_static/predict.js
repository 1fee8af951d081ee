// Predictions that count: a question, three answers, and what would answer it covered until the reader commits or skips.
// Where the picture of the beginning can be seen, the reader may also draw the guess into it; it stays over the run.
// Without this script the question, its answers and their sentences stand there, and nothing is covered.
document.addEventListener("DOMContentLoaded", () => {
  const boxes = [...document.querySelectorAll(".clbook-predict")];
  if (!boxes.length || new URLSearchParams(location.search).has("only")) return; // an explorer alone asks nothing
  const element = (name, text = "", attributes = {}) => {
    const made = Object.assign(document.createElement(name), { textContent: text });
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };

  // What is kept, in this browser alone; one that keeps nothing for a file asks again on the next visit.
  const { PREDICTIONS, page, kept, keep } = window.clbookTasks, SKIP = "skip all"; // of tasks.js
  const { parted, find } = window.clbookAddress ?? { parted: () => [], find: () => {} }; // of address.js, where a page has explorers

  // --- what a question covers: all that follows it in its section, up to the next question ---
  function answersOf(box) {
    const found = [];
    for (let next = box.nextElementSibling; next; next = next.nextElementSibling) {
      if (next.matches("section, .clbook-predict")) break;
      if (!next.matches("span.target, script, style")) found.push(next);
    }
    return found;
  }

  // What waits in a figure until then: of a run what leads to later times, its settings show other beginnings; of what has
  // no time, all that changes the picture.
  function locked(figure) {
    const time = figure.querySelector("[data-axis=frame]"), own = time?.closest("label") ?? time;
    const rest = ".clbook-buttons, .clbook-files, .clbook-pair, .clbook-knobs";
    return [...figure.querySelectorAll(time ? rest : `${rest}, .clbook-controls`), ...own ? [own] : []];
  }

  // --- a guess that is drawn: a sheet over the picture, in parts of its width and height ---
  function sheetOver(figure) {
    const image = figure.querySelector(".clbook-stage img");
    const sheet = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    sheet.setAttribute("viewBox", "0 0 1 1");
    sheet.setAttribute("preserveAspectRatio", "none");
    sheet.setAttribute("class", "clbook-sheet");
    sheet.setAttribute("aria-hidden", "true");
    image.after(sheet);
    const lay = () => Object.assign(sheet.style, { left: `${image.offsetLeft}px`, top: `${image.offsetTop}px`,
      width: `${image.offsetWidth}px`, height: `${image.offsetHeight}px` });
    new ResizeObserver(lay).observe(image);

    let line = null; // the one that is being drawn
    const at = (event) => {
      const place = sheet.getBoundingClientRect();
      return `${(event.clientX - place.left) / place.width} ${(event.clientY - place.top) / place.height}`;
    };
    sheet.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      sheet.setPointerCapture(event.pointerId);
      line = document.createElementNS(sheet.namespaceURI, "path");
      line.setAttribute("d", `M${at(event)}h0`); // a line of no length is a dot: one click is a mark
      sheet.append(line);
    });
    sheet.addEventListener("pointermove", (event) => {
      if (line) line.setAttribute("d", `${line.getAttribute("d")}L${at(event)}`);
    });
    for (const end of ["pointerup", "pointercancel"]) sheet.addEventListener(end, () => { line = null; });
    return sheet;
  }

  function question(box) {
    const name = `${page}#${box.id}`, list = box.querySelector(".clbook-answers"), reasons = box.querySelector(".clbook-reasons");
    const sentences = [...reasons.querySelectorAll(":scope ol > li")];
    const right = sentences.findIndex((each) => each.matches(".clbook-right"));
    const answers = [...list.children].map((item) => item.innerHTML.replace(/^\s*<p>|<\/p>\s*$/g, ""));
    const spoken = [...list.children].map((item) => item.textContent.trim());
    const following = answersOf(box);
    const within = (each, part) => [each, ...each.querySelectorAll("*")].filter((one) => one.matches(part));
    const figures = following.flatMap((each) => within(each, "figure.clbook-explorer, figure.clbook-pull"));
    const covered = following.filter((each) => !within(each, ".clbook-explorer, .clbook-here").length);
    const typed = following.flatMap((each) => within(each, "figure.clbook-typed")); // can be used at once; typed.css says what waits
    const first = box.querySelector("p");
    first.id ||= `${box.id}-question`;
    reasons.hidden = true;

    // The form: three radio buttons in the place of the list.
    const group = element("div", "", { class: "clbook-guesses", role: "radiogroup", "aria-labelledby": first.id });
    group.innerHTML = answers.map((answer, k) =>
      `<label><input type="radio" name="${box.id}" value="${k}" autocomplete="off"><span>${answer}</span></label>`).join("");
    const inputs = [...group.querySelectorAll("input")];
    const commit = element("button", "That is my guess", { type: "button", class: "clbook-commit" });
    const skip = element("button", "Skip", { type: "button", title: "uncover the answer to this question" });
    const all = element("button", "Skip all", { type: "button", title: "uncover all answers, here and on the other pages" });
    const buttons = element("div", "", { class: "clbook-predict-buttons" });
    const result = element("div", "", { class: "clbook-result", role: "status", tabindex: "-1" });
    const note = element("p", "The answer below is covered until you choose.", { class: "clbook-cover" });
    buttons.append(commit, skip, all);
    const drawn = figures.filter((figure) => figure.querySelector("[data-axis=frame]")).map(sheetOver);
    const draw = element("button", "Draw it, too", { type: "button", "aria-pressed": "false",
      title: "draw a curve, or a mark, into the picture below; it stays there while the run is shown" });
    const erase = element("button", "Erase my drawing", { type: "button" });
    if (drawn.length) buttons.append(draw);
    list.replaceWith(group);
    reasons.before(buttons, result);

    const me = { box, state: "open", guess: null, correct: () => me.guess === right, title: first.textContent };

    function pen(down) {
      draw.setAttribute("aria-pressed", down);
      drawn.forEach((sheet) => sheet.classList.toggle("clbook-pen", down));
    }
    draw.addEventListener("click", () => {
      pen(draw.getAttribute("aria-pressed") === "false");
      drawn[0].closest(".clbook-stage").scrollIntoView({ block: "nearest" });
    });
    function wipe() {
      drawn.forEach((sheet) => sheet.replaceChildren());
      erase.remove();
    }
    erase.addEventListener("click", wipe);

    function cover(yes) {
      covered.forEach((each) => each.classList.toggle("clbook-covered", yes));
      figures.forEach((figure) => {
        figure.classList.toggle("clbook-held", yes);
        locked(figure).forEach((each) => { each.inert = yes; });
      });
      typed.forEach((figure) => figure.classList.toggle("clbook-waits", yes));
      if (yes) box.after(note); else note.remove();
      buttons.hidden = !yes;
      pen(false);
      if (!yes) inputs.forEach((input) => { input.disabled = true; });
      dispatchEvent(new Event("resize")); // what was hidden may now be drawn at its size
    }
    me.uncover = (state) => {
      if (me.state !== "open") return;
      me.state = state;
      cover(false);
      count();
    };
    me.skip = () => {
      if (me.state !== "open") return;
      me.uncover("skipped");
      wipe();
      say();
    };
    me.commit = (guess) => {
      if (me.state !== "open") return;
      me.guess = guess;
      inputs[guess].checked = true;
      me.uncover("committed");
      say();
      figures.forEach((figure) => {
        const line = element("p", `Your guess: ${spoken[guess]}`, { class: "clbook-guess" });
        figure.querySelector(".clbook-stage, .clbook-pair").before(line);
        if (figure.querySelector(".clbook-sheet path")) line.append(" ", erase);
      });
    };
    // A guess is followed by what it was about: the explorer is set to the run that the question asks about. It plays where
    // motion is wanted, unless it has been moved already; who skips sees its end.
    function followed(by) {
      const [asked, values] = parted(reasons.dataset.asks ?? ""), explorer = find(asked);
      if (explorer) {
        if (by === "play") values.set("frame", 0);
        explorer.follow(values);
      }
      const figure = explorer?.figure ?? drawn[0]?.closest("figure"), button = figure?.querySelector(`[data-do=${by}]`);
      const stays = ["Step", "Pause"].includes(button?.textContent); // motion is unwanted, or it plays already
      if (figure?.querySelector("[data-axis=frame]")?.value === "0" && !stays) button.click();
    }
    function say() {
      group.querySelectorAll("label").forEach((label, k) => {
        if (k === right) label.classList.add("clbook-right");
        if (k === me.guess) label.classList.add("clbook-mine");
        const mark = [k === me.guess && "your guess", k === right && "right"].filter(Boolean).join(", ");
        if (mark) label.append(element("em", ` (${mark})`));
      });
      result.innerHTML = (me.guess === null ? "" : `<p><strong>${me.correct() ? "Right." : "Not so."}</strong> `
        + sentences[me.guess].innerHTML.replace(/<\/?p>/g, "") + "</p>")
        + (me.correct() ? "" : `<p>Answer ${right + 1} is right. ${sentences[right].innerHTML.replace(/<\/?p>/g, "")}</p>`);
    }
    me.again = () => location.reload();

    commit.addEventListener("click", () => {
      const guess = inputs.findIndex((input) => input.checked);
      if (guess < 0) {
        result.innerHTML = "<p>Choose one of the three first.</p>";
        inputs[0].focus();
        return;
      }
      keep(PREDICTIONS, name, guess);
      me.commit(guess);
      result.focus({ preventScroll: true });
      followed("play");
    });
    skip.addEventListener("click", () => {
      keep(PREDICTIONS, name, "skip");
      me.skip();
      result.focus({ preventScroll: true });
      followed("end");
    });
    all.addEventListener("click", () => {
      keep(PREDICTIONS, SKIP, true);
      questions.forEach((each) => each.skip());
      result.focus({ preventScroll: true });
    });
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); commit.click(); }
    });
    me.open = () => {
      const { [name]: before, [SKIP]: none } = kept(PREDICTIONS);
      if (Number.isInteger(before) && inputs[before]) return me.commit(before);
      cover(true);
      if (before === "skip" || none) me.skip();
    };
    me.holds = (target) => following.some((each) => each.contains(target));
    return me;
  }

  // --- the tally, before the exercises or at the page's end ---
  const tally = element("div", "", { class: "clbook-tally", role: "region", "aria-label": "Your predictions" });
  function count() {
    const committed = questions.filter((each) => each.state === "committed");
    const right = committed.filter((each) => each.correct()).length;
    const open = questions.filter((each) => each.state === "open");
    tally.replaceChildren(element("p", committed.length
      ? `Your predictions on this page: ${right} of ${committed.length} right, of ${questions.length} asked.`
      : `This page asks ${questions.length === 1 ? "one prediction" : `${questions.length} predictions`} of you.`));
    const list = element("ul");
    questions.forEach((each, k) => {
      const said = { open: "open", skipped: "skipped", committed: each.correct() ? "right" : "not so" }[each.state];
      const item = element("li");
      item.append(element("a", `Prediction ${k + 1}`, { href: `#${each.box.id}` }), `: ${said}`);
      list.append(item);
    });
    tally.append(list);
    if (open.length < questions.length) {
      const again = element("button", "Ask me again", { type: "button" });
      again.addEventListener("click", () => {
        [SKIP, ...questions.map((each) => `${page}#${each.box.id}`)].forEach((name) => keep(PREDICTIONS, name, null));
        history.replaceState(history.state, "", location.pathname + location.search);
        location.reload();
      });
      tally.append(again, element("small", " Your answers are kept in this browser and nowhere else."));
    }
  }

  let questions = [];
  questions = boxes.map(question);
  const heading = [...document.querySelectorAll("section > :is(h2, h3)")].find((each) => /^[\d.\s]*Exercises/.test(each.textContent));
  if (heading) heading.parentNode.before(tally);
  else boxes.at(-1).closest("article, main, body").append(tally);
  questions.forEach((each) => each.open());
  count();

  // A link, or an address, that leads to what is covered uncovers it. A setting of an explorer is such a link, too.
  const uncover = (target) => questions.forEach((each) => { if (each.holds(target)) each.skip(); });
  function aim() {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { return; }
    const target = id && document.getElementById(id);
    if (target && target.closest(".clbook-covered")) { uncover(target); target.scrollIntoView(); }
  }
  addEventListener("hashchange", aim);
  document.addEventListener("clbook-asked", (event) => uncover(event.target));
  document.querySelectorAll("figure.clbook-explorer[data-asked]").forEach(uncover);
  aim();
  addEventListener("beforeprint", () => document.documentElement.classList.add("clbook-printing"));
  addEventListener("afterprint", () => document.documentElement.classList.remove("clbook-printing"));
});
