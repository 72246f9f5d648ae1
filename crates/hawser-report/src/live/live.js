// Puts what the watch sends in the place of what is there, and says when nothing comes any more.
(() => {
  "use strict";
  const QUIET = 10000, AGAIN = 5000;
  const stream = document.getElementById("stream");
  const shown = new Map();
  // By the clock that nobody sets.
  let heard = performance.now();
  let source = null;

  // Makes what is inside one element as it is inside another, and touches nothing that is so already: what is marked or
  // read aloud stays where it is while a number beside it becomes another each second.
  const same = (is, wanted) => {
    let next = is.firstChild;
    for (const one of [...wanted.childNodes]) {
      if (!next || next.nodeType !== one.nodeType || next.nodeName !== one.nodeName || next.id !== one.id) {
        const found = one.id && [...is.children].find((child) => child.id === one.id && child.nodeName === one.nodeName);
        if (!found) {
          is.insertBefore(one, next);
          continue;
        }
        while (next !== found) {
          const gone = next;
          next = next.nextSibling;
          gone.remove();
        }
      }
      if (one.nodeType !== Node.ELEMENT_NODE) {
        if (next.data !== one.data) next.data = one.data;
      } else {
        for (const { name } of [...next.attributes]) if (!one.hasAttribute(name)) next.removeAttribute(name);
        for (const { name, value } of one.attributes) if (next.getAttribute(name) !== value) next.setAttribute(name, value);
        same(next, one);
      }
      next = next.nextSibling;
    }
    while (next) {
      const gone = next;
      next = next.nextSibling;
      gone.remove();
    }
  };

  // What has the focus keeps it, and the page its place.
  const put = (id, html) => {
    const part = document.getElementById(id);
    if (!part || shown.get(id) === html) return;
    shown.set(id, html);
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    const wanted = document.createElement("template");
    wanted.innerHTML = html;
    same(part, wanted.content);
    if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };

  const say = (words) => {
    if (stream.textContent !== words) stream.textContent = words;
    document.body.classList.toggle("old", words !== "");
  };

  const open = () => {
    source = new EventSource("/events");
    source.addEventListener("page", (event) => {
      heard = performance.now();
      const page = JSON.parse(event.data);
      if (document.title !== page.title) document.title = page.title;
      for (const [id, html] of page.parts) put(id, html);
      say("");
    });
  };

  setInterval(() => {
    // A server that refuses is asked again: the browser does that only for a connection that ends.
    if (source.readyState === EventSource.CLOSED) open();
    const quiet = performance.now() - heard;
    if (quiet < QUIET) return;
    const seconds = Math.round(quiet / 10000) * 10;
    say(`Nothing was heard from the watch for ${seconds} s: what stands here is old.`);
  }, AGAIN);
  open();
})();
