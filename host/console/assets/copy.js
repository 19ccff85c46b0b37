// Copy buttons: the clipboard where the browser has one, else a selection and the old command, else a selection alone.
// Says on the button what happened.
async function copy(element) {
  const text = element.textContent;
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copies]");
  if (!button) return;
  const before = button.dataset.label ?? button.textContent;
  button.dataset.label = before;
  button.textContent = await copy(document.getElementById(button.dataset.copies));
  setTimeout(() => (button.textContent = before), 2000);
});
