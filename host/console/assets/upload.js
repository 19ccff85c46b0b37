// A component goes to the gateway with the files beside it; the answer is a report that stands below the form.
for (const form of document.querySelectorAll("form[data-uploads]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const result = document.getElementById(`${form.id}-result`);
    const file = form.querySelector("input[type=file]").files[0];
    const body = new FormData(form, event.submitter);
    const buttons = form.querySelectorAll("button");
    for (const button of buttons) button.disabled = true;
    result.textContent = `${file.name} goes through the stages of a deployment. This takes some seconds.`;
    try {
      const answer = await fetch(form.getAttribute("action"), { method: "POST", body });
      const kind = answer.headers.get("content-type") ?? "";
      if (kind.startsWith("text/html")) result.innerHTML = await answer.text();
      else result.textContent = await answer.text();
    } catch (error) {
      result.textContent = `The component could not be sent: ${error.message}`;
    }
    for (const button of buttons) button.disabled = false;
  });
}
