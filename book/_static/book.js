// What the theme and Sphinx leave out for readers who use a screen reader.
document.addEventListener("DOMContentLoaded", () => {
  // Controls whose own name leaves out the words on them: these words are the better name.
  const named = document.querySelectorAll("summary[aria-label], :is(.search-button-field, .theme-switch-button)[aria-label]");
  named.forEach((each) => each.removeAttribute("aria-label"));
  // The parameters of a signature, a line each, are no list of definitions.
  document.querySelectorAll(".sig dl").forEach((list) => {
    list.outerHTML = list.outerHTML.replace(/<(\/?)d[ld]\b/g, "<$1div");
  });
  // A list holds list items.
  document.querySelectorAll("[role=list] > .citation").forEach((each) => each.setAttribute("role", "listitem"));
});

// A link to a term or a theorem shows its text, which stands in the page already: at the pointer or the focus, until
// either leaves or Escape is pressed.
document.addEventListener("DOMContentLoaded", () => {
  let shown = null, timer = 0;
  const hide = () => {
    clearTimeout(timer);
    if (shown) shown.hidden = true;
    shown = null;
  };
  const later = (what, wait) => {
    clearTimeout(timer);
    timer = setTimeout(what, wait);
  };
  const show = (link, note) => {
    hide();
    shown = note;
    note.hidden = false;
    const at = link.getClientRects()[0], page = document.documentElement;
    const left = Math.min(at.left, page.clientWidth - note.offsetWidth - 8);
    const below = at.bottom + note.offsetHeight + 8 < page.clientHeight || at.top < note.offsetHeight + 8;
    note.style.left = `${Math.max(left, 8) + scrollX}px`;
    note.style.top = `${(below ? at.bottom + 4 : at.top - note.offsetHeight - 4) + scrollY}px`;
  };
  document.querySelectorAll("a[aria-describedby^=clbook-note-]").forEach((link) => {
    const note = document.getElementById(link.getAttribute("aria-describedby"));
    link.addEventListener("mouseenter", () => later(() => show(link, note), 200));
    link.addEventListener("mouseleave", () => later(hide, 200));
    link.addEventListener("focus", () => show(link, note));
    link.addEventListener("blur", hide);
    note.onmouseenter = () => clearTimeout(timer); // it may be read with the pointer on it
    note.onmouseleave = () => later(hide, 200);
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
});

// Where was I: the section that was read last is kept in the browser, and offered when the page is opened again at its top.
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector("article.bd-article"), key = `clbook-read:${location.pathname}`;
  const memory = (act) => {
    try {
      return act(localStorage);
    } catch {
      return null; // a browser may forbid it
    }
  };
  const sections = [...article?.querySelectorAll("section[id] > h2") ?? []].map((heading) => heading.parentElement);
  const before = sections.find((section) => section.id === memory((kept) => kept.getItem(key)));
  if (before && !location.hash) {
    const line = document.createElement("p"), link = document.createElement("a");
    line.className = "clbook-resume";
    link.href = `#${before.id}`;
    link.textContent = [...before.querySelector("h2").childNodes].filter((e) => !e.matches?.(".headerlink"))
      .map((e) => e.textContent).join("").trim();
    line.append("You were reading: ", link);
    article.querySelector("h1")?.after(line);
  }
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      const read = sections.filter((section) => section.getBoundingClientRect().top < innerHeight / 2).pop();
      memory((kept) => read ? kept.setItem(key, read.id) : kept.removeItem(key));
    }, 500);
  }, { passive: true });
});

// The sign that unfolds a part of the list of pages has a name, that of the page before it.
document.addEventListener("DOMContentLoaded", () => {
  for (const sign of document.querySelectorAll("summary:has(> .toctree-toggle)")) {
    const page = sign.closest("li").querySelector("a");
    sign.setAttribute("aria-label", `Pages of ${page.textContent.trim()}`);
  }
});

// On a paper's page each section of runs is folded: a link to a place in it unfolds it, and so does printing.
document.addEventListener("DOMContentLoaded", () => {
  const folded = [...document.querySelectorAll("details.clbook-runs")];
  const unfold = () => {
    const place = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const runs = place && (place.closest("details.clbook-runs") ?? place.closest("section")?.querySelector(":scope > details.clbook-runs"));
    if (!runs || runs.open) return;
    runs.open = true;
    place.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  addEventListener("beforeprint", () => folded.forEach((runs) => { runs.open = true; }));
  unfold();
});

// On a wide screen the column of the contents is used: what the page has to play with stands there, too.
document.addEventListener("DOMContentLoaded", () => {
  const column = document.querySelector(".bd-sidebar-secondary");
  const toys = [...document.querySelectorAll(":is(figure.clbook-explorer, figure.clbook-here):has(> .clbook-title)")];
  if (!column || !toys.length) return;
  const list = document.createElement("nav"), items = document.createElement("ul");
  list.className = "clbook-toys";
  list.setAttribute("aria-label", "To play with on this page");
  toys.forEach((figure, k) => {
    figure.id ||= `clbook-toy-${k + 1}`;
    const link = Object.assign(document.createElement("a"), { href: `#${figure.id}` }), item = document.createElement("li");
    link.textContent = figure.querySelector(".clbook-title").textContent;
    item.append(link);
    items.append(item);
  });
  list.append(Object.assign(document.createElement("p"), { textContent: "Play with" }), items);
  column.append(list);
});

// ?only=NAME: a block that trains in the page, alone, for slides and other pages. An explorer does so by itself.
document.addEventListener("DOMContentLoaded", () => {
  const name = new URLSearchParams(location.search).get("only");
  const block = [...document.querySelectorAll("figure.clbook-here")].find((each) => each.dataset.name === name);
  if (!block) return;
  document.documentElement.classList.add("clbook-only");
  block.classList.add("clbook-alone");
  document.body.append(block);
});
