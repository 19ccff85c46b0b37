// The login page: the token stands behind the # of the address, which browsers never send. It is posted once, and taken
// out of the address before.
const form = document.getElementById("login");
const token = location.hash.slice(1);
if (token) {
  history.replaceState(null, "", location.pathname);
  if (form.hasAttribute("data-fresh")) {
    form.elements.token.value = token;
    form.requestSubmit();
  }
}
