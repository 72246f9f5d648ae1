// Puts what the watch sends in the place of what is there, and says when nothing comes any more.
(() => {
  "use strict";
  const QUIET = 10000, AGAIN = 5000;
  const stream = document.getElementById("stream");
  const shown = new Map();
  // By the clock that nobody sets.
  let heard = performance.now();
  let source = null;

  // What has the focus keeps it, and the page its place.
  const put = (id, html) => {
    const part = document.getElementById(id);
    if (!part || shown.get(id) === html) return;
    shown.set(id, html);
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    part.innerHTML = html;
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
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
