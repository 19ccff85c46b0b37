// The login page: the token stands behind the # of the address, which browsers never send. It is posted once, and taken
// out of the address before.
const form = document.getElementById("login");

function use() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  if (form.hasAttribute("data-fresh")) {
    form.elements.token.value = token;
    form.requestSubmit();
  }
}

use();
// A link that is opened where the login page stands already changes nothing but the fragment.
window.addEventListener("hashchange", use);
