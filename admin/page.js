// Asks every 5 s for the page's content, and changes what differs from it. The server
// makes that content with the template of the page, and sends it as JSON: a node is a
// text, or [name, attributes, nodes...]. No wording is here, and no text becomes markup.
"use strict";
(() => {
  const every = 5000, patience = 4000, limit = 10000; // ms: between questions, until silence is said, until it is given up
  const live = document.getElementById("live"), stale = document.getElementById("stale");
  const icon = document.querySelector("link[rel=icon]");
  const drawn = new Set(["svg", "polyline", "rect"]);
  const names = new Set(("a b code dd details div dl dt h1 h2 header li main ol p section span strong summary " +
    "table tbody td th thead time tr ul").split(" "));
  const attributes = /^(aria-[a-z]+|class|colspan|data-[a-z]+|datetime|height|href|id|points|preserveAspectRatio|role|rx|scope|tabindex|viewBox|width)$/;
  const places = /^(#[\w-]+|\?[\w=&]+|[a-z]+)$/; // of links: on this page, of this page, beside it

  // A key names an element among its siblings, "" where it has none.
  const keyOf = (name, attribute) => {
    const key = attribute("data-key") || attribute("id") || attribute("aria-labelledby");
    return key ? name + " " + key : "";
  };
  const keyIn = (element) => keyOf(element.localName, (attribute) => element.getAttribute(attribute));
  const isElement = (node) => node.nodeType === Node.ELEMENT_NODE;

  // write changes the part of a text that differs, so that a selection in the rest stays.
  function write(node, want) {
    const old = node.data;
    if (old === want) return;
    const most = Math.min(old.length, want.length);
    let head = 0, tail = 0;
    while (most > head && old[head] === want[head]) head++;
    while (most - head > tail && old[old.length - 1 - tail] === want[want.length - 1 - tail]) tail++;
    node.replaceData(head, old.length - head - tail, want.slice(head, want.length - tail));
  }

  function make(name) {
    if (drawn.has(name)) return document.createElementNS("http://www.w3.org/2000/svg", name);
    if (!names.has(name)) throw new Error("an element that is not of the page: " + name);
    return document.createElement(name);
  }

  function allow(name, value) {
    if (!attributes.test(name) || name === "href" && !places.test(value)) throw new Error("an attribute that is not of the page: " + name);
  }

  // dress gives the element its attributes. Whether details are open is the reader's choice.
  function dress(element, want) {
    for (const name of element.getAttributeNames()) {
      if (!(name in want) && name !== "open") element.removeAttribute(name);
    }
    for (const [name, value] of Object.entries(want)) {
      allow(name, value);
      if (element.getAttribute(name) !== value) element.setAttribute(name, value);
    }
  }

  // fill makes the children of an element as they are wanted. An element that has a key is
  // found again wherever it is, others by their place; so focus and scrolling stay.
  function fill(parent, wanted) {
    const keyed = new Map();
    for (const child of parent.children) {
      const key = keyIn(child);
      if (key && !keyed.has(key)) keyed.set(key, child);
    }
    let at = parent.firstChild;
    const put = (node) => {
      if (node === at) at = at.nextSibling;
      else if (node.isConnected && parent.moveBefore) parent.moveBefore(node, at);
      else parent.insertBefore(node, at);
      return node;
    };
    const drop = () => {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    };
    for (const want of wanted) {
      if (typeof want === "string") {
        write(put(at && at.nodeType === Node.TEXT_NODE ? at : document.createTextNode("")), want);
        continue;
      }
      const [name, dressed, ...children] = want;
      while (at && !isElement(at)) drop(); // a space where none is any more: the elements behind it need not move
      const key = keyOf(name, (attribute) => dressed[attribute]);
      let node = key ? keyed.get(key) : at && !keyIn(at) ? at : null;
      if (!node || node.localName !== name) node = make(name);
      keyed.delete(key);
      put(node);
      dress(node, dressed);
      fill(node, children);
    }
    while (at) drop();
  }

  // question asks an address. That has no password, as the page's own may: fetch refuses one.
  const question = (address, method) => fetch(address, { method, cache: "no-store", redirect: "error", signal: AbortSignal.timeout(limit) });

  // say shows that there is no answer, and since when. Otherwise old values would look true.
  function say(silent) {
    if (silent === !stale.hidden) return;
    if (silent) {
      const [to, from] = [stale, live].map((within) => within.querySelector("time"));
      to.textContent = from.textContent;
      to.dateTime = from.dateTime;
      document.title = stale.dataset.title + ": " + document.title;
      icon.href = stale.dataset.icon;
    }
    stale.hidden = !silent;
    document.body.classList.toggle("silent", silent);
  }

  async function show(page) {
    if (typeof page.edition !== "string" || !Array.isArray(page.body)) throw new Error("not of the page");
    if (page.edition !== live.dataset.edition) { // another version, with another style
      // The browser would show an error in place of this page, and never ask again.
      if (!(await question(location.origin + location.pathname, "HEAD")).ok) throw new Error("the other version does not answer");
      return location.reload();
    }
    fill(live, page.body);
    say(false);
    if (document.title !== page.title) document.title = page.title;
    if (icon.href !== page.icon && page.icon.startsWith("data:image/svg+xml,")) icon.href = page.icon;
  }

  let timer = 0, asking = false, answered = Date.now();
  async function ask() {
    clearTimeout(timer);
    if (asking || document.hidden) return;
    asking = true;
    const old = Date.now() - answered > 3 * every; // the tab was hidden, or the machine asleep
    const late = setTimeout(say, old ? patience / 8 : patience, true);
    try {
      const answer = await question(location.origin + location.pathname + "?format=page", "GET");
      if (!answer.ok) throw new Error("the status is " + answer.status);
      await show(await answer.json());
      answered = Date.now();
    } catch {
      say(true);
    }
    clearTimeout(late);
    asking = false;
    timer = setTimeout(ask, every);
  }
  document.addEventListener("visibilitychange", ask);
  timer = setTimeout(ask, every);
})();
