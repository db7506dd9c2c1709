// The address goes on with what is typed, and is copied by a button. The browser keeps the survey,
// the steps that Undo takes back after a reload, and that the introduction was read. The menu closes
// after a tap on a narrow screen; a click on a link waits until what was typed is on its way; the
// code of charts is fetched ahead; lines that are pasted into the table of levels become its rows;
// Tab goes on to fields, and help lies on its way back; and whoever hears the page is told which page
// came, which figures changed, and what is wrong with which field.
const MOMENT = 250;
let take = () => {}, begun = false, left = -MOMENT;
const STEPS = "ldp-planner-steps", LAST = "ldp-planner-last";
const typing = (box) => /^(INPUT|TEXTAREA)$/.test(box?.tagName);
const kept = (where, key, text) => {
  try {
    if (text) window[where].setItem(key, text);
    return window[where].getItem(key) ?? "";
  } catch { return ""; } // a browser that keeps nothing
};
const follow = (link) => {
  if (document.querySelector("[data-test-script-state=rerunRequested]"))
    setTimeout(follow, 50, link);
  else link.click();
};
document.addEventListener("focusout", (event) => {
  if (typing(event.target)) left = performance.now();
});
document.addEventListener("click", (event) => {
  const copy = event.target.closest(".st-key-copy button");
  if (copy && navigator.clipboard)
    navigator.clipboard.writeText(location.href).then(() => {
      copy.querySelector("p").firstChild.nodeValue = "Copied";
    });
  else if (copy) window.prompt("Copy this address:", location.href);
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
  const text = event.clipboardData.getData("text").trimEnd();
  const box = event.target.closest?.("[class*=st-key-level-]");
  const field = box?.className.match(/st-key-(level-\d+-\d+-\w+)/)?.[1];
  if (!field || !/[\n\t]/.test(text)) return; // one cell is the field's own business
  event.preventDefault();
  event.stopImmediatePropagation();
  take({ text: text.slice(0, 1e6), field });
}, true);
const BESIDE = "button[aria-label^='Help for'], .st-key-levels button";
document.addEventListener("keydown", (event) => {
  if (event.key === "Tab")
    for (const button of document.querySelectorAll(BESIDE)) button.tabIndex = event.shiftKey ? 0 : -1;
}, true);
const spoken = document.createElement("div");
spoken.className = "spoken";
spoken.setAttribute("role", "status");
const MISTAKE = "[data-testid=stCaptionContainer]:has(.stMarkdownColoredText)";
let page = "", heard = new Map(), marked = [], wrong = 0;
// Mistakes, each tied to its field, of which a row of the table has several.
const mistakes = () => {
  for (const field of marked) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
  }
  marked = [];
  return [...document.querySelectorAll(MISTAKE)].map((box, number) => {
    const text = box.innerText.trim();
    const before = box.closest("[data-testid=stElementContainer]").previousElementSibling;
    const fields = [...before?.querySelectorAll("input") ?? []];
    const named = fields.filter((field) => text.startsWith(field.ariaLabel?.split(",")[0]));
    box.id = `mistake-${number}`;
    for (const field of named.length ? named : fields) {
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", box.id);
      marked.push(field);
    }
    return text;
  });
};
// What a budget means is said with its field.
const meanings = () => document.querySelectorAll(".st-key-levels .meaning").forEach((box, number) => {
  const field = box.closest("[data-testid=stColumn]").previousElementSibling?.querySelector("input");
  box.id = `meaning-${number}`;
  if (field && !marked.includes(field)) field.setAttribute("aria-describedby", box.id);
});
const tell = () => {
  const title = document.querySelector("[data-testid=stMain] h1")?.innerText;
  if (!title) return; // between two pages
  const now = new Map();
  for (const box of document.querySelectorAll(".st-key-figures [data-testid=stMetric]")) {
    const part = (name) => box.querySelector(`[data-testid=stMetric${name}]`)?.innerText.trim();
    now.set(part("Label"), `${part("Label")}: ${part("Value")}`);
  }
  const said = mistakes(), mended = wrong > said.length; // then figures hold again
  wrong = said.length;
  meanings();
  if (mended) heard = new Map();
  for (const text of said) now.set(text, text);
  document.querySelectorAll(".st-key-explored p").forEach((box, number) =>
    now.set(number, box.innerText));
  const news = [...now].filter(([what, text]) => heard.get(what) !== text).map(([, text]) => text);
  if (page && title !== page) spoken.textContent = title;
  else if (page && news.length) spoken.textContent = news.join("; ");
  page = title;
  heard = now;
};
// A moment after the page stands still: a busy browser draws what came long after the run has ended.
let waiting = 0;
const listen = () => {
  document.body.append(spoken);
  const still = () => document.querySelector("[data-test-script-state=notRunning]");
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => still() && tell(), MOMENT);
  };
  soon();
  new MutationObserver(soon).observe(document.body, {
    subtree: true, childList: true, characterData: true, attributeFilter: ["data-test-script-state"],
  });
};
export default function ({ data, setTriggerValue }) {
  take = (pasted) => setTriggerValue("pasted", pasted);
  const app = document.querySelector("script[type=module][src]")?.src;
  if (!begun) {
    listen();
    if (data.charts && app) setTimeout(() => import(new URL(data.charts, app)), 300);
    const bare = !/[?&](survey|example)=/.test(window.location.search);
    const steps = kept("sessionStorage", STEPS), last = bare ? kept("localStorage", LAST) : "";
    if (steps || last) setTriggerValue("kept", { steps, last });
    begun = true;
  } else if (data.steps) kept("sessionStorage", STEPS, data.steps);
  if (data.word) kept("localStorage", LAST, data.word);
  if (data.cookie) document.cookie = `${data.cookie}=1; path=/; max-age=34560000; samesite=lax`;
  const address = new URL(window.location.href);
  address.searchParams.delete("survey");
  if (data.word && data.word.length <= data.longest) {
    address.searchParams.set("survey", data.word);
    address.searchParams.delete("example");
  }
  if (address.href !== window.location.href)
    window.history.replaceState(window.history.state, "", address);
}
