// Logs this browser in with the secret behind the # of a link. The secret is in no request but this one.
const said = document.getElementById("said");
const link = /^#token=([0-9a-f]+)$/.exec(location.hash);
const here = location.pathname + location.search;

async function login() {
  if (link) {
    history.replaceState(null, "", here);
    // A browser that is logged in needs no further login: its tabs would lose theirs.
    if (localStorage.getItem("haft-browser") && (await fetch(here, { method: "HEAD" })).status !== 401) {
      location.replace(here);
      return;
    }
    said.textContent = "Logging in …";
    const answer = await fetch("/login", { method: "POST", body: link[1] });
    if (!answer.ok) {
      said.textContent = await answer.text();
      return;
    }
    localStorage.setItem("haft-browser", await answer.text());
    location.replace(here);
    return;
  }
  // A link from another page comes without the cookie. From this page, the cookie is sent.
  if (sessionStorage.getItem("haft-again") !== here && localStorage.getItem("haft-browser")) {
    const answer = await fetch(here, { method: "HEAD" });
    if (answer.status !== 401) {
      sessionStorage.setItem("haft-again", here);
      location.replace(here);
    }
  }
}

login().catch(() => {
  said.textContent = "The inspector does not answer. Is haft inspect still running?";
});
