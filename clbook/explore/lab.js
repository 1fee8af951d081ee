// What links of the book's text do in JupyterLab, from the first explorer on that is run.
if (!window.clbookLinks) {
  window.clbookLinks = true;

  // #first:eps=1&tau=0.03 sets the explorer "first" of the same notebook: the settings are typed into an entry out of
  // sight, which the kernel listens to.
  const set = (entry, settings) => {
    entry.value = settings;
    entry.dispatchEvent(new Event("change", { bubbles: true }));
    entry.closest(".clbook-panel").scrollIntoView({ block: "nearest" });
  };

  // jupyterlab-myst makes /files/book/sphere of {doc}`sphere`, where nothing lies: the page is opened in a tab of the
  // browser, as the notebook or the text that it is.
  const open = async (server, page) => {
    for (const name of [`${page}.ipynb`, `${page}.md`]) {
      if ((await fetch(`${server}/files/${name}`, { method: "HEAD" })).ok) return window.open(`${server}/lab/tree/${name}`);
    }
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const notebook = link?.closest(".jp-Notebook");
    if (!notebook) return;
    const [, name, settings] = link.getAttribute("href").match(/#([\w-]+):(.*)$/) ?? [];
    const entry = name && notebook.querySelector(`.clbook-address-${name} input`);
    const [, server, page] = String(link.href).match(/^(https?:[^?#]*)\/files\/([^.?#]+)(\?|#|$)/) ?? [];
    if (!entry && !page) return;
    event.preventDefault();
    event.stopPropagation();
    if (entry) set(entry, settings);
    else open(server, page);
  }, true);
}
