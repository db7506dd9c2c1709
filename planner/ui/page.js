// The address goes on with what is typed; the menu closes after a tap on a narrow screen; a click
// on a link waits until what was typed is on its way; the code of charts is fetched ahead; and a
// paste of more rows than the table takes is stopped before the table works on it.
const MOMENT = 250;
let most = 0, refuse = () => {}, fetched = false, left = -MOMENT;
const typing = (box) => /^(INPUT|TEXTAREA)$/.test(box?.tagName);
const follow = (link) => {
  if (document.querySelector("[data-test-script-state=rerunRequested]"))
    setTimeout(follow, 50, link);
  else link.click();
};
document.addEventListener("focusout", (event) => {
  if (typing(event.target)) left = performance.now();
});
document.addEventListener("click", (event) => {
  const menu = event.target.closest("[data-testid=stSidebarNavLink]");
  const link = menu ?? event.target.closest("[data-testid=stPageLink] a");
  if (link && performance.now() - left < MOMENT) {
    event.preventDefault();
    event.stopImmediatePropagation();
    setTimeout(follow, MOMENT, link);
  } else if (menu && window.innerWidth < 768)
    document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
}, true);
document.addEventListener("paste", (event) => {
  const rows = event.clipboardData.getData("text").trimEnd().split("\n").length;
  if (typing(document.activeElement) || rows <= most) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  refuse(rows);
}, true);
export default function ({ data, setTriggerValue }) {
  most = data.most;
  refuse = (rows) => setTriggerValue("pasted", rows);
  const app = document.querySelector("script[type=module][src]")?.src;
  if (data.charts && app && !fetched) setTimeout(() => import(new URL(data.charts, app)), 300);
  fetched = true;
  if (data.cookie) document.cookie = `${data.cookie}=1; path=/; max-age=34560000; samesite=lax`;
  const address = new URL(window.location.href);
  address.searchParams.delete("survey");
  if (data.word) {
    address.searchParams.set("survey", data.word);
    address.searchParams.delete("example");
  }
  if (address.href !== window.location.href)
    window.history.replaceState(window.history.state, "", address);
}
