// Parts of a page that follow what happens: one stream of events for each page, closed while the tab is hidden.
const part = document.querySelector("[data-live]");
let source = null;
let paused = false;

function show(html) {
  const focused = document.activeElement?.id;
  const inside = part.contains(document.activeElement);
  part.innerHTML = html;
  if (inside && focused) document.getElementById(focused)?.focus();
  document.dispatchEvent(new Event("shown"));
  document.body.dataset.ready = "";
}

function state(word) {
  const shown = document.querySelector("[data-live-state]");
  if (shown) shown.textContent = word;
}

function open() {
  if (source || paused || document.hidden) return;
  source = new EventSource(part.dataset.live);
  source.addEventListener("fragment", (event) => show(event.data));
  source.addEventListener("over", () => {
    close();
    paused = true;
    state("ended");
  });
  source.onopen = () => state("live");
  source.onerror = () => {
    // A session that has ended, or too many live pages: the browser gives up by itself.
    if (source?.readyState === EventSource.CLOSED) {
      close();
      state("not live");
    }
    document.body.dataset.ready = "";
  };
}

function close() {
  source?.close();
  source = null;
}

if (part) {
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  for (const button of document.querySelectorAll("[data-pauses]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      paused = !paused;
      button.textContent = paused ? "Resume" : "Pause";
      if (paused) {
        close();
        state("paused");
      } else open();
    });
  }
  open();
}
