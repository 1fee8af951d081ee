/* A chapter as slides: with ?present after its address a page shows one section at a time, and of a section what a room
   should see: headings, formulas, pictures, explorers, questions, and what to see. The right and left arrow keys turn. */
document.addEventListener("DOMContentLoaded", () => {
  if (!new URLSearchParams(location.search).has("present")) return;
  const page = document.querySelector("article.bd-article > section, main article section");
  if (!page) return;
  const left = ["what-you-can-now-do", "exercises", "evidence", "on-the-papers-page", "further-reading"];
  const sections = [...page.querySelectorAll(":scope > section")].filter((each) => !left.includes(each.id.replace(/-s-/, "s-")));
  for (const each of page.querySelectorAll(":scope > section")) each.hidden = true;
  // A slide is a section without its subsections, or its heading with one of them.
  const slides = sections.flatMap((section) => [null, ...section.querySelectorAll(":scope > section")].map((part) => ({ section, part })));
  document.body.classList.add("clbook-present");
  const bar = document.createElement("nav");
  bar.className = "clbook-turn";
  bar.setAttribute("aria-label", "Slides");
  bar.innerHTML = '<button type="button">Back</button> <output aria-live="polite"></output> <button type="button">Next</button>';
  document.body.append(bar);
  const [back, next] = bar.querySelectorAll("button"), told = bar.querySelector("output");
  let at = 0;
  const turn = (to) => {
    at = Math.max(0, Math.min(slides.length, to));
    const { section, part } = slides[at - 1] ?? {};
    page.classList.toggle("clbook-first", at === 0);
    for (const each of sections) each.hidden = each !== section;
    for (const child of section?.children ?? []) child.classList.toggle("clbook-off", part ? child !== part && child.tagName !== "H2" : child.tagName === "SECTION");
    told.textContent = `${at + 1} of ${slides.length + 1}`;
    back.disabled = at === 0;
    next.disabled = at === slides.length;
    window.scrollTo(0, 0);
    fit();
    window.dispatchEvent(new Event("resize"));
  };
  // What is higher than the screen is drawn smaller, down to half its size.
  const fit = () => {
    page.style.zoom = 1;
    const { top, bottom } = page.getBoundingClientRect(), room = innerHeight - bar.offsetHeight - top - scrollY;
    page.style.zoom = Math.max(0.5, Math.min(1, room / (bottom - top)));
  };
  back.addEventListener("click", () => turn(at - 1));
  next.addEventListener("click", () => turn(at + 1));
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea, figure, table, [role=slider], [role=radiogroup]")) return;
    if (event.key === "ArrowRight") turn(at + 1);
    else if (event.key === "ArrowLeft") turn(at - 1);
  });
  turn(0);
  window.addEventListener("load", fit);
});
