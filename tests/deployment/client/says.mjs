// What reports are said to say, against as many draws: of each question the largest distance, in
// standard deviations, for people with the answer and for others, and if chances were half as large again.

import { readFileSync } from "node:fs";

const [client, params, asked] = process.argv.slice(2);
const { Client } = await import(client);
const { system } = await import(client.replace("node.mjs", "exact-draws.mjs"));
const people = 4000;

function counts(law, own, answer, round) {
  const found = new Map();
  for (let person = 0; person < people; person++) {
    const code = law.code(answer);
    const drawn = law.draw(code, system);
    const report = law.output ? law.output(drawn, code, round) : drawn;
    for (const one of law.says(law.code(own), report, round)) {
      const like = `${one.element} ${one.marked ?? report}`;
      found.set(like, { ...one, count: 1 + (found.get(like)?.count ?? 0) });
    }
  }
  return [...found.values()];
}

const off = (count, low, high = low) => {
  const beyond = Math.max(count - people * high, people * low - count, 0) - 5; // of few, a handful
  return beyond / Math.sqrt(people * Math.max(high * (1 - low), 1e-9));
};
const most = (list) => Math.max(...list);
const opened = await Client.open(readFileSync(params));
const worst = {};
for (const [question, answer, other, round] of JSON.parse(asked)) {
  const law = opened.law(question);
  const [having, others] = [answer, other].map((one) => counts(law, answer, one, round));
  worst[`${question} ${round ?? ""}`] = [
    most(having.map(({ count, own }) => off(count, own))),
    most(others.map(({ count, low, high }) => off(count, low, high))),
    most(having.map(({ count, own }) => off(count, 1.5 * own))),
  ];
}
console.log(JSON.stringify(worst));
