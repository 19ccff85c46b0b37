// "3 min ago" stays true while a page is open.
function text(at, now) {
  const ms = Math.abs(now - at);
  if (ms >= 86400000) return null;
  const seconds = Math.floor(ms / 1000);
  const span =
    seconds < 1 ? "a moment" : seconds < 60 ? `${seconds} s`
    : seconds < 3600 ? `${Math.floor(seconds / 60)} min`
    : `${Math.floor(seconds / 3600)} h`;
  return at <= now ? `${span} ago` : `in ${span}`;
}

function update() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const shown = text(Date.parse(time.dateTime), Date.now());
    if (shown) time.textContent = shown;
    else if (time.title) time.textContent = time.title.replace(" UTC", "");
  }
}

setInterval(() => document.hidden || update(), 30000);
