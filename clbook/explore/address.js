// The page's address, which keeps what every block of the page is set to: #name:eps=0.3&seed=5;other:a=4&frame=12.
window.clbookAddress ??= (() => {
  const WAIT = 200; // milliseconds until a moved slider is in the address: browsers limit how often it may change
  const blocks = new Map(); // name -> {figure, touched, address() in words, follow(values)}
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const behavior = () => reduced.matches ? "auto" : "smooth";

  function decoded(text) { // a reader may have an address that somebody has cut: it names no block then
    try { return decodeURIComponent(text); } catch { return ""; }
  }
  function parted(text) { // [name, values] of a part of the address; [] for one that is none
    const [, name, values] = text.match(/^([^:]+):(.*=.*)$/) ?? [];
    return name && decoded(name) ? [decoded(name), new URLSearchParams(values)] : [];
  }
  const parts = () => location.hash.slice(1).split(";").filter((text) => /^[^:]+:.*=/.test(text));
  const known = (text) => blocks.has(parted(text)[0]);
  const wanted = () => new Map(parts().filter(known).map(parted)); // name of a block of the page -> values

  let seen = location.hash; // the address that the blocks know of: another one has just been opened, and is not written over
  let writing = 0; // the timer of the next change of the address
  function write() {
    if (document.getElementById("jupyter-config-data")) return; // JupyterLab keeps its own things there
    clearTimeout(writing);
    writing = setTimeout(() => {
      if (location.hash !== seen) return;
      const others = parts().filter((text) => !known(text)), touched = [...blocks.values()].filter((block) => block.touched);
      if (!touched.length && !wanted().size) return;
      const all = [...others, ...touched.map((block) => block.address())].join(";");
      history.replaceState(history.state, "", all ? "#" + all : location.pathname + location.search);
      seen = location.hash;
    }, WAIT);
  }

  function show(name, how) { // unfold what the block stands in, and scroll to it
    const figure = blocks.get(name)?.figure;
    for (let folded = figure?.closest("details"); folded; folded = folded.parentNode.closest("details")) folded.open = true;
    figure?.scrollIntoView(how);
  }

  // An address that is opened, or written: set the blocks that it names, and show the first one.
  addEventListener("hashchange", () => {
    seen = location.hash;
    const found = [...wanted()];
    found.forEach(([name, values]) => blocks.get(name).follow(values));
    if (found.length) show(found[0][0], { block: "nearest", behavior: behavior() });
  });
  // Its beginning is at the top, and stays there while the block grows by the runs that the address asks for.
  addEventListener("load", () => show([...wanted().keys()][0], { block: "start" }));

  // A block of the page, from now on part of its address; what the address asks of it now.
  function join(name, block) {
    blocks.set(name, block);
    return wanted().get(name);
  }
  return { decoded, parted, write, join, behavior, find: (name) => blocks.get(name) };
})();
