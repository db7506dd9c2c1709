// The address goes on with what is typed; the menu closes after a tap on a narrow screen; and a
// paste of more rows than the table takes is stopped before the table works on it.
let most = 0, refuse = () => {};
const narrow = () => window.innerWidth < 768;
document.addEventListener("click", (event) => {
  if (narrow() && event.target.closest("[data-testid=stSidebarNavLink]"))
    document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
});
document.addEventListener("paste", (event) => {
  const rows = event.clipboardData.getData("text").trimEnd().split("\n").length;
  const field = /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName);
  if (field || rows <= most) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  refuse(rows);
}, true);
export default function ({ data, setTriggerValue }) {
  most = data.most;
  refuse = (rows) => setTriggerValue("pasted", rows);
  const address = new URL(window.location.href);
  address.searchParams.delete("survey");
  if (data.word) {
    address.searchParams.set("survey", data.word);
    address.searchParams.delete("example");
  }
  if (address.href !== window.location.href)
    window.history.replaceState(window.history.state, "", address);
}
