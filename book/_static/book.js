// What the theme and Sphinx leave out for readers who use a screen reader.
document.addEventListener("DOMContentLoaded", () => {
  // Controls whose own name leaves out the words on them: these words are the better name.
  const named = document.querySelectorAll("summary[aria-label], :is(.search-button-field, .theme-switch-button)[aria-label]");
  named.forEach((each) => each.removeAttribute("aria-label"));
  // A list holds list items.
  document.querySelectorAll("[role=list] > .citation").forEach((each) => each.setAttribute("role", "listitem"));
});
